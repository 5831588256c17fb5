"""Arrays of fixed-point numbers F_b, with correctly rounded and saturating operations.

Definitions A.1 and A.2 of "Revisiting Padded Transformer Expressivity": F_b, with a sign, b integer and b fractional
bits, are the multiples a · 2⁻ᵇ with |a| ≤ 4ᵇ - 1; the largest is B_F = 2ᵇ - 2⁻ᵇ. A real number is rounded to the
nearest member, ties away from zero, and beyond B_F to B_F, which is an ordinary number: B_F - 1 is less than B_F.

Each number is stored as the integer a. A product has 4b bits and a sum 2b + 1. Up to b = 15 products fit in 64 bits; up
to b = 31 numbers and sums do, and products take two words; above, numbers are Python integers in object arrays. Sums
saturate after every addition, which NumPy cannot vectorise along the sum, so their loops are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from softmachine.engines.numerics.base import Array, Flags
from softmachine.support.errors import UsageError
from softmachine.support.jit import jit_compile

MAX_BITS = 4096
"""Largest precision b."""


@dataclass(frozen=True)
class FixedPointFormat:
    """The numbers F_b.

    Args:
        bits: b, the number of integer bits and of fractional bits.
    """

    bits: int

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MAX_BITS:
            raise UsageError(
                f"fixed point with {self.bits} bits is not supported",
                hint=f"choose a precision from 1 to {MAX_BITS:,}",
            )

    @property
    def unit(self) -> Fraction:
        """2⁻ᵇ, the distance between neighbours."""
        return Fraction(1, 1 << self.bits)

    @property
    def limit(self) -> int:
        """4ᵇ - 1, the largest number in units."""
        return (1 << 2 * self.bits) - 1

    @property
    def largest(self) -> Fraction:
        """B_F = 2ᵇ - 2⁻ᵇ."""
        return self.limit * self.unit

    def contains(self, number: Fraction) -> bool:
        """Whether the number is in F_b."""
        return abs(number) <= self.largest and (number.numerator << self.bits) % number.denominator == 0

    def round(self, number: Fraction) -> int:
        """Round a number to F_b; the result is in units of 2⁻ᵇ."""
        return self.round_quotient(number.numerator, number.denominator)

    def round_quotient(self, numerator: int, denominator: int) -> int:
        """Round a quotient to F_b; the result is in units of 2⁻ᵇ."""
        scaled, divisor = abs(numerator) << self.bits + 1, abs(denominator)
        size = min((scaled + divisor) // (2 * divisor), self.limit)
        return size if (numerator < 0) == (denominator < 0) else -size

    def __str__(self) -> str:
        return f"F_{self.bits}"


def min_bits(number: Fraction) -> int | None:
    """Return the smallest b such that F_b contains the number; None if its denominator is not a power of two."""
    fractional = number.denominator.bit_length() - 1
    if number.denominator != 1 << fractional:
        return None
    return max(1, fractional, (abs(number.numerator) // number.denominator).bit_length())


_ONE_WORD, _TWO_WORDS = 15, 31
"""The largest b whose products fit in one word and in two."""
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_MAX_TERMS = 1 << 22
"""Terms of sums that are held in memory at a time."""
_MAX_COUNTED_RANGE = 1 << 16
"""Range of values up to which distinct numbers are found by counting instead of sorting."""


class FixedPointArrays:
    """Arrays over F_b.

    Args:
        bits: b.
        compiled_from: Minimal number of terms for which saturating sums use compiled loops.
    """

    def __init__(self, bits: int, compiled_from: int = 1 << 20) -> None:
        self.format = FixedPointFormat(bits)
        self.bits = bits
        self.limit = self.format.limit
        self.dtype = np.dtype(np.int64 if bits <= _TWO_WORDS else object)
        self.compiled_from = compiled_from
        self._powers: dict[int, int] = {}

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Return an array of zeros."""
        return np.full(shape, 0, dtype=self.dtype)

    def widen(self, x: Array, bits: int) -> Array:
        """Convert numbers of an F with fewer bits to this one."""
        return x.astype(self.dtype) << (self.bits - bits)

    def saturate(self, x: Array) -> Array:
        """Clamp to the largest and smallest number."""
        return np.minimum(np.maximum(x, -self.limit), self.limit)

    def add(self, x: Array, y: Array) -> Array:
        """Add elementwise, saturating."""
        return self.saturate(x + y)

    def multiply(self, x: Array, y: Array) -> Array:
        """Multiply elementwise, rounding to nearest, ties away from zero."""
        if _ONE_WORD < self.bits <= _TWO_WORDS:
            return self._long_product(x, y)
        product = x * y
        size = np.minimum((np.abs(product) + (1 << self.bits - 1)) >> self.bits, self.limit)
        return np.asarray(np.where(product < 0, -size, size))

    def _long_product(self, x: Array, y: Array) -> Array:
        """Multiply with two-word products: schoolbook multiplication of 32-bit halves."""
        a, b = np.broadcast_arrays(np.abs(x).astype(np.uint64), np.abs(y).astype(np.uint64))
        a1, a0, b1, b0 = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
        low, middle, other = a0 * b0, a1 * b0, a0 * b1
        carry = (low >> _HALF) + (middle & _LOW) + (other & _LOW)
        high = a1 * b1 + (middle >> _HALF) + (other >> _HALF) + (carry >> _HALF)
        low = (low & _LOW) | (carry & _LOW) << _HALF
        rounded = low + np.uint64(1 << self.bits - 1)
        high += rounded < low
        shift = np.uint64(self.bits)
        size = (high << (np.uint64(64) - shift)) | (rounded >> shift)
        beyond = (high >> shift > 0) | (size > np.uint64(self.limit))
        signed = np.where(beyond, np.uint64(self.limit), size).astype(np.int64)
        return np.where((x < 0) ^ (y < 0), -signed, signed)

    def inner_products(self, x: Array, y: Array) -> Array:
        """Return Σ_d x[b, q, d] · y[b, k, d], summed from left to right, as (b, q, k).

        Most products, such as those of integers, need no rounding. Where the factors guarantee this, they are
        multiplied and added as small integers, and the result has that integer type.
        """
        small = np.dtype(next((f"int{size}" for size in (16, 32) if 2 * self.bits + 2 <= size), self.dtype))
        found = np.full((x.shape[0], x.shape[1], y.shape[1]), 0, dtype=small)
        shifts = [self._exact_shift(x[..., c], y[..., c]) for c in range(x.shape[-1])]
        exact = [shift for shift in shifts if shift is not None]
        if len(exact) == len(shifts) and self._use_compiled(found.size * len(shifts)):
            left = (x >> np.array(exact, dtype=np.int64)).astype(small)
            right = (y >> (self.bits - np.array(exact, dtype=np.int64))).astype(small).swapaxes(1, 2).copy()
            add_products(left, right, self.limit, found)
            return found
        for c, shift in enumerate(shifts):
            left, right = x[:, :, None, c], y[:, None, :, c]
            if shift is None:
                found += self.multiply(left, right).astype(small, copy=False)
            else:
                found += (left >> shift).astype(small) * (right >> (self.bits - shift)).astype(small)
            np.maximum(found, -self.limit, out=found)
            np.minimum(found, self.limit, out=found)
        return found

    def _exact_shift(self, x: Array, y: Array) -> int | None:
        """Return an s such that (x / 2^s) · (y / 2^(b - s)) is a product of integers in range, or None."""
        most = int(np.abs(x).max(initial=0)) * int(np.abs(y).max(initial=0)) >> self.bits
        shift = min(_trailing_zeros(x), self.bits)
        return shift if most <= self.limit and shift + _trailing_zeros(y) >= self.bits else None

    def _use_compiled(self, terms: int) -> bool:
        """Whether a sum of this many terms uses a compiled loop; never for Python integers."""
        return terms >= self.compiled_from and self.dtype != object

    def quotient(self, numerator: Array, denominator: Array, into: FixedPointArrays) -> Array:
        """Divide elementwise, rounding once, to the format ``into``."""
        if 2 * self.bits + into.bits + 2 <= 63:
            scaled, divisor = np.abs(numerator) << into.bits + 1, np.abs(denominator)
            size = np.minimum((scaled + divisor) // (2 * divisor), into.limit)
            return np.asarray(np.where((numerator < 0) ^ (denominator < 0), -size, size), dtype=into.dtype)
        pairs = np.broadcast(numerator, denominator)
        found = [into.format.round_quotient(int(n), int(d)) for n, d in pairs]
        return np.array(found, dtype=into.dtype).reshape(pairs.shape)

    def map_distinct(self, function: Callable[[Array], Array], x: Array) -> Array:
        """Apply a function elementwise, evaluating it once per distinct number."""
        distinct, inverse = _distinct(x)
        return np.asarray(function(distinct.astype(self.dtype, copy=False))[inverse].reshape(x.shape))

    def exponential(self, x: Array) -> Array:
        """Return the exponentials, elementwise."""
        return self.map_distinct(
            lambda some: np.array([self.exponential_of(int(units)) for units in some], dtype=self.dtype), x
        )

    def exponential_of(self, units: int) -> int:
        """Return the exponential of one number; e^x is irrational for x ≠ 0, so some precision decides the rounding."""
        if units not in self._powers:
            self._powers[units] = self.limit if units >= self.bits << self.bits else self._round_exponential(units)
        return self._powers[units]

    def _round_exponential(self, units: int) -> int:
        if units == 0:
            return 1 << self.bits
        precision = 2 * self.bits + 32
        while True:
            with ctx.workprec(precision):
                power = arb(fmpq(units, 1 << self.bits)).exp() * (1 << self.bits) + arb(fmpq(1, 2))
                floor = power.floor().unique_fmpz()
            if floor is not None:
                return min(int(floor), self.limit)
            precision *= 2

    def saturating_sum(self, x: Array) -> Array:
        """Sum along the last axis from left to right, saturating after each addition."""
        sizes = np.abs(x).sum(axis=-1) if self.dtype == object else np.abs(x).astype(np.float64).sum(axis=-1)
        if (sizes * 1.000001 <= self.limit if self.dtype != object else sizes <= self.limit).all():
            return np.asarray(x.sum(axis=-1), dtype=self.dtype)
        found = self.zeros(x.shape[:-1])
        if self._use_compiled(x.size):
            add_rows(np.ascontiguousarray(x.reshape(-1, x.shape[-1])), self.limit, found.reshape(-1))
            return found
        for k in range(x.shape[-1]):
            found = self.add(found, x[..., k])
        return found

    def weighted_sum(self, weights: Array, values: Array) -> Array:
        """Return Σ_k weights[b, q, k] · values[b, k, d], summed from left to right, as (b, q, d).

        Terms of weight 0 are skipped. Weights may have batch size 1.
        """
        queries, (batch, _, width) = weights.shape[1], values.shape
        counted = weights != 0
        most = int(counted.sum(axis=-1).max(initial=0))
        places = np.argsort(~counted, axis=-1, kind="stable")[..., :most]
        weights = np.take_along_axis(weights, places, axis=-1)
        found = self.zeros((batch, queries, width))
        piece = max(1, _MAX_TERMS // max(1, batch * queries * width))
        for start in range(0, most, piece):
            part = slice(start, start + piece)
            there = values[np.arange(batch)[:, None, None], places[..., part]].swapaxes(-1, -2)
            products = self.multiply(weights[:, :, None, part], there)
            found = self.saturating_sum(np.concatenate([found[..., None], products], axis=-1))
        return found

    def masked_sum(self, flags: Flags, values: Array) -> Array:
        """Sum the chosen values from left to right: (b, q, k) and (b, k, d) give (b, q, d)."""
        (queries, keys), (batch, _, width) = flags.shape[1:], values.shape
        if self.dtype != object:
            size = np.abs(values).astype(np.float64)
            most = float((flags.astype(np.float64) @ size).max(initial=0))
            if most < min(self.limit, 1 << 53):
                return np.rint(flags.astype(np.float64) @ values.astype(np.float64)).astype(np.int64)
        found = self.zeros((batch, queries, width))
        piece = max(1, _MAX_TERMS // max(1, batch * queries * width))
        for start in range(0, keys, piece):
            part = slice(start, start + piece)
            terms = np.where(flags[:, :, None, part], values[:, None, part].swapaxes(-1, -2), 0)
            found = self.saturating_sum(np.concatenate([found[..., None], terms], axis=-1))
        return found


def _trailing_zeros(x: Array) -> int:
    """Return the exponent of the largest power of two that divides all numbers; a large constant if all are 0."""
    together = int(np.bitwise_or.reduce(x, axis=None))
    return (together & -together).bit_length() - 1 if together else 1 << 16


def _distinct(x: Array) -> tuple[Array, NDArray[np.intp]]:
    """Return the distinct numbers of an array, and the index of each element among them."""
    lowest = int(x.min(initial=0))
    if x.dtype != object and int(x.max(initial=0)) - lowest < _MAX_COUNTED_RANGE:
        counts = np.bincount(x.reshape(-1) - lowest)
        return np.flatnonzero(counts) + lowest, (np.cumsum(counts > 0) - 1)[x.reshape(-1) - lowest]
    if x.dtype != object:
        distinct, inverse = np.unique(x, return_inverse=True)
        return distinct, inverse.reshape(-1)
    places: dict[int, int] = {}
    inverse = np.array([places.setdefault(units, len(places)) for units in x.reshape(-1)], dtype=np.intp)
    return np.array(list(places), dtype=object), inverse


@jit_compile
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


@jit_compile
def add_rows(rows: Array, limit: int, found: Array) -> None:
    """Add Σ_k rows[r, k] to found[r], k from left to right."""
    for r in range(rows.shape[0]):
        total = found[r]
        for k in range(rows.shape[1]):
            total = max(-limit, min(limit, total + rows[r, k]))
        found[r] = total
