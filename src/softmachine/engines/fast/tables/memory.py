"""The arrays that `kernel` works on, and how they grow."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from softmachine.engines.fast.indexes import finding
from softmachine.engines.fast.indexes.groups import GROUPS, rehash
from softmachine.engines.fast.indexes.kernels import Integers
from softmachine.engines.fast.tables import heads as column
from softmachine.engines.fast.tables.heads import Kept
from softmachine.engines.fast.tables.kernel import Tables
from softmachine.engines.fast.tables.kinds import MOST_KINDS
from softmachine.engines.fast.tables.rows import fresh
from softmachine.transformer.attention import Choice

if TYPE_CHECKING:
    from softmachine.engines.fast.tables.interpreted import Interpreted

START, GROWTH = 64, 4
"""Indexes begin with room for so many groups, and grow by this factor."""
CHOICES = {Choice.LEFTMOST: finding.LEFTMOST, Choice.RIGHTMOST: finding.RIGHTMOST}


class TableMemory:
    """All that a run of a large model remembers besides its tokens.

    Args:
        code: What works on it.
    """

    def __init__(self, code: Interpreted) -> None:
        self.code = code
        program = code.program
        self.tables: Integers = np.zeros(1, dtype=np.int64)
        self.scalars: Integers = np.zeros(1, dtype=np.int64)
        self.vector = fresh(program.weights.rows, program.parts)
        self.capacities = [START if index.parts else 1 for index in program.indexes]
        self.kept = self._laid_out(self.capacities)

    def _laid_out(self, capacities: Sequence[int]) -> Kept:
        """Arrays in which every index and every head has its room, for so many groups each."""
        code, program = self.code, self.code.program
        keys = slots = places = boxes = values = 0
        indexes = []
        for x, index in enumerate(program.indexes):
            capacity, odd = capacities[x], x in code.odd_indexes
            hashed = 1 << (2 * capacity - 1).bit_length()
            indexes.append([index.key, index.parts, keys, capacity, slots, hashed, places, odd, boxes, index.part])
            keys += capacity * index.parts * (2 if odd else 1)
            slots, places = slots + hashed, places + capacity
            boxes += 2 * index.parts
        heads = []
        for h, head in enumerate(program.heads):
            odd, choice = h in code.odd_heads, CHOICES.get(head.head.weighting.choice, finding.AVERAGE)
            where = [head.index, head.query, head.width, head.value, head.size, head.found, choice, head.time]
            heads.append([*where, program.indexes[head.index].causal, values, odd, head.part])
            values += 3 * capacities[head.index] * head.size * (2 if odd else 1)
        widest = max([index.parts for index in program.indexes] + [head.size for head in program.heads], default=0)
        return Kept(
            heads=np.array(heads, dtype=np.int64).reshape(-1, 12),
            indexes=np.array(indexes, dtype=np.int64).reshape(-1, 10),
            done=np.zeros(len(heads), dtype=np.int64),
            meta=np.zeros((len(indexes), 6), dtype=np.int64),
            keys=np.zeros(keys, dtype=np.int64),
            slots=np.full(slots, -1, dtype=np.int64),
            places=np.zeros((places, 3), dtype=np.int64),
            values=np.zeros(values, dtype=np.int64),
            boxes=np.zeros((2, boxes), dtype=np.int64),
            asked=np.zeros(boxes, dtype=np.int64),
            kinds=np.zeros(boxes * MOST_KINDS, dtype=np.int64),
            latest=np.full((program.parts, 4), -1, dtype=np.int64),
            room=np.zeros((5, 2 * widest), dtype=np.int64),
        )

    @property
    def arrays(self) -> list[Tables]:
        """What the code is given."""
        return [Tables(self.code.program.weights, self.vector, self.kept)]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(array.nbytes for array in (*self.vector, *self.kept, *self.code.data))

    def tied(self) -> list[int]:
        """The outputs of equal logits, after a tie."""
        first, count, _ = self.code.program.weights.logits
        pairs = zip(*(part[first : first + count].tolist() for part in self.vector[:2]), strict=True)
        logits = [Fraction(n, d) for n, d in pairs]
        return [o for o, logit in enumerate(logits) if logit == max(logits)]

    def growth(self, number: int) -> int:
        """The bytes that it takes to make room in an index, while the old arrays are still there."""
        rows = [3 * head.size * (1 + (h in self.code.odd_heads)) for h, head in enumerate(self.code.program.heads)]
        of_heads = np.bincount([head.index for head in self.code.program.heads], rows, len(self.capacities))
        each = [2 * index.parts + 4 + 3 + int(of_heads[x]) for x, index in enumerate(self.code.program.indexes)]
        return 8 * sum(room * size for room, size in zip(self._larger(number), each, strict=True))

    def _larger(self, number: int) -> list[int]:
        """The capacities with more room for an index that is full, and for those that will be soon: all move."""
        used = self.kept.meta[:, GROUPS].tolist()
        return [
            GROWTH * capacity if x == number or 2 * used[x] > capacity > 1 else capacity
            for x, capacity in enumerate(self.capacities)
        ]

    def make_room(self, number: int) -> None:
        """Make room in an index that is full."""
        old, before = self.kept, list(self.capacities)
        self.capacities = self._larger(number)
        self.kept = new = self._laid_out(self.capacities)._replace(
            done=old.done, meta=old.meta, boxes=old.boxes, asked=old.asked, kinds=old.kinds, latest=old.latest
        )
        for x, (was, now) in enumerate(zip(old.indexes, new.indexes, strict=True)):
            width = was[column.PARTS] * (1 + was[column.ODD_KEYS])
            _move(old.keys, was[column.KEYS], new.keys, now[column.KEYS], before[x] * width)
            _move(old.places, was[column.PLACES], new.places, now[column.PLACES], before[x])
            if before[x] != self.capacities[x]:
                keys = new.keys[now[column.KEYS] :][: now[column.CAPACITY] * width].reshape(-1, width)
                rehash(new.slots[now[column.SLOTS] :][: now[column.HASHED]], keys, int(new.meta[x, GROUPS]))
            else:
                _move(old.slots, was[column.SLOTS], new.slots, now[column.SLOTS], was[column.HASHED])
        for was, now in zip(old.heads, new.heads, strict=True):
            row = 3 * was[column.SIZE] * (1 + was[column.ODD_VALUES])
            _move(old.values, was[column.VALUES], new.values, now[column.VALUES], before[was[column.INDEX]] * row)

    def forget(self) -> None:
        """Begin anew: what was remembered of the positions is gone, the room for it is not."""
        self.kept.meta[:] = 0
        self.kept.done[:] = 0
        self.kept.slots[:] = -1
        self.vector.moved[:] = True


def _move(source: Integers, start: int, target: Integers, to: int, count: int) -> None:
    target[to : to + count] = source[start : start + count]
