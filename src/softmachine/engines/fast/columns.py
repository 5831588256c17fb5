"""Numbers at many positions: what keys and values are made of, in blocks, as exact integers over denominators."""

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
"""Of 64 bits, or Python's where these do not do."""
Chosen = slice | NDArray[np.intp]
ROUNDING = 2.0**-52


def integers(values: Sequence[int]) -> Integers:
    """An array of integers, whatever their size."""
    return np.array(values, dtype=np.int64 if max(map(abs, values), default=0) < SAFE else object)


def _sum(numbers: Integers) -> int:
    if numbers.dtype == object or float(np.abs(numbers).max(initial=0)) * len(numbers) >= SAFE:
        return sum(map(int, numbers.tolist()))
    return int(numbers.sum())


@dataclass(frozen=True)
class Column:
    """A number at the positions of a block: numerators, over one denominator for all or one for each."""

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
        """The denominator that all have, or 0."""
        return self.d if isinstance(self.d, int) else 0

    @property
    def floats(self) -> Floats:
        """The numerators, if all have one denominator, and else the quotients; rounded."""
        above: Floats = self.n.astype(np.float64)
        return above if isinstance(self.d, int) else above / self.d.astype(np.float64)

    def total(self, chosen: Chosen) -> Fraction:
        """The sum of some of its numbers."""
        n = self.n[chosen]
        if isinstance(self.d, int):
            return Fraction(_sum(n), self.d)
        overs, group = np.unique(self.d[chosen], return_inverse=True)
        return sum((Fraction(_sum(n[group == k]), int(over)) for k, over in enumerate(overs)), Fraction(0))


class Keys:
    """Some columns of a block, the same rounded, and integers that no number in them exceeds."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.floats = np.stack([column.floats for column in columns])
        tops = np.maximum(self.floats.max(axis=1), -self.floats.min(axis=1))
        self.sizes = [int(top * (1 + 8 * ROUNDING)) + 1 if top else 0 for top in tops.tolist()]


class Name(Protocol):
    """What a column is of; it has to be hashable."""

    def column(self, block: Block) -> Column:
        """The column in a block."""


@dataclass
class Block:
    """Some positions of a run, one after the other.

    Args:
        first: The first position.
        tokens: Their tokens.
        record: Numerators and denominators of some atoms, in turn.
        atoms: Which column of the record an atom begins in.
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
        """Some columns, for heads that compare them; heads that compare the same share them."""
        if tuple(names) not in self._keys:
            self._keys[tuple(names)] = Keys([self.column(name) for name in names])
        return self._keys[tuple(names)]

    @property
    def places(self) -> NDArray[np.int64]:
        """The positions."""
        return np.arange(self.first, self.first + len(self.tokens), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class OfToken:
    """What only the token decides.

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
    """A position feature; all but the plainest are asked position by position."""

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
    """An atom that was written down when the run was read again."""

    number: int

    def column(self, block: Block) -> Column:
        """The column in a block."""
        assert block.record is not None
        at = block.atoms[self.number]
        n, d = block.record[:, at], block.record[:, at + 1]
        return Column(n, int(d[0]) if bool((d == d[0]).all()) else d)


def of_atom(number: int, atom: Atom) -> OfPosition | OfAtom:
    """What the column of an atom is of: only position features are known without reading the run again."""
    return OfPosition(atom.feature) if isinstance(atom, Position) else OfAtom(number)


@dataclass(frozen=True)
class OfBias:
    """What a relation between positions adds to the scores of one query."""

    relation: Relation
    query: int

    def column(self, block: Block) -> Column:
        """The column in a block."""
        known = [j for j in block.places.tolist() if j < self.query]
        rest = [Fraction(0)] * (len(block.tokens) - len(known))
        return Column.of([*(self.relation.at(j, self.query) for j in known), *rest])
