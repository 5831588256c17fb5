"""Affine maps in a float format, and what bounds the error of applying them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic.base import Array, Flags

Floats = NDArray[np.float64]

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

    def inherited(self, error: Floats) -> Floats:
        """How far the result is off, if the numbers that are read are off by this and nothing is rounded."""
        return np.asarray((floored(error) if self.shrinks else error) @ self.absolute)


def floored(error: Floats) -> Floats:
    """Error bounds, none of them so small that a division makes it 0."""
    return np.where((error > 0) & (error < FLOOR), FLOOR, error)
