"""Hard attention where every position sees every other: equal queries ask once, and a turn asks only where it must.

Nothing is guessed. Equal queries of equal keys have equal scores, so those of different rows are all that there are. In
a loop, a query remembers all keys that are as good as the worst that it ever picked. A turn computes the scores of keys
that have changed; only who has none of those keys left asks all keys again, and picks worse ones than ever, which
cannot happen often. Only scores without doubt say so (`Arithmetic.certain_scores`); where there are none, every turn
asks all keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError
from softmachine.engines.numerics.base import Array, Flags
from softmachine.transformer.attention import Choice

Places = NDArray[np.intp]
MOST_SCORES = 1 << 21
"""So many scores are computed at a time, unless that were too few queries."""
FEWEST = 48
"""The number of queries is a multiple of this, as of what matrix products do together: every sum stays the same."""
FEW_TIES = 64
"""The values of queries that pick so many keys or fewer are gathered; else all keys are weighted with 0 and 1."""
QUERIES = 256
"""So many queries at least have scores without doubt at a time, since what there is to know of all keys takes time."""
SELDOM = 4
"""If less than one query for so many keys asks, it does not pay to look for equal keys."""
MOST_NEAR = 1 << 22
"""If a loop has more pairs of queries and keys to remember, it only remembers those that are picked."""


class Kinds(NamedTuple):
    """Positions in classes of equal rows.

    Args:
        first: The first position of each class, in ascending order.
        of: The class of each position.
    """

    first: Places
    of: Places

    @staticmethod
    def among(rows: Tensor) -> Kinds:
        """The classes of rows (1, positions, coordinates); numbers that are objects are not compared."""
        parts = [part[0] for part in (rows.value, rows.error) if part is not None]
        count, width = parts[0].shape
        if any(part.dtype == object for part in parts):
            return Kinds.single(count)
        if not width:
            return Kinds(np.zeros(min(count, 1), dtype=np.intp), np.zeros(count, dtype=np.intp))
        bits = np.hstack([np.ascontiguousarray(part).view(np.uint8).reshape(count, -1) for part in parts])
        _, first, of = np.unique(bits.view(np.dtype((np.void, bits.shape[1])))[:, 0], True, True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return Kinds(first[order], rank[of.reshape(-1)])

    @staticmethod
    def of_keys(key: Tensor, queries: int) -> Kinds:
        """Classes of keys that so many queries look at; each of its own, if looking for equal ones does not pay."""
        count = key.shape[1]
        found = Kinds.among(key) if SELDOM * queries >= count else Kinds.single(count)
        return found if 2 * len(found.first) <= count else Kinds.single(count)

    @staticmethod
    def single(count: int) -> Kinds:
        """So many positions, each of its own."""
        return Kinds(np.arange(count), np.arange(count))

    def members(self, listed: Places) -> tuple[Places, Places]:
        """All positions of the classes in a list: where in the list the class is, and the position."""
        order = np.argsort(self.of, kind="stable")
        sizes = np.bincount(self.of, minlength=len(self.first))
        begins, many = (np.cumsum(sizes) - sizes)[listed], sizes[listed]
        within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        return np.repeat(np.arange(len(listed)), many), order[np.repeat(begins, many) + within]


@dataclass(frozen=True)
class Picks:
    """Which keys queries pick: query q those from starts[q] to starts[q + 1], in ascending order, at least one.

    Args:
        starts: Where the keys of each query begin, and the end.
        keys: The keys.
    """

    starts: Places
    keys: Places

    @staticmethod
    def of(query: Places, key: Places, count: int) -> Picks:
        """The picks of so many queries, as pairs in order."""
        return Picks(np.concatenate([[0], np.cumsum(np.bincount(query, minlength=count))]), key)

    @property
    def counts(self) -> Places:
        """How many keys each query picks."""
        return np.diff(self.starts)

    @property
    def queries(self) -> Places:
        """For each pick, who picks."""
        return np.repeat(np.arange(len(self.starts) - 1), self.counts)

    def one(self, choice: Choice) -> Picks:
        """Of all that tie those that a head chooses."""
        if choice is Choice.AVERAGE:
            return self
        at = self.starts[:-1] if choice is Choice.LEFTMOST else self.starts[1:] - 1
        return Picks(np.arange(len(self.starts)), self.keys[at])

    def flags(self, keys: int) -> Flags:
        """Who picks which of so many keys."""
        found = np.zeros((len(self.starts) - 1, keys), dtype=bool)
        found[self.queries, self.keys] = True
        return found

    def part(self, some: Places) -> Picks:
        """The picks of some queries."""
        starts, counts = self.starts[:-1][some], self.counts[some]
        begins = np.cumsum(counts) - counts
        within = np.arange(counts.sum()) - np.repeat(begins, counts)
        return Picks(np.concatenate([begins, [counts.sum()]]), self.keys[np.repeat(starts, counts) + within])

    def mean(self, numbers: Arithmetic, value: Tensor) -> Tensor:
        """The means of the picked values: (batch, keys, d) gives (batch, queries, d)."""
        counts, batch, width = self.counts, value.shape[0], value.shape[-1]
        whole: list[tuple[Places, Tensor]] = []
        for count in np.unique(counts[counts <= FEW_TIES]):
            some = np.flatnonzero(counts == count)
            keys = self.keys[self.starts[:-1][some][:, None] + np.arange(count)]
            picked = _reshaped(value[:, keys], (batch * len(some), int(count), width))
            found = numbers.mean(np.ones((batch * len(some), 1, int(count)), dtype=bool), picked)
            whole.append((some, _reshaped(found, (batch, len(some), width))))
        many = np.flatnonzero(counts > FEW_TIES)
        together = at_a_time(MOST_SCORES, value.shape[1])
        for start in range(0, len(many), together):
            some = many[start : start + together]
            whole.append((some, numbers.mean(self.part(some).flags(value.shape[1])[None], value)))
        return _assembled(whole)


class Scored(NamedTuple):
    """Pairs of queries and keys, with their scores."""

    query: Places
    key: Places
    score: Array

    def part(self, some: Flags | Places) -> Scored:
        """Some of the pairs."""
        return Scored(self.query[some], self.key[some], self.score[some])

    def ordered(self) -> Scored:
        """The pairs in the order of queries, and those of one in the order of keys."""
        return self.part(_order(self.query, self.key))

    @staticmethod
    def joined(parts: list[Scored]) -> Scored:
        """All pairs of some parts, at least one."""
        return Scored(*(np.concatenate(each) for each in zip(*parts, strict=True)))


@dataclass(frozen=True)
class Near:
    """All keys whose scores, which are without doubt, are at least the floor of a query; the best are among them.

    Args:
        pairs: These keys of each query, at least one, in order.
        floor: The floor of each query.
    """

    pairs: Scored
    floor: Array

    @staticmethod
    def of(numbers: Arithmetic, query: Tensor, key: Tensor) -> Near | None:
        """The best keys of queries (1, queries, d); None if a score is in doubt. Equal keys are looked at once."""
        kinds = Kinds.of_keys(key, query.shape[1])
        found = _scored(numbers, query, key[:, kinds.first], None)
        if found is None:
            return None
        pairs, floor = found
        which, place = kinds.members(pairs.key)
        return Near(pairs.part(which)._replace(key=place).ordered(), floor)

    def revised(self, numbers: Arithmetic, query: Tensor, key: Tensor, changed: Flags) -> Near | None:
        """The same after some keys have changed; None if a score is in doubt."""
        which = np.flatnonzero(changed)
        found = _scored(numbers, query, key[:, which], self.floor)
        if found is None:
            return None
        new, floor = found
        pairs = Scored.joined([self.pairs.part(~changed[self.pairs.key]), new._replace(key=which[new.key])])
        asking = np.flatnonzero(np.bincount(pairs.query, minlength=len(floor)) == 0)
        if asking.size:
            again = Near.of(numbers, query[:, asking], key)
            if again is None:
                return None
            pairs = Scored.joined([pairs, again.pairs._replace(query=asking[again.pairs.query])])
            floor = floor.astype(np.result_type(floor, again.floor))
            floor[asking] = again.floor
        near = Near(pairs.ordered(), floor)
        return near if len(pairs.query) <= MOST_NEAR else near.only_best()

    @property
    def top(self) -> Array:
        """The best score of each query."""
        begins = np.searchsorted(self.pairs.query, np.arange(len(self.floor)))
        return np.asarray(np.maximum.reduceat(self.pairs.score, begins))

    def only_best(self) -> Near:
        """The keys that are picked, and no other."""
        top = self.top
        return Near(self.pairs.part(self.pairs.score == top[self.pairs.query]), top)

    @property
    def picks(self) -> Picks:
        """All keys of maximal score."""
        pairs = self.only_best().pairs
        return Picks.of(pairs.query, pairs.key, len(self.floor))


class Asked:
    """What a head was asked at all positions, and what it picked; in a loop kept for the next turn.

    Args:
        looped: Whether there are turns.
    """

    def __init__(self, *, looped: bool) -> None:
        self.looped = looped
        self.forget()

    def forget(self) -> None:
        """Forget all of it."""
        self._before: tuple[Tensor, Tensor, Kinds, Near | None, Picks] | None = None

    def found(self, numbers: Arithmetic, query: Tensor, key: Tensor) -> tuple[Kinds, Picks]:
        """The classes of queries (1, positions, d), and all keys of maximal score for each class.

        Raises:
            UndecidedError: If two scores that decide cannot be told apart; for a position of the query's class.
        """
        before = self._before
        if before is None or not same(query, before[0]):
            kinds = Kinds.among(query)
            near = Near.of(numbers, query[:, kinds.first], key)
        else:
            _, old, kinds, near, picks = before
            changed, some = differ(old, key), query[:, kinds.first]
            if not changed.any():
                return kinds, picks
            near = near.revised(numbers, some, key, changed) if near else Near.of(numbers, some, key)
        picks = near.picks if near else _best(numbers, query, kinds.first, key)
        if self.looped:
            self._before = query, key, kinds, near, picks
        return kinds, picks


def at_a_time(most: int, scores: int) -> int:
    """How many queries are looked at at a time, if each has so many scores."""
    return max(1, most // max(1, scores) // FEWEST) * FEWEST


def same(x: Tensor, y: Tensor) -> bool:
    """Whether numbers and error bounds are the same."""
    return x.shape == y.shape and not differ(x, y).any()


def differ(x: Tensor, y: Tensor) -> Flags:
    """At which positions numbers or error bounds differ: (batch, positions, coordinates) twice."""
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
        unequal = ~(one == other)  # objects that may be equal are not
        found[np.flatnonzero(unequal) // max(1, one.shape[2]) % len(found)] = True
    return found


def _best(numbers: Arithmetic, query: Tensor, some: Places, key: Tensor) -> Picks:
    """All keys of maximal score for the queries at some positions, as bounds and close calls have it.

    Equal keys are looked at once.
    """
    kinds = Kinds.of_keys(key, len(some))
    looked_at = key[:, kinds.first]
    together = at_a_time(MOST_SCORES, looked_at.shape[1])
    asked, picked = [], []
    for start in range(0, len(some), together):
        block = some[start : start + together]
        visible = np.ones((len(block), looked_at.shape[1]), dtype=bool)
        try:
            chosen = numbers.choose(query[:, block], looked_at, None, visible, Choice.AVERAGE)[0]
        except UndecidedError as doubt:
            rivals = np.isin(kinds.of, doubt.candidates).nonzero()[0].tolist()
            raise UndecidedError(0, int(block[doubt.query]), rivals, doubt.reason, tie=doubt.tie) from None
        asking, found = _pairs(chosen)
        which, place = kinds.members(found)
        asked.append(asking[which] + start)
        picked.append(place)
    asking, found = np.concatenate(asked), np.concatenate(picked)
    order = _order(asking, found)
    return Picks.of(asking[order], found[order], len(some))


def _scored(numbers: Arithmetic, query: Tensor, key: Tensor, floor: Array | None) -> tuple[Scored, Array] | None:
    """All pairs with a score of at least the floor of the query, and the floors; without floors, the best scores are.

    None if a score is in doubt.
    """
    parts, floors = [], []
    together = max(QUERIES, MOST_SCORES // key.shape[1])
    for start in range(0, query.shape[1], together):
        some = slice(start, start + together)
        scores = numbers.certain_scores(query[:, some], key)
        if scores is None:
            return None
        floors.append(scores[0].max(axis=-1) if floor is None else floor[some])
        row, column = _pairs(scores[0] >= floors[-1][:, None])
        parts.append(Scored(row + start, column, scores[0, row, column]))
    return Scored.joined(parts), np.concatenate(floors)


def _order(query: Places, key: Places) -> Places:
    """How to sort pairs by queries, then keys."""
    return np.argsort(query * (key.max(initial=0) + 1) + key, kind="stable")


def _pairs(flags: Flags) -> tuple[Places, Places]:
    """The rows and columns of a matrix that are set, row by row."""
    row, column = np.divmod(np.flatnonzero(flags), max(1, flags.shape[1]))
    return row, column


def _reshaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return Tensor(x.value.reshape(shape), None if x.error is None else x.error.reshape(shape))


def _assembled(parts: list[tuple[Places, Tensor]]) -> Tensor:
    """What was found for some queries each, in the order of all."""
    order = np.argsort(np.concatenate([some for some, _ in parts]))
    value: Array = np.concatenate([part.value for _, part in parts], axis=1)[:, order]
    errors = [part.error for _, part in parts]
    if all(error is None for error in errors):
        return Tensor(value)
    known = [np.zeros(part.shape) if part.error is None else part.error for _, part in parts]
    return Tensor(value, np.concatenate(known, axis=1)[:, order])
