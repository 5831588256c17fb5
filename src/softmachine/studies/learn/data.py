"""Data of training tasks: training, validation and test words with their traces as token numbers.

Words come from the generator of data sets (``datasets/``), with balanced verdicts and a share of long traces. Of words
up to the training length, a tenth each is held out for validation and for the first test, by a digest of the word, so
no seed moves one of them into the training split. If a language has fewer words than requested, all that are found are
used, and their number is reported.

Tasks, and grids of training runs, are built from a source and the options of the command line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from random import Random
from typing import Any

from softmachine.engines.inputs import sample_words
from softmachine.engines.inputs.row import MAX_SHORT_TRACE, Labeller
from softmachine.languages.formats import deserialise_source, serialise_source
from softmachine.languages.source import Source
from softmachine.studies.datasets import Constraints, Dataset, DatasetRow, Split
from softmachine.studies.learn.config import (
    ModelConfig,
    Schedule,
    TrainingConfig,
    TrainingTask,
    parse_encoding,
    significant_bits,
)
from softmachine.support.errors import ConstructionError, FixHint, UsageError
from softmachine.support.stored_names import present_theorem
from softmachine.theorems import find_theorem
from softmachine.theorems.codec import Codec, DecoderCodec, SegmentedCodec

DEFAULT_TEST_WORDS = 200
"""Default maximum number of test words per bin."""
SPLIT = Split.parse("train=0.8,validation=0.1,test=0.1")
PAD = "<pad>"
VERDICT_SAMPLE = 32
"""Number of random words from which it is inferred whether a source accepts and rejects."""

Segment = tuple[tuple[str, ...], tuple[str, ...]]
"""A prompt and the expected output."""


@dataclass(frozen=True)
class Example:
    """A word and its trace; in several segments if the model continues from summaries."""

    input: str
    length: int
    verdict: str
    segments: tuple[Segment, ...]

    @property
    def tokens(self) -> int:
        """The number of tokens of the trace."""
        return sum(len(trace) for _, trace in self.segments)

    @property
    def is_long(self) -> bool:
        """Whether the trace has more than ten tokens."""
        return self.tokens > MAX_SHORT_TRACE


@dataclass(frozen=True)
class Corpus:
    """All data of a task.

    Args:
        task: The task.
        train: The training split.
        validation: The validation split, used only to decide when training ends.
        tests: The test splits by bin; test0 is held out from words of the training lengths.
    """

    task: TrainingTask
    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    tests: dict[str, tuple[Example, ...]]

    @cached_property
    def all_examples(self) -> tuple[Example, ...]:
        """All examples."""
        return (*self.train, *self.validation, *(each for bin_ in self.tests.values() for each in bin_))

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """All tokens, preceded by the padding token."""
        found = {token for each in self.all_examples for segment in each.segments for side in segment for token in side}
        return (PAD, *sorted(found))

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each token."""
        return {token: number for number, token in enumerate(self.vocabulary)}

    @cached_property
    def context(self) -> int:
        """The length of the longest segment."""
        return max(len(prompt) + len(trace) for each in self.all_examples for prompt, trace in each.segments)

    def encode(self, segments: Sequence[Segment]) -> tuple[Any, Any, Any]:
        """Convert segments to tensors: tokens, targets, and a mask of the targets in the trace."""
        import torch

        longest = max(len(prompt) + len(trace) for prompt, trace in segments)
        tokens = torch.zeros(len(segments), longest, dtype=torch.long)
        counts = torch.zeros(len(segments), longest, dtype=torch.bool)
        for row, (prompt, trace) in enumerate(segments):
            end = len(prompt) + len(trace)
            tokens[row, :end] = torch.tensor([self.index[token] for token in (*prompt, *trace)])
            counts[row, len(prompt) : end] = True
        return tokens[:, :-1], tokens[:, 1:], counts[:, 1:]

    def describe(self) -> dict[str, object]:
        """Return for each split the number of words, accepted words, long traces and tokens."""
        parts = {"train": self.train, "validation": self.validation, **self.tests}
        return {name: count_examples(part) for name, part in parts.items()}


def count_examples(examples: Sequence[Example]) -> dict[str, int]:
    """Count examples, accepted words, long traces and tokens."""
    return {
        "words": len(examples),
        "accepted": sum(each.verdict == "accept" for each in examples),
        "long": sum(each.is_long for each in examples),
        "tokens": sum(each.tokens for each in examples),
    }


class BatchSampler:
    """Sampler of training batches, with balanced verdicts and the task's share of long traces, as far as available.

    A batch depends only on the seed and the step, so training can resume at any step.

    Args:
        corpus: The data.
        seed: The seed.
        batch: Segments per batch.
    """

    BATCHES_PER_DRAW = 4
    """Number of batches that are drawn at once and sorted by length, which reduces padding."""

    def __init__(self, corpus: Corpus, seed: int, batch: int) -> None:
        self.corpus, self.seed, self.batch = corpus, seed, batch
        self._kinds: dict[str, dict[bool, list[Example]]] = {}
        for each in sorted(corpus.train, key=lambda example: example.length):
            self._kinds.setdefault(each.verdict, {}).setdefault(each.is_long, []).append(each)
        self._lengths = {
            id(pool): [each.length for each in pool] for kind in self._kinds.values() for pool in kind.values()
        }

    def sample(self, step: int, limit: int) -> list[Segment]:
        """Return the batch of a step, of words up to this length (the shortest if there are none)."""
        chooser = Random(f"{self.seed} {step // self.BATCHES_PER_DRAW}")
        drawn = [self._one(chooser, limit) for _ in range(self.BATCHES_PER_DRAW * self.batch)]
        drawn.sort(key=lambda segment: len(segment[0]) + len(segment[1]))
        order = chooser.sample(range(self.BATCHES_PER_DRAW), self.BATCHES_PER_DRAW)
        begin = order[step % self.BATCHES_PER_DRAW] * self.batch
        return drawn[begin : begin + self.batch]

    def _one(self, rng: Random, limit: int) -> Segment:
        kinds = self._kinds[rng.choice(sorted(self._kinds))]
        wanted = rng.random() < self.corpus.task.long_traces
        pool = kinds.get(wanted) or kinds[not wanted]
        end = max(1, bisect_right(self._lengths[id(pool)], limit))
        return rng.choice(pool[rng.randrange(end)].segments)


def find_codec(task: TrainingTask) -> DecoderCodec[Source]:
    """Return the codec of a task.

    Raises:
        UsageError: If the source has no traces: its model is an encoder.
    """
    source = deserialise_source(task.language, task.name, task.text)
    theorem = find_theorem(source, present_theorem(task.theorem))
    if theorem.takes_context(source) and task.context is None:
        raise ConstructionError(
            f"the tokens of {theorem.name} depend on a length", hint=FixHint("specify it, for example {}", context=64)
        )
    codec = theorem.build_codec(source, task.context if theorem.takes_context(source) else None)
    if not isinstance(codec, DecoderCodec):
        raise UsageError(
            f"{task.name!r} has no traces to learn: the model of {theorem.name} is an encoder",
            hint="use a machine, or C-RASP with chain of thought; `softmachine zoo` lists some",
        )
    return codec


@lru_cache(maxsize=16)
def load_corpus(task: TrainingTask) -> Corpus:
    """Return the data of a task; generated once per process.

    Raises:
        UsageError: If a bin has no words, or fewer than requested.
    """
    codec = find_codec(task)
    near = task.near_misses
    wishes = Constraints(_has_verdicts(codec, task) and not near, near, task.long_traces)
    own, *others = task.bins.items()
    held = _examples(codec, task, own[1], wishes, task.words)
    parts = {name: tuple(each for each, part in held if part == name) for name in SPLIT.names}
    tests = {own[0]: _select_test_words(parts["test"], task, own[0])}
    for number, (name, lengths) in enumerate(others, 1):
        found = _examples(codec, task, lengths, wishes, task.test_words or DEFAULT_TEST_WORDS, task.seed + number)
        tests[name] = _select_test_words(tuple(each for each, _ in found), task, name)
    for name, part in parts.items():
        if not part:
            raise UsageError(
                f"of {len(held)} words of {task.name!r} of length 1 to {task.train}, none are in the {name} split",
                hint="train on longer words, or on more of them",
            )
    return Corpus(task, parts["train"], parts["validation"], tests)


def _has_verdicts(codec: DecoderCodec[Source], task: TrainingTask) -> bool:
    """Whether the source accepts and rejects; otherwise verdicts are not balanced."""
    judge = Labeller(codec, task.max_steps, task.context, skip=True)
    lengths = range(1, task.train + 1)
    words = (
        word for length in lengths for word in sample_words(codec, VERDICT_SAMPLE // task.train + 1, length, task.seed)
    )
    verdicts = {judged.verdict for judged in map(judge, words) if judged}
    return bool(verdicts) and "halt" not in verdicts


def _examples(
    codec: DecoderCodec[Source],
    task: TrainingTask,
    lengths: range,
    wishes: Constraints,
    sample: int,
    seed: int | None = None,
) -> list[tuple[Example, str]]:
    """Generate words of these lengths, each with its split."""
    rows = Dataset(
        codec=codec,
        bins=(lengths,),
        split=SPLIT,
        sample=sample,
        seed=task.seed if seed is None else seed,
        constraints=wishes,
        max_steps=task.max_steps,
        positions=task.context,
        skip_unfinished=True,
        allow_fewer=True,
    )
    return [(_example(codec, row, task.max_steps), row.split) for row in rows]


def _example(codec: Codec[Source], row: DatasetRow, max_steps: int) -> Example:
    trace = tuple(token or "" for token in row.trace)
    segments: Iterable[Segment] = [(row.prompt, trace)]
    if isinstance(codec, SegmentedCodec):
        segments = [(prompt.tokens, part) for prompt, part in codec.expected_segments(row.input, max_steps)]
    return Example(row.input, row.length, row.verdict, tuple(segments))


def _select_test_words(found: tuple[Example, ...], task: TrainingTask, name: str) -> tuple[Example, ...]:
    """Select the test words of a bin, with the task's share of long traces if there are enough.

    Raises:
        UsageError: If there are none, or fewer than requested.
    """
    wanted, share = task.test_words, task.long_traces
    lengthy, brief = ([each for each in found if each.is_long is long] for long in (True, False))
    if lengthy and share:
        brief = brief[: int(len(lengthy) * (1 - share) / share)]
    kept = (*lengthy, *brief)[: wanted or DEFAULT_TEST_WORDS]
    lengths = task.bins[name]
    where = f"of length {lengths[0]} to {lengths[-1]} for {task.name!r}"
    if not kept:
        raise UsageError(f"there are no test words {where}", hint="choose other lengths, or a larger max-steps")
    if wanted is not None and len(kept) < wanted:
        raise UsageError(
            f"{wanted:,} test words were requested, but only {len(kept):,} words {where} were found",
            hint=f"request at most {len(kept):,}, or omit the number to use all",
        )
    return kept


def make_task(
    source: Source, *, train: int, tests: Sequence[int], theorem: str | None = None, **more: int | float | bool | None
) -> TrainingTask:
    """Return the task to learn the traces of a source.

    Args:
        source: The source.
        train: Maximum length of training words.
        tests: Maximum length of each further test bin.
        theorem: The theorem whose tokens are used. Default: the first that applies.
        more: Other arguments of ``Task``.

    Raises:
        UsageError: If the source has no traces.
        ConstructionError: If there is no such theorem, or its tokens depend on a length and none is given.
    """
    task = TrainingTask(
        language=source.language,
        name=source.name,
        text=serialise_source(source),
        theorem=find_theorem(source, theorem).name,
        train=train,
        tests=tuple(tests),
        **more,  # type: ignore[arg-type]
    )
    find_codec(task)
    return task


def make_runs(
    task: TrainingTask,
    schedule: Schedule,
    *,
    positions: Sequence[str] = ("none",),
    layers: Sequence[int] = (2,),
    precisions: Sequence[str] = ("float32",),
    seeds: Sequence[int] = (0,),
    width: int = 64,
    heads: int = 2,
) -> list[TrainingConfig]:
    """Return the Cartesian product of encodings, depths, precisions and seeds as runs.

    Raises:
        UsageError: If there is no such encoding or precision, or the architecture is invalid.
    """
    for name in positions:
        parse_encoding(name)
    for name in precisions:
        significant_bits(name)
    return [
        TrainingConfig(
            task=task,
            shape=ModelConfig(layers=depth, width=width, heads=heads, positions=encoding, precision=precision),
            schedule=schedule,
            seed=seed,
        )
        for encoding, depth, precision, seed in product(positions, layers, precisions, seeds)
    ]


def require_data(settings: Sequence[TrainingConfig]) -> None:
    """Generate the data of all runs, so that errors are raised before training.

    Raises:
        UsageError: If a bin has no words, or fewer than requested.
    """
    for task in dict.fromkeys(each.task for each in settings):
        load_corpus(task)
