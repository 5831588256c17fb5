"""Rows that keep their sums: what changed since a block was last computed is all that is computed.

That is for blocks that read nothing but -1, 0 and 1, and whose weights are integers, so that no number can be too
large. Of what such a block reads, little is new: of the bits of a position, two on average. What changes is told those
who read it, and only rows that were told something are looked at, in their order. Most units are 0 and stay so: such a
unit has another sum, and is not looked at.

Whom to tell is asked by ``while``: compiled code does four turns of a ``for`` at a time, and most lists are shorter.
"""

from __future__ import annotations

from collections.abc import Collection

from softmachine.engines.fast import status
from softmachine.engines.fast.analysis.grids import SAFE
from softmachine.engines.fast.indexes.kernels import Integers, kernel
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.blocks import Block
from softmachine.engines.fast.tables.instructions import first_bit
from softmachine.engines.fast.tables.pointers import inlined
from softmachine.engines.fast.tables.rows import KEEP, RELU, STEP, activated
from softmachine.engines.fast.tables.words import LANES, kind_of, lane

BITS = 5
IN_WORD = (1 << BITS) - 1
"""So many bits of a row's number are its bit in a word of changes, and the others are the word."""
ACT, WORD, SHIFT, READERS, READERS_END = range(5)
ROW = 5
"""A row: its activation; where it is written to, and the shift there, or one of the following; who is told of it: the
number of a row, a weight, and the row's floor. Who is told of a lane: the number of a row, what it adds if it is -1,
0, or 1, and the floor."""
FLOORS = {KEEP: -SAFE, RELU: 0, STEP: -1}
"""Sums that are not above these are all the same to an activation."""
UNREAD, AS_NUMBER = -1, -2
"""The shift of a row that is not written, and of one that is written as a number."""


class KeepingRows:
    """Rows of a block that keep their sums, and who is told when something changes.

    A row that depends on one number alone, which is -1, 0 or 1, is left out unless it is written: who reads the row is
    told of the number.

    Args:
        block: The block.
        written: The places that are written.
    """

    def __init__(self, block: Block, written: Collection[int]) -> None:
        of_one = {place: (place, (-1, 0, 1)) for place in block.inputs}
        for item in block.rows:
            sources = {of_one[place][0] if place in of_one else None for place in item.sum.terms}
            if len(sources) == 1 and None not in sources:
                parts = [(weight, of_one[place][1]) for place, weight in item.sum.terms.items()]
                sums = (item.sum.bias + sum(weight * values[k] for weight, values in parts) for k in range(3))
                minus, zero, plus = (int(activated(total, item.activation)) for total in sums)
                of_one[item.to] = next(place for place in sources if place is not None), (minus, zero, plus)
        self.rows = [item for item in block.rows if item.to in written or item.to not in of_one]
        self.at_first: list[int] = []
        """The sums while all numbers are 0."""
        self._inputs: dict[int, dict[int, list[int]]] = {place: {} for place in block.inputs}
        self._rows: dict[int, list[tuple[int, int]]] = {item.to: [] for item in self.rows}
        for number, item in enumerate(self.rows):
            self.at_first.append(int(item.sum.bias))
            for place, weight in item.sum.terms.items():
                if place in of_one:
                    source, values = of_one[place]
                    added = self._inputs[source].setdefault(number, [0, 0, 0])
                    added[:] = [old + int(weight) * new for old, new in zip(added, values, strict=True)]
                    self.at_first[-1] += int(weight) * values[1]
                else:
                    self._rows[place].append((number, int(weight)))

    def readers_of_input(self, place: int) -> list[tuple[int, ...]]:
        """Who is told of a number that the block reads."""
        told = [(number, added) for number, added in self._inputs[place].items() if len(set(added)) > 1]
        return [(number, *added, self._floor(number)) for number, added in told]

    def readers_of_row(self, place: int) -> list[tuple[int, ...]]:
        """Who is told of a row."""
        return [(number, weight, self._floor(number)) for number, weight in self._rows[place]]

    def _floor(self, number: int) -> int:
        return FLOORS[self.rows[number].activation]


@inlined
def tell(row: int, more: int, floor: int, sums: int, changes: int, heap: Integers) -> None:
    """Add to the sum of a row. The row is to be looked at, unless its sum was not above its floor and still is not."""
    before = heap[sums + row]
    after = before + more
    heap[sums + row] = after
    heap[changes + (row >> BITS)] |= int(max(before, after) > floor) << (row & IN_WORD)


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
            one, other = lane(new, shift) + 2, lane(old, shift) + 2
            reader, end = code[readers + shift], code[readers + shift + 1]
            while reader < end:
                tell(code[reader], code[reader + one] - code[reader + other], code[reader + 4], sums, changes, heap)
                reader += 5
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
                heap[results + number] = new
                reader, end = code[row + READERS], code[row + READERS_END]
                while reader < end:
                    tell(code[reader], code[reader + 1] * (new - old), code[reader + 2], sums, changes, heap)
                    reader += 3
                if shift >= 0:
                    if new < -1 or new > 1:
                        return int(status.REPLAN + code[block + of.BLOCK_NUMBER])
                    heap[code[row + WORD]] ^= ((new ^ old) & 3) << shift
                elif shift == AS_NUMBER:
                    heap[code[row + WORD]] = new
    for k in range(code[block + of.WORDS]):
        heap[code[block + of.WORD] + k] = heap[code[block + of.DRAFT] + k]
    return status.RUNNING
