"""Compiled loops for sums that saturate after every addition, which NumPy cannot vectorise along the sum."""

from __future__ import annotations

from softmachine.engines.numerics.base import Array
from softmachine.support.jit import machine_code


@machine_code
def add_products(left: Array, right: Array, limit: int, found: Array) -> None:
    """Add Σ_d left[b, q, d] · right[b, d, k] to found[b, q, k], d from left to right; no product exceeds the limit.

    Without the conversions, Numba would compute in 64 bits, with a quarter of the SIMD lanes.
    """
    kind = found.dtype.type
    most, least = kind(limit), kind(-limit)
    for b in range(left.shape[0]):
        for q in range(left.shape[1]):
            sums = found[b, q]
            for d in range(left.shape[2]):
                factor, others = left[b, q, d], right[b, d]
                for k in range(len(others)):
                    total = kind(sums[k] + kind(factor * others[k]))
                    sums[k] = max(least, min(most, total))


@machine_code
def add_rows(rows: Array, limit: int, found: Array) -> None:
    """Add Σ_k rows[r, k] to found[r], k from left to right."""
    for r in range(rows.shape[0]):
        total = found[r]
        for k in range(rows.shape[1]):
            total = max(-limit, min(limit, total + rows[r, k]))
        found[r] = total
