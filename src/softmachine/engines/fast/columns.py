"""Columns: the numbers keys and values are made of, in blocks of positions, as exact integers over denominators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.analysis.flow import Atom, Position
from softmachine.engines.fast.analysis.grids import SAFE
from softmachine.transformer.features import I_SQUARED, INVERSE, Feature, I, Relation

Floats = NDArray[np.float64]
Integers = NDArray[Any]
"""int64 arrays, or object arrays of Python integers where these would overflow."""
Chosen = slice | NDArray[np.intp]
ROUNDING = 2.0**-52


def integers(values: Sequence[int]) -> Integers:
    """An array of integers of any size."""
    return np.array(values, dtype=np.int64 if max(map(abs, values), default=0) < SAFE else object)


def _sum(numbers: Integers) -> int:
    if numbers.dtype == object or float(np.abs(numbers).max(initial=0)) * len(numbers) >= SAFE:
        return sum(map(int, numbers.tolist()))
    return int(numbers.sum())


@dataclass(frozen=True)
class Column:
    """A number at the positions of a block: numerators, and one common denominator or one per position."""

    n: Integers
    d: int | Integers

    @staticmethod
    def of(values: Sequence[Fraction]) -> Column:
        """The column of some fractions."""
        denominators = {value.denominator for value in values}
        if len(denominators) <= 1:
            return Column(integers([value.numerator for value in values]), max(denominators, default=1))
        return Column(
            integers([value.numerator for value in values]), integers([value.denominator for value in values])
        )

    @property
    def over(self) -> int:
        """The common denominator, or 0 if there is none."""
        return self.d if isinstance(self.d, int) else 0

    @property
    def floats(self) -> Floats:
        """The numerators if there is a common denominator, else the quotients; rounded."""
        above: Floats = self.n.astype(np.float64)
        return above if isinstance(self.d, int) else above / self.d.astype(np.float64)

    def total(self, chosen: Chosen) -> Fraction:
        """The sum over selected positions."""
        n = self.n[chosen]
        if isinstance(self.d, int):
            return Fraction(_sum(n), self.d)
        overs, group = np.unique(self.d[chosen], return_inverse=True)
        return sum((Fraction(_sum(n[group == k]), int(over)) for k, over in enumerate(overs)), Fraction(0))


class Keys:
    """Columns of a block, their float64 roundings, and an integer upper bound on the absolute value of each."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.floats = np.stack([column.floats for column in columns])
        tops = np.maximum(self.floats.max(axis=1), -self.floats.min(axis=1))
        self.sizes = [int(top * (1 + 8 * ROUNDING)) + 1 if top else 0 for top in tops.tolist()]


class Name(Protocol):
    """The identity of a column; hashable."""

    def column(self, block: Block) -> Column:
        """The column in a block."""


@dataclass
class Block:
    """A range of consecutive positions of a run.

    Args:
        first: The first position.
        tokens: Their tokens.
        record: Numerators and denominators of some atoms, alternating.
        atoms: For each atom its first column in the record.
    """

    first: int
    tokens: Integers
    record: NDArray[np.int64] | None = None
    atoms: Mapping[int, int] = field(default_factory=dict)
    _columns: dict[Name, Column] = field(default_factory=dict)
    _keys: dict[tuple[Name, ...], Keys] = field(default_factory=dict)

    def column(self, name: Name) -> Column:
        """A column; each is computed once."""
        if name not in self._columns:
            self._columns[name] = name.column(self)
        return self._columns[name]

    def keys(self, names: Sequence[Name]) -> Keys:
        """Columns as keys; heads that compare the same columns share them."""
        if tuple(names) not in self._keys:
            self._keys[tuple(names)] = Keys([self.column(name) for name in names])
        return self._keys[tuple(names)]

    @property
    def places(self) -> NDArray[np.int64]:
        """The positions."""
        return np.arange(self.first, self.first + len(self.tokens), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class OfToken:
    """A number determined by the token.

    Args:
        values: The number for each token.
    """

    values: Sequence[Fraction]

    def column(self, block: Block) -> Column:
        """The column in a block."""
        over = lcm(*(value.denominator for value in self.values))
        return Column(integers([int(value * over) for value in self.values])[block.tokens], over)


@dataclass(frozen=True)
class OfPosition:
    """A position feature; all but the simplest are evaluated position by position."""

    feature: Feature

    def column(self, block: Block) -> Column:
        """The column in a block."""
        places = block.places
        if self.feature == I:
            return Column(places, 1)
        if self.feature == I_SQUARED:
            return Column(places * places, 1)
        if self.feature == INVERSE:
            return Column(np.ones_like(places), places + 1)
        return Column.of([self.feature.at(j) for j in places.tolist()])


@dataclass(frozen=True)
class OfAtom:
    """An atom recorded during the replay."""

    number: int

    def column(self, block: Block) -> Column:
        """The column in a block."""
        assert block.record is not None
        at = block.atoms[self.number]
        n, d = block.record[:, at], block.record[:, at + 1]
        return Column(n, int(d[0]) if bool((d == d[0]).all()) else d)


def of_atom(number: int, atom: Atom) -> OfPosition | OfAtom:
    """The column of an atom: only position features are known without a replay."""
    return OfPosition(atom.feature) if isinstance(atom, Position) else OfAtom(number)


@dataclass(frozen=True)
class OfBias:
    """The bias that a relation between positions adds to the scores of one query."""

    relation: Relation
    query: int

    def column(self, block: Block) -> Column:
        """The column in a block."""
        known = [j for j in block.places.tolist() if j < self.query]
        rest = [Fraction(0)] * (len(block.tokens) - len(known))
        return Column.of([*(self.relation.at(j, self.query) for j in known), *rest])
