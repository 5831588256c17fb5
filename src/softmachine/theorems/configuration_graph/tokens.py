"""Codec of read-only Turing machines: the configurations, and the word followed by blanks and padding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.languages.turing import MOVES, Tape, TuringMachine, execute
from softmachine.support.errors import ConstructionError, OutgrownError
from softmachine.theorems.codec import AnsweringCodec, Interface, Outcome, Prompt, S_co, Word
from softmachine.theorems.connectivity.theorem import positions
from softmachine.theorems.shared.special_tokens import PAD
from softmachine.theorems.shared.turing_tokens import OfMachine

Configuration = tuple[str, int]
"""A state and a cell."""


@dataclass(frozen=True)
class Configurations:
    """The configuration graph of a read-only machine on words of length at most n."""

    machine: TuringMachine
    length: int

    def __post_init__(self) -> None:
        machine = self.machine
        writing = next((rule for rule in machine.rules if rule.read != rule.write), None)
        if machine.tapes != 1 or writing is not None or not machine.accept:
            why = f"the rule {writing} writes" if writing else "it has several tapes or no accepting state"
            raise ConstructionError(
                f"{machine.name!r} is not a read-only machine: {why}",
                hint="turing-configuration-graph takes one-tape machines with an accepting state that write what they "
                "read",
            )
        leaving = next((place for place in self._reached() if not -1 <= place[1] <= self.length), None)
        if leaving is not None:
            raise ConstructionError(
                f"{machine.name!r} may move more than one cell beyond its input: cell {leaving[1]} in {leaving[0]!r}",
                hint="turing-configuration-graph takes machines that turn back at the blank next to the input",
            )

    @property
    def name(self) -> str:
        """The name of the machine."""
        return self.machine.name

    @property
    def letters(self) -> tuple[str, ...]:
        """The symbols of cells, including the blank because words may be shorter than n."""
        return (*self.machine.alphabet, self.machine.blank)

    @cached_property
    def all(self) -> tuple[Configuration, ...]:
        """The configurations with nonfinal states."""
        states = [state for state in self.machine.states if state not in self.machine.final]
        return tuple((state, cell) for state in states for cell in range(-1, self.length + 1))

    @property
    def vertices(self) -> int:
        """The number of configurations, and one for acceptance."""
        return len(self.all) + 1

    @property
    def answer_position(self) -> int:
        """The position of the answer: that of the pair of the initial configuration and acceptance."""
        accepts = self.machine.start in self.machine.accept
        start = self.vertices - 1 if accepts else self.number((self.machine.start, 0))
        return self.length + start * self.vertices + self.vertices - 1

    def number(self, configuration: Configuration) -> int:
        """Return the index of a configuration."""
        return self.all.index(configuration)

    def symbols(self, cell: int) -> tuple[str, ...]:
        """Return the possible symbols of a cell."""
        return self.letters if 0 <= cell < self.length else (self.machine.blank,)

    def next(self, configuration: Configuration, symbol: str) -> Configuration | None:
        """Return the successor of a configuration on a symbol, or None; final states are normalised to cell 0."""
        state, cell = configuration
        rule = self.machine.rule(state, (symbol,))
        if rule is None:
            return None
        after = cell + MOVES[rule.move[0]]
        if after < 0 and self.machine.tape is Tape.ERROR:
            return None
        if rule.next in self.machine.final or (after < 0 and self.machine.tape is Tape.STAY):
            return rule.next, 0
        return rule.next, after

    def edges(self) -> Iterator[tuple[int, int, int, str]]:
        """Yield (from, to, cell, symbol): the step requires the symbol in the cell."""
        for origin, configuration in enumerate(self.all):
            for symbol in self.symbols(configuration[1]):
                after = self.next(configuration, symbol)
                if after is not None and after[0] in self.machine.accept:
                    yield origin, self.vertices - 1, configuration[1], symbol
                elif after in self.all:  # Others are unreachable.
                    yield origin, self.number(after), configuration[1], symbol

    def _reached(self) -> list[Configuration]:
        """Return the configurations that are reachable if symbols may change between steps: an overapproximation."""
        found = [(self.machine.start, 0)]
        for place in found:
            if place[0] in self.machine.final or not -1 <= place[1] <= self.length:
                continue
            for symbol in self.symbols(place[1]):
                after = self.next(place, symbol)
                if after is not None and after not in found:
                    found.append(after)
        return found


class AcceptanceCodec(AnsweringCodec[S_co]):
    """Codec of an encoder that outputs at one position whether a machine accepts."""

    @property
    @abstractmethod
    def answer_position(self) -> int:
        """The position of the answer."""

    @abstractmethod
    def accepts(self, word: Word) -> bool:
        """Whether the reference interpreter accepts the word."""

    def interface(self) -> Interface:
        at = self.answer_position
        return Interface(
            symbols=self.alphabet,
            meaning="At one position it is whether the machine accepts; elsewhere it is undefined.",
            outputs=(("accepts", at),),
            verdict=at,
        )

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """Yield the verdict at the position of the answer; None elsewhere."""
        answer = "true" if self.accepts(word) else "false"
        for position in range(len(self.prompt(word).tokens)):
            yield answer if position == self.answer_position else None

    def outcome(self, word: Word, said: Sequence[str]) -> Outcome:
        """Accepted if an accepting configuration is reachable."""
        accepted = said[self.answer_position] == "true"
        return Outcome(verdict="accept" if accepted else "reject", word=self.source.word(word))


@dataclass(frozen=True)
class ConfigurationCodec(OfMachine, AcceptanceCodec[TuringMachine]):
    """The word, blanks up to length n, then padding; the answer at one position is whether the machine accepts."""

    length: int = 0

    @cached_property
    def configurations(self) -> Configurations:
        """The configurations on words of this length."""
        return Configurations(self.machine, self.length)

    def prompt(self, word: Word) -> Prompt:
        """The word, blanks and padding.

        Raises:
            OutgrownError: If the word is longer than the length that the weights are for.
        """
        symbols = self.machine.word(word)
        if len(symbols) > self.length:
            raise OutgrownError(
                f"the word has {len(symbols)} symbols, but these weights are for at most {self.length}",
                context=len(symbols),
            )
        blanks = [self.machine.blank] * (self.length - len(symbols))
        padding = [PAD] * positions(self.configurations.vertices)
        return Prompt((*symbols, *blanks, *padding), self.length)

    @property
    def answer_position(self) -> int:
        return self.configurations.answer_position

    def accepts(self, word: Word) -> bool:
        # A read-only machine that makes more steps than it has configurations never halts.
        return execute(self.machine, self.machine.word(word), max_steps=self.configurations.vertices).accepted
