"""Brute-force exact attention: retrieves by comparing all keys. No index, no closed form.

Keys are processed in blocks, so that memory does not grow with the run. Scores are sums of products of integers. A
floating-point matrix product is exact as long as no sum can reach 2^53. Where one might, or where keys have different
denominators, the product only rules out keys that cannot be the best; the others are compared in integers or fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.analysis.grids import SAFE
from softmachine.engines.fast.columns import ROUNDING, Block, Chosen, Keys, Name
from softmachine.transformer.attention import Choice

EXACT = 2**53
"""Sums of products whose absolute values add up to less than this are exact in float64, in whatever order."""
MOST_KEYS = 64
"""Maximum number of best keys whose positions are listed."""
TOGETHER = 64
"""Queries per matrix product."""


@dataclass(frozen=True)
class Sum:
    """The number Σ weight · column + constant."""

    weights: Mapping[Name, Fraction]
    constant: Fraction = Fraction(0)

    @staticmethod
    def of(parts: Iterable[tuple[Fraction, Sum]], more: Mapping[Name, Fraction]) -> Sum:
        """A linear combination of sums, plus further columns."""
        weights, constant = dict(more), Fraction(0)
        for factor, part in parts:
            constant += factor * part.constant
            for name, weight in part.weights.items():
                weights[name] = weights.get(name, Fraction(0)) + factor * weight
        return Sum({name: weight for name, weight in weights.items() if weight}, constant)

    def total(self, block: Block, chosen: Chosen, count: int) -> Fraction:
        """Its total over selected positions of a block."""
        parts = (weight * block.column(name).total(chosen) for name, weight in self.weights.items())
        return sum(parts, count * self.constant)


@dataclass
class Question:
    """A query of a head at a position, and the argmax over the keys processed so far.

    Args:
        position: The position; keys before it are compared.
        score: The score of a key.
        values: The retrieved values.
        choice: How ties between best keys are resolved.
    """

    position: int
    score: Sum
    values: Sequence[Sum]
    choice: Choice
    best: Fraction | None = None
    count: int = 0
    totals: list[Fraction] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    """The first of the best keys, by their positions."""

    def offer(self, score: Fraction, keys: Sequence[int], count: int, totals: Callable[[], list[Fraction]]) -> None:
        """Update the argmax with later keys of equal score; ``keys`` lists the first of their positions."""
        if self.best is not None and (score < self.best or (score == self.best and self.choice is Choice.LEFTMOST)):
            return
        if score == self.best and self.choice is not Choice.RIGHTMOST:
            self.count += count
            self.keys += keys[: max(MOST_KEYS - len(self.keys), 0)]
            self.totals = [old + new for old, new in zip(self.totals, totals(), strict=True)]
        else:
            self.best, self.count, self.totals, self.keys = score, count, totals(), list(keys)

    def offer_block(self, score: Fraction, chosen: Chosen, block: Block) -> None:
        """Update the argmax with selected positions of a block."""
        places = range(len(block.tokens))[chosen] if isinstance(chosen, slice) else chosen
        if self.choice in (Choice.LEFTMOST, Choice.RIGHTMOST):
            places = places[:1] if self.choice is Choice.LEFTMOST else places[-1:]
            chosen = np.array(places, dtype=np.intp)
        count, keys = len(places), [block.first + int(place) for place in places[:MOST_KEYS]]
        self.offer(score, keys, count, lambda: [value.total(block, chosen, count) for value in self.values])


class Search:
    """One head and its queries at some positions.

    Args:
        questions: The queries.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = questions
        self.names = list(dict.fromkeys(name for question in questions for name in question.score.weights))
        self._overs: list[int] = []
        self._scaled: list[_ScaledQuery] = []

    def see(self, block: Block) -> None:
        """Process the keys of a block."""
        if not self.names:  # all keys score the same
            for question in self.questions:
                if question.position > block.first:
                    seen = slice(0, question.position - block.first)
                    question.offer_block(question.score.constant, seen, block)
            return
        keys = block.keys(self.names)
        overs = [column.over for column in keys.columns]
        if overs != self._overs:
            self._overs = overs
            self._scaled = [_ScaledQuery(question, self.names, overs) for question in self.questions]
        pending = [scaled for scaled in self._scaled if scaled.question.position > block.first]
        for start in range(0, len(pending), TOGETHER):
            _update_all(pending[start : start + TOGETHER], keys, block)


class _ScaledQuery:
    """A query whose weights are scaled to integers for columns that have one denominator.

    Args:
        question: The query.
        names: The columns.
        overs: Their denominators, 0 for columns with several.
    """

    def __init__(self, question: Question, names: Sequence[Name], overs: Sequence[int]) -> None:
        weights = [question.score.weights.get(name, Fraction(0)) for name in names]
        parts = [weight / (over or 1) for weight, over in zip(weights, overs, strict=True)]
        self.question, self.weights = question, weights
        self.scale = lcm(*(part.denominator for part in parts))
        self.factors = [int(part * self.scale) for part in parts]
        self.even = all(over or not weight for weight, over in zip(weights, overs, strict=True))
        self._before: tuple[Fraction | None, int, float] = (None, 0, 0.0)

    def rounded(self, keys: Keys) -> tuple[list[float], int, float]:
        """The scaled weights as floats, their divisor, and a bound on the error of scores computed from them."""
        pairs = list(zip(self.factors, keys.sizes, strict=True))
        size = sum(abs(factor) * most for factor, most in pairs)
        by, error = (1, 0.0) if self.even and size < EXACT else (max(size, 1), (len(pairs) + 8) * ROUNDING)
        return [factor / by if most else 0.0 for factor, most in pairs], by, error

    def before(self, by: int) -> float:
        """The best score so far on the same scale, rounded."""
        best = self.question.best
        if best is None:
            return -np.inf
        if self._before[0] is not best or self._before[1] != by:
            self._before = best, by, float((best - self.question.score.constant) * self.scale / by)
        return self._before[2]

    def scores(self, keys: Keys, places: NDArray[np.intp], size: int) -> list[Fraction]:
        """The exact scores of some keys, without the constant."""
        small = max(size, *map(abs, self.factors)) < SAFE
        if self.even and small and all(column.n.dtype != object for column in keys.columns):
            parts = (f * column.n[places] for f, column in zip(self.factors, keys.columns, strict=True))
            return [Fraction(score, self.scale) for score in sum(parts, np.zeros(len(places), dtype=np.int64)).tolist()]
        found = [Fraction(0)] * len(places)
        for weight, column in zip(self.weights, keys.columns, strict=True):
            overs = [column.d] * len(places) if isinstance(column.d, int) else column.d[places].tolist()
            for k, (n, d) in enumerate(zip(column.n[places].tolist(), overs, strict=True)):
                found[k] += weight * n / d
        return found


def _update_all(queries: Sequence[_ScaledQuery], keys: Keys, block: Block) -> None:
    """Update those queries for which a key of the block is at least as good as the best so far."""
    rounded = [query.rounded(keys) for query in queries]
    scores = np.array([factors for factors, _, _ in rounded]) @ keys.floats
    for row, query in zip(scores, queries, strict=True):
        row[query.question.position - block.first :] = -np.inf
    for row, top, query, (_, by, error) in zip(scores, scores.max(axis=1).tolist(), queries, rounded, strict=True):
        before = query.before(by)
        if top + error < before - abs(before) * ROUNDING:
            continue
        places = np.flatnonzero(row >= top - 2 * error)
        best = Fraction(int(top), query.scale)
        if error:
            found = query.scores(keys, places, by)
            best = max(found)
            places = places[[score == best for score in found]]
        query.question.offer_block(best + query.question.score.constant, places, block)
