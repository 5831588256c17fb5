"""Caches of a pass: keys and values, and results reused between the iterations of a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.attention import HeadGroupIndex
from softmachine.engines.dense.forward_pass import KvCache
from softmachine.engines.numerics import Tensor, UndecidedError
from softmachine.engines.numerics.base import Array, Flags, Floats

Found = TypeVar("Found")
MIN_REUSED_POSITIONS = 128
"""Number of positions from which unchanged positions are reused between iterations."""
MAX_CACHED_FLAGS = 1 << 27
"""Limit of the flags kept for the next iteration."""


class SparseKeyMask(NamedTuple):
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
    def from_mask(flags: Flags) -> SparseKeyMask:
        """Convert flags over all keys."""
        keys = np.flatnonzero(flags.any(axis=(0, 1)))
        some = flags if len(keys) == flags.shape[-1] else flags[..., keys]
        return SparseKeyMask(keys, some, flags.shape[-1])

    def split(self, heads: int) -> list[SparseKeyMask]:
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

    Args:
        held: The first positions, if any.
    """

    def __init__(self, held: Tensor | None = None) -> None:
        self._held = held
        self._used = held.shape[1] if held else 0

    def append(self, new: Tensor) -> Tensor:
        """Append positions; return a view of all positions so far."""
        used, end = self._used, self._used + new.shape[1]
        self._used = end
        if self._held is None:
            self._held = new
            return new
        value, error = self._held.value, self._held.error
        if end > value.shape[1]:
            capacity = max(end, 2 * used, 64)
            value, error = _grow(value, capacity), _grow(error, capacity) if _has_nonzero(error) else None
        if error is None and _has_nonzero(new.error):
            error = np.zeros(value.shape)
        value[:, used:end] = new.value
        if error is not None:
            error[:, used:end] = 0 if new.error is None else new.error
        self._held = Tensor(value, error)
        return self._held[:, :end]

    def truncate(self, positions: int) -> AppendableTensor:
        """Return the first positions; neither tensor overwrites the other."""
        return AppendableTensor(self._held and self._held[:, : min(positions, self._used)])


def _has_nonzero(error: Floats | None) -> TypeGuard[Floats]:
    return error is not None and bool(error.any())


def _grow(old: Array, capacity: int) -> Array:
    """Copy an array to a larger one."""
    larger = np.zeros((old.shape[0], capacity, old.shape[2]), dtype=old.dtype)
    larger[:, : old.shape[1]] = old
    return larger


class AppendableKvCache(KvCache):
    """A KV cache with amortised append."""

    def __init__(self, buffers: dict[HeadGroupIndex, list[AppendableTensor]] | None = None) -> None:
        super().__init__()
        self._buffers = buffers or {}

    def append(self, where: HeadGroupIndex, parts: Sequence[Tensor]) -> list[Tensor]:
        """Append the keys and values of new positions; return those of all positions."""
        buffers = self._buffers.setdefault(where, [AppendableTensor() for _ in parts])
        return [buffer.append(part) for buffer, part in zip(buffers, parts, strict=True)]

    def truncate(self, positions: int) -> AppendableKvCache:
        """Return the cache of the first positions; this one does not change."""
        return AppendableKvCache(
            {where: [buffer.truncate(positions) for buffer in buffers] for where, buffers in self._buffers.items()}
        )


class AttentionMemo:
    """Attention results of a head group; in a loop, reused in the next iteration if queries and keys are unchanged.

    Args:
        looped: Whether the block is looped.
    """

    def __init__(self, *, looped: bool) -> None:
        self.looped = looped
        self._before: dict[int, tuple[Tensor, Tensor, Any]] = {}

    def find(self, index: int, query: Tensor, key: Tensor, compute: Callable[[Tensor, Tensor], Found]) -> Found:
        """Return the result for queries and keys, computed by ``compute`` if it is not cached.

        Args:
            index: The head, or the first position of a chunk of queries.
            query: The queries.
            key: The keys.
            compute: Computes the result.
        """
        query, key = collapse_equal_sequences(query, key)
        if not self.looped or query.shape[0] > 1:
            return compute(query, key)
        known = self._before.pop(index, None)
        if known is None or not (is_equal(known[0], query) and is_equal(known[1], key)):
            known = query, key, compute(query, key)
        kept = [result for *_, result in (known, *self._before.values()) if isinstance(result, SparseKeyMask)]
        if sum(result.flags.size for result in kept) <= MAX_CACHED_FLAGS:
            self._before[index] = known
        found: Found = known[2]
        return found


class IncrementalMap:
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


def collapse_equal_sequences(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
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
