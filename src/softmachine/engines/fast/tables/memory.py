"""The arrays that `kernel` works on, and how they grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.tables import groups as group
from softmachine.engines.fast.tables.groups import rehash
from softmachine.engines.fast.tables.program import mode_of

if TYPE_CHECKING:
    from softmachine.engines.fast.tables.code import TableCode

Integers = NDArray[np.int64]
START = 64
"""Indexes begin with room for so many groups."""


class TableMemory:
    """All that a run of a large model remembers besides its tokens.

    Args:
        code: What works on it.
    """

    def __init__(self, code: TableCode) -> None:
        self.code = code
        program = code.program
        self.tables: Integers = np.zeros(1, dtype=np.int64)
        self.scalars: Integers = np.zeros(1, dtype=np.int64)
        self.n: Integers = np.zeros(program.places, dtype=np.int64)
        self.d: Integers = np.ones(program.places, dtype=np.int64)
        self.odd = np.zeros(program.places, dtype=np.bool_)
        self.state: Integers = np.zeros((len(program.indexes), 4), dtype=np.int64)
        self.done: Integers = np.zeros(len(program.heads), dtype=np.int64)
        self.capacities = [START if index.parts else 1 for index in program.indexes]
        widest = 2 * max([index.parts for index in program.indexes], default=0)
        self.key: Integers = np.zeros(widest + 1, dtype=np.int64)
        self.query: Integers = np.zeros(widest + 1, dtype=np.int64)
        self._lay_out()
        self.boxes: Integers = np.zeros((2, self._boxes + 1), dtype=np.int64)
        self.memo: Integers = np.zeros(self._boxes + 1, dtype=np.int64)

    def _lay_out(self) -> None:
        """Say where in the arrays every index and every head has its room, and make the arrays."""
        code, program = self.code, self.code.program
        keys = slots = places = boxes = values = 0
        self.indexes: Integers = np.zeros((len(program.indexes), 10), dtype=np.int64)
        for x, index in enumerate(program.indexes):
            capacity, width = self.capacities[x], index.parts * (2 if x in code.odd_indexes else 1)
            hashed = 1 << (2 * capacity - 1).bit_length()
            self.indexes[x] = [
                index.key, index.parts, keys, capacity, slots, hashed, places, x in code.odd_indexes, boxes,
                index.causal,
            ]  # fmt: skip
            keys, slots, places = keys + capacity * width, slots + hashed, places + capacity
            boxes += 2 * index.parts
        self.heads: Integers = np.zeros((len(program.heads), 12), dtype=np.int64)
        for h, head in enumerate(program.heads):
            odd = h in code.odd_heads
            self.heads[h] = [
                head.index, head.query, head.width, head.value, head.size, head.found, *mode_of(head), head.time,
                program.indexes[head.index].causal, values, odd,
            ]  # fmt: skip
            values += self.capacities[head.index] * head.size * (2 if odd else 1)
        self._boxes = boxes
        self.keys: Integers = np.zeros(keys + 1, dtype=np.int64)
        self.slots: Integers = np.full(slots + 1, -1, dtype=np.int64)
        self.places: Integers = np.zeros((places + 1, 3), dtype=np.int64)
        self.values: Integers = np.zeros(values + 1, dtype=np.int64)

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The arrays in the order of the code's parameters."""
        return [
            self.n, self.d, self.odd, *self.code.data, self.heads, self.code.past, self.code.sizes, self.indexes,
            self.state, self.done, self.keys, self.slots, self.places, self.values, self.boxes, self.key, self.query,
            self.memo,
        ]  # fmt: skip

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(array.nbytes for array in self.arrays)

    def tied(self) -> list[int]:
        """The outputs of equal logits, after a tie."""
        from fractions import Fraction

        first, count = self.code.program.logits[0], self.code.outputs
        logits = [Fraction(int(self.n[first + o]), int(self.d[first + o])) for o in range(count)]
        return [o for o, logit in enumerate(logits) if logit == max(logits)]

    def make_room(self, number: int) -> None:
        """Make room in an index that is full."""
        old = self.indexes, self.heads, self.keys, self.slots, self.places, self.values
        before = list(self.capacities)
        self.capacities[number] *= 2
        self._lay_out()
        for x, capacity in enumerate(before):
            width = self.indexes[x, group.PARTS] * (2 if self.indexes[x, group.ODD_KEYS] else 1)
            _move(old[2], self.keys, old[0][x, group.KEYS], self.indexes[x, group.KEYS], capacity * width)
            _move(old[4], self.places, old[0][x, group.PLACES], self.indexes[x, group.PLACES], capacity)
            if x == number:
                rehash(x, self.indexes, self.state, self.keys, self.slots)
            else:
                hashed = self.indexes[x, group.HASHED]
                _move(old[3], self.slots, old[0][x, group.SLOTS], self.indexes[x, group.SLOTS], hashed)
        for h, head in enumerate(self.code.program.heads):
            width = head.size * (2 if self.heads[h, group.ODD_VALUES] else 1)
            begin, end = old[1][h, group.VALUES], self.heads[h, group.VALUES]
            _move(old[5], self.values, begin, end, before[head.index] * width)

    def forget(self) -> None:
        """Begin anew: what was remembered of the positions is gone, the room for it is not."""
        self.state[:] = 0
        self.done[:] = 0
        self.slots[:] = -1


def _move(source: Integers, target: Integers, start: int, to: int, count: int) -> None:
    target[to : to + count] = source[start : start + count]
