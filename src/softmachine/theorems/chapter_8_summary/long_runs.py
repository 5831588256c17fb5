"""Expected output of long runs with summaries: JIT-compiled interpreter, summaries as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.turing import MOVES, TuringMachine
from softmachine.languages.turing.compiled import Running, fits
from softmachine.support.token_array import Coded
from softmachine.theorems.chapter_8_summary.place import SUMMARY, Begin, Column, Place

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
