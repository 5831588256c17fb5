"""Static analysis of determinism: whether two tests of a state can hold at the same time.

The analysis is exact (see `softmachine.languages.counter.satisfiability`): every reported overlap comes with values of
the counters for which both tests hold, and if none is reported and the analysis was completed, there is none. It is
incomplete for a machine that exceeds the budget; such a machine is accepted, and the interpreter, which evaluates all
tests in every step, raises an error where two hold.
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
"""Maximum number of pairs of tests and search steps for one machine: a few seconds."""
PAIR_BUDGET = 20_000
"""Maximum number of search steps for one query."""


@dataclass(frozen=True)
class Determinism:
    """Result of the analysis.

    Args:
        overlaps: Pairs of transitions whose tests overlap, with values of the counters for which both hold.
        proven: Whether all pairs were decided and none overlaps.
    """

    overlaps: tuple[tuple[Transition, Transition, Mapping[str, int]], ...]
    proven: bool


def determinism(machine: CounterMachine) -> Determinism:
    """Find overlapping transitions. ``else`` overlaps with none by definition."""
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
    """Transitions that make a counter negative whenever they apply, with that counter."""
    budget = Budget(BUDGET)
    for transition in machine.transitions:
        guard = machine.guard(transition)
        for name, change in transition.updates:
            if change < 0 and budget.left > 0:
                decided, harmless = _decide([guard, compare(name, ">=", -change)], budget)
                if decided and harmless is None and _decide([guard], budget)[1] is not None:
                    yield transition, name


def _decide(conditions: list[Condition], budget: Budget) -> tuple[bool, dict[str, int] | None]:
    """Whether the query was decided, and values that satisfy all conditions, if there are any."""
    given = min(PAIR_BUDGET, budget.left)
    own = Budget(given)
    try:
        return True, common_solution(conditions, own)
    except OutOfBudgetError:
        return False, None
    finally:
        budget.left -= given - max(own.left, 0)
