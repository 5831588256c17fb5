"""Validation of counter machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from softmachine.languages.counter.condition import MAX_DEPTH, TOO_DEEP_MESSAGE, find_counters
from softmachine.languages.counter.determinism import find_always_negative
from softmachine.languages.linear import MAX_NUMBER
from softmachine.languages.source import is_symbol
from softmachine.languages.text.diagnostics import MAX_REPORTED

if TYPE_CHECKING:
    from softmachine.languages.counter.machine import CounterMachine, Transition


def find_problems(machine: CounterMachine) -> list[str]:
    """All problems of a machine, one sentence each."""
    problems = [*_find_name_problems(machine), *_state_problems(machine)]
    for transition in machine.transitions:
        problems += _transition_problems(machine, transition)
    if not problems:  # the analysis requires well-formed transitions
        problems += [*_find_overlaps(machine), *_find_negative(machine)]
    more = len(problems) - MAX_REPORTED
    return problems if more <= 0 else [*problems[:MAX_REPORTED], f"… and {more:,} more"]


def _find_name_problems(machine: CounterMachine) -> Iterator[str]:
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
        yield f"the initial state {machine.start!r} does not exist: {_NO_STATE_MESSAGE}"
    for transition in machine.transitions:
        if transition.target not in known:
            target = f"state {transition.target!r}, which does not exist"
            yield f"{describe_transition(transition)} goes to {target}: {_NO_STATE_MESSAGE}"


_NO_STATE_MESSAGE = "no transition leaves it, and it neither accepts nor rejects"


def _transition_problems(machine: CounterMachine, transition: Transition) -> Iterator[str]:
    if transition.source in (*machine.accept, *machine.reject):
        yield f"{describe_transition(transition)} leaves a halting state; remove it"
    if transition.test is not None and transition.test.depth > MAX_DEPTH:
        yield f"the test of {describe_transition(transition)}: {TOO_DEEP_MESSAGE}"
    known = set(machine.counters)
    for name in dict.fromkeys((*find_counters(transition.test), *(name for name, _ in transition.updates))):
        if name not in known:
            counters = " ".join(machine.counters) or "none"
            used = f"counter {name!r}, which does not exist"
            yield f"{describe_transition(transition)} uses {used} (there are {counters})"
    for name, times in Counter(name for name, _ in transition.updates).items():
        if times > 1:
            yield f"{describe_transition(transition)} changes counter {name!r} {times} times; combine the changes"
    if any(abs(change) > MAX_NUMBER for _, change in transition.updates):
        yield f"{describe_transition(transition)} changes a counter by more than {MAX_NUMBER:,}"
    if transition.test is None and next(
        one for one in machine.transitions_from(transition.source) if one.test is None
    ) is not (transition):
        yield f"{describe_transition(transition)} is a second 'else' of state {transition.source!r}; keep one"


def _find_overlaps(machine: CounterMachine) -> Iterator[str]:
    for one, two, witness in machine.determinism.overlaps:
        values = ", ".join(f"{name} = {value:,}" for name, value in witness.items())
        when = f"both apply when {values}" if values else "both apply"
        both = f"{describe_transition(one)} and {describe_transition(two)}"
        yield f"it is not deterministic: {both} {when}; make one test exclude the other"


def _find_negative(machine: CounterMachine) -> Iterator[str]:
    for transition, name in find_always_negative(machine):
        problem = f"makes counter {name!r} negative whenever it applies"
        yield f"{describe_transition(transition)} {problem}; require more in its test"


def describe_transition(transition: Transition) -> str:
    """Describe a transition with its place, for a message."""
    return f"transition {str(transition)!r}" + (f" ({transition.place})" if transition.place else "")
