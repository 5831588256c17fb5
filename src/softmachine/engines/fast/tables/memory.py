"""The heap that `kernel` works on, and how it grows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from softmachine.engines.fast.indexes.kernels import Integers
from softmachine.engines.fast.tables import records as of
from softmachine.engines.fast.tables.asking import slot_of
from softmachine.engines.fast.tables.words import kernel, mixed

if TYPE_CHECKING:
    from softmachine.engines.fast.tables.interpreted import Interpreted

START, GROWTH = 64, 4
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
        self._move(self.rooms)
        self.forget()

    def _move(self, rooms: Sequence[int], forgotten: int = -1) -> None:
        """Let everything have so much room in a new heap; one thing, by its number, is forgotten."""
        layout, old = self.layout, self.heap
        sizes = [self._size(number, room) for number, room in enumerate(rooms)]
        begins = np.cumsum([layout.heap, *sizes]).tolist()
        heap = np.zeros(begins[-1], dtype=np.int64)
        heap[: layout.heap] = old[: layout.heap]
        indexes, heads = len(layout.indexes), len(layout.heads)
        for number, (begin, room) in enumerate(zip(begins, rooms, strict=False)):
            if number < indexes:
                self._move_index(number, room, begin, old, heap)
            elif number < indexes + heads:
                head = layout.heads[number - indexes]
                state, width = layout.code[head + of.VALUED], self._sum(number - indexes)
                used = int(old[state + of.MIXED]) * width
                heap[begin : begin + used] = old[old[state + of.TOTAL] :][:used]
                heap[state + of.TOTAL], heap[state + of.TOTALS] = begin, room
            else:
                table, width, count = layout.tables[number - indexes - heads]
                heap[table + of.SLOTS], heap[table + of.ENTRIES], heap[table + of.USED] = room, begin, 0
                if number != forgotten:
                    _answer_again(table, width, count, old, heap)
        self.heap, self.rooms = heap, list(rooms)

    def _move_index(self, number: int, room: int, begin: int, old: Integers, heap: Integers) -> None:
        """Let an index be somewhere in a new heap: keys, hash table, places, kinds, and the values of its heads."""
        layout = self.layout
        state, width = int(layout.code[layout.indexes[number] + of.GROUPED]), self._width(layout.indexes[number])
        used, hashed = int(old[state + of.GROUPS]), _hashed(room)
        kinds = width * of.MOST_KINDS
        parts = [(of.KEYS, used * width, room * width), (of.PLACES, used * of.PLACE, room * of.PLACE)]
        for column, count, size in (*parts, (of.KIND, kinds, kinds)):
            heap[begin : begin + count] = old[old[state + column] :][:count]
            heap[state + column] = begin
            begin += size
        heap[state + of.CAPACITY], heap[state + of.HASH], heap[state + of.HASHED] = room, begin, hashed
        heap[begin : begin + hashed] = -1
        _hash_again(state, width, heap)
        begin += hashed
        for head in self._heads_of(number):
            valued, row = layout.code[head + of.VALUED], 1 + self._width(head)
            heap[begin : begin + used * row] = old[old[valued + of.VALUE] :][: used * row]
            heap[valued + of.VALUE] = begin
            begin += room * row

    def _heads_of(self, index: int) -> list[int]:
        pairs = zip(self.layout.heads, self.code.program.heads, strict=True)
        return [record for record, head in pairs if head.index == index]

    def _width(self, record: int) -> int:
        """How many words somebody reads."""
        return int(self.layout.code[record + of.KEY_END] - self.layout.code[record + of.KEY]) // 2

    def _sum(self, head: int) -> int:
        return 2 * len(self.code.program.heads[head].values)

    def _size(self, number: int, room: int) -> int:
        """How many integers something takes that has room for so many."""
        layout, indexes = self.layout, len(self.layout.indexes)
        if number < indexes:
            width, values = self._width(layout.indexes[number]), [1 + self._width(h) for h in self._heads_of(number)]
            return room * (width + of.PLACE + sum(values)) + width * of.MOST_KINDS + _hashed(room)
        if number < indexes + len(layout.heads):
            return room * self._sum(number - indexes)
        _, width, count = layout.tables[number - indexes - len(layout.heads)]
        return room * (1 + width + count)

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
        used = [2 * heap[layout.code[record + of.GROUPED] + of.GROUPS] for record in layout.indexes]
        used += [2 * heap[layout.code[record + of.VALUED] + of.MIXED] for record in layout.heads]
        used += [4 * heap[table + of.USED] for table, *_ in layout.tables]
        most = [MOST_ANSWERS if k >= len(used) - len(layout.tables) else 1 << 62 for k in range(len(used))]
        grows = [k == full or use > room > 1 for k, (use, room) in enumerate(zip(used, self.rooms, strict=True))]
        rooms = zip(self.rooms, grows, most, strict=True)
        return [min(GROWTH * room, limit) if grow else room for room, grow, limit in rooms]

    def make_room(self, number: int) -> None:
        """Make room in what is full; a table that is as large as it may be forgets its answers."""
        rooms, full = self._larger(number), self._full(number)
        self._move(rooms, forgotten=full if rooms[full] == self.rooms[full] else -1)

    def forget(self) -> None:
        """Begin anew: what was remembered of the positions is gone; room, and answers of blocks, are not."""
        code, heap = self.layout.code, self.heap
        for record in self.layout.indexes:
            state = code[record + of.GROUPED]
            heap[state + of.GROUPS : state + of.KINDS + 1] = 0
            heap[heap[state + of.HASH] :][: heap[state + of.HASHED]] = -1
        for record in self.layout.heads:
            heap[code[record + of.VALUED] + of.DONE] = heap[code[record + of.VALUED] + of.MIXED] = 0
        for record in self.layout.questions:
            state = code[record + of.ASKED]
            heap[state + of.GROUP], heap[state + of.AT] = of.UNDECIDED, 0

    def compute_everything(self) -> None:
        """From now on, let all numbers of a position be computed and none be remembered, so that `number` has them."""
        self.heap[self.layout.code[of.EVERY]] = 1


def _hashed(room: int) -> int:
    """How large the hash table is for so many groups: some of it stays empty."""
    return 1 << (2 * room - 1).bit_length()


@kernel
def _hash_again(groups: int, width: int, heap: Integers) -> None:
    """Fill the hash table of an index, which is empty."""
    for g in range(heap[groups + of.GROUPS]):
        key, h = heap[groups + of.KEYS] + g * width, 7
        for k in range(width):
            h = mixed(h, heap[key + k])
        heap[slot_of(groups, h, key, width, heap)] = g


@kernel
def _answer_again(table: int, width: int, count: int, old: Integers, heap: Integers) -> None:
    """Put the answers of a table of the old heap into that of the new one, which is empty."""
    stride = 1 + width + count
    for slot in range(old[table + of.SLOTS]):
        at = old[table + of.ENTRIES] + slot * stride
        if old[at] == 1:
            h = 7
            for k in range(width):
                h = mixed(h, old[at + 1 + k])
            size, here = heap[table + of.SLOTS], h & (heap[table + of.SLOTS] - 1)
            while heap[heap[table + of.ENTRIES] + here * stride] == 1:  # no two answers have the same key
                here = (here + 1) & (size - 1)
            for k in range(stride):
                heap[heap[table + of.ENTRIES] + here * stride + k] = old[at + k]
            heap[table + of.USED] += 1
