"""Whether conditions hold together for some values of the counters, decided exactly, with such values.

Three steps, from cheap to dear: intervals of the single counters, which settle most tests that people write; the
smallest values in these intervals, tried out; and the Omega test for every way to make the conditions true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from softmachine.languages.counter.condition import And, Comparison, Condition, Constant, Linear, Not, Or
from softmachine.languages.counter.omega import Budget, Constraint, natural_solution
from softmachine.languages.linear import Relation

Box: TypeAlias = Mapping[str, tuple[int, int | None]]
"""The smallest and the largest value (None: there is none) of counters; one that is not there may be anything."""

OPPOSITE = {
    Relation.LESS: Relation.AT_LEAST,
    Relation.AT_LEAST: Relation.LESS,
    Relation.GREATER: Relation.AT_MOST,
    Relation.AT_MOST: Relation.GREATER,
    Relation.EQUAL: Relation.UNEQUAL,
    Relation.UNEQUAL: Relation.EQUAL,
}


def common_solution(conditions: Sequence[Condition], budget: Budget) -> dict[str, int] | None:
    """Values of the counters for which all conditions hold, or None if there are none.

    Raises:
        OutOfBudgetError: If the budget does not suffice to find out.
    """
    budget.spend(len(conditions))
    box: Box | None = {}
    for condition in conditions:
        box = intersection(box, enclosing_box(condition))
        if box is None:
            return None
    names = dict.fromkeys(
        name for condition in conditions for comparison in condition.comparisons()
        for _, name in comparison.difference.terms
    )  # fmt: skip
    smallest = {name: box[name][0] if box and name in box else 0 for name in names}
    if all(condition.holds(smallest) for condition in conditions):
        return smallest
    for constraints in _ways([(condition, True) for condition in conditions], [], budget):
        found = natural_solution(constraints, budget)
        if found is not None:
            values = {name: found.get(name, 0) for name in names}
            assert all(condition.holds(values) for condition in conditions)
            return values
    return None


def enclosing_box(condition: Condition, positive: bool = True) -> Box | None:
    """Intervals outside of which the condition (or its negation) does not hold; None if it never does."""
    match condition:
        case Comparison(_, relation, _):
            return _comparison_box(condition.difference, relation if positive else OPPOSITE[relation])
        case Constant(value):
            return {} if value == positive else None
        case Not(of):
            return enclosing_box(of, not positive)
        case And(operands) if positive:
            return _all(operands, positive)
        case Or(operands) if not positive:
            return _all(operands, positive)
        case And(operands) | Or(operands):
            return _any(operands, positive)
        case _:
            return {}


def intersection(one: Box | None, two: Box | None) -> Box | None:
    """The values in both; None if there are none."""
    if one is None or two is None:
        return None
    result = dict(one)
    for name, (low, high) in two.items():
        other_low, other_high = result.get(name, (0, None))
        both = max(low, other_low), min((end for end in (high, other_high) if end is not None), default=None)
        if both[1] is not None and both[0] > both[1]:
            return None
        result[name] = both
    return result


def _all(operands: tuple[Condition, ...], positive: bool) -> Box | None:
    box: Box | None = {}
    for operand in operands:
        box = intersection(box, enclosing_box(operand, positive))
        if box is None:
            return None
    return box


def _any(operands: tuple[Condition, ...], positive: bool) -> Box | None:
    boxes = [box for operand in operands if (box := enclosing_box(operand, positive)) is not None]
    if not boxes:
        return None
    hull: dict[str, tuple[int, int | None]] = {}
    for name, (low, high) in boxes[0].items():
        ranges = [box.get(name, (0, None)) for box in boxes]
        ends = [end for _, end in ranges if end is not None]
        hull[name] = min(low, *(start for start, _ in ranges)), max(ends) if len(ends) == len(ranges) else None
        del high
    return hull


def _comparison_box(difference: Linear, relation: Relation) -> Box | None:
    """The box of ``difference ~ 0``."""
    if not difference.terms:
        return {} if relation.holds(difference.constant, 0) else None
    if len(difference.terms) > 1 or relation is Relation.UNEQUAL:
        return {}
    box: Box | None = {}
    for constraint in _constraints(difference, relation)[0]:
        for factor in (1, -1) if constraint.is_equation else (1,):
            ((name, coefficient),) = constraint.coefficients.items()
            coefficient, constant = factor * coefficient, factor * constraint.constant
            low, high = (-(constant // coefficient), None) if coefficient > 0 else (0, constant // -coefficient)
            if high is not None and high < 0:
                return None
            box = intersection(box, {name: (max(low, 0), high)})
    return box


def _ways(
    open_conditions: list[tuple[Condition, bool]], constraints: list[Constraint], budget: Budget
) -> Iterator[list[Constraint]]:
    """Conjunctions of constraints, of which one holds just if all conditions (or their negations) do."""
    while open_conditions:
        budget.spend(1)
        condition, positive = open_conditions[-1]
        rest = open_conditions[:-1]
        match condition:
            case Comparison(_, relation, _):
                choices = _constraints(condition.difference, relation if positive else OPPOSITE[relation])
                if len(choices) > 1:
                    for choice in choices:
                        yield from _ways(rest, constraints + choice, budget)
                    return
                open_conditions, constraints = rest, constraints + choices[0]
            case Constant(value):
                if value != positive:
                    return
                open_conditions = rest
            case Not(of):
                open_conditions = [*rest, (of, not positive)]
            case And(operands) | Or(operands):
                parts = [(operand, positive) for operand in operands]
                if isinstance(condition, And) != positive:
                    for part in parts:
                        yield from _ways([*rest, part], constraints, budget)
                    return
                open_conditions = rest + parts
            case _:
                raise TypeError(f"{type(condition).__name__} is not a condition")
    yield constraints


def _constraints(difference: Linear, relation: Relation) -> list[list[Constraint]]:
    """``difference ~ 0`` as constraints: one of the lists must hold."""
    up = {name: coefficient for coefficient, name in difference.terms}
    down = {name: -coefficient for coefficient, name in difference.terms}
    constant = difference.constant
    match relation:
        case Relation.AT_LEAST:
            return [[Constraint(up, constant)]]
        case Relation.GREATER:
            return [[Constraint(up, constant - 1)]]
        case Relation.AT_MOST:
            return [[Constraint(down, -constant)]]
        case Relation.LESS:
            return [[Constraint(down, -constant - 1)]]
        case Relation.EQUAL:
            return [[Constraint(up, constant, is_equation=True)]]
        case _:
            return [[Constraint(up, constant - 1)], [Constraint(down, -constant - 1)]]
