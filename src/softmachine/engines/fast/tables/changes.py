"""Incremental evaluation: rows keep their sums, and only what changed since the last evaluation is recomputed.

Applies to blocks that read only -1, 0 and 1 and whose weights are integers, so that no number can overflow. Few of
their inputs change from one evaluation to the next: two bits of a position, on average. A change is pushed to the rows
that read it, and only rows whose result may have changed are evaluated, in order. Most units are 0 and stay 0: their
sums change, but they are not evaluated.

Reader lists are traversed by ``while``: numba unrolls ``for`` loops by four, and most lists are shorter.
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
"""The low bits of a row's number select the bit in a word of the dirty set, the others select the word."""
ACT, WORD, SHIFT, READERS, READERS_END = range(5)
ROW = 5
"""A row record: activation; output word, and shift there or one of the constants below; readers. A reader of a row:
row number, weight, and the row's floor. A reader of a lane: row number, contributions for -1, 0 and 1, and the
floor."""
FLOORS = {KEEP: -SAFE, RELU: 0, STEP: -1}
"""Sums up to these all give the same result of the activation."""
UNREAD, AS_NUMBER = -1, -2
"""The shift of a row that is not written, and of one that is written as a number."""


class KeepingRows:
    """The rows of a block for incremental evaluation, and their reader lists.

    A row that depends on a single number, which is -1, 0 or 1, is eliminated unless it is written: its readers read
    that number directly.

    Args:
        block: The block.
        written: The registers that are written.
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
        """The sums while all inputs are 0."""
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
        """The readers of an input of the block."""
        readers = [(number, added) for number, added in self._inputs[place].items() if len(set(added)) > 1]
        return [(number, *added, self._floor(number)) for number, added in readers]

    def readers_of_row(self, place: int) -> list[tuple[int, ...]]:
        """The readers of a row."""
        return [(number, weight, self._floor(number)) for number, weight in self._rows[place]]

    def _floor(self, number: int) -> int:
        return FLOORS[self.rows[number].activation]


@inlined
def tell(row: int, more: int, floor: int, sums: int, changes: int, heap: Integers) -> None:
    """Add to the sum of a row, and mark it dirty unless its sum was and stays at or below its floor."""
    before = heap[sums + row]
    after = before + more
    heap[sums + row] = after
    heap[changes + (row >> BITS)] |= int(max(before, after) > floor) << (row & IN_WORD)


@kernel
def catch_up(block: int, code: Integers, heap: Integers) -> int:
    """Evaluate a block incrementally and write its output words; returns a status."""
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
