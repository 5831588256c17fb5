"""Conditions on counters: Boolean combinations of linear comparisons, as immutable data.

The connectives are those of temporal logic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from softmachine.languages.counter.printer import name_text
from softmachine.languages.linear import LARGEST_NUMBER, Linear, Relation, linear_text
from softmachine.languages.temporal.formula import And, Constant, Formula, LinearComparison, Not, Or, subformulas
from softmachine.languages.temporal.printer import Writer

DEEPEST = 100
"""Maximum nesting depth of conditions, so that traversals may be recursive."""
TOO_DEEP = f"it is nested more than {DEEPEST} deep; split the transition"

Condition: TypeAlias = Formula
"""A condition on the counters: a `CounterComparison`, or ``not``, ``and`` and ``or`` of conditions, true or false."""


class CounterComparison(LinearComparison[str]):
    """``2*x + y <= z + 3``."""

    too_large = f"it has a number larger than {LARGEST_NUMBER:,}"

    def side_text(self, side: Linear[str], _writer: Writer) -> str:
        return linear_text(side, name_text)


def holds(condition: Condition, counters: Mapping[str, int]) -> bool:
    """Whether a condition is true for these values of the counters."""
    match condition:
        case CounterComparison(left, relation, right):
            return relation.holds(left.value(counters), right.value(counters))
        case And(operands):
            return all(holds(operand, counters) for operand in operands)
        case Or(operands):
            return any(holds(operand, counters) for operand in operands)
        case Not(of):
            return not holds(of, counters)
        case Constant(value):
            return value
        case _:
            raise TypeError(f"{type(condition).__name__} is not a condition on counters")


def comparisons(condition: Condition | None) -> Iterator[CounterComparison]:
    """The distinct comparisons in a condition, from left to right."""
    parts = () if condition is None else subformulas(condition)
    return (part for part in parts if isinstance(part, CounterComparison))


def counters_in(condition: Condition | None) -> Iterator[str]:
    """The counters in a condition, from left to right."""
    for comparison in comparisons(condition):
        for _, name in comparison.left.terms + comparison.right.terms:
            yield name


def compare(left: str | int | Linear[str], relation: str, right: str | int | Linear[str]) -> CounterComparison:
    """Build a comparison of counters (by name), numbers and sums, as in ``compare("x", ">=", 2)``."""
    return CounterComparison(_linear(left), Relation(relation), _linear(right))


def _linear(side: str | int | Linear[str]) -> Linear[str]:
    match side:
        case str():
            return Linear(((1, side),))
        case int():
            return Linear((), side)
        case _:
            return side
