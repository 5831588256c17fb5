"""Deterministic counter machines as immutable, validated data; their text, and HTML tables for notebooks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from softmachine.languages.counter.condition import MAX_DEPTH, TOO_DEEP_MESSAGE, Condition, find_counters, format_name
from softmachine.languages.counter.determinism import DeterminismResult, check_determinism, find_always_negative
from softmachine.languages.linear import MAX_NUMBER
from softmachine.languages.source import WordSource, find_name_problems, find_repetitions, is_symbol
from softmachine.languages.temporal.formula import TRUE, Not
from softmachine.languages.temporal.structure import disjunction
from softmachine.languages.text.diagnostics import MAX_REPORTED
from softmachine.languages.text.statements import quote
from softmachine.support.errors import InvalidError, SourceLocation
from softmachine.support.notebook_html import html_table


class Verdict(StrEnum):
    """How a run ended."""

    ACCEPT = "accept"
    REJECT = "reject"


@dataclass(frozen=True)
class Transition:
    """In state ``source``, if the test holds: update the counters and go to state ``target``.

    Args:
        source: The source state.
        test: The condition on the counters; None for ``else``: no other transition of the state applies.
        updates: Pairs of a counter and its change, every counter at most once.
        target: The target state.
        place: Place in the source text.
    """

    source: str
    test: Condition | None
    updates: tuple[tuple[str, int], ...]
    target: str
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return format_transition(self)


@dataclass(frozen=True, kw_only=True)
class CounterMachine(WordSource):
    """A deterministic counter machine: finitely many states, and counters that hold natural numbers.

    Every letter of the alphabet is a counter that starts with the number of its occurrences in the input, so the
    machine depends only on these numbers; with ``order`` a word must have the shape a₁* a₂* … aₘ* (letter-bounded),
    otherwise it is rejected before the first step. A step takes the one transition of the current state whose test
    holds. A run ends in an accepting or a rejecting state.

    A run must not get stuck (no test holds), have a choice (two tests hold), or make a counter negative: the
    interpreter raises an error. Violations that can be proven statically are reported on construction: overlapping
    tests, with values of the counters for which both hold, and transitions that make a counter negative whenever they
    apply. All problems of a definition are reported at once.

    Args:
        name: Name of the machine.
        alphabet: The input alphabet.
        work_counters: Additional counters, which start at 0.
        has_ordered_letters: Whether the letters of inputs must be in the order of the alphabet.
        start: The initial state.
        accept: The accepting states.
        reject: The rejecting states.
        transitions: The transitions.
    """

    language: ClassVar[str] = "counter"
    default_input: ClassVar[tuple[str, ...]] = ()
    name: str
    alphabet: tuple[str, ...]
    work_counters: tuple[str, ...] = ()
    has_ordered_letters: bool = False
    start: str
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    transitions: tuple[Transition, ...]
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = find_name_problems((self.name, *self.counters, *self.states)) or find_problems(self)
        if problems:
            raise InvalidError(f"counter machine {self.name!r}", problems, place=self.place)

    @property
    def counters(self) -> tuple[str, ...]:
        """All counters: the letters first."""
        return self.alphabet + self.work_counters

    @cached_property
    def states(self) -> tuple[str, ...]:
        """All states in the order of occurrence, accepting and rejecting states last."""
        named = (self.start, *(state for one in self.transitions for state in (one.source, one.target)))
        going = (state for state in named if state not in self._verdict_by_state)
        return tuple(dict.fromkeys((*going, *self.accept, *self.reject)))

    @cached_property
    def _verdict_by_state(self) -> frozenset[str]:
        return frozenset(self.accept + self.reject)

    @cached_property
    def _transitions_by_source(self) -> dict[str, tuple[Transition, ...]]:
        leaving: dict[str, list[Transition]] = {}
        for transition in self.transitions:
            leaving.setdefault(transition.source, []).append(transition)
        return {state: tuple(found) for state, found in leaving.items()}

    def transitions_from(self, state: str) -> tuple[Transition, ...]:
        """The transitions that leave a state."""
        return self._transitions_by_source.get(state, ())

    def guard(self, transition: Transition) -> Condition:
        """The test of a transition, with ``else`` expanded: none of the other tests of its state holds."""
        if transition.test is not None:
            return transition.test
        others = tuple(other.test for other in self.transitions_from(transition.source) if other.test is not None)
        return Not(disjunction(others)) if others else TRUE

    @cached_property
    def determinism(self) -> DeterminismResult:
        """The result of the determinism analysis."""
        return check_determinism(self)

    def verdict(self, state: str) -> Verdict | None:
        """The verdict of a halting state; None for other states."""
        if state in self.accept:
            return Verdict.ACCEPT
        return Verdict.REJECT if state in self.reject else None

    def has_shape(self, word: Iterable[str]) -> bool:
        """Whether a word has the required shape: with ``order``, a₁* a₂* … aₘ*."""
        places = [self.alphabet.index(letter) for letter in word]
        return not self.has_ordered_letters or all(one <= two for one, two in pairwise(places))

    def initial_counters(self, word: str | Iterable[str]) -> dict[str, int]:
        """The initial values of the counters on an input.

        Raises:
            InputError: If a letter is not in the alphabet.
        """
        counted: Mapping[str, int] = Counter(self.word(word))
        return {name: counted.get(name, 0) for name in self.counters}

    def __str__(self) -> str:
        order = ", letters in order" if self.has_ordered_letters else ""
        return (
            f"counter machine {self.name}: {len(self.states)} states, {len(self.counters)} counters, "
            f"{len(self.transitions)} transitions{order}"
        )

    def _repr_html_(self) -> str:
        return machine_table(self)


_PLAIN_LETTER = re.compile(r"[^\s'\"#:][^\s]*")


def to_text(machine: CounterMachine) -> str:
    """Format a machine. `parse` is the inverse."""
    lines = [f"machine {_format_word(machine.name)}", _format_header("input", machine.alphabet)]
    lines += ["order"] if machine.has_ordered_letters else []
    lines += [_format_header("counters", machine.work_counters)] if machine.work_counters else []
    lines.append(_format_header("start", (machine.start,)))
    for keyword, states in (("accept", machine.accept), ("reject", machine.reject)):
        lines += [_format_header(keyword, states)] if states else []
    return "\n".join([*lines, "", *(format_transition(one) for one in machine.transitions)]) + "\n"


def format_transition(transition: Transition) -> str:
    """Format a transition as a line."""
    changes = _format_changes(transition)
    end = f": {changes}" if changes else ""
    return f"{format_name(transition.source)}: {_format_test(transition)} -> {format_name(transition.target)}{end}"


def _format_test(transition: Transition) -> str:
    return "else" if transition.test is None else str(transition.test)


def _format_changes(transition: Transition, minus: str = "-") -> str:
    return ", ".join(
        f"{format_name(name)} {minus if change < 0 else '+'}= {abs(change)}" for name, change in transition.updates
    )


def _format_header(keyword: str, names: Iterable[str]) -> str:
    return " ".join([keyword, *(_format_word(name) for name in names)])


def _format_word(name: str) -> str:
    return name if _PLAIN_LETTER.fullmatch(name) and name.isprintable() else quote(name)


def machine_table(machine: CounterMachine) -> str:
    """HTML table of the transitions: state, test, changes, next state."""
    rows = [
        (
            _format_state(machine, transition.source),
            _format_test(transition),
            _format_changes(transition, minus="−"),
            _format_state(machine, transition.target),
        )
        for transition in machine.transitions
    ]
    return html_table(rows, str(machine), head=("state", "test", "changes", "next state"))


def _format_state(machine: CounterMachine, state: str) -> str:
    """A state, with its role in parentheses if it is initial or halting."""
    verdict = machine.verdict(state)
    marks = [*(["start"] if state == machine.start else []), *([str(verdict)] if verdict else [])]
    return f"{state} ({', '.join(marks)})" if marks else state


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
    yield from find_repetitions(
        machine.counters, "counter {!r} is listed {} times; letters are counters, too, so rename it"
    )
    if "" in machine.counters:
        yield "a counter or letter has an empty name"
    for letter in machine.alphabet:
        if letter and not is_symbol(letter):
            yield f"letter {letter!r} contains whitespace"


def _state_problems(machine: CounterMachine) -> Iterator[str]:
    for kind, states in (("accept", machine.accept), ("reject", machine.reject)):
        yield from find_repetitions(states, f"state {{!r}} is listed {{}} times in {kind!r}")
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
    for problem in find_repetitions((name for name, _ in transition.updates), "changes counter {!r} {} times"):
        yield f"{describe_transition(transition)} {problem}; combine the changes"
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
