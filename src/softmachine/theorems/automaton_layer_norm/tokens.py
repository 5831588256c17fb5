"""One-way read-only Turing machines as finite automata, and the codec of the theorem."""

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
    """The finite automaton of a Turing machine that reads every symbol once, from left to right, and never writes.

    A machine that halts before the end of the word has decided: two absorbing states stand for the verdicts.

    Raises:
        ConstructionError: If the machine is not of this form.
    """

    machine: TuringMachine

    def __post_init__(self) -> None:
        machine = self.machine
        if machine.tapes != 1 or not machine.accept:
            raise _not_an_automaton(machine, "it has several tapes or no accepting state")
        for rule in machine.rules:
            if rule.read != rule.write:
                raise _not_an_automaton(machine, f"the rule {rule} writes")
            continues = rule.next not in machine.final
            if continues and rule.read == (machine.blank,):
                raise _not_an_automaton(machine, f"the rule {rule} continues after the end of the word")
            if continues and rule.move != ("R",):
                raise _not_an_automaton(machine, f"the rule {rule} does not move right")

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The non-final states of the machine, and one absorbing state per verdict."""
        return (*(state for state in self.machine.states if state not in self.machine.final), ACCEPTS, REJECTS)

    @property
    def start(self) -> int:
        """The index of the start state."""
        return self.states.index(self._standing(self.machine.start))

    def after(self, letter: str) -> tuple[int, ...]:
        """For each state, the index of its successor on a symbol."""
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


def _not_an_automaton(machine: TuringMachine, why: str) -> ConstructionError:
    return ConstructionError(
        f"{machine.name!r} is not a finite automaton: {why}",
        hint="this theorem applies to machines that read every symbol once, move right, and decide at the first blank",
    )


@dataclass(frozen=True)
class AutomatonCodec(StartedCodec[TuringMachine]):
    """Codec with prompt "start token, word"; the output at each position is whether the prefix is accepted.

    Raises:
        ConstructionError: If the machine is not a finite automaton.
    """

    def __post_init__(self) -> None:
        _ = self.automaton

    @cached_property
    def automaton(self) -> Automaton:
        """The automaton."""
        return Automaton(self.source)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The verdict on every prefix of the word, the empty one first."""
        del max_steps
        letters = self.source.word(word)
        for count in range(len(letters) + 1):
            yield str(self.automaton.accepts(letters[:count])).lower()
