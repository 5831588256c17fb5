"""Linear expressions with integer coefficients and their comparisons, shared by temporal logic, C-RASP and counters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import eq, ge, gt, le, lt, ne
from typing import Generic, TypeVar

from softmachine.support.text import format_sign

VariableT = TypeVar("VariableT", bound=Hashable)
"""Type of the variables of a linear expression, such as counts."""
MAX_NUMBER = 10**18
"""Largest absolute value of a coefficient, constant or parameter."""


@dataclass(frozen=True)
class LinearExpression(Generic[VariableT]):
    """A linear expression: integer coefficients times variables, plus a constant. Terms are in textual order.

    Args:
        terms: Pairs of a coefficient and a variable. A variable may occur twice, and a coefficient may be 0.
        constant: The constant summand.
    """

    terms: tuple[tuple[int, VariableT], ...] = ()
    constant: int = 0

    def __add__(self, other: LinearExpression[VariableT]) -> LinearExpression[VariableT]:
        return LinearExpression(self.terms + other.terms, self.constant + other.constant)

    def __sub__(self, other: LinearExpression[VariableT]) -> LinearExpression[VariableT]:
        return self + -1 * other

    def __rmul__(self, factor: int) -> LinearExpression[VariableT]:
        return LinearExpression(
            tuple((factor * coefficient, number) for coefficient, number in self.terms), factor * self.constant
        )

    @property
    def max_abs(self) -> int:
        """The largest absolute value among the coefficients and the constant."""
        return max(abs(number) for number in (self.constant, *(coefficient for coefficient, _ in self.terms)))

    def value(self, numbers: Mapping[VariableT, int]) -> int:
        """Evaluate the expression for these values of its variables."""
        return sum(coefficient * numbers[number] for coefficient, number in self.terms) + self.constant

    def collect_terms(self) -> LinearExpression[VariableT]:
        """Collect like terms and drop terms with coefficient 0."""
        coefficients: dict[VariableT, int] = {}
        for coefficient, number in self.terms:
            coefficients[number] = coefficients.get(number, 0) + coefficient
        return LinearExpression(
            tuple((total, number) for number, total in coefficients.items() if total), self.constant
        )


class Relation(StrEnum):
    """A comparison operator."""

    LESS = "<"
    AT_MOST = "<="
    EQUAL = "="
    NOT_EQUAL = "!="
    AT_LEAST = ">="
    GREATER = ">"

    @property
    def comparison(self) -> Callable[[int, int], bool]:
        """The relation as a function of two numbers."""
        return _COMPARISONS[self]

    def holds(self, left: int, right: int) -> bool:
        """Whether two numbers are in this relation."""
        return _COMPARISONS[self](left, right)

    @property
    def complement(self) -> Relation:
        """The complementary relation."""
        return _COMPLEMENTS[self]

    @staticmethod
    def parse(text: str) -> Relation:
        """Parse a relation symbol; accepts ``≤``, ``≥``, ``≠`` and ``==``, too."""
        return Relation(_ALTERNATIVES.get(text, str(text)))


def format_linear(linear: LinearExpression[VariableT], format_variable: Callable[[VariableT], str]) -> str:
    """Format a linear expression, as in ``2*x - y + 3``, given a function that formats variables."""
    text = ""
    for coefficient, number in linear.terms:
        factor = "" if abs(coefficient) == 1 else f"{abs(coefficient)}*"
        text += format_sign(coefficient < 0, text) + factor + format_variable(number)
    if linear.constant or not text:
        text += format_sign(linear.constant < 0, text) + str(abs(linear.constant))
    return text


_ALTERNATIVES = {"≤": "<=", "≥": ">=", "≠": "!=", "==": "="}
_COMPARISONS: Mapping[Relation, Callable[[int, int], bool]] = {
    Relation.LESS: lt,
    Relation.AT_MOST: le,
    Relation.EQUAL: eq,
    Relation.NOT_EQUAL: ne,
    Relation.AT_LEAST: ge,
    Relation.GREATER: gt,
}
_PAIRS = (
    (Relation.LESS, Relation.AT_LEAST),
    (Relation.AT_MOST, Relation.GREATER),
    (Relation.EQUAL, Relation.NOT_EQUAL),
)
_COMPLEMENTS = {one: other for pair in _PAIRS for one, other in (pair, reversed(pair))}
