"""Words with their traces, as numbers: what is trained on, what is held out, and the bins that are tried.

Words come from the generator of data sets (``datasets/``), with verdicts balanced and a share of long traces. Of words
up to the length of the training, a tenth each is held out for validation and for the first test, by a digest of the
word; so no seed can put one of them into a training. Where a language has fewer words than were asked for, all that
are found are taken, and they are counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from typing import Any

from softmachine.engines.inputs import random_words
from softmachine.engines.inputs.row import LONG, Judge
from softmachine.languages.formats import source_from
from softmachine.languages.source import Source
from softmachine.studies.datasets import Dataset, Row, Split, Wishes
from softmachine.studies.learn.settings import Task
from softmachine.support.errors import ConstructionError, Remedy, UsageError
from softmachine.theorems import theorem_for
from softmachine.theorems.codec import Codec, DecoderCodec, SegmentedCodec

SOME = 200
"""So many words of a bin are tried, if nobody says how many, or as many as there are."""
SPLIT = Split.parse("train=0.8,validation=0.1,test=0.1")
PAD = "<pad>"
LOOKED_AT = 32
"""So many random words tell whether a source accepts and rejects."""

Segment = tuple[tuple[str, ...], tuple[str, ...]]
"""What a model is started on, and what it should say then."""


@dataclass(frozen=True)
class Example:
    """A word and its trace; in several segments, if the model goes on from summaries."""

    input: str
    length: int
    verdict: str
    segments: tuple[Segment, ...]

    @property
    def tokens(self) -> int:
        """How many tokens the trace has."""
        return sum(len(said) for _, said in self.segments)

    @property
    def is_long(self) -> bool:
        """Whether the trace is long."""
        return self.tokens > LONG


@dataclass(frozen=True)
class Corpus:
    """All data of a task.

    Args:
        task: The task.
        train: What is trained on.
        validation: What decides when training ends; nothing else looks at it.
        tests: What is tried, by bin; test0 was held out from the words of the training.
    """

    task: Task
    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    tests: dict[str, tuple[Example, ...]]

    @cached_property
    def everything(self) -> tuple[Example, ...]:
        """All examples."""
        return (*self.train, *self.validation, *(each for bin_ in self.tests.values() for each in bin_))

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """All tokens, and first the one that fills short words up."""
        found = {token for each in self.everything for segment in each.segments for side in segment for token in side}
        return (PAD, *sorted(found))

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each token."""
        return {token: number for number, token in enumerate(self.vocabulary)}

    @cached_property
    def context(self) -> int:
        """How many positions the longest segment has."""
        return max(len(prompt) + len(said) for each in self.everything for prompt, said in each.segments)

    def encoded(self, segments: Sequence[Segment]) -> tuple[Any, Any, Any]:
        """Segments as tensors: tokens, what comes next, and where that counts (in the trace alone)."""
        import torch

        longest = max(len(prompt) + len(said) for prompt, said in segments)
        tokens = torch.zeros(len(segments), longest, dtype=torch.long)
        counts = torch.zeros(len(segments), longest, dtype=torch.bool)
        for row, (prompt, said) in enumerate(segments):
            end = len(prompt) + len(said)
            tokens[row, :end] = torch.tensor([self.index[token] for token in (*prompt, *said)])
            counts[row, len(prompt) : end] = True
        return tokens[:, :-1], tokens[:, 1:], counts[:, 1:]

    def describe(self) -> dict[str, object]:
        """How many words there are, of which verdict, and how many have long traces."""
        parts = {"train": self.train, "validation": self.validation, **self.tests}
        return {name: counted(part) for name, part in parts.items()}


def counted(examples: Sequence[Example]) -> dict[str, int]:
    """How many examples there are of each kind."""
    return {
        "words": len(examples),
        "accepted": sum(each.verdict == "accept" for each in examples),
        "long": sum(each.is_long for each in examples),
        "tokens": sum(each.tokens for each in examples),
    }


class Drawer:
    """Draws words to train on: as often accepted ones as others, long traces as often as wished, if there are any.

    A draw depends on the seed and its number alone, so that training can go on anywhere.

    Args:
        corpus: Where they come from.
        seed: Which ones.
        batch: How many make up a step.
    """

    TOGETHER = 4
    """So many batches are drawn at once and sorted by size, so that little is filled up."""

    def __init__(self, corpus: Corpus, seed: int, batch: int) -> None:
        self.corpus, self.seed, self.batch = corpus, seed, batch
        self._kinds: dict[str, dict[bool, list[Example]]] = {}
        for each in sorted(corpus.train, key=lambda example: example.length):
            self._kinds.setdefault(each.verdict, {}).setdefault(each.is_long, []).append(each)
        self._lengths = {
            id(pool): [each.length for each in pool] for kind in self._kinds.values() for pool in kind.values()
        }

    def segments(self, step: int, limit: int) -> list[Segment]:
        """What a step sees, of words of at most this length (the shortest, if there are none)."""
        chooser = Random(f"{self.seed} {step // self.TOGETHER}")
        drawn = [self._one(chooser, limit) for _ in range(self.TOGETHER * self.batch)]
        drawn.sort(key=lambda segment: len(segment[0]) + len(segment[1]))
        order = chooser.sample(range(self.TOGETHER), self.TOGETHER)
        begin = order[step % self.TOGETHER] * self.batch
        return drawn[begin : begin + self.batch]

    def _one(self, chooser: Random, limit: int) -> Segment:
        kinds = self._kinds[chooser.choice(sorted(self._kinds))]
        wanted = chooser.random() < self.corpus.task.long_traces
        pool = kinds.get(wanted) or kinds[not wanted]
        end = max(1, bisect_right(self._lengths[id(pool)], limit))
        return chooser.choice(pool[chooser.randrange(end)].segments)


def codec_of(task: Task) -> DecoderCodec[Source]:
    """How words of a task become tokens.

    Raises:
        UsageError: If the source has no traces: its model answers at once.
    """
    source = source_from(task.language, task.name, task.text)
    theorem = theorem_for(source, task.theorem)
    if theorem.takes_length(source) and task.context is None:
        raise ConstructionError(
            f"the tokens of {theorem.name} depend on a length", hint=Remedy("say which, for example {}", context=64)
        )
    codec = theorem.codec_for(source, task.context if theorem.takes_length(source) else None)
    if not isinstance(codec, DecoderCodec):
        raise UsageError(
            f"{task.name!r} has no traces to learn: by {theorem.name}, all answers are given at once",
            hint="learn from a machine, or from C-RASP with chain of thought; `softmachine zoo` lists some",
        )
    return codec


@lru_cache(maxsize=16)
def corpus_of(task: Task) -> Corpus:
    """The data of a task; made once in a process.

    Raises:
        UsageError: If a bin has no words, or fewer than were asked for.
    """
    codec = codec_of(task)
    near = task.near_misses
    wishes = Wishes(_decides(codec, task) and not near, near, task.long_traces)
    own, *others = task.bins.items()
    held = _examples(codec, task, own[1], wishes, task.words)
    parts = {name: tuple(each for each, part in held if part == name) for name in SPLIT.names}
    tests = {own[0]: _tried(parts["test"], task, own[0])}
    for number, (name, lengths) in enumerate(others, 1):
        found = _examples(codec, task, lengths, wishes, task.test_words or SOME, task.seed + number)
        tests[name] = _tried(tuple(each for each, _ in found), task, name)
    for name, part in parts.items():
        if not part:
            raise UsageError(
                f"of {len(held)} words of {task.name!r} of length 1 to {task.train}, none are for {name}",
                hint="train on longer words, or on more of them",
            )
    return Corpus(task, parts["train"], parts["validation"], tests)


def _decides(codec: DecoderCodec[Source], task: Task) -> bool:
    """Whether the source accepts and rejects; else verdicts are not balanced."""
    judge = Judge(codec, task.max_steps, task.context, skip=True)
    lengths = range(1, task.train + 1)
    words = (word for length in lengths for word in random_words(codec, LOOKED_AT // task.train + 1, length, task.seed))
    verdicts = {judged.verdict for judged in map(judge, words) if judged}
    return bool(verdicts) and "halt" not in verdicts


def _examples(
    codec: DecoderCodec[Source], task: Task, lengths: range, wishes: Wishes, sample: int, seed: int | None = None
) -> list[tuple[Example, str]]:
    """Words of these lengths, with the part of the data that each belongs to."""
    rows = Dataset(
        codec=codec,
        bins=(lengths,),
        split=SPLIT,
        sample=sample,
        seed=task.seed if seed is None else seed,
        wishes=wishes,
        max_steps=task.max_steps,
        positions=task.context,
        skip_unfinished=True,
        fewer=True,
    )
    return [(_example(codec, row, task.max_steps), row.split) for row in rows]


def _example(codec: Codec[Source], row: Row, max_steps: int) -> Example:
    said = tuple(token or "" for token in row.trace)
    segments: Iterable[Segment] = [(row.prompt, said)]
    if isinstance(codec, SegmentedCodec):
        segments = [(prompt.tokens, said) for prompt, said in codec.expected_segments(row.input, max_steps)]
    return Example(row.input, row.length, row.verdict, tuple(segments))


def _tried(found: tuple[Example, ...], task: Task, name: str) -> tuple[Example, ...]:
    """What is tried in a bin: so many that the share of long traces is as wished, where there are enough of them.

    Raises:
        UsageError: If there are none, or fewer than were asked for.
    """
    wanted, share = task.test_words, task.long_traces
    lengthy, brief = ([each for each in found if each.is_long is long] for long in (True, False))
    if lengthy and share:
        brief = brief[: int(len(lengthy) * (1 - share) / share)]
    kept = (*lengthy, *brief)[: wanted or SOME]
    lengths = task.bins[name]
    where = f"of length {lengths[0]} to {lengths[-1]} for {task.name!r}"
    if not kept:
        raise UsageError(f"there are no words {where} to try", hint="choose other lengths, or a larger max-steps")
    if wanted is not None and len(kept) < wanted:
        raise UsageError(
            f"{wanted:,} tests were asked for, but only {len(kept):,} words {where} were found",
            hint=f"ask for fewer ({len(kept):,}), or for none in particular: then as many as there are are tried",
        )
    return kept
