"""Affine maps in a float format, with bounds of their rounding errors.

The bounds are 0 where all numbers are multiples of 2^-g and small enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softmachine.engines.numerics.base import Array, Flags, Floats, Tensor

ROUNDING_SLACK = 1 + 2.0**-30
"""Factor that covers the rounding of error bounds, which are themselves computed in float64."""
MIN_ERROR, MIN_WEIGHT = 2.0**-900, 2.0**-100
"""Lower limits of nonzero errors and of weights in bounds, so that no product of them underflows to 0."""


@dataclass(frozen=True)
class FloatAffine:
    """An affine map in the format, restricted to its nonzero columns, with the constants of its error bound.

    Args:
        columns: The nonzero columns.
        weight: These columns in the format, transposed.
        bias: The constants in the format.
        absolute: |weight|.
        absolute_bias: |bias|.
        weight_error: Errors of the rounded weights; None if they are exact.
        bias_error: Errors of the rounded constants; None if they are exact.
        pattern: 1 where a weight is nonzero.
        gamma: γ_k for the number k of terms of each row.
        exact_to: A row is computed exactly if its inputs are integers and all partial sums are below this.
        doubling: Rows of powers of two without a constant; they do not round if one input is nonzero.
        shrinks: Whether a weight is less than 1, so that errors decrease.
    """

    columns: NDArray[np.intp]
    weight: Array
    bias: Array
    absolute: Floats
    absolute_bias: Floats
    weight_error: Floats | None
    bias_error: Floats | None
    pattern: Floats
    gamma: Floats
    exact_to: Floats
    doubling: Flags
    shrinks: bool

    @staticmethod
    def prepare(columns: NDArray[np.intp], weight: Tensor, bias: Tensor, digits: int) -> FloatAffine:
        """Prepare the map with these columns, for a format with this many significant bits."""
        assert weight.error is not None
        assert bias.error is not None
        size, absolute_bias = (np.abs(part.value).astype(np.float64) for part in (weight, bias))
        both = np.hstack([size, absolute_bias[:, None]])
        powers_of_two = (np.frexp(size)[0] == 0.5) & (size >= MIN_WEIGHT) | (size == 0)
        read = size + weight.error > 0
        return FloatAffine(
            columns=columns,
            weight=weight.value.T.copy(),
            bias=bias.value,
            absolute=np.where(read, np.maximum(size, MIN_WEIGHT), 0).T.copy(),
            absolute_bias=absolute_bias,
            weight_error=weight.error.T.copy() if weight.error.any() else None,
            bias_error=bias.error if bias.error.any() else None,
            pattern=read.T.astype(np.float64),
            gamma=rounding_factor((both > 0).sum(axis=1), digits),
            exact_to=largest_dividing_power(both).min(axis=1) * 2.0**digits,
            doubling=powers_of_two.all(axis=1) & (absolute_bias == 0) & ~weight.error.any(axis=1),
            shrinks=bool((read & (size < 1)).any()),
        )

    @property
    def is_exact(self) -> bool:
        """Whether all weights and constants are exact."""
        return self.weight_error is None and self.bias_error is None

    def is_exact_for(self, size: Floats) -> bool:
        """Whether integers of these absolute values certainly give exact results, by the maximum of each column."""
        largest = size.max(axis=tuple(range(size.ndim - 1)), initial=0)
        return bool((largest @ self.absolute + self.absolute_bias < self.exact_to).all())

    def propagate_error(self, error: Floats) -> Floats:
        """Propagate input errors to the result, without rounding errors."""
        return np.asarray((raise_to_min_error(error) if self.shrinks else error) @ self.absolute)


def raise_to_min_error(error: Floats) -> Floats:
    """Raise nonzero error bounds to at least ``MIN_ERROR``, so that no division underflows to 0."""
    return np.where((error > 0) & (error < MIN_ERROR), MIN_ERROR, error)


def rounding_factor(operations: ArrayLike, digits: int) -> Floats:
    """Return γ_k = k u / (1 - k u), the relative error bound of a sum of k products in any order."""
    product = np.asarray(operations, dtype=np.float64) * 2.0**-digits
    return np.asarray(product / (1 - product))


def largest_dividing_power(size: Floats) -> Floats:
    """Return the largest power of two that divides each number; infinity for 0."""
    mantissa, exponent = np.frexp(size)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    return np.where(size > 0, np.ldexp(lowest, exponent - 53), np.inf)


_GRIDS = (0, 20)
"""Values of g for which numbers are tested as multiples of 2^-g, whose sums are exact."""


def bound_map_rounding(
    operator: FloatAffine, size: Floats, total: Floats, read: Array, value: Array, least: float
) -> Floats:
    """Bound the rounding error of an affine map, given the inputs, their absolute values, and the absolute term sums.

    In formats smaller than float64 the error is measured by recomputing the result in float64, which is usually exact.
    """
    exact = operator.doubling & ((size > 0).astype(np.float64) @ operator.pattern <= 1) & (total >= least)
    off_grid = [_is_off_grid(size, grid).astype(np.float64) @ operator.pattern > 0 for grid in _GRIDS]
    for grid, off in zip(_GRIDS, off_grid, strict=True):
        exact |= ~off & (total < operator.exact_to * 2.0**-grid)
    bound = operator.gamma * total + (len(operator.columns) + 1) * max(least, MIN_ERROR)
    if value.dtype != np.float64:
        wide = read.astype(np.float64) @ operator.weight.astype(np.float64) + operator.bias
        terms, digits = len(operator.columns) + 2, np.finfo(value.dtype).nmant + 1
        exact_wide = np.zeros(exact.shape, dtype=bool)
        for grid, off in zip(_GRIDS, off_grid, strict=True):
            exact_wide |= ~off & (total < operator.exact_to * 2.0 ** (53 - digits - grid))
        doubt = np.where(exact_wide, 0.0, terms * 2.0**-52 * total + MIN_ERROR)
        bound = np.minimum(bound, np.abs(value - wide) + doubt)
    return np.where(exact, 0.0, bound)


def bound_sum_rounding(weights: Floats, some: Floats, size: Floats, digits: int) -> Floats:
    """Bound the rounding error of sums of numbers with these absolute values."""
    if (size == np.rint(size)).all() and size.max(initial=0) * some.max(initial=0) < 2.0**digits:
        return np.zeros((*some.shape[:-1], size.shape[-1]))
    total = weights @ size
    rounding = rounding_factor(some - 1, digits) * total
    for grid in _GRIDS:
        on_grid = weights @ _is_off_grid(size, grid).astype(np.float64) == 0
        rounding[on_grid & (total < 2.0 ** (digits - grid))] = 0
    return rounding


def bound_quotient_rounding(
    numerator: Array, divisor: Floats, quotient: Array, roundoff: float, least: float
) -> Floats:
    """Bound the rounding error of a quotient: 0 where it is a multiple of 2^-20 and the product checks exactly."""
    product = quotient.astype(np.float64) * divisor
    exact = (product == numerator) & ~_is_off_grid(quotient, 20)
    exact &= np.abs(product) < np.where(_is_off_grid(quotient, 0), 2.0**33, 2.0**53)
    bound = roundoff * np.abs(quotient).astype(np.float64) + max(least, MIN_ERROR)
    return np.where(exact | (divisor == 1), 0.0, bound)


def _is_off_grid(size: Floats, grid: int) -> Flags:
    scaled = size if grid == 0 else size * 2.0**grid
    return np.asarray(scaled != np.rint(scaled))
