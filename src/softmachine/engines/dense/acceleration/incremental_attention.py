"""Bidirectional hard attention with deduplicated queries and keys, incremental over loop iterations.

The result is exact. Equal queries and equal keys have equal scores, so scores are computed once per pair of distinct
rows. In a loop, each query keeps all keys whose score is at least the lowest maximum it has had (its floor). An
iteration scores only the keys that have changed; a query whose kept keys have all changed is compared with all keys
again, which lowers its floor and so is rare. This requires exact scores (`Arithmetic.exact_scores`); without them,
every iteration compares with all keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.acceleration import chunk_size
from softmachine.engines.dense.acceleration.caches import changed_positions, is_equal
from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError
from softmachine.engines.numerics.base import Array, Flags
from softmachine.transformer.attention import AttentionKind

Indices = NDArray[np.intp]
MAX_SCORES = 1 << 21
"""Scores per chunk of queries, unless the chunk would have too few queries."""
MAX_GATHERED_KEYS = 64
"""Up to this many chosen keys per query, values are gathered; above, the mean uses a 0-1 weight for every key."""
MIN_QUERIES = 256
"""Minimal number of queries per chunk of exact scores, which amortises the work per key."""
MAX_KEYS_PER_QUERY = 4
"""Keys are deduplicated only if there is at least one query per this many keys."""
MAX_KEPT_PAIRS = 1 << 22
"""Limit of pairs of queries and keys kept between iterations; above, only the chosen ones are kept."""


class RowClasses(NamedTuple):
    """Equivalence classes of equal rows.

    Args:
        first: The first position of each class, in ascending order.
        class_of: The class of each position.
    """

    first: Indices
    class_of: Indices

    @staticmethod
    def of_rows(rows: Tensor) -> RowClasses:
        """Classify rows (1, positions, coordinates); with object arrays, each row is its own class."""
        parts = [part[0] for part in (rows.value, rows.error) if part is not None]
        count, width = parts[0].shape
        if any(part.dtype == object for part in parts):
            return RowClasses.singletons(count)
        if not width:
            return RowClasses(np.zeros(min(count, 1), dtype=np.intp), np.zeros(count, dtype=np.intp))
        bits = np.hstack([np.ascontiguousarray(part).view(np.uint8).reshape(count, -1) for part in parts])
        _, first, of = np.unique(bits.view(np.dtype((np.void, bits.shape[1])))[:, 0], True, True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return RowClasses(first[order], rank[of.reshape(-1)])

    @staticmethod
    def of_keys(key: Tensor, queries: int) -> RowClasses:
        """Classify keys for this many queries; each is its own class if deduplication does not pay off."""
        count = key.shape[1]
        found = RowClasses.of_rows(key) if MAX_KEYS_PER_QUERY * queries >= count else RowClasses.singletons(count)
        return found if 2 * len(found.first) <= count else RowClasses.singletons(count)

    @staticmethod
    def singletons(count: int) -> RowClasses:
        """Return ``count`` classes of one position each."""
        return RowClasses(np.arange(count), np.arange(count))

    def members(self, listed: Indices) -> tuple[Indices, Indices]:
        """Expand a list of classes to positions: return the index into the list, and the position."""
        order = np.argsort(self.class_of, kind="stable")
        sizes = np.bincount(self.class_of, minlength=len(self.first))
        begins, many = (np.cumsum(sizes) - sizes)[listed], sizes[listed]
        within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        return np.repeat(np.arange(len(listed)), many), order[np.repeat(begins, many) + within]


@dataclass(frozen=True)
class KeySelection:
    """The keys chosen by each query, in compressed sparse row format; ascending and at least one per query.

    Args:
        starts: The keys of query q are ``keys[starts[q]:starts[q + 1]]``.
        keys: The keys.
    """

    starts: Indices
    keys: Indices

    @staticmethod
    def from_pairs(query: Indices, key: Indices, count: int) -> KeySelection:
        """Convert sorted pairs (query, key) of ``count`` queries."""
        return KeySelection(np.concatenate([[0], np.cumsum(np.bincount(query, minlength=count))]), key)

    @property
    def counts(self) -> Indices:
        """The number of keys per query."""
        return np.diff(self.starts)

    @property
    def queries(self) -> Indices:
        """The query of each entry of ``keys``."""
        return np.repeat(np.arange(len(self.starts) - 1), self.counts)

    def break_ties(self, choice: AttentionKind) -> KeySelection:
        """Break ties: keep all keys, the leftmost or the rightmost."""
        if choice is AttentionKind.AVERAGE:
            return self
        at = self.starts[:-1] if choice is AttentionKind.LEFTMOST else self.starts[1:] - 1
        return KeySelection(np.arange(len(self.starts)), self.keys[at])

    def to_mask(self, keys: int) -> Flags:
        """Convert to a matrix (queries, keys) of flags."""
        found = np.zeros((len(self.starts) - 1, keys), dtype=bool)
        found[self.queries, self.keys] = True
        return found

    def select(self, some: Indices) -> KeySelection:
        """Restrict to some queries."""
        starts, counts = self.starts[:-1][some], self.counts[some]
        begins = np.cumsum(counts) - counts
        within = np.arange(counts.sum()) - np.repeat(begins, counts)
        return KeySelection(np.concatenate([begins, [counts.sum()]]), self.keys[np.repeat(starts, counts) + within])

    def mean(self, numbers: Arithmetic, value: Tensor) -> Tensor:
        """Average the chosen values: (batch, keys, d) gives (batch, queries, d)."""
        counts, batch, width = self.counts, value.shape[0], value.shape[-1]
        whole: list[tuple[Indices, Tensor]] = []
        for count in np.unique(counts[counts <= MAX_GATHERED_KEYS]):
            some = np.flatnonzero(counts == count)
            keys = self.keys[self.starts[:-1][some][:, None] + np.arange(count)]
            picked = _reshape(value[:, keys], (batch * len(some), int(count), width))
            found = numbers.average(np.ones((batch * len(some), 1, int(count)), dtype=bool), picked)
            whole.append((some, _reshape(found, (batch, len(some), width))))
        many = np.flatnonzero(counts > MAX_GATHERED_KEYS)
        together = chunk_size(MAX_SCORES, value.shape[1])
        for start in range(0, len(many), together):
            some = many[start : start + together]
            whole.append((some, numbers.average(self.select(some).to_mask(value.shape[1])[None], value)))
        return _assemble(whole)


class ScoredPairs(NamedTuple):
    """Pairs of queries and keys with their scores."""

    query: Indices
    key: Indices
    score: Array

    def select(self, some: Flags | Indices) -> ScoredPairs:
        """Select some of the pairs."""
        return ScoredPairs(self.query[some], self.key[some], self.score[some])

    def sort(self) -> ScoredPairs:
        """Sort the pairs by query, then by key."""
        return self.select(_sorting_permutation(self.query, self.key))

    @staticmethod
    def concat(parts: list[ScoredPairs]) -> ScoredPairs:
        """Concatenate a nonempty list of pairs."""
        return ScoredPairs(*(np.concatenate(each) for each in zip(*parts, strict=True)))


@dataclass(frozen=True)
class CandidateKeys:
    """All keys whose exact score is at least the floor of a query; they include those of maximal score.

    Args:
        pairs: These keys of each query, sorted, at least one per query.
        floor: The floor of each query.
    """

    pairs: ScoredPairs
    floor: Array

    @staticmethod
    def find(numbers: Arithmetic, query: Tensor, key: Tensor) -> CandidateKeys | None:
        """Find the best keys of queries (1, queries, d), with equal keys scored once; None if a score is inexact."""
        kinds = RowClasses.of_keys(key, query.shape[1])
        found = _score_pairs(numbers, query, key[:, kinds.first], None)
        if found is None:
            return None
        pairs, floor = found
        which, place = kinds.members(pairs.key)
        return CandidateKeys(pairs.select(which)._replace(key=place).sort(), floor)

    def update(self, numbers: Arithmetic, query: Tensor, key: Tensor, changed: Flags) -> CandidateKeys | None:
        """Update after some keys have changed; None if a score is inexact."""
        which = np.flatnonzero(changed)
        found = _score_pairs(numbers, query, key[:, which], self.floor)
        if found is None:
            return None
        new, floor = found
        pairs = ScoredPairs.concat([self.pairs.select(~changed[self.pairs.key]), new._replace(key=which[new.key])])
        asking = np.flatnonzero(np.bincount(pairs.query, minlength=len(floor)) == 0)
        if asking.size:
            again = CandidateKeys.find(numbers, query[:, asking], key)
            if again is None:
                return None
            pairs = ScoredPairs.concat([pairs, again.pairs._replace(query=asking[again.pairs.query])])
            floor = floor.astype(np.result_type(floor, again.floor))
            floor[asking] = again.floor
        near = CandidateKeys(pairs.sort(), floor)
        return near if len(pairs.query) <= MAX_KEPT_PAIRS else near.keep_best()

    @property
    def max_scores(self) -> Array:
        """The maximal score of each query."""
        begins = np.searchsorted(self.pairs.query, np.arange(len(self.floor)))
        return np.asarray(np.maximum.reduceat(self.pairs.score, begins))

    def keep_best(self) -> CandidateKeys:
        """Keep only the keys of maximal score."""
        top = self.max_scores
        return CandidateKeys(self.pairs.select(self.pairs.score == top[self.pairs.query]), top)

    @property
    def selection(self) -> KeySelection:
        """The keys of maximal score."""
        pairs = self.keep_best().pairs
        return KeySelection.from_pairs(pairs.query, pairs.key, len(self.floor))


class IncrementalArgmax:
    """The argmax of a head at all positions, kept between the iterations of a loop.

    Args:
        looped: Whether the block is looped.
    """

    def __init__(self, *, looped: bool) -> None:
        self.looped = looped
        self.clear()

    def clear(self) -> None:
        """Discard the state."""
        self._before: tuple[Tensor, Tensor, RowClasses, CandidateKeys | None, KeySelection] | None = None

    def find(self, numbers: Arithmetic, query: Tensor, key: Tensor) -> tuple[RowClasses, KeySelection]:
        """Return the classes of queries (1, positions, d), and the keys of maximal score for each class.

        Raises:
            UndecidedError: If the maximal score is undecided; at a position of the query's class.
        """
        before = self._before
        if before is None or not is_equal(query, before[0]):
            kinds = RowClasses.of_rows(query)
            near = CandidateKeys.find(numbers, query[:, kinds.first], key)
        else:
            _, old, kinds, near, picks = before
            changed, some = changed_positions(old, key), query[:, kinds.first]
            if not changed.any():
                return kinds, picks
            near = near.update(numbers, some, key, changed) if near else CandidateKeys.find(numbers, some, key)
        picks = near.selection if near else _find_best(numbers, query, kinds.first, key)
        if self.looped:
            self._before = query, key, kinds, near, picks
        return kinds, picks


def _find_best(numbers: Arithmetic, query: Tensor, some: Indices, key: Tensor) -> KeySelection:
    """Find the keys of maximal score for the queries at some positions, with error bounds.

    Equal keys are scored once.
    """
    kinds = RowClasses.of_keys(key, len(some))
    looked_at = key[:, kinds.first]
    together = chunk_size(MAX_SCORES, looked_at.shape[1])
    asked, picked = [], []
    for start in range(0, len(some), together):
        block = some[start : start + together]
        visible = np.ones((len(block), looked_at.shape[1]), dtype=bool)
        try:
            chosen = numbers.select_keys(query[:, block], looked_at, None, visible, AttentionKind.AVERAGE)[0]
        except UndecidedError as doubt:
            rivals = np.isin(kinds.class_of, doubt.candidates).nonzero()[0].tolist()
            raise UndecidedError(0, int(block[doubt.position]), rivals, doubt.reason, tie=doubt.tie) from None
        asking, found = _nonzero_pairs(chosen)
        which, place = kinds.members(found)
        asked.append(asking[which] + start)
        picked.append(place)
    asking, found = np.concatenate(asked), np.concatenate(picked)
    order = _sorting_permutation(asking, found)
    return KeySelection.from_pairs(asking[order], found[order], len(some))


def _score_pairs(
    numbers: Arithmetic, query: Tensor, key: Tensor, floor: Array | None
) -> tuple[ScoredPairs, Array] | None:
    """Return all pairs whose score is at least the query's floor, and the floors; by default the maximal scores.

    None if a score is inexact.
    """
    parts, floors = [], []
    together = max(MIN_QUERIES, MAX_SCORES // key.shape[1])
    for start in range(0, query.shape[1], together):
        some = slice(start, start + together)
        scores = numbers.exact_scores(query[:, some], key)
        if scores is None:
            return None
        floors.append(scores[0].max(axis=-1) if floor is None else floor[some])
        row, column = _nonzero_pairs(scores[0] >= floors[-1][:, None])
        parts.append(ScoredPairs(row + start, column, scores[0, row, column]))
    return ScoredPairs.concat(parts), np.concatenate(floors)


def _sorting_permutation(query: Indices, key: Indices) -> Indices:
    """Return the permutation that sorts pairs by query, then by key."""
    return np.argsort(query * (key.max(initial=0) + 1) + key, kind="stable")


def _nonzero_pairs(flags: Flags) -> tuple[Indices, Indices]:
    """Return the rows and columns of the set entries of a matrix, row by row."""
    row, column = np.divmod(np.flatnonzero(flags), max(1, flags.shape[1]))
    return row, column


def _reshape(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return Tensor(x.value.reshape(shape), None if x.error is None else x.error.reshape(shape))


def _assemble(parts: list[tuple[Indices, Tensor]]) -> Tensor:
    """Concatenate results of disjoint sets of queries in the order of all queries."""
    order = np.argsort(np.concatenate([some for some, _ in parts]))
    value: Array = np.concatenate([part.value for _, part in parts], axis=1)[:, order]
    errors = [part.error for _, part in parts]
    if all(error is None for error in errors):
        return Tensor(value)
    known = [np.zeros(part.shape) if part.error is None else part.error for _, part in parts]
    return Tensor(value, np.concatenate(known, axis=1)[:, order])
