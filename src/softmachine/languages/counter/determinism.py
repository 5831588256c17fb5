"""Determinism of counter machines: static analysis of whether two tests of a state can hold at the same time.

The analysis is exact: every reported overlap comes with values of the counters for which both tests hold, and if none
is reported and the analysis was completed, there is none. It is incomplete for a machine that exceeds the budget; such
a machine is accepted, and the interpreter, which evaluates all tests in every step, raises an error where two hold.

Conjunctions of conditions are solved exactly. Values are read bit by bit, the lowest first, as by Büchi automata (A.
Boudet and H. Comon, "Diophantine equations, Presburger arithmetic and finite automata", 1996). If x = 2x' + b, where b
are the lowest bits, then

    a·x + c ≥ 0   iff   a·x' + ⌊(a·b + c)/2⌋ ≥ 0
    a·x + c = 0   iff   a·x' +  (a·b + c)/2  = 0, and a·b + c is even

So bits only change the constants c, which are eventually bounded by the sum of the coefficients: the search space is
finite, and the first solution has the fewest bits. Most tests in practice are decided before, by the intervals of
single counters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations, islice
from typing import TYPE_CHECKING, TypeAlias

from softmachine.languages.counter.condition import Condition, CounterComparison, find_counters, holds, make_comparison
from softmachine.languages.linear import LinearExpression, Relation
from softmachine.languages.temporal.formula import And, BooleanConstant, Not, Or

if TYPE_CHECKING:
    from softmachine.languages.counter.machine import CounterMachine, Transition


Box: TypeAlias = Mapping[str, tuple[int, int | None]]
"""Minimum and maximum (None: unbounded) of counters; counters without an entry are unrestricted."""

MAX_BOX_PARTS = 10_000
"""Maximum number of parts of a condition visited to compute its intervals."""


class BudgetExceededError(Exception):
    """The query was not decided within the budget."""


@dataclass
class Budget:
    """Number of remaining steps."""

    remaining: int

    def spend(self, amount: int) -> None:
        """Deduct an amount.

        Raises:
            BudgetExceededError: If it exceeds the remaining budget.
        """
        self.remaining -= amount
        if self.remaining < 0:
            raise BudgetExceededError


@dataclass(frozen=True)
class LinearAtom:
    """A linear inequality (sum ≥ 0) or equation (sum = 0)."""

    expression: LinearExpression[str]
    is_equation: bool

    @cached_property
    def is_nondecreasing(self) -> bool:
        """Whether no coefficient is negative."""
        return all(factor > 0 for factor, _ in self.expression.terms)

    @cached_property
    def is_nonincreasing(self) -> bool:
        """Whether no coefficient is positive."""
        return all(factor < 0 for factor, _ in self.expression.terms)

    def holds(self, value: int) -> bool:
        """Whether the atom is true for this value of the sum."""
        return value == 0 or (value > 0 and not self.is_equation)

    def halve(self, constant: int) -> int | None:
        """The constant after removing the lowest bits of the counters; None if the atom is then unsatisfiable."""
        if self.is_equation and constant % 2:
            return None
        half = constant // 2
        if (half < 0 and self.is_nonincreasing) or (half > 0 and self.is_nondecreasing and self.is_equation):
            return None
        return min(half, 0) if self.is_nondecreasing else half  # for constants ≥ 0 it always holds

    @cached_property
    def box(self) -> Box:
        """The interval of its counter, if it has only one."""
        if len(self.expression.terms) != 1:
            return {}
        ((factor, name),) = self.expression.terms
        value, rest = divmod(-self.expression.constant, factor)
        if self.is_equation:
            return {name: (value, value) if rest == 0 else (1, 0)}
        return {name: (value + (rest != 0), None) if factor > 0 else (0, value)}


def find_solution(conditions: Sequence[Condition], budget: Budget) -> dict[str, int] | None:
    """Values of the counters that satisfy all conditions, or None if there are none.

    Raises:
        BudgetExceededError: If the budget does not suffice.
    """
    budget.spend(len(conditions))
    # A counter that cancels, as in x = x, gets a value, too.
    names = dict.fromkeys(name for condition in conditions for name in find_counters(condition))
    box = reduce(intersect_boxes, map(bounding_box, conditions))
    if box is None:
        return None
    smallest = {name: box.get(name, (0, None))[0] for name in names}
    if all(holds(condition, smallest) for condition in conditions):
        return smallest
    for atoms in _disjuncts([(condition, True) for condition in conditions], (), budget):
        found = _solve(atoms, budget)
        if found is not None:
            values = {name: found.get(name, 0) for name in names}
            assert all(holds(condition, values) for condition in conditions)
            return values
    return None


def bounding_box(condition: Condition) -> Box | None:
    """Intervals that contain all solutions of a condition (an over-approximation); None if it has none."""
    try:
        ways = list(islice(_disjuncts([(condition, True)], (), Budget(MAX_BOX_PARTS)), 2))
    except BudgetExceededError:
        return {}
    return None if not ways else _box_of_atoms(ways[0]) if len(ways) == 1 else {}


def intersect_boxes(one: Box | None, two: Box | None) -> Box | None:
    """The intersection of two boxes; None if it is empty."""
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


def _box_of_atoms(atoms: Sequence[LinearAtom]) -> Box | None:
    everything: Box | None = {}
    return reduce(intersect_boxes, (atom.box for atom in atoms), everything)


def _disjuncts(
    waiting: list[tuple[Condition, bool]], atoms: tuple[LinearAtom, ...], budget: Budget
) -> Iterator[tuple[LinearAtom, ...]]:
    """Disjunctive normal form: conjunctions of atoms, one of which holds iff all conditions (or negations) do."""
    while waiting:
        budget.spend(1)
        (condition, positive), waiting = waiting[-1], waiting[:-1]
        match condition:
            case CounterComparison(_, relation, _):
                first, *others = _to_atoms(condition.difference, relation if positive else relation.complement)
                for other in others:
                    yield from _disjuncts(waiting, (*atoms, other), budget)
                atoms = (*atoms, first)
            case BooleanConstant(value):
                if value != positive:
                    return
            case Not(of):
                waiting.append((of, not positive))
            case And(operands) | Or(operands):
                parts = [(operand, positive) for operand in operands]
                if isinstance(condition, And) != positive:
                    for part in parts:
                        yield from _disjuncts([*waiting, part], atoms, budget)
                    return
                waiting += parts
            case _:
                raise TypeError(f"{type(condition).__name__} is not a condition")
    yield atoms


def _to_atoms(difference: LinearExpression[str], relation: Relation) -> list[LinearAtom]:
    """Atoms, one of which holds iff the difference is in this relation to 0."""
    if relation is Relation.NOT_EQUAL:
        return [atom for each in (Relation.GREATER, Relation.LESS) for atom in _to_atoms(difference, each)]
    if relation in (Relation.LESS, Relation.AT_MOST):
        difference = -1 * difference
    if relation in (Relation.LESS, Relation.GREATER):
        difference += LinearExpression((), -1)
    return [LinearAtom(difference, relation is Relation.EQUAL)]


def _solve(atoms: Sequence[LinearAtom], budget: Budget) -> dict[str, int] | None:
    """The solution of all atoms with the fewest bits, or None if there is none."""
    if _box_of_atoms(atoms) is None:
        return None
    names = tuple(dict.fromkeys(name for atom in atoms for _, name in atom.expression.terms))
    factors = [{name: factor for factor, name in atom.expression.terms} for atom in atoms]
    columns = [[each.get(name, 0) for each in factors] for name in names]
    waiting = deque([(tuple(atom.expression.constant for atom in atoms), (0,) * len(names), 0)] if names else [])
    visited = set()
    while waiting:
        constants, values, read = waiting.popleft()
        bit, counter = divmod(read, len(names))
        if counter == 0 and read:
            halves = [atom.halve(constant) for atom, constant in zip(atoms, constants, strict=True)]
            constants = tuple(half for half in halves if half is not None)
            if len(constants) < len(halves):
                continue
            if all(atom.holds(constant) for atom, constant in zip(atoms, constants, strict=True)):
                return dict(zip(names, values, strict=True))
        if (counter, constants) in visited:
            continue
        visited.add((counter, constants))
        budget.spend(1)
        waiting.append((constants, values, read + 1))
        changed = tuple(constant + factor for constant, factor in zip(constants, columns[counter], strict=True))
        more = values[counter] + (1 << bit)
        waiting.append((changed, (*values[:counter], more, *values[counter + 1 :]), read + 1))
    return None


MACHINE_BUDGET = 200_000
"""Maximum number of pairs of tests and search steps for one machine: a few seconds."""
QUERY_BUDGET = 20_000
"""Maximum number of search steps for one query."""


@dataclass(frozen=True)
class DeterminismResult:
    """Result of the analysis.

    Args:
        overlaps: Pairs of transitions whose tests overlap, with values of the counters for which both hold.
        is_proven: Whether all pairs were decided and none overlaps.
    """

    overlaps: tuple[tuple[Transition, Transition, Mapping[str, int]], ...]
    is_proven: bool


def check_determinism(machine: CounterMachine) -> DeterminismResult:
    """Find overlapping transitions. ``else`` overlaps with none by definition."""
    overlaps: list[tuple[Transition, Transition, Mapping[str, int]]] = []
    budget = Budget(MACHINE_BUDGET)
    finished = True
    for state in machine.states:
        tested = [
            (one, one.test, bounding_box(one.test)) for one in machine.transitions_from(state) if one.test is not None
        ]
        for (one, first, first_box), (two, second, second_box) in combinations(tested, 2):
            budget.remaining -= 1
            if budget.remaining < 0:
                return DeterminismResult(tuple(overlaps), is_proven=False)
            if intersect_boxes(first_box, second_box) is None:
                continue
            decided, witness = _solve_within([first, second], budget)
            finished = finished and decided
            if witness is not None:
                overlaps.append((one, two, {name: witness.get(name, 0) for name in machine.counters}))
    return DeterminismResult(tuple(overlaps), is_proven=finished and not overlaps)


def find_always_negative(machine: CounterMachine) -> Iterator[tuple[Transition, str]]:
    """Transitions that make a counter negative whenever they apply, with that counter."""
    budget = Budget(MACHINE_BUDGET)
    for transition in machine.transitions:
        guard = machine.guard(transition)
        for name, change in transition.updates:
            if change < 0 and budget.remaining > 0:
                decided, harmless = _solve_within([guard, make_comparison(name, ">=", -change)], budget)
                if decided and harmless is None and _solve_within([guard], budget)[1] is not None:
                    yield transition, name


def _solve_within(conditions: list[Condition], budget: Budget) -> tuple[bool, dict[str, int] | None]:
    """Whether the query was decided, and values that satisfy all conditions, if there are any."""
    given = min(QUERY_BUDGET, budget.remaining)
    own = Budget(given)
    try:
        return True, find_solution(conditions, own)
    except BudgetExceededError:
        return False, None
    finally:
        budget.remaining -= given - max(own.remaining, 0)
