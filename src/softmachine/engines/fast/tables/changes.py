"""Rows that keep their sums: what changed since a block was last computed is all that is computed.

That is for blocks that read nothing but -1, 0 and 1, and whose weights are integers, so that no number can be too
large. Of what such a block reads, little is new: of the bits of a position, two on average. And most units are 0, and
stay so.
"""

from __future__ import annotations

from softmachine.engines.fast import status
from softmachine.engines.fast.indexes.kernels import Integers, kernel
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.rows import RELU, STEP
from softmachine.engines.fast.tables.words import lane

OWN, WORD, SHIFT, READERS, READERS_END = range(5)
INPUT = 5
"""What is read: where the block keeps it; its word, and the shift there; who reads it: where a sum is, and a weight."""
ACT, NUMBER = 5, 6
ROW = 7
"""A row is that, too: where its sum is, and then its number; a word that it is written to, and the shift, -1 if it is
not; who reads it. Besides: its activation, and where its number is for others."""


@kernel
def catch_up(block: int, code: Integers, heap: Integers) -> int:
    """Let the words of a block be what they have to be, computing what changed; the status that this leads to."""
    for k in range(code[block + of.READ], code[block + of.READ_END], INPUT):
        own, new = code[k + OWN], lane(heap[code[k + WORD]], code[k + SHIFT])
        if new != heap[own]:
            spread(k, new - heap[own], code, heap)
            heap[own] = new
    for k in range(code[block + of.ROW], code[block + of.ROW_END], ROW):
        own = code[k + OWN]
        new, old, act = heap[own], heap[own + 1], code[k + ACT]
        if act == RELU:
            new = max(new, 0)
        elif act == STEP:
            new = 1 if new >= 0 else 0
        if new != old:
            spread(k, new - old, code, heap)
            heap[own + 1], heap[code[k + NUMBER]] = new, new
            if code[k + SHIFT] >= 0:
                if new < -1 or new > 1:
                    return int(status.REPLAN + code[block + of.BLOCK_NUMBER])
                heap[code[k + WORD]] ^= ((new ^ old) & 3) << code[k + SHIFT]
    for k in range(code[block + of.WORDS]):
        heap[code[block + of.WORD] + k] = heap[code[block + of.DRAFT] + k]
    return status.RUNNING


@kernel
def spread(item: int, change: int, code: Integers, heap: Integers) -> None:
    """Add what changed to the sums of those who read it."""
    for k in range(code[item + READERS], code[item + READERS_END], 2):
        heap[code[k]] += code[k + 1] * change
