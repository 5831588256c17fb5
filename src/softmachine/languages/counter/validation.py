"""Validation of counter machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from softmachine.languages.counter.condition import DEEPEST, TOO_DEEP, counters_in
from softmachine.languages.counter.determinism import always_negative
from softmachine.languages.linear import LARGEST_NUMBER
from softmachine.languages.source import is_symbol
from softmachine.languages.text.diagnostics import MOST_REPORTED

if TYPE_CHECKING:
    from softmachine.languages.counter.machine import CounterMachine, Transition


def problems_of(machine: CounterMachine) -> list[str]:
    """All problems of a machine, one sentence each."""
    problems = [*_name_problems(machine), *_state_problems(machine)]
    for transition in machine.transitions:
        problems += _transition_problems(machine, transition)
    if not problems:  # the analysis requires well-formed transitions
        problems += [*_overlaps(machine), *_negative(machine)]
    more = len(problems) - MOST_REPORTED
    return problems if more <= 0 else [*problems[:MOST_REPORTED], f"… and {more:,} more"]


def _name_problems(machine: CounterMachine) -> Iterator[str]:
    for name, times in Counter(machine.counters).items():
        if times > 1:
            yield f"counter {name!r} is listed {times} times; letters are counters, too, so rename it"
        if not name:
            yield "a counter or letter has an empty name"
    for letter in machine.alphabet:
        if letter and not is_symbol(letter):
            yield f"letter {letter!r} contains whitespace"


def _state_problems(machine: CounterMachine) -> Iterator[str]:
    for kind, states in (("accept", machine.accept), ("reject", machine.reject)):
        for state, times in Counter(states).items():
            if times > 1:
                yield f"state {state!r} is listed {times} times in {kind!r}"
    for state in machine.accept:
        if state in machine.reject:
            yield f"state {state!r} both accepts and rejects"
    known = {*machine.accept, *machine.reject, *(transition.source for transition in machine.transitions)}
    if machine.start not in known:
        yield f"the initial state {machine.start!r} does not exist: {_NO_STATE}"
    for transition in machine.transitions:
        if transition.target not in known:
            yield f"{where(transition)} goes to state {transition.target!r}, which does not exist: {_NO_STATE}"


_NO_STATE = "no transition leaves it, and it neither accepts nor rejects"


def _transition_problems(machine: CounterMachine, transition: Transition) -> Iterator[str]:
    if transition.source in (*machine.accept, *machine.reject):
        yield f"{where(transition)} leaves a halting state; remove it"
    if transition.test is not None and transition.test.depth > DEEPEST:
        yield f"the test of {where(transition)}: {TOO_DEEP}"
    known = set(machine.counters)
    for name in dict.fromkeys((*counters_in(transition.test), *(name for name, _ in transition.updates))):
        if name not in known:
            counters = " ".join(machine.counters) or "none"
            yield f"{where(transition)} uses counter {name!r}, which does not exist (there are {counters})"
    for name, times in Counter(name for name, _ in transition.updates).items():
        if times > 1:
            yield f"{where(transition)} changes counter {name!r} {times} times; combine the changes"
    if any(abs(change) > LARGEST_NUMBER for _, change in transition.updates):
        yield f"{where(transition)} changes a counter by more than {LARGEST_NUMBER:,}"
    if transition.test is None and next(one for one in machine.leaving(transition.source) if one.test is None) is not (
        transition
    ):
        yield f"{where(transition)} is a second 'else' of state {transition.source!r}; keep one"


def _overlaps(machine: CounterMachine) -> Iterator[str]:
    for one, two, witness in machine.determinism.overlaps:
        values = ", ".join(f"{name} = {value:,}" for name, value in witness.items())
        when = f"both apply when {values}" if values else "both apply"
        yield f"it is not deterministic: {where(one)} and {where(two)} {when}; make one test exclude the other"


def _negative(machine: CounterMachine) -> Iterator[str]:
    for transition, name in always_negative(machine):
        yield f"{where(transition)} makes counter {name!r} negative whenever it applies; require more in its test"


def where(transition: Transition) -> str:
    """Describe a transition with its place, for a message."""
    return f"transition {str(transition)!r}" + (f" ({transition.place})" if transition.place else "")
