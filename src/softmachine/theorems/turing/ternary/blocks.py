"""Position blocks: POS, r tokens with one bit of every head's cell each, least significant first, and EPOS."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.ir import Signal, named, relu, stack
from softmachine.ir.gadgets import keep_where, subtract_power
from softmachine.ir.ranges import BIT, SIGN
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
        positions.fetch(f"{d} back", back[d], stack(words.block_bits, *also_read.get(d, [])))
        for d in range(1, bits + 1)
    ]
    least_first = found[::-1]
    heads = [
        stack(*(keep_where(words.tape_name("spelled head", k), bit[k], ends) for bit in least_first))
        for k in words.tapes
    ]
    # The last step before a block is r + 2 tokens before its end.
    state = keep_where("state before", positions.fetch("state before", back[bits + 2], words.state), ends)
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
        found = positions.fetch(f"bit {d} to spell", pointer, stack(*(own[d] for own in head), opens))
        for k in words.tapes:
            spelled[k] = spelled[k] + keep_where(words.tape_name("bit", k), found[k], found[-1])
    return named("bits to spell", stack(*spelled).with_range(SIGN))
