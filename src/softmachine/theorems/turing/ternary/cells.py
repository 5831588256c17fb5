"""Signals of cells: counted cells (step 1), cells of the heads (step 3), and contents of cells (step 4)."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.ir import Signal, constant, named, stack, sum_signals
from softmachine.ir.gadgets import (
    binary_search_step,
    fetch_highest_ranked,
    keep_where,
    overwrite_where,
    step_register,
    subtract_registers,
)
from softmachine.ir.ranges import SIGN
from softmachine.languages.turing import Action, Verdict
from softmachine.theorems.turing.ternary.codec import Marker
from softmachine.theorems.turing.ternary.embedding import PositionRegisters, TokenRegisters


def counting_starts(words: TokenRegisters) -> list[Signal]:
    """Flags of the tokens where counting of cells starts, in increasing priority: input, output, cells left of 0."""
    ranked = [words.flag("INP", Marker.INPUT), words.flag("verdict", Verdict)]
    return [*ranked, words.flag("LEFT", Marker.LEFT)] if words.codec.two_way else ranked


def count_cells(words: TokenRegisters, positions: PositionRegisters, beginnings: list[Signal]) -> tuple[Signal, Signal]:
    """The next cell where tokens list cells in order, else empty; and whether it is to the left of cell 0.

    It is the number x of tokens since the counting started; to the left of cell 0, the cell -1 - x.
    """
    name, here = "counted from", positions.here
    read = stack(here, words.flag("LEFT", Marker.LEFT)) if words.codec.two_way else here
    found = positions.round_output(name, fetch_highest_ranked(name, beginnings, read))
    if not words.codec.two_way:
        return subtract_registers("counted", here, found, words.lists_cells), constant(0)
    left = named("to the left", found[-1])
    return subtract_registers("counted", here, found[:-1], words.lists_cells, left), left


def head_cells(
    words: TokenRegisters, positions: PositionRegisters, known: list[Signal]
) -> tuple[list[Signal], list[Signal]]:
    """The heads' cells after every token, and the cells that tokens wrote to: the head's cell after the previous token.

    After t rounds, the t-th token after the prompt or a block has its head's cell. At most r steps and one POS follow.
    """
    moving = words.flag("moves", Action, Marker.POSITION)
    right, left = ([words.moves(k, letter) for k in words.tapes] for letter in "RL")
    head = before = known
    for _ in range(words.codec.bits + 1):
        before = [positions.fetch(words.tape_name("head before", k), positions.previous, head[k]) for k in words.tapes]
        after = []
        for k in words.tapes:
            name = words.tape_name("head", k)
            stepped = step_register(name, before[k], right[k], left[k], wraps_around=words.codec.two_way)
            moved = sum_signals(keep_where(name, before[k], moving), stepped, value_range=SIGN)
            after.append(overwrite_where(name, head[k], moving, moved, after=before[k]))
        head = after
    names = [words.tape_name("cell", k) for k in words.tapes]
    return head, [named(name, keep_where(name, before[k], words.determines_cell(k))) for k, name in enumerate(names)]


def last_writes(
    words: TokenRegisters, positions: PositionRegisters, head: list[Signal], cell: list[Signal]
) -> list[Signal]:
    """For each tape the position of the latest token that wrote to the head's cell, 0 if there is none.

    Binary search: whether there is one whose position begins with the bits found so far and then a 1.
    """
    sink = positions.sink
    theirs = [positions.here[bit] + sink for bit in range(words.codec.bits)]  # empty at position 0
    latest: list[list[Signal]] = [[] for _ in words.tapes]
    for bit in reversed(range(words.codec.bits)):
        for k in words.tapes:
            name = words.tape_name(f"last write, bit {bit}", k)
            higher = binary_search_step(name, head[k], cell[k], [constant(1), *latest[k]], theirs[bit:], sink)
            latest[k].insert(0, 2 * positions.round_output(name, higher) - 1)
    return [stack(*parts) for parts in latest]


@dataclass(frozen=True)
class ReadSymbols:
    """The content of a head's cell, or of the next cell to be listed.

    Args:
        symbol: The symbol.
        was_written: A bit: whether the cell was ever written.
    """

    symbol: Signal
    was_written: Signal


def read_symbols(words: TokenRegisters, positions: PositionRegisters, latest: list[Signal]) -> list[ReadSymbols]:
    """The symbols that the latest tokens wrote; if there is none, the blank of position 0."""
    values = [stack(words.symbol(k), 1 - positions.sink) for k in words.tapes]
    found = [positions.fetch(words.tape_name("read", k), latest[k], values[k]) for k in words.tapes]
    return [ReadSymbols(item[:-1], item[-1]) for item in found]
