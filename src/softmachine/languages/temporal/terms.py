"""What formulas count and compare: positions, counts, and sums of counts with integer coefficients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from softmachine.languages.temporal.formula import Formula


@dataclass(frozen=True)
class Position:
    """The number i of the present position, counted from 1. Only predicates speak of it, as in ``odd(i)``."""


POSITION = Position()


@dataclass(frozen=True)
class LeftCount:
    """``#<[φ]``: the number of positions j ≤ i where φ holds. The present one counts."""

    of: Formula


@dataclass(frozen=True)
class RightCount:
    """``#>[φ]``: the number of positions j ≥ i where φ holds. The present one counts."""

    of: Formula


Count: TypeAlias = LeftCount | RightCount


@dataclass(frozen=True)
class Linear:
    """A sum of counts with integer coefficients, and a constant. The counts are in the order of writing.

    Args:
        terms: Pairs of a coefficient and a count. A count may occur twice, and a coefficient may be 0.
        constant: What is added.
    """

    terms: tuple[tuple[int, Count], ...] = ()
    constant: int = 0

    def __add__(self, other: Linear) -> Linear:
        return Linear(self.terms + other.terms, self.constant + other.constant)

    def __sub__(self, other: Linear) -> Linear:
        return self + -1 * other

    def __rmul__(self, factor: int) -> Linear:
        return Linear(tuple((factor * coefficient, count) for coefficient, count in self.terms), factor * self.constant)

    @property
    def largest(self) -> int:
        """The largest absolute value of its coefficients and its constant."""
        return max(abs(number) for number in (self.constant, *(coefficient for coefficient, _ in self.terms)))

    def merged(self) -> Linear:
        """The same number, every count once and no coefficient 0."""
        coefficients: dict[Count, int] = {}
        for coefficient, count in self.terms:
            coefficients[count] = coefficients.get(count, 0) + coefficient
        return Linear(tuple((total, count) for count, total in coefficients.items() if total), self.constant)


class Relation(StrEnum):
    """How two numbers may compare."""

    LESS = "<"
    AT_MOST = "<="
    EQUAL = "="
    UNEQUAL = "!="
    AT_LEAST = ">="
    GREATER = ">"

    def holds(self, left: int, right: int) -> bool:
        """Whether two numbers compare so."""
        return _MEANING[self](left, right)


_MEANING: Mapping[Relation, Callable[[int, int], bool]] = {
    Relation.LESS: lt,
    Relation.AT_MOST: le,
    Relation.EQUAL: eq,
    Relation.UNEQUAL: ne,
    Relation.AT_LEAST: ge,
    Relation.GREATER: gt,
}
