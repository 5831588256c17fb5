"""Kernels that generated code calls: fractions of 64-bit integers, and searches; exact, or with an overflow flag.

Every function is plain Python that numba compiles; the tests run them both ways. Kernels must not index outside of an
array, whatever the numbers: compiled code does not check bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
PAGE_BITS = 12
PAGE_SIZE = 1 << PAGE_BITS
"""Positions per page of older tokens."""
LIMIT = 4.0e18
"""Numbers whose floating-point estimate is below this fit into 64 bits, with a margin for the estimate's rounding."""

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """A function that is compiled together with its caller, and cached on disk with it."""
    compiled: Function = numba.njit(function)
    return compiled


@kernel
def divisor(a: int, b: int) -> int:
    """The greatest common divisor, at least 1."""
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a if a else 1


@kernel
def lowest(n: int, d: int) -> tuple[int, int]:
    """The fraction n/d, d > 0, in lowest terms."""
    if d == 1:
        return n, d
    g = divisor(n, d)
    return n // g, d // g


@kernel
def added(an: int, ad: int, bn: int, bd: int) -> tuple[int, int, bool]:
    """The sum of two fractions in lowest terms, and whether it overflows."""
    if ad == bd:
        if abs(float(an)) + abs(float(bn)) >= LIMIT:
            return 0, 1, True
        n, d = lowest(an + bn, ad)
        return n, d, False
    g = divisor(ad, bd)
    p, q = bd // g, ad // g
    if abs(float(an) * float(p)) + abs(float(bn) * float(q)) >= LIMIT or float(q) * float(bd) >= LIMIT:
        return 0, 1, True
    n, d = lowest(an * p + bn * q, q * bd)
    return n, d, False


@kernel
def times(wn: int, wd: int, n: int, d: int) -> tuple[int, int, bool]:
    """The product of two fractions, in lowest terms, and whether it overflows."""
    g, h = divisor(wn, d), divisor(n, wd)
    wn, d, n, wd = wn // g, d // g, n // h, wd // h
    if abs(float(wn) * float(n)) >= LIMIT or float(wd) * float(d) >= LIMIT:
        return 0, 1, True
    return wn * n, wd * d, False


NOBODY, SINGLE, TWO, EVERY = 0, 1, 2, 3


@kernel
def top_of_parabola(slope: int, curve: int, last: int) -> tuple[int, int, int]:
    """The argmax of slope · j + curve · j² over 0 ≤ j ≤ last: its size (none, one, two or all), first and last.

    Both coefficients are below 10^18 in absolute value. For an empty range the argmax is -1.
    """
    if last < 0:
        return NOBODY, -1, -1
    if last == 0:
        return SINGLE, 0, 0
    if curve == 0:
        if slope == 0:
            return EVERY, 0, last
        return (SINGLE, last, last) if slope > 0 else (SINGLE, 0, 0)
    if curve > 0:
        # The maximum is at an end; the scores of the ends differ by last · (slope + curve · last).
        if float(curve) * float(last) >= LIMIT:
            return SINGLE, last, last
        other = slope + curve * last
        if other == 0:
            return TWO, 0, last
        return (SINGLE, last, last) if other > 0 else (SINGLE, 0, 0)
    down = -2 * curve
    j = slope // down
    rest = slope - j * down
    if rest == -curve and 0 <= j < last:
        return TWO, j, j + 1
    if rest > -curve:
        j += 1
    j = min(max(j, 0), last)
    return SINGLE, j, j


@kernel
def token_at(tokens: Integers, base: int, pages: Integers, kept: Integers, j: int) -> np.int64 | int:
    """The token at an earlier position, or one of the same class; tokens from ``base`` on are in the window."""
    if j >= base:
        return np.int64(tokens[j - base])
    page = pages[j >> PAGE_BITS]
    return -1 - page if page < 0 else np.int64(kept[page + (j & (PAGE_SIZE - 1))])


@kernel
def neighbours(there: Integers, first: int, least: int, most: int, n: int, d: int) -> tuple[int, int]:
    """The occupied entries nearest to n/d, d > 0, at or below and above it, in a table that begins at ``first``.

    Every entry from ``least`` to ``most`` is inside of the table, and these two are occupied. If one side has none, the
    other side's entry is returned twice.
    """
    below = n // d
    above = below + 1
    if below >= most:
        return most, most
    if above <= least:
        return least, least
    while there[below - first] == 0:
        below -= 1
    while there[above - first] == 0:
        above += 1
    return below, above


@kernel
def closest(there: Integers, first: int, least: int, most: int, q: int, reach: int, later: bool) -> int:
    """The offset of the occupied entry nearest to q, at most ``reach`` away; -1 if there is none.

    The table begins at ``first``; all its entries from ``least`` to ``most`` are inside of it, and these two are
    occupied, unless it is empty. Of two equally near entries, the one written later, or earlier.
    """
    if q >= most:
        return most - first if q - most <= reach and least <= most else -1
    if q <= least:
        return least - first if least - q <= reach else -1
    away = 0
    while away <= reach:
        below, above = -1, -1
        if least <= q - away <= most and there[q - away - first] > 0:
            below = q - away - first
        if least <= q + away <= most and there[q + away - first] > 0:
            above = q + away - first
        if below >= 0 and above >= 0:
            return below if (there[below] > there[above]) == later else above
        if below >= 0 or above >= 0:
            return max(below, above)
        away += 1
    return -1


@kernel
def is_prime(i: int) -> int:
    """1 if i is prime, else 0."""
    if i < 2:
        return 0
    k = 2
    while k * k <= i:
        if i % k == 0:
            return 0
        k += 1
    return 1
