"""The heap that `kernel` works on, and how it grows.

What grows has room for some entries. When it is full, it moves to where the heap is free, with more room; nothing else
moves, and where it was stays unused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from softmachine.engines.fast.indexes.kernels import Integers
from softmachine.engines.fast.tables import records as of

if TYPE_CHECKING:
    from softmachine.engines.fast.tables.interpreted import Interpreted

START, GROWTH = 256, 4
"""Indexes and tables of answers begin with room for so many, and grow by this factor."""
MOST_ANSWERS = 1 << 16
"""A table with room for so many answers does not grow; it forgets all when it is full."""
MOST_RESERVED = 1 << 14
"""For more positions no memory is taken before they come."""


@dataclass(frozen=True)
class Growing:
    """Something in the heap that grows: the groups of an index, the sums of a head, or a table of answers.

    Args:
        room: For how many entries there is room at first.
        used: Where it says how many there are,
        capacity: and how many fit.
        columns: What an entry consists of: where it says where the first of these is, and how many integers it takes.
        hashed: Whether entries are found by a hash table, and `used` is in a record that says where that is.
        most: How many entries are kept at most.
    """

    room: int
    used: int
    capacity: int
    columns: tuple[tuple[int, int], ...]
    hashed: bool
    most: int = 1 << 62

    def size(self, room: int) -> int:
        """How many integers so much room takes."""
        return room * sum(stride for _, stride in self.columns) + (_slots(room) if self.hashed else 0)


class TableMemory:
    """All that a run of a large model remembers besides its tokens.

    Args:
        code: What works on it.
    """

    def __init__(self, code: Interpreted) -> None:
        self.code, self.layout = code, code.layout
        self.tables: Integers = np.zeros(1, dtype=np.int64)
        self.scalars: Integers = np.zeros(1, dtype=np.int64)
        groups = [self._index(number) for number in range(len(self.layout.indexes))]
        sums = [self._sums(number) for number in range(len(self.layout.heads))]
        answers = {entries: self._answers(entries, stride) for entries, _, stride in self.layout.tables}
        self.answers = list(answers.values())
        self.growing = [*groups, *sums, *(answers[table] for table in self._all(self.layout.blocks_at, of.TABLE))]
        """All that grows, by the number that the code has for it; blocks may have one table."""
        self.end = self.layout.heap
        """How much of the heap is taken."""
        each = [*groups, *sums, *self.answers]
        self.heap: Integers = np.zeros(self.end + sum(item.size(item.room) for item in each), dtype=np.int64)
        self.heap[list(self.layout.at_first)] = list(self.layout.at_first.values())
        for item in each:
            self._move(item, item.room)
        valued, asked = self._all(self.layout.heads, of.VALUED), self._all(self.layout.questions, of.ASKED)
        grouped = [self._all(self.layout.indexes, of.GROUPED) + column for column in of.GROUPS_AT_FIRST]
        self._grouped = groups
        self._zeros = np.concatenate([*grouped, valued + of.DONE, valued + of.MIXED, asked + of.AT])
        """What is 0 when a run begins,"""
        self._undecided = asked + of.GROUP
        """and what is not decided."""
        self.forget()

    def _all(self, records: Iterable[int], column: int) -> Integers:
        """One integer of each of some records."""
        return self.layout.code[np.array([record + column for record in records], dtype=np.int64)]

    def _index(self, number: int) -> Growing:
        index, code = self.layout.indexes[number], self.layout.code
        groups, heads = int(code[index + of.GROUPED]), zip(self.layout.heads, self.code.program.heads, strict=True)
        values = [
            (int(code[record + of.VALUED]) + of.VALUE, 1 + self.layout.width(record))
            for record, head in heads
            if head.index == number
        ]
        room = START if self.code.program.indexes[number].places else 1
        columns = (groups + of.ENTRIES, self.layout.width(index)), (groups + of.PLACES, of.PLACE), *values
        return Growing(room, groups + of.USED, groups + of.CAPACITY, columns, hashed=True)

    def _sums(self, number: int) -> Growing:
        valued = int(self.layout.code[self.layout.heads[number] + of.VALUED])
        columns = ((valued + of.TOTAL, 2 * len(self.code.program.heads[number].values)),)
        return Growing(1, valued + of.MIXED, valued + of.TOTALS, columns, hashed=False)

    def _answers(self, table: int, stride: int) -> Growing:
        columns = ((table + of.ENTRIES, stride),)
        return Growing(START, table + of.USED, table + of.CAPACITY, columns, hashed=True, most=MOST_ANSWERS)

    def _move(self, item: Growing, room: int) -> None:
        """Let something have so much room where the heap is free."""
        heap, used = self.heap, int(self.heap[item.used])
        for address, stride in item.columns:
            old = int(heap[address])
            heap[self.end : self.end + used * stride] = heap[old : old + used * stride]
            heap[address] = self.end
            self.end += room * stride
        heap[item.capacity] = room
        if item.hashed:
            record = item.used - of.USED
            heap[record + of.HASH], heap[record + of.HASHED] = self.end, _slots(room)
            self.end += _slots(room)
            self._clear(item)

    def _clear(self, item: Growing) -> None:
        """Empty the hash table of something; what is still there is put in again."""
        heap, record = self.heap, item.used - of.USED
        heap[heap[record + of.HASH] :][: heap[record + of.HASHED]] = -1
        heap[record + of.FILLED] = 0

    @property
    def arrays(self) -> list[Integers]:
        """What the code is given."""
        return [self.layout.code, self.heap]

    @property
    def size(self) -> int:
        """Bytes."""
        return self.heap.nbytes + self.layout.code.nbytes

    def number(self, place: int) -> tuple[int, int]:
        """A number that was computed and not remembered, as a fraction."""
        at = self.layout.numbers + 2 * place
        return int(self.heap[at]), int(self.heap[at + 1])

    def tied(self) -> list[int]:
        """The outputs of equal logits, after a tie."""
        logits = [Fraction(*self.number(place)) for place in self.code.program.logits]
        return [o for o, logit in enumerate(logits) if logit == max(logits)]

    def _larger(self, number: int) -> int:
        """How much room something is to have that is full."""
        item = self.growing[number]
        return min(GROWTH * int(self.heap[item.capacity]), item.most)

    def growth(self, number: int) -> int:
        """The bytes that it takes to make room; with those of a larger heap, if there has to be one."""
        needed = self.growing[number].size(self._larger(number))
        return 8 * (needed if self.end + needed <= self.heap.size else 2 * (self.end + needed))

    def make_room(self, number: int) -> None:
        """Make room in what is full; a table that is as large as it may be forgets its answers."""
        item, room = self.growing[number], self._larger(number)
        if room == self.heap[item.capacity]:
            self.heap[item.used] = 0
            self._clear(item)
            return
        if self.end + item.size(room) > self.heap.size:
            self._enlarge(np.zeros(2 * (self.end + item.size(room)), dtype=np.int64))
        self._move(item, room)

    def reserve(self, positions: int) -> None:
        """Have memory for so many positions, as far as can be told: what comes as the run goes on takes its time.

        An index may have a group for each position; answers, and what moved from, may take as much again.
        """
        room = min(positions, MOST_RESERVED)
        needed = self.end + 2 * sum(item.size(room) for item in self._grouped)
        if room > START and needed > self.heap.size:
            self._enlarge(np.full(needed, 0, dtype=np.int64))  # this writes, so that the memory is there

    def _enlarge(self, heap: Integers) -> None:
        """Go on in a larger heap, of zeros."""
        heap[: self.end] = self.heap[: self.end]
        self.heap = heap

    def forget(self) -> None:
        """Begin anew: what was remembered of the positions is gone; room, and answers of blocks, are not."""
        self.heap[self._zeros] = 0
        self.heap[self._undecided] = of.UNDECIDED
        for item in self._grouped:
            self._clear(item)

    def compute_everything(self) -> None:
        """From now on, let all numbers of a position be computed and none be remembered, so that `number` has them."""
        self.heap[self.layout.code[of.EVERY]] = 1


def _slots(room: int) -> int:
    """How large the hash table is for so many entries: some of it stays empty."""
    return 1 << (2 * room - 1).bit_length()
