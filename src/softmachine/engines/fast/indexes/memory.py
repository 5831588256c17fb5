"""The arrays that generated code works on, and how they grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.analysis.grids import HORIZON
from softmachine.engines.fast.analysis.tabulated import tabulated
from softmachine.engines.fast.codegen.code import Code
from softmachine.engines.fast.codegen.serving import Storage
from softmachine.engines.fast.indexes.index import (
    consistent_groups,
    consistent_rows,
    dense_arrays,
    group_arrays,
    larger_groups,
    next_row,
)
from softmachine.transformer.features import Feature

Integers = NDArray[np.int64]
START = 64
"""Storages begin with so many entries."""


class Memory:
    """All that a run remembers besides its tokens.

    Args:
        code: The code that works on it.
        record: Where atoms are written down, if the code does that.
    """

    def __init__(self, code: Code, record: Integers | None = None) -> None:
        self.code = code
        self.record = record
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

    def forget(self) -> None:
        """Begin anew: what was remembered of the positions is gone, the room for it and what is always so are not."""
        self.scalars[:] = 0
        for storage in self.code.storages:
            if storage.kind == "table":
                there, _, meta = (self.parts[name] for name in storage.arrays)
                there[:] = -1
                meta[1:] = _fresh(storage)[2][1:]
            elif storage.kind != "rows":
                self.parts |= zip(storage.arrays, _fresh(storage), strict=True)

    @property
    def arrays(self) -> list[Integers]:
        """The arrays in the order of the code's parameters."""
        data = self.code.tail.data if self.code.tail else ()
        named = [self.parts[name] for storage in self.code.storages for name in storage.arrays]
        return [
            self.remembered,
            self.directions,
            self.hidden,
            self.logits,
            *data,
            *named,
            *([] if self.record is None else [self.record]),
        ]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(array.nbytes for array in (self.tables, self.scalars, *self.arrays))

    def tied(self) -> list[int]:
        """The outputs of equal logits, after a tie."""
        return np.flatnonzero(self.logits == self.logits.max()).tolist()

    def make_room(self, number: int) -> None:
        """Make room in a storage that is full."""
        storage = self.code.storages[number]
        match storage.kind:
            case "rows":
                self._double(f"{storage.name}_rows")
            case "table":
                self._widen(storage)
            case "feature":
                assert isinstance(storage.plan, Feature)
                name = storage.arrays[0]
                count = self.parts[name].size // storage.width
                self.parts[name] = np.concatenate([self.parts[name], tabulated(storage.plan, count, 2 * count)])
            case "dense":
                self.parts |= next_row(storage, self.parts)
            case "groups" | "forest":
                self.parts |= larger_groups(storage, self.parts)

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
            middle = np.array([-START // 2, 2 * HORIZON, -2 * HORIZON, 0], dtype=whole)
            return [np.full(START, -1, dtype=whole), np.zeros(START * width, dtype=whole), middle]
        case "feature":
            assert isinstance(storage.plan, Feature)
            return [tabulated(storage.plan, 0, START)]
        case "dense":
            return list(dense_arrays(storage, START).values())
    return list(group_arrays(storage, START).values())


def consistent(storage: Storage, parts: Mapping[str, Integers | None], positions: int) -> bool:
    """Whether arrays from a file are what the code could have left after so many positions."""
    arrays = [parts.get(name) for name in storage.arrays]
    fresh = _fresh(storage)
    for array, like in zip(arrays, fresh, strict=True):
        if array is None or array.dtype != np.int64 or array.shape[1:] != like.shape[1:] or array.ndim != like.ndim:
            return False
    found = [array for array in arrays if array is not None]
    if storage.kind == "rows":
        return bool(found[0].size >= positions * storage.width)
    if storage.kind == "feature":
        assert isinstance(storage.plan, Feature)
        return (
            np.array_equal(found[0], tabulated(storage.plan, 0, len(found[0]) // storage.width))
            and len(found[0]) >= START
        )
    if storage.kind == "dense":
        return consistent_rows(found, positions)
    if storage.kind == "table":
        return _consistent_table(storage, found, positions)
    return consistent_groups(storage, found, fresh, positions)


def _consistent_table(storage: Storage, found: Sequence[Integers], positions: int) -> bool:
    there, values, meta = found
    if meta.shape != (4,) or values.size != there.size * storage.width or not there.size:
        return False
    first, least, most = (int(number) for number in meta[:3])
    if least > most:
        return (positions <= 1 or storage.may_be_empty) and bool((there < 0).all()) and abs(first) <= HORIZON
    inside = first <= least and most < first + there.size and abs(first) <= 4 * HORIZON
    return inside and bool(there[least - first] >= 0 and there[most - first] >= 0)
