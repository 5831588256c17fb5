"""Rows that keep their sums: what changed since a block was last computed is all that is computed.

That is for blocks that read nothing but -1, 0 and 1, and whose weights are integers, so that no number can be too
large. Of what such a block reads, little is new: of the bits of a position, two on average. And most units are 0, and
stay so. What changes is told those who read it, and only rows that were told something are looked at, in their order.
"""

from __future__ import annotations

from softmachine.engines.fast import status
from softmachine.engines.fast.indexes.kernels import Integers, kernel
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.pointers import inlined
from softmachine.engines.fast.tables.rows import RELU, STEP
from softmachine.engines.fast.tables.words import LANES, first_bit, kind_of, lane

BITS = 5
IN_WORD = (1 << BITS) - 1
"""So many bits of a row's number are its bit in a word of changes, and the others are the word."""
ACT, WORD, SHIFT, NUMBER, READERS, READERS_END = range(6)
ROW = 6
"""A row: its activation; a word that it is written to, and the shift there, -1 if it is not; where its number is for
others; who reads it: the number of a row, and a weight."""


@kernel
def catch_up(block: int, code: Integers, heap: Integers) -> int:
    """Let the words of a block be what they have to be, computing what changed; the status that this leads to."""
    last, before, changes = code[block + of.LAST], code[block + of.SEEN_BEFORE], code[block + of.CHANGED]
    rows, sums, results = code[block + of.ROWS], code[block + of.SUMS], code[block + of.RESULTS]
    for k in range(code[block + of.WIDTH]):
        old, new = heap[before + k], heap[last + k]
        changed, readers = kind_of(old ^ new), code[block + of.READERS] + 2 * LANES * k
        heap[before + k] = new
        while changed:
            shift = first_bit(changed)
            changed &= changed - 1
            change = lane(new, shift) - lane(old, shift)
            tell(code[readers + shift], code[readers + shift + 1], change, sums, changes, code, heap)
    for k in range(code[block + of.CHANGES]):
        while heap[changes + k]:
            number = (k << BITS) + first_bit(heap[changes + k])
            heap[changes + k] &= heap[changes + k] - 1
            row = rows + ROW * number
            new, old, act, shift = heap[sums + number], heap[results + number], code[row + ACT], code[row + SHIFT]
            if act == RELU:
                new = max(new, 0)
            elif act == STEP:
                new = 1 if new >= 0 else 0
            if new != old:
                tell(code[row + READERS], code[row + READERS_END], new - old, sums, changes, code, heap)
                heap[results + number], heap[code[row + NUMBER]] = new, new
                if shift >= 0:
                    if new < -1 or new > 1:
                        return int(status.REPLAN + code[block + of.BLOCK_NUMBER])
                    heap[code[row + WORD]] ^= ((new ^ old) & 3) << shift
    for k in range(code[block + of.WORDS]):
        heap[code[block + of.WORD] + k] = heap[code[block + of.DRAFT] + k]
    return status.RUNNING


@inlined
def tell(first: int, end: int, change: int, sums: int, changes: int, code: Integers, heap: Integers) -> None:
    """Add what changed to the sums of those who read it."""
    for k in range(first, end, 2):
        row = code[k]
        heap[sums + row] += code[k + 1] * change
        heap[changes + (row >> BITS)] |= 1 << (row & IN_WORD)
