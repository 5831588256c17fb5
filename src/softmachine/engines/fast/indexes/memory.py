"""The arrays that generated code works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from softmachine.engines.fast.codegen import foreseeing
from softmachine.engines.fast.indexes.kernels import Integers

if TYPE_CHECKING:
    from softmachine.engines.fast.codegen.emitted import Emitted


class Memory:
    """The state of a run, apart from its tokens.

    Args:
        code: The code that works on it.
        record: The array for recorded atoms, if the code records any.
    """

    def __init__(self, code: Emitted, record: Integers | None = None) -> None:
        self.code = code
        self.record = record
        self.tables: Integers = np.ascontiguousarray(code.tables).reshape(-1)
        self.scalars: Integers = np.zeros(code.scalars, dtype=np.int64)
        tail = code.tail
        self.remembered = tail.memory.fresh() if tail else np.zeros(1, dtype=np.int64)
        self.foreseen = foreseeing.fresh()
        self.directions = np.zeros(max(len(tail.directions), 1) if tail else 1, dtype=np.int64)
        self.hidden = np.zeros(max(len(tail.units), 1) if tail else 1, dtype=np.int64)
        self.logits = np.zeros(len(code.flow.logits), dtype=np.int64)
        self.parts: dict[str, Integers] = {}
        for storage in code.storages:
            self.parts |= zip(storage.arrays, storage.fresh(), strict=True)

    def forget(self) -> None:
        """Reset the state of all positions, keeping capacity and memoised answers."""
        self.scalars[:] = 0
        for storage in self.code.storages:
            storage.empty([self.parts[name] for name in storage.arrays])

    @property
    def arrays(self) -> list[Integers]:
        """The arrays in the order of the code's parameters."""
        data = self.code.tail.data if self.code.tail else ()
        named = [self.parts[name] for storage in self.code.storages for name in storage.arrays]
        record = [] if self.record is None else [self.record]
        return [self.remembered, self.foreseen, self.directions, self.hidden, self.logits, *data, *named, *record]

    @property
    def size(self) -> int:
        """The memory in bytes."""
        return sum(array.nbytes for array in (self.tables, self.scalars, *self.arrays))

    def tied(self) -> list[int]:
        """The outputs of equal logits, after a tie."""
        return np.flatnonzero(self.logits == self.logits.max()).tolist()

    def growth(self, number: int) -> int:
        """The bytes needed while a storage grows, when old and new arrays coexist."""
        return 2 * sum(self.parts[name].nbytes for name in self.code.storages[number].arrays)

    def make_room(self, number: int) -> None:
        """Grow the arrays of a full storage."""
        storage = self.code.storages[number]
        full = [self.parts[name] for name in storage.arrays]
        self.parts |= zip(storage.arrays, storage.larger(full), strict=True)
