"""KV cache of a pass, and results cached between the iterations of a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.incremental_attention import IncrementalArgmax, changed_positions, is_equal
from softmachine.engines.numerics import Tensor, UndecidedError
from softmachine.engines.numerics.base import Array, Flags, TensorMap

Found = TypeVar("Found")
MIN_REUSED_POSITIONS = 128
"""Number of positions from which unchanged positions are reused between iterations."""
MAX_CACHED_FLAGS = 1 << 27
"""Limit of the flags kept for the next iteration."""


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

    def truncate(self, positions: int) -> None:
        """Truncate to the first ``positions`` positions."""
        self._make_growable()
        self._used = min(self._used, positions)

    def restore(self, positions: int) -> None:
        """Undo a truncation: restore the length ``positions``."""
        assert self._value is not None
        assert positions <= self._value.shape[1]
        self._used = positions


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

    def clear(self) -> None:
        """Discard the cached results."""
        self._before.clear()


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
    """Results of a positionwise map; in a loop, positions that are unchanged since the last iteration are reused.

    The map acts on each position separately, so an earlier error bound remains valid.

    Args:
        looped: Whether the block is looped.
    """

    def __init__(self, *, looped: bool) -> None:
        self.looped = looped
        self._before: tuple[tuple[Tensor, ...], Tensor] | None = None

    def apply(self, compute: Callable[..., Tensor], *given: Tensor) -> Tensor:
        """Apply the map to tensors (batch, position, coordinate)."""
        if not self.looped or given[0].shape[1] < MIN_REUSED_POSITIONS:
            return compute(*given)
        result = self._recompute_changed(compute, given)
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
    """The caches of a head group with shared keys.

    Args:
        caches: KV cache of one loop iteration: the keys, and the values of each head; None if nothing is appended.
        softmax_results: Softmax results.
        hard_results: Hard-attention results.
        blocked_results: Hard-attention results in blocks, for many positions.
        argmaxes: Incremental argmax of each head, for bidirectional attention.
    """

    def __init__(
        self,
        caches: list[AppendableTensor] | None,
        softmax_results: IterationCache[TensorMap],
        hard_results: IterationCache[CachedChoice],
        blocked_results: BlockedCache,
        argmaxes: list[IncrementalArgmax],
    ) -> None:
        self.caches, self.softmax_results, self.hard_results, self.blocked_results, self._argmaxes = (
            caches,
            softmax_results,
            hard_results,
            blocked_results,
            argmaxes,
        )

    def append(self, parts: Sequence[Tensor]) -> list[Tensor]:
        """Append keys and values of new positions; return those of all positions so far."""
        if self.caches is None:
            return list(parts)
        self.caches += [AppendableTensor() for _ in parts[len(self.caches) :]]
        return [cache.append(part) for cache, part in zip(self.caches, parts, strict=True)]

    def incremental_argmax(self, head: int) -> IncrementalArgmax:
        """Return the incremental argmax of a head of the group."""
        self._argmaxes += [
            IncrementalArgmax(looped=self.blocked_results.looped) for _ in range(len(self._argmaxes), head + 1)
        ]
        return self._argmaxes[head]


class PassCache:
    """All caches of a pass, by (block, iteration, layer, head group).

    Args:
        is_extendable: Whether positions may be appended; otherwise keys and values are not cached.
    """

    def __init__(self, *, is_extendable: bool = True) -> None:
        self.is_extendable = is_extendable
        self._caches: dict[tuple[int, int, int, int], list[AppendableTensor]] = {}
        self._attention_results: dict[
            tuple[int, int, int], tuple[IterationCache[TensorMap], IterationCache[CachedChoice], BlockedCache]
        ] = {}
        self._argmaxes: dict[tuple[int, int, int], list[IncrementalArgmax]] = {}
        self._map_results: dict[tuple[int, int], tuple[RowCache, RowCache, RowCache]] = {}

    def head_group(self, where: tuple[int, int, int, int], *, looped: bool) -> HeadGroupCache:
        """Return the caches of a head group."""
        block, _, depth, index = where
        place = block, depth, index
        if place not in self._attention_results:
            self._attention_results[place] = (
                IterationCache(looped=looped),
                IterationCache(looped=looped),
                BlockedCache(looped=looped),
            )
        caches = self._caches.setdefault(where, []) if self.is_extendable else None
        return HeadGroupCache(caches, *self._attention_results[place], self._argmaxes.setdefault(place, []))

    def layer_maps(self, where: tuple[int, int, int], *, looped: bool) -> tuple[RowCache, RowCache, RowCache]:
        """Return the caches of a layer's maps: projections, head outputs, and feed-forward network."""
        block, _, depth = where
        if (block, depth) not in self._map_results:
            self._map_results[block, depth] = RowCache(looped=looped), RowCache(looped=looped), RowCache(looped=looped)
        return self._map_results[block, depth]

    def rewind(self, read: int) -> None:
        """Truncate to the first ``read`` positions, and discard all cached results."""
        for found in self._attention_results.values():
            for part in found:
                part.clear()
        self._argmaxes.clear()
        self._map_results.clear()
        for caches in self._caches.values():
            for cache in caches:
                cache.truncate(read)

    def restore(self, read: int) -> None:
        """Undo a truncation: restore the length ``read``."""
        for caches in self._caches.values():
            for cache in caches:
                cache.restore(read)


def merge_equal_sequences(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Reduce queries and keys to batch size 1 if they are equal for all sequences, as for position-only heads."""
    same = query.shape[0] > 1 and all(
        (part == part[:1]).all() for x in (query, key) for part in (x.value, x.error) if part is not None
    )
    return (query[:1], key[:1]) if same else (query, key)
