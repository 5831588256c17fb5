"""The compiled loop for long runs: the same steps as the reference interpreter's, tens of millions a second.

Tests become decisions: a comparison is a node that leads to another one, or to true or false. Counters are
64-bit integers here. The loop makes no step from counters so large that a sum could leave their range; such steps are
left to the interpreter in Python, whose integers have no end. So is whatever ends a run, and every breach of the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.counter.condition import Condition, comparisons
from softmachine.languages.counter.machine import CounterMachine, Transition
from softmachine.languages.decisions import Compared, Test, decide
from softmachine.languages.temporal.formula import Constant, Formula
from softmachine.support.jit import machine_code

if TYPE_CHECKING:
    from softmachine.languages.counter.interpreter import Configuration

CHUNK = 1 << 22
"""So many steps at most are made before Python gets a chance to see that the user wants to stop."""
PIECE = 1 << 20
"""So many steps that are given are looked at together."""
LARGEST = 1 << 62
"""No sum may be larger."""

STOPPED, CHUNK_DONE, TOO_LARGE = 0, 1, 2
FALSE, TRUE = -1, -2

Integers = NDArray[np.int64]
Terms: TypeAlias = tuple[tuple[int, str], ...]


def advance(
    machine: CounterMachine, configuration: Configuration, max_steps: int, given: Integers | None = None
) -> None:
    """Go on, in place, until there is something for the interpreter to do or ``max_steps`` steps are made in all.

    If transitions are given, by :func:`numbers_of`, it also stops before a step that is not the given one.
    """
    limit = _largest_value(machine)
    if limit < 1 or any(value > limit for value in configuration.counters.values()):
        return
    states = {state: number for number, state in enumerate(machine.states)}
    table = _table(machine, states, limit)
    counters = np.array([configuration.counters[name] for name in machine.counters], dtype=np.int64)
    progress = np.array([states[configuration.state], configuration.steps], dtype=np.int64)
    outcome, anything = CHUNK_DONE, _integers([])
    while outcome == CHUNK_DONE and progress[1] < max_steps:
        wanted = anything if given is None else given[int(progress[1]) - configuration.steps :]
        outcome = _loop(table, counters, progress, min(max_steps, int(progress[1]) + CHUNK), wanted)
    configuration.state = machine.states[progress[0]]
    configuration.steps = int(progress[1])
    configuration.counters = dict(zip(machine.counters, counters.tolist(), strict=True))


def numbers_of(machine: CounterMachine, transitions: Sequence[Transition]) -> Integers:
    """The numbers that the loop has for transitions."""
    numbers = {transition: number for number, transition in enumerate(_ordered(machine))}
    return _integers([numbers[transition] for transition in transitions])


def _largest_value(machine: CounterMachine) -> int:
    """The largest value of counters from which a step is certain to stay in the range of 64-bit integers."""
    change = max((abs(change) for one in machine.transitions for _, change in one.updates), default=0)
    limit = LARGEST - change
    for transition in machine.transitions:
        for comparison in comparisons(transition.test):
            difference = comparison.difference
            weight = sum(abs(coefficient) for coefficient, _ in difference.terms)
            limit = min(limit, (LARGEST - abs(difference.constant) - 1) // max(weight, 1))
    return limit


class _Table(NamedTuple):
    """A machine in numbers. The transitions are sorted by the state that they leave; ``else`` is apart from them."""

    first: Integers
    """[state] -> its first transition; one more entry for the end."""
    otherwise: Integers
    """[state] -> its ``else``, or -1."""
    entry: Integers
    """[transition] -> the node where its test begins, TRUE or FALSE."""
    target: Integers
    """[transition] -> state."""
    first_update: Integers
    update_counter: Integers
    update_change: Integers
    """[transition] -> its first update; one more entry for the end."""
    nodes: Integers
    """[…, node] -> a sum, the lowest and the highest value for a yes, and upon yes and no: a node, TRUE or FALSE."""
    first_term: Integers
    term_counter: Integers
    term_factor: Integers
    """[sum] -> its first term; one more entry for the end: Σ factor · counter."""
    limit: int
    look_at_all: bool
    """Whether two tests may hold together: it is not proven that none do."""


def _ordered(machine: CounterMachine) -> list[Transition]:
    """The transitions, sorted by the state that they leave; those with ``else`` are last."""
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
    """Where each condition's test begins, the nodes of all tests, and the sums that they ask for."""
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
    """Make steps up to the limit; stop before a step that cannot be made, or is not the given one, and say so.

    Changes the counters and the progress: the state and the number of steps.
    """
    # Taken out of the table once: within the loop that takes time.
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
