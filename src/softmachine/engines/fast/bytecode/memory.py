"""The heap that the interpreter works on."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from softmachine.engines.fast.bytecode import layout as of
from softmachine.engines.fast.bytecode.hash_tables import GROWTH, INITIAL_CAPACITY
from softmachine.engines.fast.indexes.kernels import Integers

if TYPE_CHECKING:
    from softmachine.engines.fast.bytecode.interpreter import Bytecode

INITIAL_FREE = 1 << 16
MAX_RESERVED = 1 << 14
"""Maximum number of positions for which memory is committed in advance."""


class BytecodeHeap:
    """The state of a large model's run, apart from its tokens.

    Args:
        code: The bytecode.
        compute_all: Whether all numbers of a position are computed without memoisation, so that `number` can return
            them.
    """

    def __init__(self, code: Bytecode, *, compute_all: bool = False) -> None:
        self.code, self.compute_all = code, compute_all
        self.encoded = code.complete_encoded if compute_all else code.encoded
        self.tables: Integers = np.zeros(1, dtype=np.int64)
        self.scalars: Integers = np.zeros(1, dtype=np.int64)
        self._free = int(self.encoded.code[of.FREE])
        self.heap: Integers = np.zeros(self.encoded.heap_size + INITIAL_FREE, dtype=np.int64)
        self.heap[list(self.encoded.initial_heap)] = list(self.encoded.initial_heap.values())
        self.heap[self._free : self._free + 2] = self.encoded.heap_size, self.heap.size
        self._stores = self._fields(self.encoded.indexes, of.GROUP_STORE)
        groups = self.encoded.code[self._stores + of.STATE]
        sums = self.encoded.code[self._fields(self.encoded.lookups, of.SUM_STORE) + of.STATE]
        results = self._fields(self.encoded.queries, of.SEARCH_RESULT)
        done = self._fields(self.encoded.lookups, of.INSERTED_VALUES)
        grouped = [groups + column for column in of.INITIALLY_ZERO]
        self._zeros = np.concatenate([*grouped, sums + of.USED, done, results + of.BOUNDED_KINDS])
        """Addresses that are 0 when a run begins."""
        self._undecided = results + of.GROUP
        """Addresses that are `UNDECIDED` when a run begins."""
        self.reset()

    def _fields(self, records: Iterable[int], column: int) -> Integers:
        """The same field of several records."""
        return self.encoded.code[np.array([record + column for record in records], dtype=np.int64)]

    @property
    def arrays(self) -> list[Integers]:
        """The arrays passed to the code."""
        return [self.encoded.code, self.heap]

    @property
    def size(self) -> int:
        """The memory in bytes."""
        return self.heap.nbytes + self.encoded.code.nbytes

    def read_register(self, place: int) -> tuple[int, int]:
        """A register at the last position as a fraction, if everything is computed."""
        at = self.encoded.registers + 2 * place
        return int(self.heap[at]), int(self.heap[at + 1])

    def tied_outputs(self) -> list[int]:
        """The outputs of equal logits, after a tie."""
        logits = [Fraction(*self.read_register(place)) for place in self.code.program.logits]
        return [o for o, logit in enumerate(logits) if logit == max(logits)]

    def bytes_to_grow(self, _: int) -> int:
        """The bytes of a heap of the size the code needs."""
        return 16 * int(self.heap[self._free + 2])

    def grow(self, number: int) -> None:
        """Enlarge the heap to the size the code needs."""
        self._enlarge(np.zeros(self.bytes_to_grow(number) // 8, dtype=np.int64))

    def reserve(self, positions: int) -> None:
        """Commit memory for this many positions in advance, as far as the need can be estimated.

        An index may have a group for each position; memoised answers, and old copies of tables that moved, may take as
        much again.
        """
        room = INITIAL_CAPACITY
        while room < min(positions, MAX_RESERVED):
            room *= GROWTH
        keys, entries = (self.encoded.code[self._stores + part] for part in (of.KEY_WIDTH, of.STRIDE))
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

    def reset(self) -> None:
        """Reset the state of all positions, keeping capacity and memoised answers."""
        heap = self.heap
        heap[self._zeros] = 0
        heap[self._undecided] = of.UNDECIDED
        for state in self.encoded.code[self._stores + of.STATE]:
            heap[heap[state + of.HASH] :][: heap[state + of.HASH_SLOTS] >> heap[state + of.FOLD]] = 0
