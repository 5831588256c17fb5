"""Growable arrays of generated code, kept between positions, which may be restored from a checkpoint.

Arrays from a file are validated before compiled code works on them, since that code checks nothing: no number in them
may lead outside of an array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from softmachine.engines.fast.analysis.grids import MAX_POSITIONS, OVERFLOW_LIMIT, feature_range
from softmachine.engines.fast.codegen import branch_hint
from softmachine.engines.fast.indexes.groups import COUNT, FIRST, GROUPS, INSERTED, LAST, LATEST, UNIQUE_BEST, rehash
from softmachine.engines.fast.indexes.kernels import Integers
from softmachine.engines.fast.indexes.linear_scan import DENOMINATOR, NEEDED, TABULATED, tabulate_bias
from softmachine.support.errors import FixHint, PrecisionError
from softmachine.transformer.features import Feature, Relation

if TYPE_CHECKING:
    from softmachine.engines.fast.codegen.emitter import GeneratedCode


INITIAL_CAPACITY = 64
"""Initial capacity in entries."""


def _zeros(*shapes: tuple[int, ...]) -> list[Integers]:
    return [np.zeros(shape, dtype=np.int64) for shape in shapes]


@dataclass(frozen=True)
class Storage(ABC):
    """The arrays that a head keeps between positions.

    Args:
        name: The prefix of the arrays' names.
        width: The integers per row of values.
        head: The name of the head.
    """

    name: str
    width: int
    head: str

    parts: ClassVar[tuple[str, ...]] = ()

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays passed to the code."""
        return tuple(f"{self.name}_{part}" for part in self.parts)

    @abstractmethod
    def allocate(self, capacity: int = INITIAL_CAPACITY) -> list[Integers]:
        """Empty arrays with capacity for this many entries."""

    def reset(self, arrays: list[Integers]) -> None:  # noqa: B027 - most need not be emptied
        """Reset the arrays for another run."""

    @abstractmethod
    def enlarge(self, arrays: list[Integers]) -> list[Integers]:
        """Copies with more capacity."""

    def is_valid(self, arrays: list[Integers], positions: int) -> bool:
        """Whether arrays from a file are a possible state after ``positions`` positions."""
        alike = [
            array.dtype == like.dtype and array.ndim == like.ndim and array.shape[1:] == like.shape[1:]
            for array, like in zip(arrays, self.expected_arrays(arrays), strict=False)
        ]
        return len(arrays) == len(self.arrays) and all(alike) and self.is_consistent(arrays, positions)

    def expected_arrays(self, arrays: list[Integers]) -> list[Integers]:
        """Arrays with the expected types and shapes, apart from the first dimension."""
        del arrays
        return self.allocate()

    @abstractmethod
    def is_consistent(self, arrays: list[Integers], positions: int) -> bool:
        """Whether arrays of the right types and shapes are a possible state."""


@dataclass(frozen=True)
class ValueArray(Storage):
    """A row of values for each position."""

    parts = ("rows",)

    def allocate(self, capacity: int = INITIAL_CAPACITY) -> list[Integers]:
        return _zeros((capacity * self.width,))

    def enlarge(self, arrays: list[Integers]) -> list[Integers]:
        return [np.concatenate([arrays[0], np.zeros_like(arrays[0])])]

    def is_consistent(self, arrays: list[Integers], positions: int) -> bool:
        return bool(arrays[0].size >= positions * self.width)


@dataclass(frozen=True)
class FeatureTable(Storage):
    """The values of a position feature that has no formula: numerators, or numerators and denominators.

    The analysis relies on a feature's declared denominator and range, so every value is checked against them.
    """

    feature: Feature

    parts = ("values",)

    @staticmethod
    def for_feature(name: str, item: Feature) -> FeatureTable:
        """The storage of a feature."""
        return FeatureTable(name, 1 if feature_range(item).grid else 2, "", item)

    def allocate(self, capacity: int = INITIAL_CAPACITY) -> list[Integers]:
        """The values at the first positions."""
        return [self.tabulate(0, capacity)]

    def enlarge(self, arrays: list[Integers]) -> list[Integers]:
        count = arrays[0].size // self.width
        return [np.concatenate([arrays[0], self.tabulate(count, 2 * count)])]

    def is_consistent(self, arrays: list[Integers], positions: int) -> bool:
        count = len(arrays[0])
        return count >= INITIAL_CAPACITY and np.array_equal(arrays[0], self.tabulate(0, count // self.width))

    def tabulate(self, start: int, stop: int) -> Integers:
        """The values at some positions, in their stored form.

        Raises:
            PrecisionError: If a value does not fit, or is outside of the feature's declared range.
        """
        item, known = self.feature, feature_range(self.feature)
        kept: list[int] = []
        for i in range(start, stop):
            value = item.at(i)
            if known.grid is None:
                kept += [value.numerator, value.denominator]
                continue
            above = value * known.over * Fraction(i + 1) ** known.grid.power
            if above.denominator != 1 or not known.low <= above <= known.high:
                raise PrecisionError(
                    f"the position feature {item.name} is {value} at {i}, outside of its declared range"
                )
            kept.append(int(above))
        if max(map(abs, kept), default=0) >= OVERFLOW_LIMIT:
            raise PrecisionError(
                f"the position feature {item.name} has values that do not fit into 62 bits",
                hint=FixHint("use {}", engine="dense"),
            )
        return np.array(kept, dtype=np.int64)


@dataclass(frozen=True)
class IntegerTable(Storage):
    """A row of values for each integer, and the position that wrote it, counted from 1: 0 if none did.

    A tape of 10^8 cells is a table of as many integers, so numbers have the smallest type that provably holds them.
    Arrays of zeros take memory only where they are written, so spare capacity is free.

    Args:
        kinds: The type of each number of a row; empty if it is the integer itself.
        may_be_empty: Whether the table may stay empty, however long the run.
    """

    kinds: tuple[str, ...] = ()
    may_be_empty: bool = False

    @property
    def arrays(self) -> tuple[str, ...]:
        values = (f"{self.name}_value{k}" for k, kind in enumerate(self.kinds) if kind)
        return (f"{self.name}_there", *values, f"{self.name}_meta")

    def value(self, k: int, o: str) -> str:
        """The expression for a number in the row at an offset."""
        return f"np.int64({self.name}_value{k}[{o}])" if self.kinds[k] else f"({o} + {self.name}_first)"

    def allocate(self, capacity: int = INITIAL_CAPACITY) -> list[Integers]:
        """A table around 0; ``meta`` holds its first integer, the least and largest present, and one to be included."""
        meta = np.array([-capacity // 2, 2 * MAX_POSITIONS, -2 * MAX_POSITIONS, 0], dtype=np.int64)
        return [*(np.zeros(capacity, dtype=kind) for kind in ("int32", *filter(None, self.kinds))), meta]

    def reset(self, arrays: list[Integers]) -> None:
        """Clear all entries, but not the table's range."""
        arrays[0][:] = 0
        arrays[-1][1:] = self.allocate()[-1][1:]

    def enlarge(self, arrays: list[Integers]) -> list[Integers]:
        """Extend the table to the integer to be included, and at least double its size."""
        *columns, meta = arrays
        first, wanted, size = int(meta[0]), int(meta[3]), len(columns[0])
        low, high = first, first + size
        if wanted < low:
            low = wanted - size
        else:
            high = wanted + size + 1
        *wider, _ = self.allocate(high - low)
        for column, before in zip(wider, columns, strict=True):
            column[first - low : first - low + size] = before
        meta[0] = low
        return [*wider, meta]

    def is_consistent(self, arrays: list[Integers], positions: int) -> bool:
        """Whether the least and the largest integer are inside of the table and present."""
        (there, *values), meta = arrays[:-1], arrays[-1]
        if meta.shape != (4,) or any(column.size != there.size for column in values) or not there.size:
            return False
        first, least, most = (int(number) for number in meta[:3])
        if least > most:
            return (positions <= 1 or self.may_be_empty) and bool((there == 0).all()) and abs(first) <= MAX_POSITIONS
        inside = first <= least and most < first + there.size and abs(first) <= 4 * MAX_POSITIONS
        return inside and bool(there[least - first] > 0 and there[most - first] > 0)


@dataclass(frozen=True)
class KeyGroups(Storage):
    """Groups of equal keys.

    Args:
        key_width: The integers per key.
        components: The integers per query.
    """

    key_width: int
    components: int

    parts: ClassVar[tuple[str, ...]] = (
        *("keys", "places", "values", "slots", "meta", "box"),
        *("key", "value", "query", "out"),
    )

    def allocate(self, capacity: int = INITIAL_CAPACITY) -> list[Integers]:
        """Arrays for this many groups, a power of two, and for the key, value and query of the current position."""
        keys, width = self.key_width, self.width
        kept = ((capacity, keys), (capacity, 3), (capacity, 3 * width), (4 * capacity,), (4,), (2, keys))
        arrays = _zeros(*kept, (keys,), (width,), (self.components,), (width,))
        arrays[3].fill(-1)
        return arrays

    def reset(self, arrays: list[Integers]) -> None:
        arrays[3].fill(-1)
        arrays[4].fill(0)

    def enlarge(self, arrays: list[Integers]) -> list[Integers]:
        larger = self.allocate(2 * len(arrays[0]))
        for part, array, before in zip(self.parts, larger, arrays, strict=True):
            if part != "slots":
                array[: len(before)] = before
        keys, _, _, slots, meta, *_ = larger
        rehash(slots, keys, int(meta[GROUPS]))
        return larger

    def is_consistent(self, arrays: list[Integers], positions: int) -> bool:
        """Whether every group is in the hash table, and its positions are in the past."""
        keys, places, values, slots, meta = arrays[:5]
        capacity = len(keys)
        others = zip(arrays[4:], KeyGroups.allocate(self)[4:], strict=True)
        if capacity < 1 or capacity & (capacity - 1) or any(array.shape != like.shape for array, like in others):
            return False
        groups = int(meta[GROUPS])
        sizes = capacity == len(places) == len(values) and 0 <= groups <= capacity
        if not sizes or slots.size & (slots.size - 1) or 2 * groups > slots.size:
            return False
        used = np.sort(slots[slots >= 0])
        if not np.array_equal(used, np.arange(groups)) or slots.min() < -1:
            return False
        rehash(slots, keys, groups)  # earlier versions used another hash
        here = places[:groups]
        return bool(
            0 <= meta[INSERTED] <= positions + 1
            and 0 <= meta[LATEST] < max(groups, 1)
            and -1 <= meta[UNIQUE_BEST] < max(groups, 1)
            and (here[:, FIRST] >= 0).all()
            and (here[:, LAST] >= here[:, FIRST]).all()
            and (here[:, LAST] < positions + 1).all()
            and (here[:, COUNT] >= 1).all()
        )


@dataclass(frozen=True)
class MatchingGroups(KeyGroups):
    """Groups of equal keys, found by a kind (the gates of a key, which many keys share) and integers.

    Args:
        gates: The number of gates of a key.
    """

    gates: int

    kept: ClassVar[tuple[str, ...]] = (
        *("kinds", "kind_slots", "kind_sizes", "tally"),
        *("chain", "newest", "gates", "bounds"),
    )
    parts = (*KeyGroups.parts, *kept)

    def allocate(self, capacity: int = INITIAL_CAPACITY, kinds: int = INITIAL_CAPACITY) -> list[Integers]:
        """Arrays for this many groups and kinds, both powers of two; ``tally`` holds the number of kinds."""
        gates = self.gates
        own = _zeros((gates, kinds), (4 * kinds,), (gates,), (1,), (capacity,), (kinds,), (gates,), (kinds,))
        own[1].fill(-1)
        return [*super().allocate(capacity), *own]

    def reset(self, arrays: list[Integers]) -> None:
        super().reset(arrays)
        named = self._named(arrays)
        named["kind_slots"].fill(-1)
        named["kind_sizes"].fill(0)
        named["tally"].fill(0)

    def expected_arrays(self, arrays: list[Integers]) -> list[Integers]:
        """The expected arrays, with as many kinds as given, which are the columns of the gates."""
        kinds = arrays[self.parts.index("newest")].size if len(arrays) == len(self.parts) else INITIAL_CAPACITY
        return self.allocate(kinds=max(kinds, 1))

    def _named(self, arrays: list[Integers]) -> dict[str, Integers]:
        return dict(zip(self.parts, arrays, strict=True))

    def enlarge(self, arrays: list[Integers]) -> list[Integers]:
        """Grow what is full: kinds, or groups."""
        old = self._named(arrays)
        groups, kinds = len(old["keys"]), len(old["newest"])
        full = int(old["tally"][0]) >= kinds
        new = self._named(self.allocate(groups if full else 2 * groups, 2 * kinds if full else kinds))
        for part, array in new.items():
            if part not in ("slots", "kind_slots"):
                before = old[part]
                array[tuple(map(slice, before.shape))] = before
        rehash(new["slots"], new["keys"], int(new["meta"][GROUPS]))
        rehash(new["kind_slots"], np.ascontiguousarray(new["kinds"].T), int(new["tally"][0]))
        return list(new.values())

    def is_consistent(self, arrays: list[Integers], positions: int) -> bool:
        """Also check that every kind is in its hash table, and that chains of groups lead to earlier groups."""
        common = len(KeyGroups.parts)
        if not super().is_consistent(arrays[:common], positions):
            return False
        named = self._named(arrays)
        kinds, count, groups = len(named["newest"]), int(named["tally"][0]), int(named["meta"][GROUPS])
        like = self._named(self.allocate(len(named["keys"]), max(kinds, 1)))
        if any(named[part].shape != like[part].shape for part in self.kept) or kinds & (kinds - 1):
            return False
        slots, chain, newest = named["kind_slots"], named["chain"][:groups], named["newest"][:count]
        used = np.sort(slots[slots >= 0])
        rehash(slots, np.ascontiguousarray(named["kinds"].T), min(count, kinds))
        return bool(
            0 <= count <= kinds
            and np.array_equal(used, np.arange(count))
            and slots.min() >= -1
            and (chain >= -1).all()
            and (chain < np.arange(groups)).all()
            and (newest >= -1).all()
            and (newest < groups).all()
        )


@dataclass(frozen=True)
class KeyArray(Storage):
    """Every key and value, and the biases of all keys at the current position.

    Args:
        key_width: The integers per key.
        components: The integers per query.
        bias: The bias.
    """

    key_width: int
    components: int
    bias: Relation

    parts = ("keys", "values", "biases", "meta", "query", "out")

    def allocate(self, capacity: int = INITIAL_CAPACITY) -> list[Integers]:
        """Arrays for this many positions, and for the current query."""
        kept = ((capacity, self.key_width), (capacity, self.width), (capacity,))
        return _zeros(*kept, (3,), (self.components,), (self.width,))

    def reset(self, arrays: list[Integers]) -> None:
        """Invalidate the tabulated biases."""
        arrays[3].fill(0)

    def enlarge(self, arrays: list[Integers]) -> list[Integers]:
        """The arrays with the biases that are needed next, and capacity for that position."""
        biases, meta = arrays[2:4]
        wanted = int(meta[NEEDED])
        if wanted >= len(biases):
            larger = self.allocate(2 * max(wanted, len(biases)))
            for array, before in zip(larger, arrays, strict=True):
                array[: len(before)] = before
            arrays, (biases, meta) = larger, larger[2:4]
        meta[DENOMINATOR] = tabulate_bias(self.bias, wanted, biases)
        meta[TABULATED] = wanted + 1
        return arrays

    def is_consistent(self, arrays: list[Integers], positions: int) -> bool:
        """Whether the arrays are long enough; biases are tabulated again."""
        keys, values, biases, meta, _, _ = arrays
        meta[:] = 0
        return len(keys) == len(values) == len(biases) >= max(positions, 1) and meta.shape == (3,)


class RunArrays:
    """The state of a run, apart from its tokens.

    Args:
        code: The code that works on it.
        record: The array for recorded atoms, if the code records any.
    """

    def __init__(self, code: GeneratedCode, record: Integers | None = None) -> None:
        self.code = code
        self.record = record
        self.tables: Integers = np.ascontiguousarray(code.tables).reshape(-1)
        self.scalars: Integers = np.zeros(code.scalars, dtype=np.int64)
        tail = code.logit_code
        self.memo = tail.memo.empty_array() if tail else np.zeros(1, dtype=np.int64)
        self.predictions = branch_hint.empty_table()
        self.directions = np.zeros(max(len(tail.directions), 1) if tail else 1, dtype=np.int64)
        self.hidden = np.zeros(max(len(tail.units), 1) if tail else 1, dtype=np.int64)
        self.logits = np.zeros(len(code.program.logits), dtype=np.int64)
        self.parts: dict[str, Integers] = {}
        for storage in code.storages:
            self.parts |= zip(storage.arrays, storage.allocate(), strict=True)

    def reset(self) -> None:
        """Reset the state of all positions, keeping capacity and memoised answers."""
        self.scalars[:] = 0
        for storage in self.code.storages:
            storage.reset([self.parts[name] for name in storage.arrays])

    @property
    def arrays(self) -> list[Integers]:
        """The arrays in the order of the code's parameters."""
        data = self.code.logit_code.data if self.code.logit_code else ()
        named = [self.parts[name] for storage in self.code.storages for name in storage.arrays]
        record = [] if self.record is None else [self.record]
        return [self.memo, self.predictions, self.directions, self.hidden, self.logits, *data, *named, *record]

    @property
    def size(self) -> int:
        """The memory in bytes."""
        return sum(array.nbytes for array in (self.tables, self.scalars, *self.arrays))

    def tied_outputs(self) -> list[int]:
        """The outputs of equal logits, after a tie."""
        return np.flatnonzero(self.logits == self.logits.max()).tolist()

    def bytes_to_grow(self, number: int) -> int:
        """The bytes needed while a storage grows, when old and new arrays coexist."""
        return 2 * sum(self.parts[name].nbytes for name in self.code.storages[number].arrays)

    def grow(self, number: int) -> None:
        """Grow the arrays of a full storage."""
        storage = self.code.storages[number]
        full = [self.parts[name] for name in storage.arrays]
        self.parts |= zip(storage.arrays, storage.enlarge(full), strict=True)
