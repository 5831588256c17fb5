"""Deterministic counter machines as immutable, validated data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from softmachine.languages.counter.condition import Condition
from softmachine.languages.counter.determinism import DeterminismResult, check_determinism
from softmachine.languages.counter.printer import format_transition, machine_table
from softmachine.languages.counter.validation import find_problems
from softmachine.languages.source import WordSource, find_name_problems
from softmachine.languages.temporal.formula import TRUE, Not
from softmachine.languages.temporal.structure import disjunction
from softmachine.support.errors import InvalidError, SourceLocation


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
