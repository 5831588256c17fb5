"""KV cache of a pass, and results cached between the iterations of a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.incremental_attention import Asked, differ, same
from softmachine.engines.numerics import Tensor, UndecidedError
from softmachine.engines.numerics.base import Array, Flags, Map

Found = TypeVar("Found")
FEWEST_ROWS = 128
"""Number of positions from which unchanged positions are reused between iterations."""
MOST_KEPT = 1 << 27
"""Limit of the flags kept for the next iteration."""


class Chosen(NamedTuple):
    """The keys chosen by some queries.

    Args:
        keys: The keys that any query chooses.
        flags: Which query chooses which of these: (batch, queries, chosen keys).
        among: The number of all keys.
    """

    keys: NDArray[np.intp]
    flags: Flags
    among: int

    @staticmethod
    def of(flags: Flags) -> Chosen:
        """Convert flags over all keys."""
        keys = np.flatnonzero(flags.any(axis=(0, 1)))
        some = flags if len(keys) == flags.shape[-1] else flags[..., keys]
        return Chosen(keys, some, flags.shape[-1])

    def split(self, heads: int) -> list[Chosen]:
        """Split by head, if the queries are concatenated head after head."""
        return [self._replace(flags=part) for part in np.split(self.flags, heads, axis=1)]

    def values(self, value: Tensor) -> Tensor:
        """Select the values of the chosen keys."""
        return value if len(self.keys) == self.among else value[:, self.keys]

    @property
    def every(self) -> Flags:
        """The flags over all keys: (batch, queries, keys)."""
        found = np.zeros((*self.flags.shape[:-1], self.among), dtype=bool)
        found[..., self.keys] = self.flags
        return found


class Cache:
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
        self._own()
        used, end = self._used, self._used + new.shape[1]
        if self._value is None or end > self._value.shape[1]:
            capacity = max(end, 2 * used, 64) if used else end
            self._value = _grown(self._value, new.value, used, capacity)
            if self._error is not None and new.error is not None:
                self._error = _grown(self._error, new.error, used, capacity)
        self._value[:, used:end] = new.value
        if new.error is not None and (self._error is not None or new.error.any()):
            if self._error is None:
                self._error = np.zeros(self._value.shape)
            self._error[:, used:end] = new.error
        elif self._error is not None:
            self._error[:, used:end] = 0
        self._used = end
        return Tensor(self._value[:, :end], None if self._error is None else self._error[:, :end])

    def _own(self) -> None:
        """Copy the first tensor to a buffer that can grow."""
        if self._first is not None:
            value, error = self._first.value, self._first.error
            self._value = _grown(None, value, 0, value.shape[1])
            self._value[:] = value
            self._error = error.copy() if error is not None and error.any() else None
            self._first = None

    def keep(self, positions: int) -> None:
        """Truncate to the first ``positions`` positions."""
        self._own()
        self._used = min(self._used, positions)

    def recall(self, positions: int) -> None:
        """Undo a truncation: restore the length ``positions``."""
        assert self._value is not None
        assert positions <= self._value.shape[1]
        self._used = positions


def _grown(old: Array | None, like: Array, used: int, capacity: int) -> Array:
    larger = np.zeros((like.shape[0], capacity, like.shape[2]), dtype=like.dtype)
    if old is not None:
        larger[:, :used] = old[:, :used]
    return larger


class Turns(Generic[Found]):
    """Attention results by queries and keys; in a loop, reused in the next iteration if both are unchanged.

    Args:
        looped: Whether the block is looped.
    """

    def __init__(self, *, looped: bool) -> None:
        self.looped = looped
        self._before: dict[int, tuple[Tensor, Tensor, Found]] = {}

    def find(self, which: int, query: Tensor, key: Tensor, look: Callable[[Tensor, Tensor], Found]) -> Found:
        """Return the result for queries and keys, computed by ``look`` if it is not cached."""
        query, key = once(query, key)
        if not self.looped or query.shape[0] > 1:
            return look(query, key)
        before = self._before.get(which)
        if before and same(before[0], query) and same(before[1], key):
            return before[2]
        found = look(query, key)
        self._before[which] = query, key, found
        return found

    def forget(self) -> None:
        """Discard the cached results."""
        self._before.clear()


class Blocks:
    """Hard-attention results by blocks of positions; in a loop, reused if queries and keys are unchanged.

    Softmax results are not cached: they have a number for each pair of positions; hard attention chooses few keys.
    """

    def __init__(self, *, looped: bool) -> None:
        self.looped = looped
        self._before: tuple[Tensor, ...] = ()
        self._chosen: dict[int, Chosen] = {}
        self._kept = 0

    def turn(self, *looked_at: Tensor) -> None:
        """Begin an iteration with these queries and keys of all positions."""
        if not self.looped:
            return
        if len(looked_at) != len(self._before) or not all(map(same, looked_at, self._before)):
            self.forget()
        self._before = looked_at

    def find(self, start: int, query: Tensor, key: Tensor, look: Callable[[Tensor, Tensor], Chosen]) -> Chosen:
        """Return the result of the block that starts at a position, computed by ``look`` if it is not cached."""
        found = self._chosen.get(start)
        if found is None:
            found = look(*once(query, key))
            if self.looped and self._kept + found.flags.size <= MOST_KEPT:
                self._chosen[start] = found
                self._kept += found.flags.size
        return found

    def forget(self) -> None:
        """Discard the cached results."""
        self._before, self._kept = (), 0
        self._chosen.clear()


class Rows:
    """Results of a positionwise map; in a loop, positions that are unchanged since the last iteration are reused.

    The map acts on each position separately, so an earlier error bound remains valid.

    Args:
        looped: Whether the block is looped.
    """

    def __init__(self, *, looped: bool) -> None:
        self.looped = looped
        self._before: tuple[tuple[Tensor, ...], Tensor] | None = None

    def computed(self, compute: Callable[..., Tensor], *given: Tensor) -> Tensor:
        """Apply the map to tensors (batch, position, coordinate)."""
        if not self.looped or given[0].shape[1] < FEWEST_ROWS:
            return compute(*given)
        result = self._again(compute, given)
        self._before = given, result
        return result

    def _again(self, compute: Callable[..., Tensor], given: tuple[Tensor, ...]) -> Tensor:
        before = self._before
        if before is None or any(x.shape != y.shape for x, y in zip(given, before[0], strict=True)):
            return compute(*given)
        changed = np.logical_or.reduce([differ(x, y) for x, y in zip(given, before[0], strict=True)])
        which, old = np.flatnonzero(changed), before[1]
        if not which.size:
            return old
        if 2 * which.size > changed.size:
            return compute(*given)
        try:
            new = compute(*(x[:, which] for x in given))
        except UndecidedError as doubt:
            at = int(which[doubt.query])
            raise UndecidedError(doubt.batch, at, doubt.candidates, doubt.reason, tie=doubt.tie) from None
        value = _replaced(old.value, which, new.value)
        if old.error is None or new.error is None:
            return Tensor(value)
        return Tensor(value, _replaced(old.error, which, new.error))


def _replaced(old: Array, which: NDArray[np.intp], new: Array) -> Array:
    """Replace some positions of an array; returns the old array itself if nothing changes."""
    if (old[:, which] == new).all():
        return old
    found = old.copy()
    found[:, which] = new
    return found


class GroupMemory:
    """The caches of a head group with shared keys.

    Args:
        caches: KV cache of one loop iteration: the keys, and the values of each head; None if nothing is appended.
        shares: Softmax results.
        chosen: Hard-attention results.
        blocks: Hard-attention results in blocks, for many positions.
        asked: Incremental argmax of each head, for bidirectional attention.
    """

    def __init__(
        self,
        caches: list[Cache] | None,
        shares: Turns[Map],
        chosen: Turns[Chosen],
        blocks: Blocks,
        asked: list[Asked],
    ) -> None:
        self.caches, self.shares, self.chosen, self.blocks, self._asked = caches, shares, chosen, blocks, asked

    def append(self, parts: Sequence[Tensor]) -> list[Tensor]:
        """Append keys and values of new positions; return those of all positions so far."""
        if self.caches is None:
            return list(parts)
        self.caches += [Cache() for _ in parts[len(self.caches) :]]
        return [cache.append(part) for cache, part in zip(self.caches, parts, strict=True)]

    def asked(self, head: int) -> Asked:
        """Return the incremental argmax of a head of the group."""
        self._asked += [Asked(looped=self.blocks.looped) for _ in range(len(self._asked), head + 1)]
        return self._asked[head]


class Memory:
    """All caches of a pass, by (block, iteration, layer, head group).

    Args:
        goes_on: Whether positions may be appended; otherwise keys and values are not cached.
    """

    def __init__(self, *, goes_on: bool = True) -> None:
        self.goes_on = goes_on
        self._caches: dict[tuple[int, int, int, int], list[Cache]] = {}
        self._turns: dict[tuple[int, int, int], tuple[Turns[Map], Turns[Chosen], Blocks]] = {}
        self._asked: dict[tuple[int, int, int], list[Asked]] = {}
        self._rows: dict[tuple[int, int], tuple[Rows, Rows, Rows]] = {}

    def of(self, where: tuple[int, int, int, int], *, looped: bool) -> GroupMemory:
        """Return the caches of a head group."""
        block, _, depth, index = where
        place = block, depth, index
        if place not in self._turns:
            self._turns[place] = Turns(looped=looped), Turns(looped=looped), Blocks(looped=looped)
        caches = self._caches.setdefault(where, []) if self.goes_on else None
        return GroupMemory(caches, *self._turns[place], self._asked.setdefault(place, []))

    def rows(self, where: tuple[int, int, int], *, looped: bool) -> tuple[Rows, Rows, Rows]:
        """Return the caches of a layer's maps: projections, head outputs, and feed-forward network."""
        block, _, depth = where
        if (block, depth) not in self._rows:
            self._rows[block, depth] = Rows(looped=looped), Rows(looped=looped), Rows(looped=looped)
        return self._rows[block, depth]

    def rewind(self, read: int) -> None:
        """Truncate to the first ``read`` positions, and discard all cached results."""
        for found in self._turns.values():
            for part in found:
                part.forget()
        self._asked.clear()
        self._rows.clear()
        for caches in self._caches.values():
            for cache in caches:
                cache.keep(read)

    def recall(self, read: int) -> None:
        """Undo a truncation: restore the length ``read``."""
        for caches in self._caches.values():
            for cache in caches:
                cache.recall(read)


def once(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Reduce queries and keys to batch size 1 if they are equal for all sequences, as for position-only heads."""
    same = query.shape[0] > 1 and all(
        (part == part[:1]).all() for x in (query, key) for part in (x.value, x.error) if part is not None
    )
    return (query[:1], key[:1]) if same else (query, key)
