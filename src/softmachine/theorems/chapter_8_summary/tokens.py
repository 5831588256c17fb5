"""The tokens of chapter 8 with summaries: one token a step, and now and then the whole configuration.

A run is ``INP`` word ``BOS q_start`` and one action a step. After an action at position 4P or later, where P is the
position of the prompt's end, comes a summary: ``SUMM``, a token for every column of cells in use from left to right,
and ``BOS q``. It is the prompt of the next segment. A column has the symbols of all tapes, and says of every head
whether it is further to the right, so that the number of such columns is where the head is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from softmachine.codec import Prompt, SegmentedCodec, Word
from softmachine.errors import ConstructionError
from softmachine.languages.turing import Action, Configuration, TuringMachine, Verdict, step
from softmachine.theorems.shared.turing_tokens import (
    MOST_TOKENS,
    Given,
    RunCodec,
    action_tokens,
    column_tokens,
    input_tokens,
    verdict_tokens,
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
class SummaryCodec(RunCodec[Meaning], SegmentedCodec[TuringMachine]):
    """Prompts and runs of a machine, in the tokens of chapter 8 with summaries."""

    def __post_init__(self) -> None:
        machine = self.machine
        if (2 * len(machine.symbols)) ** machine.tapes > MOST_TOKENS:
            raise ConstructionError(f"{machine.name!r} has too many tapes or symbols: every column is a token")

    def spelled(self) -> Iterator[tuple[str, Meaning]]:
        yield START, Start(summary=False)
        yield SUMMARY, Start(summary=True)
        yield from verdict_tokens(self.verdicts)
        yield from ((f"BOS {state}", Begin(state)) for state in self.machine.states)
        yield from action_tokens(self.actions)
        yield from input_tokens(self.machine)
        for text, symbols, before in column_tokens(self.machine, ">"):
            yield text, Column(symbols, before)

    def prompt(self, word: Word) -> Prompt:
        middle = (self.tokens[Given(symbol)] for symbol in self.machine.word(word))
        return Prompt((START, *middle, self.tokens[Begin(self.machine.start)]))

    def segment_begins(self, token: str) -> bool:
        return token == SUMMARY

    def segment_ends(self, token: str) -> bool:
        return isinstance(self.meanings[token], Begin)

    def expected_segments(self, word: Word, max_steps: int) -> Iterator[tuple[Prompt, tuple[str, ...]]]:
        machine, prompt = self.machine, self.prompt(word)
        now = Configuration.initial(machine, machine.word(word))
        low, high = 0, len(prompt.tokens) - 2
        said: list[Meaning] = []
        while isinstance(action := step(machine, now), Action) and now.steps < max_steps:
            if said and len(said) >= 3 * (len(prompt.tokens) - 1):
                columns = (self.tokens[column] for column in self._columns(now, low, high))
                written = (SUMMARY, *columns, self.tokens[Begin(now.state)])
                yield prompt, (*(self.tokens[meaning] for meaning in said), *written)
                prompt, said = Prompt(written), []
            now.apply(action)
            said.append(action)
            low = min(low, *now.heads)
            high = max(high, *(head + 1 for head in now.heads))
        if not isinstance(action, Action):
            said.append(machine.verdict(now.state))
        yield prompt, tuple(self.tokens[meaning] for meaning in said)

    def _columns(self, now: Configuration, low: int, high: int) -> Iterator[Column]:
        for cell in range(low, high):
            symbols = tuple(cells.get(cell, now.blank) for cells in now.cells)
            yield Column(symbols, tuple(head > cell for head in now.heads))
