"""Sparse rows of fractions: the position-wise part of a model as data.

Numbers are fractions, kept in ``n`` and ``d``; nearly all are small integers, and those that are not are marked *odd*.
Every row has a place of its own, and its sum is kept from one position to the next. A number that changes adds to the
sums of the rows that read it, and lets them wait; only rows that wait are computed. From one position to the next, one
number in eight changes.

A sum of numbers that are not odd cannot overflow, so it is kept without a check; a row that reads an odd one is
computed as a fraction, term by term, with a flag that says if it does not fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.indexes.kernels import Integers, added, inlined, is_prime, kernel, lowest, times

SMALL = 1 << 24
"""Larger integers are odd."""
KEEP, RELU, STEP = 0, 1, 2
PLAIN, SQUARE, INVERSE, INVERSE_SQUARE, BIT, MOD, POWER_OF_TWO, PRIME = range(8)


TOTAL, ODDS, WAITS, WHERE, ACT, OVER, LARGE, LEVEL = range(8)
"""The columns of ``sums``, one line of the cache for each row: the sum of what it reads and is not odd, with its bias;
how many odd numbers it reads; whether it is to be computed; the place that it goes to; its activation; its denominator;
whether the sum might not fit even for small integers; its level."""
PART, USED, END = range(3)
"""The columns of ``links``: the number of the query or key that a place is part of, -1 if of none; and where in
``uses`` the entries that read it begin and end."""


class Vector(NamedTuple):
    """All numbers of a position, and which of them are to be computed.

    Args:
        n: Numerators, and
        d: denominators; 1 where a number is not odd.
        odd: Which are odd.
        sums: What is kept of each row.
        queue: The rows that are to be computed, those of each level from its first row on.
        waiting: For each level, how many.
        moved: For each query and each key, whether one of its numbers has changed since somebody looked.
    """

    n: Integers
    d: Integers
    odd: NDArray[np.bool_]
    sums: Integers
    queue: Integers
    waiting: Integers
    moved: NDArray[np.bool_]


class Rows(NamedTuple):
    """Sparse rows.

    Args:
        sums: What is known of each row before the first position.
        biases: The numerators of their biases.
        starts: Where the entries of each row begin.
        columns: The places that entries read.
        weights: Their numerators.
        firsts: The first row of each level; rows of one level do not read one another.
        uses: For each place the rows that read it, and their numerators; 0 if the row is large, so that no sum
            overflows.
        links: What is known of each place.
    """

    sums: Integers
    biases: Integers
    starts: Integers
    columns: Integers
    weights: Integers
    firsts: Integers
    uses: Integers
    links: Integers


def fresh(rows: Rows, parts: int) -> Vector:
    """Numbers that are all 0, with all rows to be computed."""
    places = len(rows.links)
    return Vector(
        n=np.zeros(places, dtype=np.int64),
        d=np.ones(places, dtype=np.int64),
        odd=np.zeros(places, dtype=bool),
        sums=rows.sums.copy(),
        queue=np.arange(len(rows.sums), dtype=np.int64),
        waiting=np.bincount(rows.sums[:, LEVEL], minlength=len(rows.firsts)).astype(np.int64),
        moved=np.ones(parts, dtype=bool),
    )


@inlined
def put(rows: Rows, vector: Vector, at: int, value: int, over: int) -> None:
    """Keep a number; if it is another than before, let those who read it know."""
    before, was = vector.n[at], vector.odd[at]
    odd = over != 1 or value > SMALL or value < -SMALL
    if before != value or was != odd or (odd and vector.d[at] != over):
        vector.n[at] = value
        if odd or was:
            vector.d[at], vector.odd[at] = over, odd
        if rows.links[at, PART] >= 0:
            vector.moved[rows.links[at, PART]] = True
        step = (0 if odd else value) - (0 if was else before)
        for k in range(rows.links[at, USED], rows.links[at, END]):
            r = rows.uses[k, 0]
            vector.sums[r, TOTAL] += rows.uses[k, 1] * step
            if odd != was:
                vector.sums[r, ODDS] += 1 if odd else -1
            if vector.sums[r, WAITS] == 0:
                vector.sums[r, WAITS] = 1
                level = vector.sums[r, LEVEL]
                vector.queue[rows.firsts[level] + vector.waiting[level]] = r
                vector.waiting[level] += 1


@kernel
def feature(kind: int, a: int, b: int, i: int) -> tuple[int, int]:
    """A position feature as a fraction."""
    if kind == PLAIN:
        return i, 1
    if kind == SQUARE:
        return i * i, 1
    if kind == INVERSE:
        return 1, i + 1
    if kind == INVERSE_SQUARE:
        return 1, (i + 1) * (i + 1)
    if kind == BIT:
        return (i >> a) & 1, 1
    if kind == MOD:
        return (1 if i % a == b else 0), 1
    if kind == POWER_OF_TWO:
        return (1 if i > 0 and i & (i - 1) == 0 else 0), 1
    return is_prime(i), 1


@inlined
def compute(rows: Rows, level: int, vector: Vector) -> bool:
    """Compute the rows of a level that wait; whether a number does not fit. Those after it still wait, then."""
    first, left = rows.firsts[level], vector.waiting[level]
    while left > 0:
        r = vector.queue[first + left - 1]
        total, over = vector.sums[r, TOTAL], vector.sums[r, OVER]
        if vector.sums[r, ODDS] > 0 or vector.sums[r, LARGE] != 0:
            total, over, bad = slow_row(rows, r, vector)
            if bad:
                return True
        elif over != 1:
            total, over = lowest(total, over)
        if vector.sums[r, ACT] == RELU and total < 0:
            total, over = 0, 1
        elif vector.sums[r, ACT] == STEP:
            total, over = (1 if total >= 0 else 0), 1
        left -= 1
        vector.waiting[level] = left
        vector.sums[r, WAITS] = 0
        put(rows, vector, vector.sums[r, WHERE], total, over)
    return False


@kernel
def slow_row(rows: Rows, r: int, vector: Vector) -> tuple[int, int, bool]:
    """A row, term by term."""
    below = vector.sums[r, OVER]
    total, over = lowest(rows.biases[r], below)
    for k in range(rows.starts[r], rows.starts[r + 1]):
        c = rows.columns[k]
        p, q, bad = times(rows.weights[k], below, vector.n[c], vector.d[c])
        if bad:
            return 0, 1, True
        total, over, bad = added(total, over, p, q)
        if bad:
            return 0, 1, True
    return total, over, False
