"""Turing machines that are finite automata, and how words are put to a transformer that runs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from softmachine.languages.turing import TuringMachine
from softmachine.support.errors import ConstructionError
from softmachine.theorems.codec import Word
from softmachine.theorems.shared.recogniser import StartedCodec

ACCEPTS, REJECTS = "accept", "reject"


@dataclass(frozen=True)
class Automaton:
    """The finite automaton that a machine is which reads every letter once, from left to right.

    A machine that stops before the end of the word has decided: two states more, from which nothing leads away.
    """

    machine: TuringMachine

    def __post_init__(self) -> None:
        machine = self.machine
        if machine.tapes != 1 or not machine.accept:
            raise _refused(machine, "it has several tapes or no accepting state")
        for rule in machine.rules:
            if rule.read != rule.write:
                raise _refused(machine, f"the rule {rule} writes")
            goes_on = rule.next not in machine.final
            if goes_on and rule.read == (machine.blank,):
                raise _refused(machine, f"the rule {rule} goes on after the word")
            if goes_on and rule.move != ("R",):
                raise _refused(machine, f"the rule {rule} does not go right")

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The states in which it goes on, and two in which it has decided."""
        return (*(state for state in self.machine.states if state not in self.machine.final), ACCEPTS, REJECTS)

    @property
    def start(self) -> int:
        """The number of the first state."""
        return self.states.index(self._standing(self.machine.start))

    def after(self, letter: str) -> tuple[int, ...]:
        """For each state the number of the state after a letter."""
        return tuple(self._next(state, letter) for state in range(len(self.states)))

    @cached_property
    def accepting(self) -> tuple[bool, ...]:
        """For each state, whether a word that ends there is accepted."""
        last = (self._next(state, self.machine.blank) for state in range(len(self.states)))
        return tuple(self.states[state] == ACCEPTS for state in last)

    def accepts(self, word: Word) -> bool:
        """Whether a word is accepted."""
        state = self.start
        for letter in word:
            state = self._next(state, letter)
        return self.accepting[state]

    def _next(self, state: int, symbol: str) -> int:
        if state >= len(self.states) - 2:
            return state
        rule = self.machine.rule(self.states[state], (symbol,))
        return self.states.index(REJECTS if rule is None else self._standing(rule.next))

    def _standing(self, state: str) -> str:
        if state in self.machine.accept:
            return ACCEPTS
        return REJECTS if state in self.machine.reject else state


def _refused(machine: TuringMachine, why: str) -> ConstructionError:
    return ConstructionError(
        f"{machine.name!r} is no finite automaton: {why}",
        hint="this theorem is for machines that read every letter once, going right, and decide at the blank",
    )


@dataclass(frozen=True)
class AutomatonCodec(StartedCodec[TuringMachine]):
    """A start token, then the word; at every position whether the word up to there is accepted.

    Raises:
        ConstructionError: If the machine is no finite automaton.
    """

    def __post_init__(self) -> None:
        _ = self.automaton

    @cached_property
    def automaton(self) -> Automaton:
        """The automaton."""
        return Automaton(self.source)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """What the machine says of all that a word begins with."""
        del max_steps
        letters = self.source.word(word)
        for count in range(len(letters) + 1):
            yield str(self.automaton.accepts(letters[:count])).lower()
