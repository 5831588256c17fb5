"""The arrays that generated code works on, and how they grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.code import Code
from softmachine.engines.fast.groups import GROUPS, rehash
from softmachine.engines.fast.serving import Storage

Integers = NDArray[np.int64]
START = 64
"""Storages begin with so many entries."""


class Memory:
    """All that a run remembers besides its tokens.

    Args:
        code: The code that works on it.
    """

    def __init__(self, code: Code) -> None:
        self.code = code
        self.tables: Integers = np.ascontiguousarray(code.tables).reshape(-1)
        self.scalars: Integers = np.zeros(code.scalars, dtype=np.int64)
        tail = code.tail
        self.remembered = np.full(max(tail.memory * code.flow.vocabulary, 1) if tail else 1, -1, dtype=np.int64)
        self.directions = np.zeros(max(len(tail.directions), 1) if tail else 1, dtype=np.int64)
        self.hidden = np.zeros(max(len(tail.units), 1) if tail else 1, dtype=np.int64)
        self.logits = np.zeros(len(code.flow.logits), dtype=np.int64)
        self.parts: dict[str, Integers] = {}
        for storage in code.storages:
            self.parts |= zip(storage.arrays, _fresh(storage), strict=True)

    @property
    def arrays(self) -> list[Integers]:
        """The arrays in the order of the code's parameters."""
        data = self.code.tail.data if self.code.tail else ()
        named = [self.parts[name] for storage in self.code.storages for name in storage.arrays]
        return [self.remembered, self.directions, self.hidden, self.logits, *data, *named]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(array.nbytes for array in (self.tables, self.scalars, *self.arrays))

    def tied(self) -> list[int]:
        """The outputs of equal logits, after a tie."""
        return np.flatnonzero(self.logits == self.logits.max()).tolist()

    def grow(self, storage: Storage) -> None:
        """Make room in a storage that is full."""
        match storage.kind:
            case "rows":
                self._double(f"{storage.name}_rows")
            case "table":
                self._widen(storage)
            case "groups":
                for part in ("keys", "places", "values"):
                    self._double(f"{storage.name}_{part}")
                slots = np.full(4 * self.parts[f"{storage.name}_keys"].shape[0], -1, dtype=np.int64)
                rehash(slots, self.parts[f"{storage.name}_keys"], int(self.parts[f"{storage.name}_meta"][GROUPS]))
                self.parts[f"{storage.name}_slots"] = slots

    def _double(self, name: str) -> None:
        old = self.parts[name]
        self.parts[name] = np.concatenate([old, np.zeros_like(old)])

    def _widen(self, storage: Storage) -> None:
        """Let a table reach the integer that did not fit, and as much further as it is long."""
        there, values, meta = (self.parts[name] for name in storage.arrays)
        first, wanted = int(meta[0]), int(meta[3])
        low, high = first, first + there.size
        if wanted < low:
            low = wanted - there.size
        else:
            high = wanted + there.size + 1
        larger = np.full(high - low, -1, dtype=np.int64)
        larger[first - low : first - low + there.size] = there
        rows = np.zeros((high - low) * storage.width, dtype=np.int64)
        rows[(first - low) * storage.width : (first - low + there.size) * storage.width] = values
        self.parts |= {storage.arrays[0]: larger, storage.arrays[1]: rows}
        meta[0] = low


def _fresh(storage: Storage) -> list[Any]:
    """The arrays of a storage that nothing was put into, in the order of their names."""
    whole = np.int64
    width = storage.width
    match storage.kind:
        case "rows":
            return [np.zeros(START * width, dtype=whole)]
        case "table":
            middle = np.array([-START // 2, START, -START, 0], dtype=whole)
            return [np.full(START, -1, dtype=whole), np.zeros(START * width, dtype=whole), middle]
    keys = storage.key_width
    components = len(storage.plan.queries) if hasattr(storage.plan, "queries") else 0
    return [
        np.zeros((START, keys), dtype=whole),
        np.zeros((START, 3), dtype=whole),
        np.zeros((START, 3 * width), dtype=whole),
        np.full(4 * START, -1, dtype=whole),
        np.zeros(2, dtype=whole),
        np.zeros((2, keys), dtype=whole),
        np.zeros(keys, dtype=whole),
        np.zeros(width, dtype=whole),
        np.zeros(components, dtype=whole),
        np.zeros(width, dtype=whole),
    ]
