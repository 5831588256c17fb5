"""What a long run with summaries should say: the interpreter's compiled loop, and summaries as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.turing import MOVES, Action
from softmachine.languages.turing.compiled import Running, fits
from softmachine.packed import Coded
from softmachine.theorems.chapter_8_summary.tokens import SUMMARY, Begin, Column, Place, SummaryCodec

PIECE = 1 << 20
"""So many steps are handed out at a time."""


def long_run(codec: SummaryCodec, place: Place, max_steps: int) -> Iterator[Sequence[str]]:
    """What is said from the beginning of a segment on, as :meth:`SummaryCodec.segment` has it, in pieces."""
    if fits(codec.machine):
        yield from _compiled(codec, place, max_steps)
    while not place.ended:
        yield codec.segment(place, max_steps)


def _compiled(codec: SummaryCodec, place: Place, max_steps: int) -> Iterator[Sequence[str]]:
    run, names, pace = Running(codec.machine, place.now), _column_names(codec), place.pace
    while run.steps < max_steps and not run.halts:
        end = min(max_steps, run.steps + pace)
        yield from codec.spell(_actions(run, place, end))
        if run.steps == end < max_steps and not run.halts:
            columns = _columns(codec, run, place)
            yield (SUMMARY,)
            yield Coded(columns, names)
            yield (codec.tokens[Begin(run.state)],)
            pace = 3 * (len(columns) + 1)
    if run.halts:
        yield (codec.tokens[codec.machine.verdict(run.state)],)
    place.ended = True


def _actions(run: Running, place: Place, end: int) -> Iterator[Coded[Action]]:
    """The steps up to a number of them, unless the machine stops before; the cells in use follow."""
    moves = np.array([[MOVES[move] for move in action.move] for action in run.actions], dtype=np.int64)
    while run.steps < end and not run.stopped:
        before = run.heads
        piece = run.record(min(PIECE, end - run.steps))
        if len(piece):
            cells = before + moves[piece.codes].cumsum(axis=0)
            place.use(int(cells.min()), int(cells.max()))
        yield piece


def _columns(codec: SummaryCodec, run: Running, place: Place) -> NDArray[np.int64]:
    """The numbers of the columns in use: digits for the symbols, then bits for the heads that are further right."""
    number = {symbol: index for index, symbol in enumerate(codec.machine.symbols)}
    digits = np.array([number[symbol] for symbol in run.symbols], dtype=np.int64)[run.written(place.low, place.high)]
    cells, found = np.arange(place.low, place.high), np.zeros(place.high - place.low, dtype=np.int64)
    for row in digits:
        found = found * len(number) + row
    for head in run.heads:
        found = found * 2 + (head > cells)
    return found


def _column_names(codec: SummaryCodec) -> tuple[str, ...]:
    """The tokens of all columns, by their numbers."""
    machine = codec.machine
    pairs = product(product(machine.symbols, repeat=machine.tapes), product((False, True), repeat=machine.tapes))
    return tuple(codec.tokens[Column(symbols, before)] for symbols, before in pairs)
