"""JIT-compiled interpreter for long runs: the steps of the reference interpreter, tens of millions per second.

Tests become decision DAGs over comparisons. Counters are 64-bit integers. The loop stops before a step in which a sum
could overflow; the reference interpreter makes such steps with Python integers. It also handles the end of a run and
all errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.counter.condition import Condition, comparisons
from softmachine.languages.counter.machine import CounterMachine, Transition
from softmachine.languages.decision_dag import Compared, Test, decide
from softmachine.languages.temporal.formula import Constant, Formula
from softmachine.support.jit import machine_code

if TYPE_CHECKING:
    from softmachine.languages.counter.interpreter import Configuration

CHUNK = 1 << 22
"""Steps per compiled call; Ctrl-C is handled between calls."""
PIECE = 1 << 20
"""Given steps verified per compiled call."""
LARGEST = 1 << 62
"""Largest absolute value of a sum."""

STOPPED, CHUNK_DONE, TOO_LARGE = 0, 1, 2
FALSE, TRUE = -1, -2

Integers = NDArray[np.int64]
Terms: TypeAlias = tuple[tuple[int, str], ...]


def advance(
    machine: CounterMachine, configuration: Configuration, max_steps: int, given: Integers | None = None
) -> None:
    """Advance the configuration in place until the reference interpreter must take over or ``max_steps`` is reached.

    If ``given`` holds transitions (by :func:`numbers_of`), it also stops before a step that differs from the given one.
    """
    limit = _largest_value(machine)
    if limit < 1 or any(value > limit for value in configuration.counters.values()):
        return
    states = {state: number for number, state in enumerate(machine.states)}
    table = _table(machine, states, limit)
    counters = np.array([configuration.counters[name] for name in machine.counters], dtype=np.int64)
    progress = np.array([states[configuration.state], configuration.steps], dtype=np.int64)
    outcome, unconstrained = CHUNK_DONE, _integers([])
    while outcome == CHUNK_DONE and progress[1] < max_steps:
        expected = unconstrained if given is None else given[int(progress[1]) - configuration.steps :]
        outcome = _loop(table, counters, progress, min(max_steps, int(progress[1]) + CHUNK), expected)
    configuration.state = machine.states[progress[0]]
    configuration.steps = int(progress[1])
    configuration.counters = dict(zip(machine.counters, counters.tolist(), strict=True))


def numbers_of(machine: CounterMachine, transitions: Sequence[Transition]) -> Integers:
    """The indices of transitions in the compiled loop."""
    numbers = {transition: number for number, transition in enumerate(_ordered(machine))}
    return _integers([numbers[transition] for transition in transitions])


def _largest_value(machine: CounterMachine) -> int:
    """The largest counter value from which a step cannot overflow 64-bit integers."""
    change = max((abs(change) for one in machine.transitions for _, change in one.updates), default=0)
    limit = LARGEST - change
    for transition in machine.transitions:
        for comparison in comparisons(transition.test):
            difference = comparison.difference
            weight = sum(abs(coefficient) for coefficient, _ in difference.terms)
            limit = min(limit, (LARGEST - abs(difference.constant) - 1) // max(weight, 1))
    return limit


class _Table(NamedTuple):
    """A machine as arrays. The transitions are sorted by source state; ``else`` transitions are stored separately."""

    first: Integers
    """[state] -> its first transition, with a sentinel."""
    otherwise: Integers
    """[state] -> its ``else`` transition, or -1."""
    entry: Integers
    """[transition] -> the root of its test: a node, TRUE or FALSE."""
    target: Integers
    """[transition] -> state."""
    first_update: Integers
    update_counter: Integers
    update_change: Integers
    """[transition] -> its first update, with a sentinel."""
    nodes: Integers
    """[…, node] -> a sum, the interval, and the successors inside and outside it: a node, TRUE or FALSE."""
    first_term: Integers
    term_counter: Integers
    term_factor: Integers
    """[sum] -> its first term, with a sentinel; the sum is Σ factor · counter."""
    limit: int
    look_at_all: bool
    """Whether all tests must be evaluated because the machine is not proven deterministic."""


def _ordered(machine: CounterMachine) -> list[Transition]:
    """The transitions sorted by source state, ``else`` transitions last."""
    tested = [one for state in machine.states for one in machine.leaving(state) if one.test is not None]
    return [*tested, *(one for one in machine.transitions if one.test is None)]


def _table(machine: CounterMachine, states: dict[str, int], limit: int) -> _Table:
    counters = {name: number for number, name in enumerate(machine.counters)}
    ordered = _ordered(machine)
    first, otherwise = [0], [-1] * len(states)
    for state in machine.states:
        first.append(first[-1] + sum(one.test is not None for one in machine.leaving(state)))
    for number, transition in enumerate(ordered):
        if transition.test is None:
            otherwise[states[transition.source]] = number
    entry, nodes, sums = _tests([one.test for one in ordered if one.test is not None])
    updates = [update for transition in ordered for update in transition.updates]
    return _Table(
        first=_integers(first),
        otherwise=_integers(otherwise),
        entry=_integers(entry),
        target=_integers([states[transition.target] for transition in ordered]),
        first_update=_integers([0, *accumulate(len(transition.updates) for transition in ordered)]),
        update_counter=_integers([counters[name] for name, _ in updates]),
        update_change=_integers([change for _, change in updates]),
        nodes=np.ascontiguousarray(np.array(nodes, dtype=np.int64).reshape(-1, 5).T),
        first_term=_integers([0, *accumulate(len(terms) for terms in sums)]),
        term_counter=_integers([counters[name] for terms in sums for _, name in terms]),
        term_factor=_integers([factor for terms in sums for factor, _ in terms]),
        limit=limit,
        look_at_all=not machine.determinism.proven,
    )


def _tests(conditions: list[Condition]) -> tuple[list[int], list[Test], list[Terms]]:
    """The root of each condition, the nodes of all tests, and the sums in them."""
    entries: list[int] = []
    nodes: list[Test] = []
    sums: dict[Terms, int] = {}
    for condition in conditions:
        compared: dict[Formula, Compared] = {}
        for each in comparisons(condition):
            difference = each.difference
            compared[each] = sums.setdefault(difference.terms, len(sums)), each.relation, -difference.constant
        decision = decide([(condition, 1)], 0, _known, compared)
        place = {label: number for number, label in enumerate(decision.tests, start=len(nodes))}
        for which, low, high, yes, no in decision.tests.values():
            interval = max(low, -LARGEST), min(high, LARGEST)
            nodes.append((which, *interval, place.get(yes, yes), place.get(no, no)))
        entries.append(place.get(decision.start, decision.start))
    return entries, nodes, list(sums)


def _known(condition: Condition) -> bool | None:
    return condition.value if isinstance(condition, Constant) else None


def _integers(numbers: list[int]) -> Integers:
    return np.array(numbers, dtype=np.int64)


@machine_code
def _loop(table: _Table, counters: Integers, progress: Integers, limit: int, given: Integers) -> int:
    """Make steps up to the limit; stop before a step that is impossible or differs from the given one.

    Returns the reason for stopping. Updates the counters and the progress (state and number of steps) in place.
    """
    # Loaded once, because attribute access within the loop is slow.
    first, otherwise, entry, target = table.first, table.otherwise, table.entry, table.target
    first_update, update_counter, update_change = table.first_update, table.update_counter, table.update_change
    which, low, high, on_yes, on_no = table.nodes
    first_term, term_counter, term_factor = table.first_term, table.term_counter, table.term_factor
    state, steps = progress
    before = steps
    outcome = CHUNK_DONE
    while steps < limit and outcome == CHUNK_DONE:
        chosen = -1
        for transition in range(first[state], first[state + 1]):
            node = entry[transition]
            while node >= 0:
                value = 0
                for term in range(first_term[which[node]], first_term[which[node] + 1]):
                    value += term_factor[term] * counters[term_counter[term]]
                node = on_yes[node] if low[node] <= value <= high[node] else on_no[node]
            if node == TRUE:
                if chosen >= 0:
                    outcome = STOPPED
                chosen = transition
                if not table.look_at_all:
                    break
        if chosen < 0:
            chosen = otherwise[state]
        if chosen < 0 or outcome == STOPPED or (len(given) > 0 and given[steps - before] != chosen):
            outcome = STOPPED
            break
        start, end = first_update[chosen], first_update[chosen + 1]
        for update in range(start, end):
            if counters[update_counter[update]] + update_change[update] < 0:
                outcome = STOPPED
        if outcome == CHUNK_DONE:
            for update in range(start, end):
                counters[update_counter[update]] += update_change[update]
                if counters[update_counter[update]] > table.limit:
                    outcome = TOO_LARGE
            state = target[chosen]
            steps += 1
    progress[0], progress[1] = state, steps
    return outcome
