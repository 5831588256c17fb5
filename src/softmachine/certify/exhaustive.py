"""Exhaustive observation: the gaps of all heads, ties, and the margin of the logits, over every input up to a length.

By Lemma 24 of Yang et al. 2024, a uniform-tieless transformer has a gap γ(n) at every length, since there are finitely
many inputs of it. Here they are all run.

The inputs are the prompts of a model's codec with a given number of positions, not all sequences of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.compiler.model import Model
from softmachine.engines.dense.attention import AttentionRecord
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor, UndecidedError
from softmachine.engines.numerics.exact import Exact
from softmachine.support.errors import ConstructionError, FixHint, PrecisionError
from softmachine.theorems.codec import DecoderCodec
from softmachine.transformer.attention import AttentionKind
from softmachine.transformer.weights import Head, Transformer

InputsByLength = Callable[[int], Iterator[tuple[str, ...]]]
"""From a length n to the sequences of n+1 positions, all of one shape, that there are."""
BATCH_SIZE = 128
"""Sequences per batch."""


@dataclass
class HeadObservation:
    """What was seen of a head.

    Args:
        gap: The smallest distance between the best score and the next one that differs; None if all always tied.
        tie: Where several keys tied for the best score, for people; None if they never did.
    """

    gap: Fraction | None = None
    tie: str | None = None


@dataclass
class ExhaustiveObservation:
    """What was seen of a transformer on all inputs.

    Args:
        heads: Its heads.
        margin: The smallest distance of the largest logit from the next, where one is largest; None if none ever was.
        count: How many inputs there were.
        decided: For each batch of inputs the index of the largest logit at every position; -1 where several are.
    """

    heads: Mapping[Head, HeadObservation]
    margin: Fraction | None = None
    count: int = 0
    decided: list[NDArray[np.intp]] = field(default_factory=list)


def iterate_sequences(transformer: Transformer) -> InputsByLength:
    """Every sequence over the vocabulary."""
    return lambda n: product(transformer.vocabulary, repeat=n + 1)


def _batches(inputs: InputsByLength, length: int) -> Iterator[tuple[int, tuple[tuple[str, ...], ...]]]:
    """All inputs up to a length, some of one length at a time."""
    for n in range(length + 1):
        sequences = inputs(n)
        while batch := tuple(islice(sequences, BATCH_SIZE)):
            yield n, batch


def observe_all_inputs(transformer: Transformer, inputs: InputsByLength, length: int) -> ExhaustiveObservation:
    """Run a transformer with hard attention on all inputs up to a length, in rational numbers."""
    engine = DenseEngine(transformer, "exact")
    found = ExhaustiveObservation({head: HeadObservation() for head in transformer.heads})
    for n, batch in _batches(inputs, length):
        run = engine.start(len(batch), n)
        run.hook = _ScoreHook(found.heads, batch)
        logits = engine.unembedding(run.extend(batch)).value
        best = np.full(logits.shape[:2], -1, dtype=np.intp)
        for b, i in np.ndindex(*best.shape):
            first, *others = sorted(logits[b, i], reverse=True)
            if not others or first != others[0]:
                best[b, i] = int(np.argmax(logits[b, i] == first))
            if others and first != others[0]:
                margin = _fraction(first - others[0])
                found.margin = margin if found.margin is None else min(found.margin, margin)
        found.decided.append(best)
        found.count += len(batch)
    return found


def find_disagreement(
    transformer: Transformer, inputs: InputsByLength, length: int, observed: ExhaustiveObservation
) -> str | None:
    """Where a softmax transformer does not certainly decide as was observed; None if it does on all inputs.

    Floats with error bounds come first; balls, which enclose more tightly, where these leave a doubt.
    """
    engines = [DenseEngine(transformer, "float64")]
    for (n, batch), wanted in zip(_batches(inputs, length), observed.decided, strict=True):
        problem = _find_difference(engines[0], n, batch, wanted)
        if problem:
            engines = engines if len(engines) > 1 else [*engines, DenseEngine(transformer, "ball")]
            problem = _find_difference(engines[1], n, batch, wanted)
        if problem:
            return problem
    return None


def _find_difference(
    engine: DenseEngine, n: int, batch: Sequence[tuple[str, ...]], wanted: NDArray[np.intp]
) -> str | None:
    decided = wanted >= 0
    try:
        logits = engine.unembedding(engine.residual_stream(batch, n))
        chosen: NDArray[Any] = engine.arithmetic.argmax(logits[decided][None])[0]
    except (UndecidedError, PrecisionError):
        return f"it is not certain what softmax decides on an input of {n + 1} positions"
    wrong = np.flatnonzero(chosen != wanted[decided])
    if not len(wrong):
        return None
    b, i = np.argwhere(decided)[wrong[0]]
    return f"softmax decides otherwise at position {i} of {' '.join(batch[b])!r}"


@dataclass
class _ScoreHook:
    """Is shown the scores of all heads."""

    heads: Mapping[Head, HeadObservation]
    batch: Sequence[tuple[str, ...]]

    def searched(self, group: int, search: AttentionRecord) -> None:
        """Note the gaps and ties of some heads."""
        del group
        for head, query in zip(search.group.heads, search.group.queries, strict=True):
            self._note(head, Exact().scores(query, search.group.key, search.bias), search)

    def _note(self, head: Head, scores: NDArray[Any], search: AttentionRecord) -> None:
        seen = self.heads[head]
        for b, row in np.ndindex(*scores.shape[:2]):
            visible = np.flatnonzero(search.visible[row])
            ranked = sorted(set(scores[b, row, visible]), reverse=True)
            if len(ranked) > 1:
                gap = _fraction(ranked[0] - ranked[1])
                seen.gap = gap if seen.gap is None else min(seen.gap, gap)
            if seen.tie is None and head.weighting.kind is AttentionKind.AVERAGE and ranked:
                tied = [int(j) for j in visible if scores[b, row, j] == ranked[0]]
                if len(tied) > 1:
                    seen.tie = f"positions {tied} at position {search.positions[row]} of {' '.join(self.batch[b])!r}"

    def embedded(self, stream: Tensor, positions: range) -> None:
        """Nothing is looked at here, and in the two that follow."""

    def attended(self, where: tuple[int, int, int], stream: Tensor, positions: range) -> None:
        """See :meth:`embedded`."""

    def fed_forward(self, where: tuple[int, int, int], stream: Tensor, positions: range) -> None:
        """See :meth:`embedded`."""


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def prompts_by_length(model: Model) -> InputsByLength:
    """From a length n to all sequences of n+1 positions that a model reads.

    Those of an encoder are the prompts of words of length n; those of a decoder all beginnings of runs.
    """
    return lambda n: _run_prefixes(model, n) if isinstance(model.codec, DecoderCodec) else _prompts(model, n)


def _prompts(model: Model, n: int) -> Iterator[tuple[str, ...]]:
    for word in model.codec.words(n):
        prompt = model.codec.prompt(word)
        if len(prompt.tokens) != n + 1 or prompt.length not in (None, n):
            raise ConstructionError(
                f"{model.theorem.name} pads its inputs: a word of length {n} has {len(prompt.tokens)} positions",
                hint=FixHint("leave out --from-weights: its certificate counts them", from_weights=False),
            )
        yield tuple(prompt.tokens)


def _run_prefixes(model: Model, n: int) -> Iterator[tuple[str, ...]]:
    """The beginnings of runs on words of up to n letters; each once."""
    codec, found = model.codec, dict[tuple[str, ...], None]()
    for length in range(n + 2):
        for word in codec.words(length):
            output = (token or "" for token in codec.expected(word, n + 1))
            sequence = (*codec.prompt(word).tokens, *output)[: n + 1]
            if len(sequence) == n + 1:
                found[sequence] = None
    yield from found
