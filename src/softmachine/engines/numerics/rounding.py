"""Bounds of rounding errors in a float format; 0 where all numbers are multiples of 2^-g and small enough."""

from __future__ import annotations

import numpy as np

from softmachine.engines.numerics.base import Array, Flags, Floats
from softmachine.engines.numerics.operator import FLOOR, FloatOperator, gamma

_GRIDS = (0, 20)
"""Values of g for which numbers are tested as multiples of 2^-g, whose sums are exact."""


def of_map(operator: FloatOperator, size: Floats, total: Floats, read: Array, value: Array, least: float) -> Floats:
    """Bound the rounding error of an affine map, given the inputs, their absolute values, and the absolute term sums.

    In formats smaller than float64 the error is measured by recomputing the result in float64, which is usually exact.
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
    """Bound the rounding error of sums of numbers with these absolute values."""
    if (size == np.rint(size)).all() and size.max(initial=0) * some.max(initial=0) < 2.0**digits:
        return np.zeros((*some.shape[:-1], size.shape[-1]))
    total = weights @ size
    rounding = gamma(some - 1, digits) * total
    for grid in _GRIDS:
        on_grid = weights @ _off(size, grid).astype(np.float64) == 0
        rounding[on_grid & (total < 2.0 ** (digits - grid))] = 0
    return rounding


def of_quotient(numerator: Array, divisor: Floats, quotient: Array, roundoff: float, least: float) -> Floats:
    """Bound the rounding error of a quotient: 0 where it is a multiple of 2^-20 and the product checks exactly."""
    product = quotient.astype(np.float64) * divisor
    exact = (product == numerator) & ~_off(quotient, 20)
    exact &= np.abs(product) < np.where(_off(quotient, 0), 2.0**33, 2.0**53)
    bound = roundoff * np.abs(quotient).astype(np.float64) + max(least, FLOOR)
    return np.where(exact | (divisor == 1), 0.0, bound)


def _off(size: Floats, grid: int) -> Flags:
    scaled = size if grid == 0 else size * 2.0**grid
    return np.asarray(scaled != np.rint(scaled))
