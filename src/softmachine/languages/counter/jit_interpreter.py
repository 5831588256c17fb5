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

from softmachine.languages.counter.condition import Condition, find_comparisons
from softmachine.languages.counter.machine import CounterMachine, Transition
from softmachine.languages.decision_dag import IntervalTest, SumComparison, build_decision_dag
from softmachine.languages.temporal.formula import BooleanConstant, Formula
from softmachine.support.jit import jit_compile

if TYPE_CHECKING:
    from softmachine.languages.counter.interpreter import Configuration

CHUNK_STEPS = 1 << 22
"""Steps per compiled call; Ctrl-C is handled between calls."""
VERIFY_CHUNK_STEPS = 1 << 20
"""Given steps verified per compiled call."""
MAX_ABS_SUM = 1 << 62
"""Largest absolute value of a sum."""

STOPPED, CHUNK_DONE, TOO_LARGE = 0, 1, 2
FALSE, TRUE = -1, -2

IntArray = NDArray[np.int64]
Terms: TypeAlias = tuple[tuple[int, str], ...]


def advance(
    machine: CounterMachine, configuration: Configuration, max_steps: int, expected_transitions: IntArray | None = None
) -> None:
    """Advance the configuration in place until the reference interpreter must take over or ``max_steps`` is reached.

    If ``expected_transitions`` holds transitions (by :func:`transition_indices`), it also stops before a step that
    differs from the given one.
    """
    limit = _max_counter_value(machine)
    if limit < 1 or any(value > limit for value in configuration.counters.values()):
        return
    states = {state: number for number, state in enumerate(machine.states)}
    table = _build_table(machine, states, limit)
    counters = np.array([configuration.counters[name] for name in machine.counters], dtype=np.int64)
    progress = np.array([states[configuration.state], configuration.steps], dtype=np.int64)
    outcome, unconstrained = CHUNK_DONE, _int_array([])
    while outcome == CHUNK_DONE and progress[1] < max_steps:
        expected = (
            unconstrained
            if expected_transitions is None
            else expected_transitions[int(progress[1]) - configuration.steps :]
        )
        outcome = _run_loop(table, counters, progress, min(max_steps, int(progress[1]) + CHUNK_STEPS), expected)
    configuration.state = machine.states[progress[0]]
    configuration.steps = int(progress[1])
    configuration.counters = dict(zip(machine.counters, counters.tolist(), strict=True))


def transition_indices(machine: CounterMachine, transitions: Sequence[Transition]) -> IntArray:
    """The indices of transitions in the compiled loop."""
    numbers = {transition: number for number, transition in enumerate(_sort_transitions(machine))}
    return _int_array([numbers[transition] for transition in transitions])


def _max_counter_value(machine: CounterMachine) -> int:
    """The largest counter value from which a step cannot overflow 64-bit integers."""
    change = max((abs(change) for one in machine.transitions for _, change in one.updates), default=0)
    limit = MAX_ABS_SUM - change
    for transition in machine.transitions:
        for comparison in find_comparisons(transition.test):
            difference = comparison.difference
            weight = sum(abs(coefficient) for coefficient, _ in difference.terms)
            limit = min(limit, (MAX_ABS_SUM - abs(difference.constant) - 1) // max(weight, 1))
    return limit


class _Table(NamedTuple):
    """A machine as arrays. The transitions are sorted by source state; ``else`` transitions are stored separately."""

    first_transition: IntArray
    """[state] -> its first transition, with a sentinel."""
    else_transition: IntArray
    """[state] -> its ``else`` transition, or -1."""
    test_root: IntArray
    """[transition] -> the root of its test: a node, TRUE or FALSE."""
    target: IntArray
    """[transition] -> state."""
    first_update: IntArray
    update_counter: IntArray
    update_change: IntArray
    """[transition] -> its first update, with a sentinel."""
    nodes: IntArray
    """[…, node] -> a sum, the interval, and the successors inside and outside it: a node, TRUE or FALSE."""
    first_term: IntArray
    term_counter: IntArray
    term_factor: IntArray
    """[sum] -> its first term, with a sentinel; the sum is Σ factor · counter."""
    limit: int
    must_check_all: bool
    """Whether all tests must be evaluated because the machine is not proven deterministic."""


def _sort_transitions(machine: CounterMachine) -> list[Transition]:
    """The transitions sorted by source state, ``else`` transitions last."""
    tested = [one for state in machine.states for one in machine.transitions_from(state) if one.test is not None]
    return [*tested, *(one for one in machine.transitions if one.test is None)]


def _build_table(machine: CounterMachine, states: dict[str, int], limit: int) -> _Table:
    counters = {name: number for number, name in enumerate(machine.counters)}
    ordered = _sort_transitions(machine)
    first, otherwise = [0], [-1] * len(states)
    for state in machine.states:
        first.append(first[-1] + sum(one.test is not None for one in machine.transitions_from(state)))
    for number, transition in enumerate(ordered):
        if transition.test is None:
            otherwise[states[transition.source]] = number
    entry, nodes, sums = _compile_tests([one.test for one in ordered if one.test is not None])
    updates = [update for transition in ordered for update in transition.updates]
    return _Table(
        first_transition=_int_array(first),
        else_transition=_int_array(otherwise),
        test_root=_int_array(entry),
        target=_int_array([states[transition.target] for transition in ordered]),
        first_update=_int_array([0, *accumulate(len(transition.updates) for transition in ordered)]),
        update_counter=_int_array([counters[name] for name, _ in updates]),
        update_change=_int_array([change for _, change in updates]),
        nodes=np.ascontiguousarray(np.array(nodes, dtype=np.int64).reshape(-1, 5).T),
        first_term=_int_array([0, *accumulate(len(terms) for terms in sums)]),
        term_counter=_int_array([counters[name] for terms in sums for _, name in terms]),
        term_factor=_int_array([factor for terms in sums for factor, _ in terms]),
        limit=limit,
        must_check_all=not machine.determinism.is_proven,
    )


def _compile_tests(conditions: list[Condition]) -> tuple[list[int], list[IntervalTest], list[Terms]]:
    """The root of each condition, the nodes of all tests, and the sums in them."""
    entries: list[int] = []
    nodes: list[IntervalTest] = []
    sums: dict[Terms, int] = {}
    for condition in conditions:
        compared: dict[Formula, SumComparison] = {}
        for each in find_comparisons(condition):
            difference = each.difference
            compared[each] = sums.setdefault(difference.terms, len(sums)), each.relation, -difference.constant
        decision = build_decision_dag([(condition, 1)], 0, _constant_value, compared)
        place = {label: number for number, label in enumerate(decision.tests, start=len(nodes))}
        for which, low, high, yes, no in decision.tests.values():
            interval = max(low, -MAX_ABS_SUM), min(high, MAX_ABS_SUM)
            nodes.append((which, *interval, place.get(yes, yes), place.get(no, no)))
        entries.append(place.get(decision.start, decision.start))
    return entries, nodes, list(sums)


def _constant_value(condition: Condition) -> bool | None:
    return condition.value if isinstance(condition, BooleanConstant) else None


def _int_array(numbers: list[int]) -> IntArray:
    return np.array(numbers, dtype=np.int64)


@jit_compile
def _run_loop(table: _Table, counters: IntArray, progress: IntArray, limit: int, expected: IntArray) -> int:
    """Make steps up to the limit; stop before a step that is impossible or differs from the given one.

    Returns the reason for stopping. Updates the counters and the progress (state and number of steps) in place.
    """
    # Loaded once, because attribute access within the loop is slow.
    first, otherwise, entry, target = table.first_transition, table.else_transition, table.test_root, table.target
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
                if not table.must_check_all:
                    break
        if chosen < 0:
            chosen = otherwise[state]
        if chosen < 0 or outcome == STOPPED or (len(expected) > 0 and expected[steps - before] != chosen):
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
