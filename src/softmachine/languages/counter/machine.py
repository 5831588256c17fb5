"""Deterministic counter machines, as immutable, validated data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from softmachine.languages.counter.condition import Condition
from softmachine.languages.counter.determinism import Determinism, determinism
from softmachine.languages.counter.printing import machine_table, transition_text
from softmachine.languages.counter.validation import problems_of
from softmachine.languages.source import OfWords, name_problems
from softmachine.languages.temporal.formula import TRUE, Not
from softmachine.languages.temporal.structure import disjunction
from softmachine.support.errors import InvalidError, Place


class Verdict(StrEnum):
    """How a run ended."""

    ACCEPT = "accept"
    REJECT = "reject"


@dataclass(frozen=True)
class Transition:
    """In state ``source``, if the test holds: change the counters, go to state ``target``.

    Args:
        source: The state it leaves.
        test: What the counters must satisfy; None for ``else``: no other transition of the state applies.
        updates: Pairs of a counter and what is added to it, every counter at most once.
        target: The state it goes to.
        place: Where it was written.
    """

    source: str
    test: Condition | None
    updates: tuple[tuple[str, int], ...]
    target: str
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return transition_text(self)


@dataclass(frozen=True, kw_only=True)
class CounterMachine(OfWords):
    """A deterministic counter machine: finitely many states, and counters that hold natural numbers.

    Every letter of the alphabet is a counter that starts with the number of times the letter occurs in the input, so
    the machine sees of a word only how often each letter is in it; with ``order`` a word must have the shape
    a₁* a₂* … aₘ* (letter-bounded), or else it is rejected before the first step. A step takes the one transition of
    the present state whose test holds. A run ends in an accepting or a rejecting state.

    A run may neither get stuck (no test holds), nor have a choice (two tests hold), nor take a counter below 0: the
    interpreter stops with an error there. What can be shown of this beforehand is reported when the machine is made:
    two tests that overlap, with values of the counters for which they do, and transitions that take a counter below 0
    whenever they apply. All problems of a definition are reported at once.

    Args:
        name: What people call it.
        alphabet: The letters an input may have.
        work_counters: More counters, which start at 0.
        order: Whether inputs must have their letters in the order of the alphabet.
        start: The state a run starts in.
        accept: States that accept.
        reject: States that reject.
        transitions: What leads from state to state.
    """

    language: ClassVar[str] = "counter"
    default_input: ClassVar[tuple[str, ...]] = ()
    name: str
    alphabet: tuple[str, ...]
    work_counters: tuple[str, ...] = ()
    order: bool = False
    start: str
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    transitions: tuple[Transition, ...]
    place: Place | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        problems = name_problems((self.name, *self.counters, *self.states)) or problems_of(self)
        if problems:
            raise InvalidError(f"counter machine {self.name!r}", problems, place=self.place)

    @property
    def counters(self) -> tuple[str, ...]:
        """All counters: the letters first."""
        return self.alphabet + self.work_counters

    @cached_property
    def states(self) -> tuple[str, ...]:
        """All states, in the order in which they occur; those that accept or reject are last."""
        named = (self.start, *(state for one in self.transitions for state in (one.source, one.target)))
        going = (state for state in named if state not in self._halting)
        return tuple(dict.fromkeys((*going, *self.accept, *self.reject)))

    @cached_property
    def _halting(self) -> frozenset[str]:
        return frozenset(self.accept + self.reject)

    @cached_property
    def _leaving(self) -> dict[str, tuple[Transition, ...]]:
        leaving: dict[str, list[Transition]] = {}
        for transition in self.transitions:
            leaving.setdefault(transition.source, []).append(transition)
        return {state: tuple(found) for state, found in leaving.items()}

    def leaving(self, state: str) -> tuple[Transition, ...]:
        """The transitions that leave a state."""
        return self._leaving.get(state, ())

    def guard(self, transition: Transition) -> Condition:
        """The test of a transition, with ``else`` written out: none of the other tests of its state holds."""
        if transition.test is not None:
            return transition.test
        others = tuple(other.test for other in self.leaving(transition.source) if other.test is not None)
        return Not(disjunction(others)) if others else TRUE

    @cached_property
    def determinism(self) -> Determinism:
        """Whether it is proven that no two tests of a state hold together, and where they do."""
        return determinism(self)

    def verdict(self, state: str) -> Verdict | None:
        """What it means to be in this state; None if the run goes on."""
        if state in self.accept:
            return Verdict.ACCEPT
        return Verdict.REJECT if state in self.reject else None

    def has_shape(self, word: Iterable[str]) -> bool:
        """Whether a word has the shape that the machine asks for: with ``order``, a₁* a₂* … aₘ*."""
        places = [self.alphabet.index(letter) for letter in word]
        return not self.order or all(one <= two for one, two in pairwise(places))

    def initial(self, word: str | Iterable[str]) -> dict[str, int]:
        """The values of the counters at the start on an input.

        Raises:
            InputError: If a letter is not in the alphabet.
        """
        counted: Mapping[str, int] = Counter(self.word(word))
        return {name: counted.get(name, 0) for name in self.counters}

    def __str__(self) -> str:
        order = ", letters in order" if self.order else ""
        return (
            f"counter machine {self.name}: {len(self.states)} states, {len(self.counters)} counters, "
            f"{len(self.transitions)} transitions{order}"
        )

    def _repr_html_(self) -> str:
        return machine_table(self)
