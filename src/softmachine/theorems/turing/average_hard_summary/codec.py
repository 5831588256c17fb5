"""Codec of Theorem 8.2 of Chiang's lecture notes with summaries: one token per step, and summaries.

A run is ``INP`` word ``BOS q_start`` and one action per step. An action at position 4P or later, where P is the
position of the prompt's end, is followed by a summary: ``SUMM``, a token for every column of cells in use from left to
right, and ``BOS q``. It is the prompt of the next segment. A column contains the symbols of all tapes, and for every
head whether it is further to the right, so that the number of such columns is the position of the head.

Expected output of long runs comes from the JIT-compiled interpreter, with summaries as arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from softmachine.ir.domain import Domain
from softmachine.languages.turing import MOVES, Action, Configuration, TuringMachine, Verdict, next_action
from softmachine.languages.turing.jit_interpreter import JitRun, fits_table_limit
from softmachine.support.errors import ConstructionError
from softmachine.support.token_array import CodeArray
from softmachine.theorems.codec import Prompt, SegmentedCodec, Word
from softmachine.theorems.shared.turing_codec import (
    MAX_VOCABULARY,
    InputSymbol,
    TuringRunCodec,
    action_tokens,
    column_tokens,
    input_tokens,
    verdict_tokens,
)

SUMMARY_TOKEN = "SUMM"


@dataclass(frozen=True)
class ResumeMarker:
    """The end of a prompt: the run resumes in this state."""

    state: str


@dataclass(frozen=True)
class SummaryColumn:
    """A cell of every tape: its symbols, and which heads are further to the right."""

    symbols: tuple[str, ...]
    head_is_right: tuple[bool, ...]


@dataclass
class SegmentState:
    """The state of a run, and the cells in use: those of the input, and those that a head has visited.

    Args:
        configuration: The configuration.
        first_cell: The first cell in use.
        end_cell: The cell after the last one in use.
        prompt: The prompt of the current segment.
        ended: Whether the run has ended.
    """

    configuration: Configuration
    first_cell: int
    end_cell: int
    prompt: Prompt
    ended: bool = False

    @property
    def steps_per_segment(self) -> int:
        """The number of actions after which a segment is summarised."""
        return 3 * (len(self.prompt.tokens) - 1)

    def mark_used(self, first: int, last: int) -> None:
        """Mark these cells, and those in between, as in use."""
        self.first_cell, self.end_cell = min(self.first_cell, first), max(self.end_cell, last + 1)


START_TOKEN = "INP"
MAX_INTERPRETED_STEPS = 20_000
"""Steps that are interpreted one by one before the compiled loop takes over."""


@dataclass(frozen=True)
class SegmentStart:
    """The token at position 0, or at the beginning of a summary."""

    begins_summary: bool


Meaning = SegmentStart | ResumeMarker | SummaryColumn | InputSymbol | Action | Verdict


@dataclass(frozen=True)
class SummaryCodec(TuringRunCodec[Meaning], SegmentedCodec[TuringMachine]):
    """Prompts and runs of a machine, with summaries."""

    def __post_init__(self) -> None:
        machine = self.machine
        if (2 * len(machine.symbols)) ** machine.tapes > MAX_VOCABULARY:
            raise ConstructionError(f"{machine.name!r} has too many tapes or symbols: each possible column is a token")

    def token_meanings(self) -> Iterator[tuple[str, Meaning]]:
        yield START_TOKEN, SegmentStart(begins_summary=False)
        yield SUMMARY_TOKEN, SegmentStart(begins_summary=True)
        yield from verdict_tokens(self.verdicts)
        yield from ((f"BOS {state}", ResumeMarker(state)) for state in self.machine.states)
        yield from action_tokens(self.actions)
        yield from input_tokens(self.machine)
        for text, symbols, before in column_tokens(self.machine, ">"):
            yield text, SummaryColumn(symbols, before)

    def prompt(self, word: Word) -> Prompt:
        middle = (self.tokens[InputSymbol(symbol)] for symbol in self.machine.word(word))
        return Prompt((START_TOKEN, *middle, self.tokens[ResumeMarker(self.machine.start)]))

    def domain(self, vocabulary: Iterable[str]) -> Domain:
        """Return the sequences with at most one ``BOS q``, and at most one SUMM after position 0."""
        summary = frozenset({SUMMARY_TOKEN})
        return Domain(
            summary | {START_TOKEN},
            frozenset(self.meanings) - {START_TOKEN} - self.tokens_of(Verdict),
            unique=(self.tokens_of(ResumeMarker),),
            unique_later=(summary,),
        )

    def begins_segment(self, token: str) -> bool:
        return token == SUMMARY_TOKEN

    def ends_segment(self, token: str) -> bool:
        return isinstance(self.meanings[token], ResumeMarker)

    def expected_segments(self, word: Word, max_steps: int) -> Iterator[tuple[Prompt, tuple[str, ...]]]:
        place = self._initial_state(word)
        while not place.ended:
            yield place.prompt, self.segment(place, max_steps)

    def expected_chunks(self, word: Word, max_steps: int) -> Iterator[Sequence[str]]:
        place = self._initial_state(word)
        while not place.ended and place.configuration.steps < MAX_INTERPRETED_STEPS:
            yield self.segment(place, max_steps)
        if not place.ended:
            yield from expected_long_run(self.machine, self.token_by_meaning, place, max_steps)
        while not place.ended:
            yield self.segment(place, max_steps)

    def _initial_state(self, word: Word) -> SegmentState:
        """Return the initial state of a run: the cells of the input and of the heads are in use."""
        symbols = self.machine.word(word)
        return SegmentState(Configuration.initial(self.machine, symbols), 0, max(len(symbols), 1), self.prompt(word))

    def segment(self, place: SegmentState, max_steps: int) -> tuple[str, ...]:
        """Return the output of one segment, up to a limit of steps; updates the place."""
        machine, now = self.machine, place.configuration
        output: list[Meaning] = []
        while isinstance(action := next_action(machine, now), Action) and now.steps < max_steps:
            if output and len(output) >= place.steps_per_segment:
                columns = (self.tokens[column] for column in self._summary_columns(place))
                place.prompt = Prompt((SUMMARY_TOKEN, *columns, self.tokens[ResumeMarker(now.state)]))
                return (*(self.tokens[meaning] for meaning in output), *place.prompt.tokens)
            now.apply(action)
            output.append(action)
            place.mark_used(min(now.heads), max(now.heads))
        place.ended = True
        if not isinstance(action, Action):
            output.append(machine.verdict(now.state))
        return tuple(self.tokens[meaning] for meaning in output)

    def _summary_columns(self, place: SegmentState) -> Iterator[SummaryColumn]:
        now = place.configuration
        for cell in range(place.first_cell, place.end_cell):
            symbols = tuple(cells.get(cell, now.blank) for cells in now.cells)
            yield SummaryColumn(symbols, tuple(head > cell for head in now.heads))


STEPS_PER_CALL = 1 << 20
"""Steps per call of the compiled loop."""
MIN_CHUNK_TOKENS = 1 << 12
"""Minimal number of tokens per chunk, because segments may be short."""

IntArray = NDArray[np.int64]


def expected_long_run(
    machine: TuringMachine, tokens: Mapping[object, str], place: SegmentState, max_steps: int
) -> Iterator[Sequence[str]]:
    """Yield the output from the beginning of a segment to the end of the run; nothing if the machine is too large.

    Args:
        machine: The machine.
        tokens: The tokens of actions, columns, states and verdicts.
        place: The state to resume from; its cells in use are updated, its configuration is not.
        max_steps: The maximal number of steps of the whole run.
    """
    if fits_table_limit(machine):
        run = CompiledSegments(machine, tokens, place)
        yield from (CodeArray(codes, run.names) for codes in _merge_chunks(run.generate(max_steps)))
        place.ended = True


def _merge_chunks(arrays: Iterable[IntArray]) -> Iterator[IntArray]:
    waiting: list[IntArray] = []
    for array in arrays:
        waiting.append(array)
        if sum(map(len, waiting)) >= MIN_CHUNK_TOKENS:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


class CompiledSegments:
    """A run resumed at the beginning of a segment, as token indices; see :func:`expected_long_run`."""

    def __init__(self, machine: TuringMachine, tokens: Mapping[object, str], place: SegmentState) -> None:
        self.tokens, self.place = tokens, place
        self.run = JitRun(machine, place.configuration)
        self.moves = np.array(
            [[MOVES[move] for move in action.move] for action in self.run.actions_by_code], dtype=np.int64
        )
        self.digit = np.array([machine.symbols.index(symbol) for symbol in self.run.symbols], dtype=np.int64)
        actions = [tokens.get(action, "") for action in self.run.actions_by_code]  # L becomes S only for some actions
        columns = product(product(machine.symbols, repeat=machine.tapes), product((False, True), repeat=machine.tapes))
        spelled = [tokens[SummaryColumn(symbols, before)] for symbols, before in columns]
        marks = [SUMMARY_TOKEN, *(tokens[ResumeMarker(state)] for state in machine.states)]
        verdicts = dict.fromkeys(tokens[machine.verdict(state)] for state in machine.states)
        self.names = (*actions, *spelled, *marks, *verdicts)
        """The token of each index."""
        self.first_column = len(actions)
        self.number = {name: number for number, name in enumerate(self.names)}

    def generate(self, max_steps: int) -> Iterator[IntArray]:
        """Yield the output, up to a limit of steps."""
        run, pace, halts = self.run, self.place.steps_per_segment, self.run.is_halted
        while run.steps < max_steps and not halts:
            end = min(max_steps, run.steps + pace)
            while run.steps < end and not run.stopped:
                yield self._run_steps(min(STEPS_PER_CALL, end - run.steps))
            halts = run.is_halted
            if run.steps < max_steps and not halts:
                columns = self._summary_columns()
                yield self._append_marker(SUMMARY_TOKEN)
                yield columns
                yield self._append_marker(self.tokens[ResumeMarker(run.state)])
                pace = 3 * (len(columns) + 1)
        if halts:
            yield self._append_marker(self.tokens[run.machine.verdict(run.state)])

    def _append_marker(self, token: str) -> IntArray:
        return np.array([self.number[token]], dtype=np.int64)

    def _run_steps(self, count: int) -> IntArray:
        """Run ``count`` steps, or fewer if the machine stops; updates the cells in use."""
        before, codes = self.run.heads, self.run.record(count).codes
        if len(codes):
            cells = before + self.moves[codes].cumsum(axis=0)
            self.place.mark_used(int(cells.min()), int(cells.max()))
        return codes.astype(np.int64)

    def _summary_columns(self) -> IntArray:
        """Return the columns in use: digits of the symbols, then a bit per head: whether it is further to the right."""
        low, high = self.place.first_cell, self.place.end_cell
        cells, found = np.arange(low, high), np.zeros(high - low, dtype=np.int64)
        for row in self.digit[self.run.symbol_numbers(low, high)]:
            found = found * len(self.digit) + row
        for head in self.run.heads:
            found = found * 2 + (head > cells)
        return found + self.first_column
