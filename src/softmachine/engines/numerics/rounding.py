"""How far rounding moves what a float format computes: not at all where numbers are on a grid that it can hold."""

from __future__ import annotations

import numpy as np

from softmachine.engines.numerics.base import Array, Flags, Floats
from softmachine.engines.numerics.operator import FLOOR, FloatOperator, gamma

_GRIDS = (0, 20)
"""Numbers that are multiples of 2^-g, for g one of these, are tried as candidates for exact arithmetic."""


def of_map(operator: FloatOperator, size: Floats, total: Floats, read: Array, value: Array, least: float) -> Floats:
    """How far rounding moved the result of an affine map, given what is read, its size, and sums of the sizes of terms.

    In formats smaller than float64 it is measured, by computing the result once more in float64, which rounds less,
    and mostly not at all.
    """
    exact = operator.doubling & ((size > 0).astype(np.float64) @ operator.pattern <= 1) & (total >= least)
    off_grid = [_off(size, grid).astype(np.float64) @ operator.pattern > 0 for grid in _GRIDS]
    for grid, off in zip(_GRIDS, off_grid, strict=True):
        exact |= ~off & (total < operator.exact_to * 2.0**-grid)
    bound = operator.gamma * total + (len(operator.columns) + 1) * max(least, FLOOR)
    if value.dtype != np.float64:
        wide = read.astype(np.float64) @ operator.weight.astype(np.float64) + operator.bias
        terms, digits = len(operator.columns) + 2, np.finfo(value.dtype).nmant + 1
        exact_wide = np.zeros(exact.shape, dtype=bool)
        for grid, off in zip(_GRIDS, off_grid, strict=True):
            exact_wide |= ~off & (total < operator.exact_to * 2.0 ** (53 - digits - grid))
        doubt = np.where(exact_wide, 0.0, terms * 2.0**-52 * total + FLOOR)
        bound = np.minimum(bound, np.abs(value - wide) + doubt)
    return np.where(exact, 0.0, bound)


def of_sum(weights: Floats, some: Floats, size: Floats, digits: int) -> Floats:
    """How far rounding can move sums of so many numbers of these sizes."""
    if (size == np.rint(size)).all() and size.max(initial=0) * some.max(initial=0) < 2.0**digits:
        return np.zeros((*some.shape[:-1], size.shape[-1]))
    total = weights @ size
    rounding = gamma(some - 1, digits) * total
    for grid in _GRIDS:
        on_grid = weights @ _off(size, grid).astype(np.float64) == 0
        rounding[on_grid & (total < 2.0 ** (digits - grid))] = 0
    return rounding


def of_quotient(numerator: Array, divisor: Floats, quotient: Array, roundoff: float, least: float) -> Floats:
    """How far rounding moved a quotient: nothing where it is on a grid and times the divisor what it should be."""
    product = quotient.astype(np.float64) * divisor
    exact = (product == numerator) & ~_off(quotient, 20)
    exact &= np.abs(product) < np.where(_off(quotient, 0), 2.0**33, 2.0**53)
    bound = roundoff * np.abs(quotient).astype(np.float64) + max(least, FLOOR)
    return np.where(exact | (divisor == 1), 0.0, bound)


def _off(size: Floats, grid: int) -> Flags:
    scaled = size if grid == 0 else size * 2.0**grid
    return np.asarray(scaled != np.rint(scaled))
