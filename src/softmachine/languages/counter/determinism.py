"""What can be shown of a counter machine before it runs: that no two tests of a state hold together, or where they do.

The tests are decided exactly (see `softmachine.languages.counter.satisfiability`): an overlap that is reported is one,
with values of the counters for which both tests hold, and where none is reported and the analysis was finished, there
is none. It is not finished for a machine that is too hard for the budget; such a machine is not refused, and the
interpreter, which looks at all tests in every step, stops where two hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from softmachine.languages.counter.condition import Condition, compare
from softmachine.languages.counter.satisfiability import (
    Budget,
    OutOfBudgetError,
    common_solution,
    enclosing_box,
    intersection,
)

if TYPE_CHECKING:
    from softmachine.languages.counter.machine import CounterMachine, Transition

BUDGET = 200_000
"""Pairs of tests and steps of searches for one machine: a few seconds at most."""
PAIR_BUDGET = 20_000
"""Of which for one question."""


@dataclass(frozen=True)
class Determinism:
    """What is known of the tests of a machine.

    Args:
        overlaps: Pairs of transitions whose tests hold together, and values of the counters for which they do.
        proven: Whether all pairs were decided and none overlaps.
    """

    overlaps: tuple[tuple[Transition, Transition, Mapping[str, int]], ...]
    proven: bool


def determinism(machine: CounterMachine) -> Determinism:
    """Which transitions overlap. ``else`` overlaps with none by definition."""
    overlaps: list[tuple[Transition, Transition, Mapping[str, int]]] = []
    budget = Budget(BUDGET)
    finished = True
    for state in machine.states:
        tested = [(one, one.test, enclosing_box(one.test)) for one in machine.leaving(state) if one.test is not None]
        for (one, first, first_box), (two, second, second_box) in combinations(tested, 2):
            budget.left -= 1
            if budget.left < 0:
                return Determinism(tuple(overlaps), proven=False)
            if intersection(first_box, second_box) is None:
                continue
            decided, witness = _decide([first, second], budget)
            finished = finished and decided
            if witness is not None:
                overlaps.append((one, two, {name: witness.get(name, 0) for name in machine.counters}))
    return Determinism(tuple(overlaps), proven=finished and not overlaps)


def always_negative(machine: CounterMachine) -> Iterator[tuple[Transition, str]]:
    """Transitions that take a counter below 0 whenever they apply, and that counter."""
    budget = Budget(BUDGET)
    for transition in machine.transitions:
        guard = machine.guard(transition)
        for name, change in transition.updates:
            if change < 0 and budget.left > 0:
                decided, harmless = _decide([guard, compare(name, ">=", -change)], budget)
                if decided and harmless is None and _decide([guard], budget)[1] is not None:
                    yield transition, name


def _decide(conditions: list[Condition], budget: Budget) -> tuple[bool, dict[str, int] | None]:
    """Whether the question was decided, and values for which the conditions hold together."""
    given = min(PAIR_BUDGET, budget.left)
    own = Budget(given)
    try:
        return True, common_solution(conditions, own)
    except OutOfBudgetError:
        return False, None
    finally:
        budget.left -= given - max(own.left, 0)
