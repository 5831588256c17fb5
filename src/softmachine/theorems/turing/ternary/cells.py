"""Cells and position blocks: counted cells (step 1), cells of the heads (step 3), contents (step 4), encoding."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.ir import Signal, constant, named, relu, stack, sum_signals
from softmachine.ir.gadgets import (
    binary_search_step,
    fetch_highest_ranked,
    keep_where,
    overwrite_where,
    step_register,
    subtract_power,
    subtract_registers,
)
from softmachine.ir.ranges import BIT, SIGN
from softmachine.languages.turing import Action, Verdict
from softmachine.theorems.turing.ternary.codec import Marker
from softmachine.theorems.turing.ternary.embedding import PositionRegisters, TokenRegisters


@dataclass(frozen=True)
class PositionBlock:
    """Signals read from the preceding block.

    Args:
        heads: For each tape the cell that a block encodes, at its end; else empty.
        state: The state after the last step before a block, at its end; else empty.
        is_due: A bit: whether this is the r-th step since the prompt or the last block, and no summary is due.
        is_complete: A bit: whether this token encodes the last bit.
    """

    heads: list[Signal]
    state: Signal
    is_due: Signal
    is_complete: Signal


def read_block(words: TokenRegisters, positions: PositionRegisters, full: Signal) -> PositionBlock:
    """Decode a block at its end: the token d positions back contains bit r - d of every head's cell.

    The same heads detect at a step whether it is the r-th in a row, and at a bit whether it is the r-th after POS.
    """
    bits = words.codec.bits
    ends = words.flag("EPOS", Marker.END_POSITION)
    back = [positions.here, *_positions_back(positions, bits + 2)]
    also_read = {bits - 1: [words.is_step], bits: [words.flag("POS", Marker.POSITION)]}
    found = [
        positions.fetch(f"{d} back", back[d], stack(words.block_bits, *also_read.get(d, [])), f"the token {d} back")
        for d in range(1, bits + 1)
    ]
    least_first = found[::-1]
    heads = [
        stack(*(keep_where(words.tape_name("spelled head", k), bit[k], ends) for bit in least_first))
        for k in words.tapes
    ]
    # The last step before a block is r + 2 tokens before its end.
    before = positions.fetch("state before", back[bits + 2], words.state, "the last step before the block")
    state = keep_where("state before", before, ends)
    was_step, was_begin = found[bits - 2][-1], found[bits - 1][-1]
    due = relu("block is due", words.is_step + was_step - 1 - full).with_range(BIT)
    return PositionBlock(heads, state, due, named("block is complete", was_begin))


def _positions_back(positions: PositionRegisters, count: int) -> list[Signal]:
    """I - 1, i - 2, …, i - far. i - d is computed from i - (d - 2), so that every layer computes two of them."""
    back = [positions.previous, subtract_power("i - 2", positions.here, 1)]
    for d in range(3, count + 1):
        back.append(subtract_power(f"i - {d}", back[-2], 1))
    return back


def next_block_bits(words: TokenRegisters, positions: PositionRegisters, head: list[Signal], due: Signal) -> Signal:
    """At POS bit 0 of every head's cell; d tokens after it, bit d.

    One pointer moves back to POS, one position per layer, in step with the binary search that computes ``due``.
    """
    bits = words.codec.bits
    opens = words.flag("POS", Marker.POSITION)
    spelled = [keep_where(words.tape_name("bit", k), head[k][0], opens) for k in words.tapes]
    pointer = positions.previous
    for d in range(1, bits):
        if d > 1:
            pointer = subtract_power(f"i - {d} again", pointer, after=due[bits - d + 1])
        read = stack(*(own[d] for own in head), opens)
        found = positions.fetch(f"bit {d} to spell", pointer, read, f"the token {d} back")
        for k in words.tapes:
            spelled[k] = spelled[k] + keep_where(words.tape_name("bit", k), found[k], found[-1])
    return named("bits to spell", stack(*spelled).with_range(SIGN))


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
    found = fetch_highest_ranked(name, beginnings, read, explains="the token that cells are counted from")
    found = positions.round_output(name, found)
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
        before = [positions.fetch_previous(words.tape_name("head before", k), head[k]) for k in words.tapes]
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
    found = [
        positions.fetch(
            words.tape_name("read", k), latest[k], values[k], "the latest that wrote to this cell, or the first"
        )
        for k in words.tapes
    ]
    return [ReadSymbols(item[:-1], item[-1]) for item in found]
