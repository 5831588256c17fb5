"""Conditions on counters: Boolean combinations of linear comparisons, as immutable data.

The connectives are those of temporal logic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from softmachine.languages.linear import MAX_NUMBER, LinearExpression, Relation, format_linear
from softmachine.languages.temporal.formula import And, BooleanConstant, Formula, LinearComparison, Not, Or, subformulas
from softmachine.languages.temporal.printer import FormulaWriter
from softmachine.languages.text.statements import quote

MAX_DEPTH = 100
"""Maximum nesting depth of conditions, so that traversals may be recursive."""
TOO_DEEP_MESSAGE = f"it is nested more than {MAX_DEPTH} deep; split the transition"

Condition: TypeAlias = Formula
"""A condition on the counters: a `CounterComparison`, or ``not``, ``and`` and ``or`` of conditions, true or false."""


class CounterComparison(LinearComparison[str]):
    """``2*x + y <= z + 3``."""

    too_large_message = f"it has a number larger than {MAX_NUMBER:,}"

    def format_side(self, side: LinearExpression[str], _writer: FormulaWriter) -> str:
        return format_linear(side, format_name)


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
        case BooleanConstant(value):
            return value
        case _:
            raise TypeError(f"{type(condition).__name__} is not a condition on counters")


def find_comparisons(condition: Condition | None) -> Iterator[CounterComparison]:
    """The distinct comparisons in a condition, from left to right."""
    parts = () if condition is None else subformulas(condition)
    return (part for part in parts if isinstance(part, CounterComparison))


def find_counters(condition: Condition | None) -> Iterator[str]:
    """The counters in a condition, from left to right."""
    for comparison in find_comparisons(condition):
        for _, name in comparison.left.terms + comparison.right.terms:
            yield name


def make_comparison(
    left: str | int | LinearExpression[str], relation: str, right: str | int | LinearExpression[str]
) -> CounterComparison:
    """Build a comparison of counters (by name), numbers and sums, as in ``make_comparison("x", ">=", 2)``."""
    return CounterComparison(_to_linear(left), Relation(relation), _to_linear(right))


def _to_linear(side: str | int | LinearExpression[str]) -> LinearExpression[str]:
    match side:
        case str():
            return LinearExpression(((1, side),))
        case int():
            return LinearExpression((), side)
        case _:
            return side


RESERVED = frozenset({"and", "or", "not", "else", "true", "false"})


def format_name(name: str) -> str:
    """Format the name of a state or counter, in quotes if necessary."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) and name not in RESERVED else quote(name)
