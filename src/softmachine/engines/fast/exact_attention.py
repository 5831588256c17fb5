"""Brute-force exact attention: retrieves by comparing all keys. No index, no closed form.

Keys are processed in blocks, so that memory does not grow with the run. Scores are sums of products of integers. A
floating-point matrix product is exact as long as no sum can reach 2^53. Where one might, or where keys have different
denominators, the product only rules out keys that cannot be the best; the others are compared in integers or fractions.

The numbers that keys and values are made of are columns: blocks of positions, as exact integers over denominators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.analysis.grids import OVERFLOW_LIMIT
from softmachine.ir.primitives import Position
from softmachine.ir.signal import Atom
from softmachine.transformer.attention import AttentionKind
from softmachine.transformer.features import I_SQUARED, RECIPROCAL, Feature, I, Relation

Floats = NDArray[np.float64]
BigIntegers = NDArray[Any]
"""int64 arrays, or object arrays of Python integers where these would overflow."""
Selection = slice | NDArray[np.intp]
ROUNDING = 2.0**-52


def integer_array(values: Sequence[int]) -> BigIntegers:
    """An array of integers of any size."""
    return np.array(values, dtype=np.int64 if max(map(abs, values), default=0) < OVERFLOW_LIMIT else object)


def _sum(numbers: BigIntegers) -> int:
    if numbers.dtype == object or float(np.abs(numbers).max(initial=0)) * len(numbers) >= OVERFLOW_LIMIT:
        return sum(map(int, numbers.tolist()))
    return int(numbers.sum())


@dataclass(frozen=True)
class Column:
    """A number at the positions of a block: numerators, and one common denominator or one per position."""

    numerators: BigIntegers
    denominators: int | BigIntegers

    @staticmethod
    def from_fractions(values: Sequence[Fraction]) -> Column:
        """The column of some fractions."""
        denominators = {value.denominator for value in values}
        if len(denominators) <= 1:
            return Column(integer_array([value.numerator for value in values]), max(denominators, default=1))
        return Column(
            integer_array([value.numerator for value in values]), integer_array([value.denominator for value in values])
        )

    @property
    def common_denominator(self) -> int:
        """The common denominator, or 0 if there is none."""
        return self.denominators if isinstance(self.denominators, int) else 0

    @property
    def floats(self) -> Floats:
        """The numerators if there is a common denominator, else the quotients; rounded."""
        above: Floats = self.numerators.astype(np.float64)
        return above if isinstance(self.denominators, int) else above / self.denominators.astype(np.float64)

    def total(self, chosen: Selection) -> Fraction:
        """The sum over selected positions."""
        n = self.numerators[chosen]
        if isinstance(self.denominators, int):
            return Fraction(_sum(n), self.denominators)
        overs, group = np.unique(self.denominators[chosen], return_inverse=True)
        return sum((Fraction(_sum(n[group == k]), int(over)) for k, over in enumerate(overs)), Fraction(0))


class KeyColumns:
    """Columns of a block, their float64 roundings, and an integer upper bound on the absolute value of each."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.floats = np.stack([column.floats for column in columns])
        tops = np.maximum(self.floats.max(axis=1), -self.floats.min(axis=1))
        self.sizes = [int(top * (1 + 8 * ROUNDING)) + 1 if top else 0 for top in tops.tolist()]


class ColumnName(Protocol):
    """The identity of a column; hashable."""

    def column(self, block: PositionBlock) -> Column:
        """The column in a block."""


@dataclass
class PositionBlock:
    """A range of consecutive positions of a run.

    Args:
        first: The first position.
        tokens: Their tokens.
        record: Numerators and denominators of some atoms, alternating.
        atoms: For each atom its first column in the record.
    """

    first: int
    tokens: BigIntegers
    record: NDArray[np.int64] | None = None
    atoms: Mapping[Atom, int] = field(default_factory=dict)
    _columns: dict[ColumnName, Column] = field(default_factory=dict)
    _keys: dict[tuple[ColumnName, ...], KeyColumns] = field(default_factory=dict)

    def column(self, name: ColumnName) -> Column:
        """A column; each is computed once."""
        if name not in self._columns:
            self._columns[name] = name.column(self)
        return self._columns[name]

    def keys(self, names: Sequence[ColumnName]) -> KeyColumns:
        """Columns as keys; heads that compare the same columns share them."""
        if tuple(names) not in self._keys:
            self._keys[tuple(names)] = KeyColumns([self.column(name) for name in names])
        return self._keys[tuple(names)]

    @property
    def positions(self) -> NDArray[np.int64]:
        """The positions."""
        return np.arange(self.first, self.first + len(self.tokens), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TokenColumn:
    """A number determined by the token.

    Args:
        values: The number for each token.
    """

    values: Sequence[Fraction]

    def column(self, block: PositionBlock) -> Column:
        """The column in a block."""
        over = lcm(*(value.denominator for value in self.values))
        return Column(integer_array([int(value * over) for value in self.values])[block.tokens], over)


@dataclass(frozen=True)
class FeatureColumn:
    """A position feature; all but the simplest are evaluated position by position."""

    feature: Feature

    def column(self, block: PositionBlock) -> Column:
        """The column in a block."""
        places = block.positions
        if self.feature == I:
            return Column(places, 1)
        if self.feature == I_SQUARED:
            return Column(places * places, 1)
        if self.feature == RECIPROCAL:
            return Column(np.ones_like(places), places + 1)
        return Column.from_fractions([self.feature.at(j) for j in places.tolist()])


@dataclass(frozen=True)
class AtomColumn:
    """An atom recorded during the replay."""

    atom: Atom

    def column(self, block: PositionBlock) -> Column:
        """The column in a block."""
        assert block.record is not None
        at = block.atoms[self.atom]
        n, d = block.record[:, at], block.record[:, at + 1]
        return Column(n, int(d[0]) if bool((d == d[0]).all()) else d)


def column_of_atom(atom: Atom) -> FeatureColumn | AtomColumn:
    """The column of an atom: only position features are known without a replay."""
    return FeatureColumn(atom[0].feature) if isinstance(atom[0], Position) else AtomColumn(atom)


@dataclass(frozen=True)
class BiasColumn:
    """The bias that a relation between positions adds to the scores of one query."""

    relation: Relation
    query: int

    def column(self, block: PositionBlock) -> Column:
        """The column in a block."""
        known = [j for j in block.positions.tolist() if j < self.query]
        rest = [Fraction(0)] * (len(block.tokens) - len(known))
        return Column.from_fractions([*(self.relation.at(j, self.query) for j in known), *rest])


EXACT_FLOAT_LIMIT = 2**53
"""Sums of products whose absolute values add up to less than this are exact in float64, in whatever order."""
MAX_LISTED_KEYS = 64
"""Maximum number of best keys whose positions are listed."""
QUERY_BATCH = 64
"""Queries per matrix product."""


@dataclass(frozen=True)
class ColumnSum:
    """The number Σ weight · column + constant."""

    weights: Mapping[ColumnName, Fraction]
    constant: Fraction = Fraction(0)

    @staticmethod
    def combine(parts: Iterable[tuple[Fraction, ColumnSum]], more: Mapping[ColumnName, Fraction]) -> ColumnSum:
        """A linear combination of sums, plus further columns."""
        weights, constant = dict(more), Fraction(0)
        for factor, part in parts:
            constant += factor * part.constant
            for name, weight in part.weights.items():
                weights[name] = weights.get(name, Fraction(0)) + factor * weight
        return ColumnSum({name: weight for name, weight in weights.items() if weight}, constant)

    def total(self, block: PositionBlock, chosen: Selection, count: int) -> Fraction:
        """Its total over selected positions of a block."""
        parts = (weight * block.column(name).total(chosen) for name, weight in self.weights.items())
        return sum(parts, count * self.constant)


@dataclass
class ExactQuery:
    """A query of a head at a position, and the argmax over the keys processed so far.

    Args:
        position: The position; keys before it are compared.
        score: The score of a key.
        values: The retrieved values.
        choice: How ties between best keys are resolved.
    """

    position: int
    score: ColumnSum
    values: Sequence[ColumnSum]
    choice: AttentionKind
    best: Fraction | None = None
    count: int = 0
    totals: list[Fraction] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    """The first of the best keys, by their positions."""

    def update(self, score: Fraction, keys: Sequence[int], count: int, totals: Callable[[], list[Fraction]]) -> None:
        """Update the argmax with later keys of equal score; ``keys`` lists the first of their positions."""
        if self.best is not None and (
            score < self.best or (score == self.best and self.choice is AttentionKind.LEFTMOST)
        ):
            return
        if score == self.best and self.choice is not AttentionKind.RIGHTMOST:
            self.count += count
            self.keys += keys[: max(MAX_LISTED_KEYS - len(self.keys), 0)]
            self.totals = [old + new for old, new in zip(self.totals, totals(), strict=True)]
        else:
            self.best, self.count, self.totals, self.keys = score, count, totals(), list(keys)

    def update_from_block(self, score: Fraction, chosen: Selection, block: PositionBlock) -> None:
        """Update the argmax with selected positions of a block."""
        places = range(len(block.tokens))[chosen] if isinstance(chosen, slice) else chosen
        if self.choice in (AttentionKind.LEFTMOST, AttentionKind.RIGHTMOST):
            places = places[:1] if self.choice is AttentionKind.LEFTMOST else places[-1:]
            chosen = np.array(places, dtype=np.intp)
        count, keys = len(places), [block.first + int(place) for place in places[:MAX_LISTED_KEYS]]
        self.update(score, keys, count, lambda: [value.total(block, chosen, count) for value in self.values])


class HeadSearch:
    """One head and its queries at some positions.

    Args:
        questions: The queries.
    """

    def __init__(self, questions: Sequence[ExactQuery]) -> None:
        self.queries = questions
        self.names = list(dict.fromkeys(name for question in questions for name in question.score.weights))
        self._overs: list[int] = []
        self._scaled: list[_ScaledQuery] = []

    def process(self, block: PositionBlock) -> None:
        """Process the keys of a block."""
        if not self.names:  # all keys score the same
            for question in self.queries:
                if question.position > block.first:
                    seen = slice(0, question.position - block.first)
                    question.update_from_block(question.score.constant, seen, block)
            return
        keys = block.keys(self.names)
        overs = [column.common_denominator for column in keys.columns]
        if overs != self._overs:
            self._overs = overs
            self._scaled = [_ScaledQuery(question, self.names, overs) for question in self.queries]
        pending = [scaled for scaled in self._scaled if scaled.question.position > block.first]
        for start in range(0, len(pending), QUERY_BATCH):
            _update_all(pending[start : start + QUERY_BATCH], keys, block)


class _ScaledQuery:
    """A query whose weights are scaled to integers for columns that have one denominator.

    Args:
        question: The query.
        names: The columns.
        overs: Their denominators, 0 for columns with several.
    """

    def __init__(self, question: ExactQuery, names: Sequence[ColumnName], overs: Sequence[int]) -> None:
        weights = [question.score.weights.get(name, Fraction(0)) for name in names]
        parts = [weight / (over or 1) for weight, over in zip(weights, overs, strict=True)]
        self.question, self.weights = question, weights
        self.scale = lcm(*(part.denominator for part in parts))
        self.factors = [int(part * self.scale) for part in parts]
        self.even = all(over or not weight for weight, over in zip(weights, overs, strict=True))
        self._before: tuple[Fraction | None, int, float] = (None, 0, 0.0)

    def rounded(self, keys: KeyColumns) -> tuple[list[float], int, float]:
        """The scaled weights as floats, their divisor, and a bound on the error of scores computed from them."""
        pairs = list(zip(self.factors, keys.sizes, strict=True))
        size = sum(abs(factor) * most for factor, most in pairs)
        by, error = (1, 0.0) if self.even and size < EXACT_FLOAT_LIMIT else (max(size, 1), (len(pairs) + 8) * ROUNDING)
        return [factor / by if most else 0.0 for factor, most in pairs], by, error

    def before(self, by: int) -> float:
        """The best score so far on the same scale, rounded."""
        best = self.question.best
        if best is None:
            return -np.inf
        if self._before[0] is not best or self._before[1] != by:
            self._before = best, by, float((best - self.question.score.constant) * self.scale / by)
        return self._before[2]

    def scores(self, keys: KeyColumns, places: NDArray[np.intp], size: int) -> list[Fraction]:
        """The exact scores of some keys, without the constant."""
        small = max(size, *map(abs, self.factors)) < OVERFLOW_LIMIT
        if self.even and small and all(column.numerators.dtype != object for column in keys.columns):
            parts = (f * column.numerators[places] for f, column in zip(self.factors, keys.columns, strict=True))
            return [Fraction(score, self.scale) for score in sum(parts, np.zeros(len(places), dtype=np.int64)).tolist()]
        found = [Fraction(0)] * len(places)
        for weight, column in zip(self.weights, keys.columns, strict=True):
            overs = (
                [column.denominators] * len(places)
                if isinstance(column.denominators, int)
                else column.denominators[places].tolist()
            )
            for k, (n, d) in enumerate(zip(column.numerators[places].tolist(), overs, strict=True)):
                found[k] += weight * n / d
        return found


def _update_all(queries: Sequence[_ScaledQuery], keys: KeyColumns, block: PositionBlock) -> None:
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
        query.question.update_from_block(best + query.question.score.constant, places, block)
