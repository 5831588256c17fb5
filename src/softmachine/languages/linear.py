"""Linear expressions with integer coefficients and their comparisons, shared by temporal logic, C-RASP and counters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import eq, ge, gt, le, lt, ne
from typing import Generic, TypeVar

from softmachine.support.text import sign

Number = TypeVar("Number", bound=Hashable)
"""Type of the variables of a linear expression, such as counts."""
LARGEST_NUMBER = 10**18
"""Largest absolute value of a coefficient, constant or parameter."""


@dataclass(frozen=True)
class Linear(Generic[Number]):
    """A linear expression: integer coefficients times variables, plus a constant. Terms are in textual order.

    Args:
        terms: Pairs of a coefficient and a variable. A variable may occur twice, and a coefficient may be 0.
        constant: The constant summand.
    """

    terms: tuple[tuple[int, Number], ...] = ()
    constant: int = 0

    def __add__(self, other: Linear[Number]) -> Linear[Number]:
        return Linear(self.terms + other.terms, self.constant + other.constant)

    def __sub__(self, other: Linear[Number]) -> Linear[Number]:
        return self + -1 * other

    def __rmul__(self, factor: int) -> Linear[Number]:
        return Linear(
            tuple((factor * coefficient, number) for coefficient, number in self.terms), factor * self.constant
        )

    @property
    def largest(self) -> int:
        """The largest absolute value among the coefficients and the constant."""
        return max(abs(number) for number in (self.constant, *(coefficient for coefficient, _ in self.terms)))

    def value(self, numbers: Mapping[Number, int]) -> int:
        """Evaluate the expression for these values of its variables."""
        return sum(coefficient * numbers[number] for coefficient, number in self.terms) + self.constant

    def merged(self) -> Linear[Number]:
        """Collect like terms and drop terms with coefficient 0."""
        coefficients: dict[Number, int] = {}
        for coefficient, number in self.terms:
            coefficients[number] = coefficients.get(number, 0) + coefficient
        return Linear(tuple((total, number) for number, total in coefficients.items() if total), self.constant)


class Relation(StrEnum):
    """A comparison operator."""

    LESS = "<"
    AT_MOST = "<="
    EQUAL = "="
    UNEQUAL = "!="
    AT_LEAST = ">="
    GREATER = ">"

    @property
    def meaning(self) -> Callable[[int, int], bool]:
        """The relation as a function of two numbers."""
        return _MEANING[self]

    def holds(self, left: int, right: int) -> bool:
        """Whether two numbers are in this relation."""
        return _MEANING[self](left, right)

    @property
    def opposite(self) -> Relation:
        """The complementary relation."""
        return _OPPOSITES[self]

    @staticmethod
    def written(text: str) -> Relation:
        """Parse a relation symbol; accepts ``≤``, ``≥``, ``≠`` and ``==``, too."""
        return Relation(_SPELLINGS.get(text, str(text)))


def linear_text(linear: Linear[Number], name: Callable[[Number], str]) -> str:
    """Format a linear expression, as in ``2*x - y + 3``, given a function that formats variables."""
    text = ""
    for coefficient, number in linear.terms:
        factor = "" if abs(coefficient) == 1 else f"{abs(coefficient)}*"
        text += sign(coefficient < 0, text) + factor + name(number)
    if linear.constant or not text:
        text += sign(linear.constant < 0, text) + str(abs(linear.constant))
    return text


_SPELLINGS = {"≤": "<=", "≥": ">=", "≠": "!=", "==": "="}
_MEANING: Mapping[Relation, Callable[[int, int], bool]] = {
    Relation.LESS: lt,
    Relation.AT_MOST: le,
    Relation.EQUAL: eq,
    Relation.UNEQUAL: ne,
    Relation.AT_LEAST: ge,
    Relation.GREATER: gt,
}
_PAIRS = ((Relation.LESS, Relation.AT_LEAST), (Relation.AT_MOST, Relation.GREATER), (Relation.EQUAL, Relation.UNEQUAL))
_OPPOSITES = {one: other for pair in _PAIRS for one, other in (pair, reversed(pair))}
