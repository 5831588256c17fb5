"""Sparse rows of fractions: the position-wise part of a model as data.

Numbers are fractions, kept in ``n`` and ``d``; nearly all are small integers, and those that are not are marked *odd*.
A sum of numbers that are not odd cannot overflow, so it is computed without a check; any other is computed as a
fraction, term by term, with a flag that says if it does not fit.
"""

from __future__ import annotations

from typing import Any

from softmachine.engines.fast.indexes.kernels import added, is_prime, kernel, lowest, times

SMALL = 1 << 24
"""Larger integers are odd."""
KEEP, RELU, STEP = 0, 1, 2
PLAIN, SQUARE, INVERSE, INVERSE_SQUARE, BIT, MOD, POWER_OF_TWO, PRIME = range(8)


@kernel
def put(n: Any, d: Any, odd: Any, at: int, value: int, over: int) -> None:
    """Keep a number."""
    n[at] = value
    d[at] = over
    odd[at] = over != 1 or value > SMALL or value < -SMALL


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
def rows(
    first: int, last: int, n: Any, d: Any, odd: Any, starts: Any, where: Any, acts: Any, biases: Any, overs: Any,
    large: Any, columns: Any, weights: Any,
) -> bool:  # fmt: skip
    """Compute rows of a map; whether a number does not fit."""
    for r in range(first, last):
        total, over = biases[r], overs[r]
        strange = large[r]
        for k in range(starts[r], starts[r + 1]):
            c = columns[k]
            total += weights[k] * n[c]
            strange |= odd[c]
        if strange:
            total, over, bad = slow_row(r, n, d, starts, biases, overs, columns, weights)
            if bad:
                return True
        elif over != 1:
            total, over = lowest(total, over)
        if acts[r] == RELU and total < 0:
            total, over = 0, 1
        elif acts[r] == STEP:
            total, over = (1 if total >= 0 else 0), 1
        put(n, d, odd, where[r], total, over)
    return False


@kernel
def slow_row(
    r: int, n: Any, d: Any, starts: Any, biases: Any, overs: Any, columns: Any, weights: Any
) -> tuple[int, int, bool]:
    """A row of a map, term by term."""
    total, over = lowest(biases[r], overs[r])
    for k in range(starts[r], starts[r + 1]):
        c = columns[k]
        p, q, bad = times(weights[k], overs[r], n[c], d[c])
        if bad:
            return 0, 1, True
        total, over, bad = added(total, over, p, q)
        if bad:
            return 0, 1, True
    return total, over, False
