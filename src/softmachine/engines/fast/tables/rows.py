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


class Vector(NamedTuple):
    """All numbers of a position, and which of them are to be computed.

    Args:
        n: Numerators, and
        d: denominators.
        odd: Which are odd.
        totals: For each row the sum of what it reads and is not odd, and its bias.
        odds: For each row how many odd numbers it reads.
        waits: Whether it is to be computed.
        queue: The rows that are, those of each level from its first row on.
        waiting: For each level, how many.
        moved: For each query and each key, whether one of its numbers has changed since somebody looked.
    """

    n: Integers
    d: Integers
    odd: NDArray[np.bool_]
    totals: Integers
    odds: Integers
    waits: NDArray[np.bool_]
    queue: Integers
    waiting: Integers
    moved: NDArray[np.bool_]


class Rows(NamedTuple):
    """Sparse rows.

    Args:
        starts: Where the entries of each row begin.
        where: The place that its sum goes to.
        acts: Its activation.
        biases: Its bias, over
        overs: its denominator, which its weights are over as well.
        large: Whether the sum might not fit even for small integers.
        levels: Its level: rows of one level do not read one another.
        columns: The places that entries read.
        weights: Their numerators.
        firsts: The first row of each level.
        uses: Where the entries that read each place begin, among
        readers: their rows, and
        factors: their numerators; 0 if the row is large, so that no sum overflows.
        parts: For each place the number of the query or key that it is part of; -1 for others.
    """

    starts: Integers
    where: Integers
    acts: Integers
    biases: Integers
    overs: Integers
    large: Integers
    levels: Integers
    columns: Integers
    weights: Integers
    firsts: Integers
    uses: Integers
    readers: Integers
    factors: Integers
    parts: Integers


def fresh(places: int, rows: Rows, parts: int) -> Vector:
    """Numbers that are all 0, with all rows to be computed."""
    count, levels = len(rows.where), len(rows.firsts)
    return Vector(
        n=np.zeros(places, dtype=np.int64),
        d=np.ones(places, dtype=np.int64),
        odd=np.zeros(places, dtype=bool),
        totals=np.where(rows.large != 0, 0, rows.biases),
        odds=np.zeros(count, dtype=np.int64),
        waits=np.ones(count, dtype=bool),
        queue=np.arange(count, dtype=np.int64),
        waiting=np.bincount(rows.levels, minlength=levels).astype(np.int64),
        moved=np.ones(parts, dtype=bool),
    )


@inlined
def put(rows: Rows, vector: Vector, at: int, value: int, over: int) -> None:
    """Keep a number; if it is another than before, let those who read it know."""
    before = vector.n[at]
    if before == value and vector.d[at] == over:
        return
    was, odd = vector.odd[at], over != 1 or value > SMALL or value < -SMALL
    vector.n[at], vector.d[at], vector.odd[at] = value, over, odd
    part = rows.parts[at]
    if part >= 0:
        vector.moved[part] = True
    step = (0 if odd else value) - (0 if was else before)
    for k in range(rows.uses[at], rows.uses[at + 1]):
        r = rows.readers[k]
        vector.totals[r] += rows.factors[k] * step
        if odd != was:
            vector.odds[r] += 1 if odd else -1
        if not vector.waits[r]:
            vector.waits[r] = True
            level = rows.levels[r]
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
        total, over = vector.totals[r], rows.overs[r]
        if vector.odds[r] > 0 or rows.large[r] != 0:
            total, over, bad = slow_row(rows, r, vector)
            if bad:
                return True
        elif over != 1:
            total, over = lowest(total, over)
        if rows.acts[r] == RELU and total < 0:
            total, over = 0, 1
        elif rows.acts[r] == STEP:
            total, over = (1 if total >= 0 else 0), 1
        left -= 1
        vector.waiting[level] = left
        vector.waits[r] = False
        put(rows, vector, rows.where[r], total, over)
    return False


@kernel
def slow_row(rows: Rows, r: int, vector: Vector) -> tuple[int, int, bool]:
    """A row, term by term."""
    total, over = lowest(rows.biases[r], rows.overs[r])
    for k in range(rows.starts[r], rows.starts[r + 1]):
        c = rows.columns[k]
        p, q, bad = times(rows.weights[k], rows.overs[r], vector.n[c], vector.d[c])
        if bad:
            return 0, 1, True
        total, over, bad = added(total, over, p, q)
        if bad:
            return 0, 1, True
    return total, over, False
