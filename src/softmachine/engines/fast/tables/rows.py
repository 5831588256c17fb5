"""Sparse rows of fractions: the position-wise part of a model as data.

Numbers are fractions, kept in ``n`` and ``d``; nearly all are small integers, and those that are not are marked *odd*.
A sum of numbers that are not odd cannot overflow, so it is computed without a check; any other is computed as a
fraction, term by term, with a flag that says if it does not fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.indexes.kernels import Integers, added, is_prime, kernel, lowest, times

SMALL = 1 << 24
"""Larger integers are odd."""
KEEP, RELU, STEP = 0, 1, 2
PLAIN, SQUARE, INVERSE, INVERSE_SQUARE, BIT, MOD, POWER_OF_TWO, PRIME = range(8)


class Vector(NamedTuple):
    """All numbers of a position: numerators, denominators, and which are odd."""

    n: Integers
    d: Integers
    odd: NDArray[np.bool_]


class Rows(NamedTuple):
    """Sparse rows.

    Args:
        starts: Where the entries of each row begin.
        where: The place that its sum goes to.
        acts: Its activation.
        biases: Its bias, over
        overs: its denominator, which its weights are over as well.
        large: Whether the sum might not fit even for small integers.
        columns: The places that entries read.
        weights: Their numerators.
    """

    starts: Integers
    where: Integers
    acts: Integers
    biases: Integers
    overs: Integers
    large: Integers
    columns: Integers
    weights: Integers


@kernel
def put(vector: Vector, at: int, value: int, over: int) -> None:
    """Keep a number."""
    vector.n[at] = value
    vector.d[at] = over
    vector.odd[at] = over != 1 or value > SMALL or value < -SMALL


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


@kernel
def compute(rows: Rows, first: int, last: int, vector: Vector) -> bool:
    """Compute rows; whether a number does not fit."""
    for r in range(first, last):
        total, over = rows.biases[r], rows.overs[r]
        strange = rows.large[r] != 0
        for k in range(rows.starts[r], rows.starts[r + 1]):
            c = rows.columns[k]
            total += rows.weights[k] * vector.n[c]
            strange |= vector.odd[c]
        if strange:
            total, over, bad = slow_row(rows, r, vector)
            if bad:
                return True
        elif over != 1:
            total, over = lowest(total, over)
        if rows.acts[r] == RELU and total < 0:
            total, over = 0, 1
        elif rows.acts[r] == STEP:
            total, over = (1 if total >= 0 else 0), 1
        put(vector, rows.where[r], total, over)
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
