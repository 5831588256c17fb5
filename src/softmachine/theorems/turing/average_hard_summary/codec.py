"""Codec of Theorem 8.2 of Chiang's lecture notes with summaries: one token per step, and summaries.

A run is ``INP`` word ``BOS q_start`` and one action per step. An action at position 4P or later, where P is the
position of the prompt's end, is followed by a summary: ``SUMM``, a token for every column of cells in use from left to
right, and ``BOS q``. It is the prompt of the next segment. A column contains the symbols of all tapes, and for every
head whether it is further to the right, so that the number of such columns is the position of the head.

State of a run with summaries, and the tokens of summaries.

Expected output of long runs with summaries: JIT-compiled interpreter, summaries as arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.turing import MOVES, Action, Configuration, TuringMachine, Verdict, step
from softmachine.languages.turing.jit_interpreter import Running, fits
from softmachine.support.errors import ConstructionError
from softmachine.support.token_array import Coded
from softmachine.theorems.codec import Prompt, SegmentedCodec, Word
from softmachine.theorems.shared.turing_codec import (
    MOST_TOKENS,
    Given,
    RunCodec,
    action_tokens,
    column_tokens,
    input_tokens,
    verdict_tokens,
)

SUMMARY = "SUMM"


@dataclass(frozen=True)
class Begin:
    """The end of a prompt: the run resumes in this state."""

    state: str


@dataclass(frozen=True)
class Column:
    """A cell of every tape: its symbols, and which heads are further to the right."""

    symbols: tuple[str, ...]
    before: tuple[bool, ...]


@dataclass
class Place:
    """The state of a run, and the cells in use: those of the input, and those that a head has visited.

    Args:
        now: The configuration.
        low: The first cell in use.
        high: The cell after the last one in use.
        prompt: The prompt of the current segment.
        ended: Whether the run has ended.
    """

    now: Configuration
    low: int
    high: int
    prompt: Prompt
    ended: bool = False

    @property
    def pace(self) -> int:
        """The number of actions after which a segment is summarised."""
        return 3 * (len(self.prompt.tokens) - 1)

    def use(self, first: int, last: int) -> None:
        """Mark these cells, and those in between, as in use."""
        self.low, self.high = min(self.low, first), max(self.high, last + 1)


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
            # MERGED

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


PIECE = 1 << 20
"""Steps per call of the compiled loop."""
BATCH = 1 << 12
"""Minimal number of tokens per chunk, because segments may be short."""

Numbers = NDArray[np.int64]


def long_run(
    machine: TuringMachine, tokens: Mapping[object, str], place: Place, max_steps: int
) -> Iterator[Sequence[str]]:
    """Yield the output from the beginning of a segment to the end of the run; nothing if the machine is too large.

    Args:
        machine: The machine.
        tokens: The tokens of actions, columns, states and verdicts.
        place: The state to resume from; its cells in use are updated, its configuration is not.
        max_steps: The maximal number of steps of the whole run.
    """
    if fits(machine):
        run = LongRun(machine, tokens, place)
        yield from (Coded(codes, run.names) for codes in _batches(run.said(max_steps)))
        place.ended = True


def _batches(arrays: Iterable[Numbers]) -> Iterator[Numbers]:
    waiting: list[Numbers] = []
    for array in arrays:
        waiting.append(array)
        if sum(map(len, waiting)) >= BATCH:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


class LongRun:
    """A run resumed at the beginning of a segment, as token indices; see :func:`long_run`."""

    def __init__(self, machine: TuringMachine, tokens: Mapping[object, str], place: Place) -> None:
        self.tokens, self.place = tokens, place
        self.run = Running(machine, place.now)
        self.moves = np.array([[MOVES[move] for move in action.move] for action in self.run.actions], dtype=np.int64)
        self.digit = np.array([machine.symbols.index(symbol) for symbol in self.run.symbols], dtype=np.int64)
        actions = [tokens.get(action, "") for action in self.run.actions]  # L becomes S only for some actions
        columns = product(product(machine.symbols, repeat=machine.tapes), product((False, True), repeat=machine.tapes))
        spelled = [tokens[Column(symbols, before)] for symbols, before in columns]
        marks = [SUMMARY, *(tokens[Begin(state)] for state in machine.states)]
        verdicts = dict.fromkeys(tokens[machine.verdict(state)] for state in machine.states)
        self.names = (*actions, *spelled, *marks, *verdicts)
        """The token of each index."""
        self.first_column = len(actions)
        self.number = {name: number for number, name in enumerate(self.names)}

    def said(self, max_steps: int) -> Iterator[Numbers]:
        """Yield the output, up to a limit of steps."""
        run, pace, halts = self.run, self.place.pace, self.run.halts
        while run.steps < max_steps and not halts:
            end = min(max_steps, run.steps + pace)
            while run.steps < end and not run.stopped:
                yield self._actions(min(PIECE, end - run.steps))
            halts = run.halts
            if run.steps < max_steps and not halts:
                columns = self._columns()
                yield self._mark(SUMMARY)
                yield columns
                yield self._mark(self.tokens[Begin(run.state)])
                pace = 3 * (len(columns) + 1)
        if halts:
            yield self._mark(self.tokens[run.machine.verdict(run.state)])

    def _mark(self, token: str) -> Numbers:
        return np.array([self.number[token]], dtype=np.int64)

    def _actions(self, count: int) -> Numbers:
        """Run ``count`` steps, or fewer if the machine stops; updates the cells in use."""
        before, codes = self.run.heads, self.run.record(count).codes
        if len(codes):
            cells = before + self.moves[codes].cumsum(axis=0)
            self.place.use(int(cells.min()), int(cells.max()))
        return codes.astype(np.int64)

    def _columns(self) -> Numbers:
        """Return the columns in use: digits of the symbols, then a bit per head: whether it is further to the right."""
        low, high = self.place.low, self.place.high
        cells, found = np.arange(low, high), np.zeros(high - low, dtype=np.int64)
        for row in self.digit[self.run.written(low, high)]:
            found = found * len(self.digit) + row
        for head in self.run.heads:
            found = found * 2 + (head > cells)
        return found + self.first_column
