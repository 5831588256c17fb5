"""The heap that `kernel` works on, and how it grows."""

from __future__ import annotations

from collections.abc import Sequence
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


class TableMemory:
    """All that a run of a large model remembers besides its tokens.

    Args:
        code: What works on it.
    """

    def __init__(self, code: Interpreted) -> None:
        self.code, self.layout = code, code.layout
        self.tables: Integers = np.zeros(1, dtype=np.int64)
        self.scalars: Integers = np.zeros(1, dtype=np.int64)
        self.heap: Integers = np.zeros(self.layout.heap, dtype=np.int64)
        self.heap[self.layout.numbers + 1 : self.layout.numbers + 2 * code.program.places : 2] = 1
        self.rooms = [START if index.places else 1 for index in code.program.indexes]
        """For how many groups there is room in each index; for how many sums of each head; for how many answers."""
        self.rooms += [1] * len(self.layout.heads) + [START] * len(self.layout.tables)
        groups, valued, asked = (
            np.array([self.layout.code[record + column] for record in records], dtype=np.int64)
            for records, column in (
                (self.layout.indexes, of.GROUPED),
                (self.layout.heads, of.VALUED),
                (self.layout.questions, of.ASKED),
            )
        )
        counts = [groups + column for column in (of.USED, of.FILLED, of.INSERTED, of.LATEST, of.KINDS)]
        self._groups = groups.tolist()
        self._zeros = np.concatenate([*counts, valued + of.DONE, valued + of.MIXED, asked + of.AT])
        """What is 0 when a run begins,"""
        self._undecided = asked + of.GROUP
        """and what is not decided."""
        self._move(self.rooms)
        self.forget()

    def _move(self, rooms: Sequence[int], forgotten: int = -1) -> None:
        """Let everything have so much room in a new heap; a table, by its number, may forget what it has."""
        layout, old = self.layout, self.heap
        indexes, heads = len(layout.indexes), len(layout.heads)
        sizes = [self._size(number, room) for number, room in enumerate(rooms)]
        begins = np.cumsum([layout.heap, *sizes]).tolist()
        self.heap = np.zeros(begins[-1], dtype=np.int64)
        self.heap[: layout.heap] = old[: layout.heap]
        self.rooms = list(rooms)
        for number, begin in enumerate(begins[:-1]):
            if number < indexes:
                self._move_index(number, begin, old)
            elif number < indexes + heads:
                state = int(layout.code[layout.heads[number - indexes] + of.VALUED])
                stride = self._stride(number)
                self._copy(state + of.TOTAL, begin, int(old[state + of.MIXED]) * stride, old)
                self.heap[state + of.TOTALS] = rooms[number]
            else:
                table, *_ = layout.tables[number - indexes - heads]
                if number == forgotten:
                    self.heap[table + of.USED] = 0
                self._move_entries(table, number, begin, old)

    def _copy(self, address: int, begin: int, count: int, old: Integers) -> None:
        """Copy what is in the old heap where an address there says; from now on it says where the copy is."""
        self.heap[begin : begin + count] = old[old[address] :][:count]
        self.heap[address] = begin

    def _move_entries(self, entries: int, number: int, begin: int, old: Integers) -> int:
        """Let entries that are found by a key be somewhere else; the hash table is empty then. Where they end."""
        heap, room, stride = self.heap, self.rooms[number], self._stride(number)
        self._copy(entries + of.ENTRIES, begin, int(heap[entries + of.USED]) * stride, old)
        begin += room * stride
        heap[begin : begin + _hashed(room)] = -1
        heap[entries + of.CAPACITY], heap[entries + of.FILLED] = room, 0
        heap[entries + of.HASH], heap[entries + of.HASHED] = begin, _hashed(room)
        return begin + _hashed(room)

    def _move_index(self, number: int, begin: int, old: Integers) -> None:
        """Let an index be somewhere else: keys, places, kinds, and the values of its heads."""
        code, room = self.layout.code, self.rooms[number]
        groups, width = int(code[self.layout.indexes[number] + of.GROUPED]), self._stride(number)
        used = int(old[groups + of.USED])
        begin = self._move_entries(groups, number, begin, old)
        self._copy(groups + of.PLACES, begin, used * of.PLACE, old)
        begin += room * of.PLACE
        self._copy(groups + of.KIND, begin, width * of.MOST_KINDS, old)
        begin += width * of.MOST_KINDS
        for head in self._heads_of(number):
            row = 1 + self._width(head)
            self._copy(int(code[head + of.VALUED]) + of.VALUE, begin, used * row, old)
            begin += room * row

    def _heads_of(self, index: int) -> list[int]:
        pairs = zip(self.layout.heads, self.code.program.heads, strict=True)
        return [record for record, head in pairs if head.index == index]

    def _width(self, record: int) -> int:
        """How many words somebody reads."""
        return int(self.layout.code[record + of.KEY_END] - self.layout.code[record + of.KEY]) // 2

    def _stride(self, number: int) -> int:
        """How many integers a key takes, a sum, or an answer with its key."""
        layout, indexes = self.layout, len(self.layout.indexes)
        if number < indexes:
            return self._width(layout.indexes[number])
        if number < indexes + len(layout.heads):
            return 2 * len(self.code.program.heads[number - indexes].values)
        _, width, count = layout.tables[number - indexes - len(layout.heads)]
        return width + count

    def _size(self, number: int, room: int) -> int:
        """How many integers something takes that has room for so many."""
        stride, indexes = self._stride(number), len(self.layout.indexes)
        if number < indexes:
            rows = sum(1 + self._width(head) for head in self._heads_of(number))
            return room * (stride + of.PLACE + rows) + stride * of.MOST_KINDS + _hashed(room)
        return room * stride + (_hashed(room) if number >= indexes + len(self.layout.heads) else 0)

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

    def growth(self, number: int) -> int:
        """The bytes that it takes to make room, while the old heap is still there."""
        return 8 * (self.layout.heap + sum(self._size(k, room) for k, room in enumerate(self._larger(number))))

    def _full(self, number: int) -> int:
        """What is full: an index, the sums of a head, or the table of a block."""
        others = len(self.layout.indexes) + len(self.layout.heads)
        if number < others:
            return number
        table = self.layout.code[self.layout.blocks_at[number - others] + of.TABLE]
        return others + [address for address, *_ in self.layout.tables].index(table)

    def _larger(self, number: int) -> list[int]:
        """More room for what is full, and for what will be soon: all is moved."""
        layout, heap, full = self.layout, self.heap, self._full(number)
        used = [heap[layout.code[record + of.GROUPED] + of.USED] for record in layout.indexes]
        used += [heap[layout.code[record + of.VALUED] + of.MIXED] for record in layout.heads]
        used += [heap[table + of.USED] for table, *_ in layout.tables]
        most = [MOST_ANSWERS if k >= len(used) - len(layout.tables) else 1 << 62 for k in range(len(used))]
        grows = [
            k == full or 8 * use > 7 * room > 7 for k, (use, room) in enumerate(zip(used, self.rooms, strict=True))
        ]
        rooms = zip(self.rooms, grows, most, strict=True)
        return [min(GROWTH * room, limit) if grow else room for room, grow, limit in rooms]

    def make_room(self, number: int) -> None:
        """Make room in what is full; a table that is as large as it may be forgets its answers."""
        rooms, full = self._larger(number), self._full(number)
        self._move(rooms, forgotten=full if rooms[full] == self.rooms[full] else -1)

    def forget(self) -> None:
        """Begin anew: what was remembered of the positions is gone; room, and answers of blocks, are not."""
        heap = self.heap
        heap[self._zeros] = 0
        heap[self._undecided] = of.UNDECIDED
        for groups in self._groups:
            begin = heap[groups + of.HASH]
            heap[begin : begin + heap[groups + of.HASHED]] = -1

    def compute_everything(self) -> None:
        """From now on, let all numbers of a position be computed and none be remembered, so that `number` has them."""
        self.heap[self.layout.code[of.EVERY]] = 1


def _hashed(room: int) -> int:
    """How large the hash table is for so many groups: some of it stays empty."""
    return 1 << (2 * room - 1).bit_length()
