"""The heap that `kernel` works on."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode.hash_tables import GROWTH, START
from softmachine.engines.fast.indexes.kernels import Integers

if TYPE_CHECKING:
    from softmachine.engines.fast.bytecode.interpreter import Interpreted

FREE_AT_FIRST = 1 << 16
MOST_RESERVED = 1 << 14
"""Maximum number of positions for which memory is committed in advance."""


class TableMemory:
    """The state of a large model's run, apart from its tokens.

    Args:
        code: The bytecode.
        everything: Whether all numbers of a position are computed without memoisation, so that `number` can return
            them.
    """

    def __init__(self, code: Interpreted, *, everything: bool = False) -> None:
        self.code, self.everything = code, everything
        self.layout = code.complete_layout if everything else code.layout
        self.tables: Integers = np.zeros(1, dtype=np.int64)
        self.scalars: Integers = np.zeros(1, dtype=np.int64)
        self._free = int(self.layout.code[of.FREE])
        self.heap: Integers = np.zeros(self.layout.heap + FREE_AT_FIRST, dtype=np.int64)
        self.heap[list(self.layout.at_first)] = list(self.layout.at_first.values())
        self.heap[self._free : self._free + 2] = self.layout.heap, self.heap.size
        self._stores = self._fields(self.layout.indexes, of.GROUPED)
        groups = self.layout.code[self._stores + of.STATE]
        sums = self.layout.code[self._fields(self.layout.lookups, of.SUMMED) + of.STATE]
        results = self._fields(self.layout.questions, of.ASKED)
        done = self._fields(self.layout.lookups, of.DONE)
        grouped = [groups + column for column in of.GROUPS_AT_FIRST]
        self._zeros = np.concatenate([*grouped, sums + of.USED, done, results + of.BOUNDED])
        """Addresses that are 0 when a run begins."""
        self._undecided = results + of.GROUP
        """Addresses that are `UNDECIDED` when a run begins."""
        self.forget()

    def _fields(self, records: Iterable[int], column: int) -> Integers:
        """The same field of several records."""
        return self.layout.code[np.array([record + column for record in records], dtype=np.int64)]

    @property
    def arrays(self) -> list[Integers]:
        """The arrays passed to the code."""
        return [self.layout.code, self.heap]

    @property
    def size(self) -> int:
        """The memory in bytes."""
        return self.heap.nbytes + self.layout.code.nbytes

    def number(self, place: int) -> tuple[int, int]:
        """A register at the last position as a fraction, if everything is computed."""
        at = self.layout.numbers + 2 * place
        return int(self.heap[at]), int(self.heap[at + 1])

    def tied(self) -> list[int]:
        """The outputs of equal logits, after a tie."""
        logits = [Fraction(*self.number(place)) for place in self.code.program.logits]
        return [o for o, logit in enumerate(logits) if logit == max(logits)]

    def growth(self, _: int) -> int:
        """The bytes of a heap of the size the code needs."""
        return 16 * int(self.heap[self._free + 2])

    def make_room(self, number: int) -> None:
        """Enlarge the heap to the size the code needs."""
        self._enlarge(np.zeros(self.growth(number) // 8, dtype=np.int64))

    def reserve(self, positions: int) -> None:
        """Commit memory for this many positions in advance, as far as the need can be estimated.

        An index may have a group for each position; memoised answers, and old copies of tables that moved, may take as
        much again.
        """
        room = START
        while room < min(positions, MOST_RESERVED):
            room *= GROWTH
        keys, entries = (self.layout.code[self._stores + part] for part in (of.KEY_WIDTH, of.STRIDE))
        each = keys + entries + 1  # the slot in the hash table
        needed = int(self.heap[self._free] + 2 * room * each.sum())
        if needed > self.heap.size:
            self._enlarge(np.full(needed, 0, dtype=np.int64))  # writes, so that the memory is committed

    def _enlarge(self, heap: Integers) -> None:
        """Continue in a larger heap of zeros."""
        taken = self.heap[self._free]
        heap[:taken] = self.heap[:taken]
        heap[self._free + 1] = heap.size
        self.heap = heap

    def forget(self) -> None:
        """Reset the state of all positions, keeping capacity and memoised answers."""
        heap = self.heap
        heap[self._zeros] = 0
        heap[self._undecided] = of.UNDECIDED
        for state in self.layout.code[self._stores + of.STATE]:
            heap[heap[state + of.HASH] :][: heap[state + of.HASHED] >> heap[state + of.FOLD]] = 0
