"""Caches of a pass: keys and values, position features, and results reused between the iterations of a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.attention import HeadGroupIndex
from softmachine.engines.dense.forward_pass import KvCache
from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError
from softmachine.engines.numerics.base import Array, Flags, TensorMap
from softmachine.transformer.features import Feature

Found = TypeVar("Found")
MIN_REUSED_POSITIONS = 128
"""Number of positions from which unchanged positions are reused between iterations."""
MAX_CACHED_FLAGS = 1 << 27
"""Limit of the flags kept for the next iteration."""
BLOCK_SIZE = 64
"""Positions per block; decoding requests one position at a time."""
_MAX_CACHED_BLOCKS = 128
"""Cached blocks; several arithmetics use the same ones, and every segment starts again at position 0."""


class CachedChoice(NamedTuple):
    """The keys chosen by some queries.

    Args:
        keys: The keys that any query chooses.
        flags: Which query chooses which of these: (batch, queries, chosen keys).
        key_count: The number of all keys.
    """

    keys: NDArray[np.intp]
    flags: Flags
    key_count: int

    @staticmethod
    def from_mask(flags: Flags) -> CachedChoice:
        """Convert flags over all keys."""
        keys = np.flatnonzero(flags.any(axis=(0, 1)))
        some = flags if len(keys) == flags.shape[-1] else flags[..., keys]
        return CachedChoice(keys, some, flags.shape[-1])

    def split(self, heads: int) -> list[CachedChoice]:
        """Split by head, if the queries are concatenated head after head."""
        return [self._replace(flags=part) for part in np.split(self.flags, heads, axis=1)]

    def values(self, value: Tensor) -> Tensor:
        """Select the values of the chosen keys."""
        return value if len(self.keys) == self.key_count else value[:, self.keys]

    @property
    def to_mask(self) -> Flags:
        """The flags over all keys: (batch, queries, keys)."""
        found = np.zeros((*self.flags.shape[:-1], self.key_count), dtype=bool)
        found[..., self.keys] = self.flags
        return found


class AppendableTensor:
    """A tensor (batch, position, coordinate) with amortised append of positions, by doubling its capacity.

    Error bounds are stored only once a number is inexact. The first tensor is copied only when another follows.
    """

    def __init__(self) -> None:
        self._first: Tensor | None = None
        self._value: Array | None = None
        self._error: NDArray[np.float64] | None = None
        self._used = 0

    def append(self, new: Tensor) -> Tensor:
        """Append positions; return a view of all positions so far."""
        if self._value is None and self._first is None:
            self._first, self._used = new, new.shape[1]
            return new
        self._make_growable()
        used, end = self._used, self._used + new.shape[1]
        if self._value is None or end > self._value.shape[1]:
            capacity = max(end, 2 * used, 64) if used else end
            self._value = _grow(self._value, new.value, used, capacity)
            if self._error is not None and new.error is not None:
                self._error = _grow(self._error, new.error, used, capacity)
        self._value[:, used:end] = new.value
        if new.error is not None and (self._error is not None or new.error.any()):
            if self._error is None:
                self._error = np.zeros(self._value.shape)
            self._error[:, used:end] = new.error
        elif self._error is not None:
            self._error[:, used:end] = 0
        self._used = end
        return Tensor(self._value[:, :end], None if self._error is None else self._error[:, :end])

    def _make_growable(self) -> None:
        """Copy the first tensor to a buffer that can grow."""
        if self._first is not None:
            value, error = self._first.value, self._first.error
            self._value = _grow(None, value, 0, value.shape[1])
            self._value[:] = value
            self._error = error.copy() if error is not None and error.any() else None
            self._first = None

    def truncate(self, positions: int) -> AppendableTensor:
        """Return the first positions; what is appended to the result overwrites the later positions of this tensor."""
        found = copy(self)
        found._used = min(self._used, positions)
        if self._first is not None:
            found._first = self._first[:, :positions]
        return found


class AppendableKvCache(KvCache):
    """A KV cache with amortised append.

    A truncated cache shares the buffers of the original, in which it overwrites later positions. The original remains
    valid if the numbers are equal, as they are for the tokens that it has read.
    """

    def __init__(self, buffers: dict[HeadGroupIndex, list[AppendableTensor]] | None = None) -> None:
        super().__init__()
        self._buffers = buffers or {}

    def append(self, where: HeadGroupIndex, parts: Sequence[Tensor]) -> list[Tensor]:
        """Append the keys and values of new positions; return those of all positions."""
        buffers = self._buffers.setdefault(where, [])
        buffers += [AppendableTensor() for _ in parts[len(buffers) :]]
        return [buffer.append(part) for buffer, part in zip(buffers, parts, strict=True)]

    def truncate(self, positions: int) -> AppendableKvCache:
        """Return the cache of the first positions."""
        return AppendableKvCache(
            {where: [buffer.truncate(positions) for buffer in buffers] for where, buffers in self._buffers.items()}
        )


def _grow(old: Array | None, like: Array, used: int, capacity: int) -> Array:
    larger = np.zeros((like.shape[0], capacity, like.shape[2]), dtype=like.dtype)
    if old is not None:
        larger[:, :used] = old[:, :used]
    return larger


class IterationCache(Generic[Found]):
    """Attention results by queries and keys; in a loop, reused in the next iteration if both are unchanged.

    Args:
        looped: Whether the block is looped.
    """

    def __init__(self, *, looped: bool) -> None:
        self.looped = looped
        self._before: dict[int, tuple[Tensor, Tensor, Found]] = {}

    def find(self, index: int, query: Tensor, key: Tensor, compute: Callable[[Tensor, Tensor], Found]) -> Found:
        """Return the result for queries and keys, computed by ``compute`` if it is not cached."""
        query, key = merge_equal_sequences(query, key)
        if not self.looped or query.shape[0] > 1:
            return compute(query, key)
        before = self._before.get(index)
        if before and is_equal(before[0], query) and is_equal(before[1], key):
            return before[2]
        found = compute(query, key)
        self._before[index] = query, key, found
        return found


class BlockedCache:
    """Hard-attention results by blocks of positions; in a loop, reused if queries and keys are unchanged.

    Softmax results are not cached: they have a number for each pair of positions; hard attention chooses few keys.
    """

    def __init__(self, *, looped: bool) -> None:
        self.looped = looped
        self._before: tuple[Tensor, ...] = ()
        self._chosen: dict[int, CachedChoice] = {}
        self._cached_flags = 0

    def begin_iteration(self, *looked_at: Tensor) -> None:
        """Begin an iteration with these queries and keys of all positions."""
        if not self.looped:
            return
        if len(looked_at) != len(self._before) or not all(map(is_equal, looked_at, self._before)):
            self.clear()
        self._before = looked_at

    def find(
        self, start: int, query: Tensor, key: Tensor, compute: Callable[[Tensor, Tensor], CachedChoice]
    ) -> CachedChoice:
        """Return the result of the block that starts at a position, computed by ``compute`` if it is not cached."""
        found = self._chosen.get(start)
        if found is None:
            found = compute(*merge_equal_sequences(query, key))
            if self.looped and self._cached_flags + found.flags.size <= MAX_CACHED_FLAGS:
                self._chosen[start] = found
                self._cached_flags += found.flags.size
        return found

    def clear(self) -> None:
        """Discard the cached results."""
        self._before, self._cached_flags = (), 0
        self._chosen.clear()


class RowCache:
    """A positionwise map in a loop: positions that are unchanged since the last iteration are reused.

    The map acts on each position separately, so an earlier error bound remains valid.

    Args:
        compute: The map of one tensor or several (batch, position, coordinate).
    """

    def __init__(self, compute: Callable[..., Tensor]) -> None:
        self._compute = compute
        self._before: tuple[tuple[Tensor, ...], Tensor] | None = None

    def __call__(self, *given: Tensor) -> Tensor:
        """Apply the map."""
        if given[0].shape[1] < MIN_REUSED_POSITIONS:
            return self._compute(*given)
        result = self._recompute_changed(self._compute, given)
        self._before = given, result
        return result

    def _recompute_changed(self, compute: Callable[..., Tensor], given: tuple[Tensor, ...]) -> Tensor:
        before = self._before
        if before is None or any(x.shape != y.shape for x, y in zip(given, before[0], strict=True)):
            return compute(*given)
        changed = np.logical_or.reduce([changed_positions(x, y) for x, y in zip(given, before[0], strict=True)])
        which, old = np.flatnonzero(changed), before[1]
        if not which.size:
            return old
        if 2 * which.size > changed.size:
            return compute(*given)
        try:
            new = compute(*(x[:, which] for x in given))
        except UndecidedError as doubt:
            at = int(which[doubt.position])
            raise UndecidedError(doubt.sequence, at, doubt.candidates, doubt.reason, tie=doubt.tie) from None
        value = _replace_positions(old.value, which, new.value)
        if old.error is None or new.error is None:
            return Tensor(value)
        return Tensor(value, _replace_positions(old.error, which, new.error))


def _replace_positions(old: Array, which: NDArray[np.intp], new: Array) -> Array:
    """Replace some positions of an array; returns the old array itself if nothing changes."""
    if (old[:, which] == new).all():
        return old
    found = old.copy()
    found[:, which] = new
    return found


class HeadGroupCache:
    """The attention results of a head group, reused in the next iteration of a loop.

    Args:
        looped: Whether the block is looped.
    """

    def __init__(self, *, looped: bool) -> None:
        self._softmax_results = IterationCache[TensorMap](looped=looped)
        self._hard_results = IterationCache[CachedChoice](looped=looped)
        self.blocked_results = BlockedCache(looped=looped)

    def find_softmax(
        self, head: int, start: int | None, query: Tensor, key: Tensor, compute: Callable[[Tensor, Tensor], TensorMap]
    ) -> TensorMap:
        """Return the softmax attention of a head; it is cached unless the queries are a chunk with a start."""
        if start is not None:
            return compute(*merge_equal_sequences(query, key))
        return self._softmax_results.find(head, query, key, compute)

    def find_hard(
        self, start: int | None, query: Tensor, key: Tensor, compute: Callable[[Tensor, Tensor], CachedChoice]
    ) -> CachedChoice:
        """Return the chosen keys of all heads, for a chunk of queries with a start, or for all."""
        if start is not None:
            return self.blocked_results.find(start, query, key, compute)
        return self._hard_results.find(0, query, key, compute)


def merge_equal_sequences(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Reduce queries and keys to batch size 1 if they are equal for all sequences, as for position-only heads."""
    same = query.shape[0] > 1 and all(
        (part == part[:1]).all() for x in (query, key) for part in (x.value, x.error) if part is not None
    )
    return (query[:1], key[:1]) if same else (query, key)


def is_equal(x: Tensor, y: Tensor) -> bool:
    """Whether numbers and error bounds are equal."""
    return x.shape == y.shape and not changed_positions(x, y).any()


def changed_positions(x: Tensor, y: Tensor) -> Flags:
    """Return the positions at which two tensors (batch, positions, coordinates) or their error bounds differ."""
    found = np.zeros(x.shape[1], dtype=bool)
    if x is y:
        return found
    pairs = [(x.value, y.value)]
    if x.error is not None and y.error is not None:
        pairs.append((x.error, y.error))
    elif x.error is not y.error:
        return ~found
    for one, other in pairs:
        if one.__array_interface__ == other.__array_interface__:
            continue  # the same memory
        unequal = ~(one == other)  # inexact objects never compare equal
        found[np.flatnonzero(unequal) // max(1, one.shape[2]) % len(found)] = True
    return found


class PositionFeatures(NamedTuple):
    """Values of features at some positions, with duplicates removed.

    Args:
        distinct: The distinct values.
        indices: Indices into them: (positions, features).
    """

    distinct: list[Fraction]
    indices: NDArray[np.intp]

    @staticmethod
    def evaluate(features: tuple[Feature, ...], positions: range, length: int | None) -> PositionFeatures:
        """Evaluate features at these positions; ``length`` is n, None for models that do not read it."""
        if length is not None:
            return _evaluate(features, positions, length)
        blocks = range(positions.start // BLOCK_SIZE, -(-positions.stop // BLOCK_SIZE))
        found, first = [_evaluate_block(features, block) for block in blocks], blocks.start * BLOCK_SIZE
        some = slice(positions.start - first, positions.stop - first)
        if len(found) == 1:
            return PositionFeatures(found[0].distinct, found[0].indices[some])
        different: list[Fraction] = []
        places = [np.empty((0, len(features)), dtype=np.intp)]
        for block in found:
            places.append(block.indices + len(different))
            different += block.distinct
        return PositionFeatures(different, np.concatenate(places)[some])

    def to_tensor(self, arithmetic: Arithmetic) -> Tensor:
        """Convert to an arithmetic, rounding each distinct value once: (positions, features)."""
        return arithmetic.convert([self.distinct])[0][self.indices]


def _evaluate(features: tuple[Feature, ...], positions: range, length: int | None) -> PositionFeatures:
    numbers: dict[tuple[int, int], int] = {}
    different: list[Fraction] = []
    places = np.empty((len(positions), len(features)), dtype=np.intp)
    for column, feature in enumerate(features):
        found = list[int]()
        for value in feature.values_at(positions, length):
            ratio = value.as_integer_ratio()  # hashed faster than a fraction
            place = numbers.setdefault(ratio, len(different))
            if place == len(different):
                different.append(value if isinstance(value, Fraction) else Fraction(value))
            found.append(place)
        places[:, column] = found
    return PositionFeatures(different, places)


@lru_cache(maxsize=_MAX_CACHED_BLOCKS)
def _evaluate_block(features: tuple[Feature, ...], block: int) -> PositionFeatures:
    return _evaluate(features, range(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE), None)
