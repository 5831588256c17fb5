"""The tokens of chapter 8 with summaries: one token a step, and now and then the whole configuration.

A run is ``INP`` word ``BOS q_start`` and one action a step. After an action at position 4P or later, where P is the
position of the prompt's end, comes a summary: ``SUMM``, a token for every column of cells in use from left to right,
and ``BOS q``. It is the prompt of the next segment. A column has the symbols of all tapes, and says of every head
whether it is further to the right, so that the number of such columns is where the head is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar

from softmachine.codec import Prompt, SegmentedCodec, Word
from softmachine.errors import ConstructionError
from softmachine.languages.turing import Action, Configuration, TuringMachine, Verdict, step
from softmachine.theorems.shared.turing_tokens import (
    MOST_TOKENS,
    VERDICTS,
    Given,
    OfMachine,
    TuringOutcome,
    action_text,
    fresh,
    outcome_of,
)

START, SUMMARY = "INP", "SUMM"


@dataclass(frozen=True)
class Start:
    """What stands at position 0, and where a summary begins."""

    summary: bool


@dataclass(frozen=True)
class Begin:
    """The end of a prompt: the run goes on in this state."""

    state: str


@dataclass(frozen=True)
class Column:
    """A cell of every tape: its symbols, and which heads are further to the right."""

    symbols: tuple[str, ...]
    before: tuple[bool, ...]


Meaning = Start | Begin | Column | Given | Action | Verdict


@dataclass(frozen=True)
class SummaryCodec(OfMachine, SegmentedCodec[TuringMachine]):
    """Prompts and runs of a machine, in the tokens of chapter 8 with summaries."""

    view: ClassVar[str] = "tape"
    announces: ClassVar[bool] = False

    def __post_init__(self) -> None:
        machine = self.machine
        if (2 * len(machine.symbols)) ** machine.tapes > MOST_TOKENS:
            raise ConstructionError(f"{machine.name!r} has too many tapes or symbols: every column is a token")

    @cached_property
    def meanings(self) -> dict[str, Meaning]:
        """All tokens, and what they mean."""
        machine = self.machine
        tokens: dict[str, Meaning] = {START: Start(summary=False), SUMMARY: Start(summary=True)}
        tokens |= {VERDICTS[verdict]: verdict for verdict in self.verdicts}
        for state in machine.states:
            tokens[fresh(f"BOS {state}", tokens)] = Begin(state)
        for action in self.actions:
            tokens[fresh(action_text(action), tokens)] = action
        for symbol in machine.alphabet:
            tokens[fresh(symbol, tokens)] = Given(symbol)
        for symbols in product(machine.symbols, repeat=machine.tapes):
            for before in product((False, True), repeat=machine.tapes):
                shown = " ".join(f"{s}{'>' * here}" for s, here in zip(symbols, before, strict=True))
                tokens[fresh(f"|{shown}|", tokens)] = Column(symbols, before)
        return tokens

    @cached_property
    def tokens(self) -> dict[Meaning, str]:
        """The token of each meaning."""
        return {meaning: token for token, meaning in self.meanings.items()}

    def prompt(self, word: Word) -> Prompt:
        """INP, the input's symbols, BOS and the start state."""
        middle = (self.tokens[Given(symbol)] for symbol in self.machine.word(word))
        return Prompt((START, *middle, self.tokens[Begin(self.machine.start)]))

    def stops(self, token: str) -> bool:
        """Whether the token is a verdict."""
        return isinstance(self.meanings[token], Verdict)

    def is_step(self, token: str) -> bool:
        """Whether the token is a step of the machine."""
        return isinstance(self.meanings[token], Action)

    def segment_begins(self, token: str) -> bool:
        """Whether a summary begins with this token."""
        return token == SUMMARY

    def segment_ends(self, token: str) -> bool:
        """Whether the run goes on from a summary that ends with this token."""
        return isinstance(self.meanings[token], Begin)

    def expected_segments(self, word: Word, max_steps: int) -> Iterator[tuple[Prompt, tuple[str, ...]]]:
        """The same, segment by segment."""
        machine, prompt = self.machine, self.prompt(word)
        configuration = Configuration.initial(machine, machine.word(word))
        low, high = 0, len(prompt.tokens) - 2
        while True:
            said: list[Meaning] = []
            summary: list[Meaning] = []
            while isinstance(action := step(machine, configuration), Action) and configuration.steps < max_steps:
                if said and len(prompt.tokens) + len(said) - 1 >= 4 * (len(prompt.tokens) - 1):
                    summary = [
                        Start(summary=True),
                        *self._columns(configuration, low, high),
                        Begin(configuration.state),
                    ]
                    break
                configuration.apply(action)
                said.append(action)
                low = min(low, *configuration.heads)
                high = max(high, *(head + 1 for head in configuration.heads))
            if not isinstance(action, Action):
                said.append(machine.verdict(configuration.state))
            yield prompt, tuple(self.tokens[meaning] for meaning in (*said, *summary))
            if not summary:
                return
            prompt = Prompt(tuple(self.tokens[meaning] for meaning in summary))

    def _columns(self, configuration: Configuration, low: int, high: int) -> Iterator[Column]:
        for cell in range(low, high):
            symbols = tuple(cells.get(cell, configuration.blank) for cells in configuration.cells)
            yield Column(symbols, tuple(head > cell for head in configuration.heads))

    def longest(self, word: Word, max_steps: int, *, to_the_end: bool) -> int | None:
        """One model serves every length."""
        del word, max_steps, to_the_end
        return None

    def read(self, word: Word, said: Sequence[str]) -> TuringOutcome:
        """What a run's tokens say: the verdict and, by replaying the actions, the tapes."""
        return outcome_of(self.machine, word, said, self.meanings)
