"""Hard attention where every position sees every other: equal queries ask once, and a turn asks only where it must.

Nothing is guessed. Equal queries of equal keys have equal scores, so those of different rows are all that there are. In
a loop, a query picks what it picked in the turn before, if none of these keys has changed and no key that has changed
is as good now; that is said by scores without doubt alone (`Arithmetic.certain_scores`), and where there are none, all
is looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic import Arithmetic, Tensor, UndecidedError
from softmachine.arithmetic.base import Array, Flags
from softmachine.transformer.attention import Choice

Places = NDArray[np.intp]
MOST_SCORES = 1 << 21
"""So many scores are computed at a time, unless that were too few queries."""
FEWEST = 48
"""The number of queries is a multiple of this, as of what matrix products do together: every sum stays the same."""
FEW_TIES = 64
"""The values of queries that pick so many keys or fewer are gathered; else all keys are weighted with 0 and 1."""
SELDOM = 4
"""If less than one key in so many has changed since the turn before, it is asked what that changes. If less than one
query in so many asks, it does not pay to look for equal keys."""


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
    def single(count: int) -> Kinds:
        """So many positions, each of its own."""
        return Kinds(np.arange(count), np.arange(count))

    def members(self, chosen: Flags) -> tuple[Places, Places]:
        """Of flags (queries, classes) the queries, and the positions of the classes that they choose; in order."""
        query, kind = _pairs(chosen)
        order = np.argsort(self.of, kind="stable")
        sizes = np.bincount(self.of, minlength=len(self.first))
        begins = np.cumsum(sizes) - sizes
        many = sizes[kind]
        within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        query, place = np.repeat(query, many), order[np.repeat(begins[kind], many) + within]
        sorted_by = np.lexsort((place, query))
        return query[sorted_by], place[sorted_by]


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

    def replaced(self, some: Places, other: Picks) -> Picks:
        """The same, but what some queries pick is what others do."""
        stay = np.ones(len(self.starts) - 1, dtype=bool)
        stay[some] = False
        kept = stay[self.queries]
        query = np.concatenate([self.queries[kept], some[other.queries]])
        order = np.argsort(query, kind="stable")
        return Picks.of(query[order], np.concatenate([self.keys[kept], other.keys])[order], len(stay))

    def flags(self, keys: int, some: slice | Places = slice(None)) -> Flags:
        """Who of some queries picks which of so many keys."""
        found = np.zeros((len(self.starts) - 1, keys), dtype=bool)
        found[self.queries, self.keys] = True
        return found[some]

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
        self._query: Tensor | None = None
        self._key: Tensor | None = None
        self._kinds = Kinds(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
        self._picks = Picks(np.zeros(1, dtype=np.intp), np.empty(0, dtype=np.intp))

    def found(self, numbers: Arithmetic, query: Tensor, key: Tensor) -> tuple[Kinds, Picks]:
        """The classes of queries (1, positions, d), and all keys of maximal score for each class.

        Raises:
            UndecidedError: If two scores that decide cannot be told apart; for a position of the query's class.
        """
        if self._query is None or self._key is None or not same(query, self._query):
            kinds = Kinds.among(query)
            picks = _best(numbers, query, kinds.first, key)
        else:
            kinds, picks = self._kinds, self._revised(numbers, self._query, self._key, key)
        if self.looped:
            self._query, self._key, self._kinds, self._picks = query, key, kinds, picks
        return kinds, picks

    def _revised(self, numbers: Arithmetic, query: Tensor, before: Tensor, key: Tensor) -> Picks:
        """What the same queries pick, now that keys have changed."""
        first, picks = self._kinds.first, self._picks
        changed = differ(before, key)
        which = np.flatnonzero(changed)
        if not which.size:
            return picks
        if SELDOM * which.size < changed.size:
            some = _affected(numbers, query[:, first], before[:, picks.keys[picks.starts[:-1]]], key[:, which])
            if some is not None:
                some |= np.logical_or.reduceat(changed[picks.keys], picks.starts[:-1])
                asking = np.flatnonzero(some)
                return picks.replaced(asking, _best(numbers, query, first[asking], key)) if asking.size else picks
        return _best(numbers, query, first, key)


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
        unequal = ~(one == other)  # objects that may be equal are not
        found[np.flatnonzero(unequal) // max(1, one.shape[2]) % len(found)] = True
    return found


def _best(numbers: Arithmetic, query: Tensor, some: Places, key: Tensor) -> Picks:
    """All keys of maximal score for the queries at some positions; equal keys are looked at once."""
    count = key.shape[1]
    kinds = Kinds.among(key) if SELDOM * len(some) >= count else Kinds.single(count)
    few = 2 * len(kinds.first) <= count
    looked_at = key[:, kinds.first] if few else key
    together = at_a_time(MOST_SCORES, looked_at.shape[1])
    parts = []
    for start in range(0, len(some), together):
        block = some[start : start + together]
        visible = np.ones((len(block), looked_at.shape[1]), dtype=bool)
        try:
            chosen = numbers.choose(query[:, block], looked_at, None, visible, Choice.AVERAGE)[0]
        except UndecidedError as doubt:
            rivals = np.isin(kinds.of, doubt.candidates).nonzero()[0].tolist() if few else doubt.candidates
            raise UndecidedError(0, int(block[doubt.query]), rivals, doubt.reason, tie=doubt.tie) from None
        asking, found = kinds.members(chosen) if few else _pairs(chosen)
        parts.append((asking + start, found))
    asked, picked = zip(*parts, strict=True)
    return Picks.of(np.concatenate(asked), np.concatenate(picked), len(some))


def _affected(numbers: Arithmetic, query: Tensor, picked: Tensor, changed: Tensor) -> Flags | None:
    """To which queries a key that has changed is as good as what each of them picked; None if that is not certain."""
    best = numbers.certain_scores(_each(query), _each(picked))
    if best is None:
        return None
    found = []
    together = at_a_time(MOST_SCORES, changed.shape[1])
    for start in range(0, query.shape[1], together):
        scores = numbers.certain_scores(query[:, start : start + together], changed)
        if scores is None:
            return None
        found.append((scores[0] >= best[start : start + together, 0]).any(axis=-1))
    return np.concatenate(found)


def _pairs(flags: Flags) -> tuple[Places, Places]:
    """The rows and columns of a matrix that are set, row by row."""
    row, column = np.divmod(np.flatnonzero(flags), max(1, flags.shape[1]))
    return row, column


def _each(x: Tensor) -> Tensor:
    """One sequence of many vectors as many sequences of one."""
    return _reshaped(x, (x.shape[1], 1, x.shape[2]))


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
