"""Codec of Theorem 8.2 of Chiang's lecture notes with summaries: one token per step, and summaries.

A run is ``INP`` word ``BOS q_start`` and one action per step. An action at position 4P or later, where P is the
position of the prompt's end, is followed by a summary: ``SUMM``, a token for every column of cells in use from left to
right, and ``BOS q``. It is the prompt of the next segment. A column contains the symbols of all tapes, and for every
head whether it is further to the right, so that the number of such columns is the position of the head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from softmachine.languages.turing import Action, Configuration, TuringMachine, Verdict, step
from softmachine.support.errors import ConstructionError
from softmachine.theorems.chapter_8_summary.place import SUMMARY, Begin, Column, Place
from softmachine.theorems.codec import Prompt, SegmentedCodec, Word
from softmachine.theorems.shared.turing_tokens import (
    MOST_TOKENS,
    Given,
    RunCodec,
    action_tokens,
    column_tokens,
    input_tokens,
    verdict_tokens,
)

START = "INP"
PLAIN_STEPS = 20_000
"""Steps that are interpreted one by one before the compiled loop takes over."""


@dataclass(frozen=True)
class Start:
    """The token at position 0, or at the beginning of a summary."""

    summary: bool


Meaning = Start | Begin | Column | Given | Action | Verdict


@dataclass(frozen=True)
class SummaryCodec(RunCodec[Meaning], SegmentedCodec[TuringMachine]):
    """Prompts and runs of a machine, with summaries."""

    def __post_init__(self) -> None:
        machine = self.machine
        if (2 * len(machine.symbols)) ** machine.tapes > MOST_TOKENS:
            raise ConstructionError(f"{machine.name!r} has too many tapes or symbols: each possible column is a token")

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
        place = self._first(word)
        while not place.ended:
            yield place.prompt, self.segment(place, max_steps)

    def expected_pieces(self, word: Word, max_steps: int) -> Iterator[Sequence[str]]:
        place = self._first(word)
        while not place.ended and place.now.steps < PLAIN_STEPS:
            yield self.segment(place, max_steps)
        if not place.ended:
            from softmachine.theorems.chapter_8_summary.long_runs import long_run

            yield from long_run(self.machine, self.meant, place, max_steps)
        while not place.ended:
            yield self.segment(place, max_steps)

    def _first(self, word: Word) -> Place:
        """Return the initial state of a run: the cells of the input and of the heads are in use."""
        symbols = self.machine.word(word)
        return Place(Configuration.initial(self.machine, symbols), 0, max(len(symbols), 1), self.prompt(word))

    def segment(self, place: Place, max_steps: int) -> tuple[str, ...]:
        """Return the output of one segment, up to a limit of steps; updates the place."""
        machine, now = self.machine, place.now
        output: list[Meaning] = []
        while isinstance(action := step(machine, now), Action) and now.steps < max_steps:
            if output and len(output) >= place.pace:
                columns = (self.tokens[column] for column in self._columns(place))
                place.prompt = Prompt((SUMMARY, *columns, self.tokens[Begin(now.state)]))
                return (*(self.tokens[meaning] for meaning in output), *place.prompt.tokens)
            now.apply(action)
            output.append(action)
            place.use(min(now.heads), max(now.heads))
        place.ended = True
        if not isinstance(action, Action):
            output.append(machine.verdict(now.state))
        return tuple(self.tokens[meaning] for meaning in output)

    def _columns(self, place: Place) -> Iterator[Column]:
        now = place.now
        for cell in range(place.low, place.high):
            symbols = tuple(cells.get(cell, now.blank) for cells in now.cells)
            yield Column(symbols, tuple(head > cell for head in now.heads))
