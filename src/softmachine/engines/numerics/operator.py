"""Affine maps in a float format, and what bounds the error of applying them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softmachine.engines.numerics.base import Array, Flags, Floats, Tensor

SLACK = 1 + 2.0**-30
"""Error bounds are themselves computed in float64; where they decide, this factor makes up for that."""
FLOOR, LEAST = 2.0**-900, 2.0**-100
"""Where errors shrink, they count as at least the one, and weights in bounds as at least the other: none vanishes."""


@dataclass(frozen=True)
class FloatOperator:
    """A matrix in the format, cut down to the columns that it reads, and what bounds the error of applying it.

    Args:
        columns: The columns that are not zero.
        weight: These columns, in the format, transposed.
        bias: The constants, in the format.
        absolute: |weight|.
        absolute_bias: |bias|.
        weight_error: How far the weights are from the exact ones; None if they are exact.
        bias_error: How far the constants are from the exact ones; None if they are exact.
        pattern: 1 where a weight is not 0.
        gamma: γ_k for the number k of terms of each row.
        exact_to: If all numbers read are integers and all partial sums are below this, a row is computed exactly.
        doubling: Rows of powers of two without a constant: reading one number, they do not round.
        shrinks: Whether a weight is less than 1, so that errors become smaller.
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
    def of(columns: NDArray[np.intp], weight: Tensor, bias: Tensor, digits: int) -> FloatOperator:
        """The map with these columns, each a row's weights, in a format of so many binary digits."""
        assert weight.error is not None
        assert bias.error is not None
        size, absolute_bias = (np.abs(part.value).astype(np.float64) for part in (weight, bias))
        both = np.hstack([size, absolute_bias[:, None]])
        powers_of_two = (np.frexp(size)[0] == 0.5) & (size >= LEAST) | (size == 0)
        read = size + weight.error > 0
        return FloatOperator(
            columns=columns,
            weight=weight.value.T.copy(),
            bias=bias.value,
            absolute=np.where(read, np.maximum(size, LEAST), 0).T.copy(),
            absolute_bias=absolute_bias,
            weight_error=weight.error.T.copy() if weight.error.any() else None,
            bias_error=bias.error if bias.error.any() else None,
            pattern=read.T.astype(np.float64),
            gamma=gamma((both > 0).sum(axis=1), digits),
            exact_to=power_dividing(both).min(axis=1) * 2.0**digits,
            doubling=powers_of_two.all(axis=1) & (absolute_bias == 0) & ~weight.error.any(axis=1),
            shrinks=bool((read & (size < 1)).any()),
        )

    @property
    def exact(self) -> bool:
        """Whether the weights and constants are the exact ones."""
        return self.weight_error is None and self.bias_error is None

    def keeps(self, size: Floats) -> bool:
        """Whether integers of these sizes are certain to give exact results: even the largest of each column do."""
        largest = size.max(axis=tuple(range(size.ndim - 1)), initial=0)
        return bool((largest @ self.absolute + self.absolute_bias < self.exact_to).all())

    def inherited(self, error: Floats) -> Floats:
        """How far the result is off, if the numbers that are read are off by this and nothing is rounded."""
        return np.asarray((floored(error) if self.shrinks else error) @ self.absolute)


def floored(error: Floats) -> Floats:
    """Error bounds, none of them so small that a division makes it 0."""
    return np.where((error > 0) & (error < FLOOR), FLOOR, error)


def gamma(operations: ArrayLike, digits: int) -> Floats:
    """γ_k = k u / (1 - k u): the relative error of a sum of k products, in whatever order."""
    product = np.asarray(operations, dtype=np.float64) * 2.0**-digits
    return np.asarray(product / (1 - product))


def power_dividing(size: Floats) -> Floats:
    """The largest power of two that divides each number; infinity for 0."""
    mantissa, exponent = np.frexp(size)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    return np.where(size > 0, np.ldexp(lowest, exponent - 53), np.inf)
