"""Fixed-point arithmetic of "Revisiting Padded Transformer Expressivity" (Appendix A.3 and A.4).

Every operation returns the nearest number of F_b, ties away from zero, saturating at ±B_F; sums and inner products run
from left to right and are rounded after every addition. A run is this computation itself, not an approximation of
another one: numbers carry no error bounds, equal scores tie, and saturated numbers are ordinary numbers.

Attention may use a higher precision b' inside: queries, keys, values and scores are in F_b; differences from the
maximum, scaling, exponentials and sums are in F_b'; the result is one division, rounded to F_b. Hard and soft attention
divide by the same sum, of ones or of exponentials, saturating at the largest number of F_b'.

The weights of a model must be in F_b, as in the paper; others are rejected unless ``round_weights`` is set. Position
features and relations are evaluated exactly, then rounded to F_b.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from softmachine.engines.numerics.base import (
    Arithmetic,
    ArithmeticFamily,
    Array,
    Flags,
    SparseRows,
    Tensor,
    TensorMap,
    UnrepresentableError,
)
from softmachine.engines.numerics.fixed_point_array import FixedPointArrays, min_bits
from softmachine.support.errors import UsageError

MAX_TRIED_BITS = 64


class FixedPointArithmetic(Arithmetic):
    """The numbers F_b.

    Args:
        bits: b, the number of integer bits and of fractional bits.
        attention_bits: b' ≥ b, the precision inside attention; b by default.
        round_weights: Whether weights that are not in F_b are rounded; by default they are rejected.
    """

    is_approximate = True

    def __init__(self, bits: int, attention_bits: int | None = None, *, round_weights: bool = False) -> None:
        self.arrays = FixedPointArrays(bits)
        self.attention_arrays = (
            self.arrays if attention_bits in (None, bits) else FixedPointArrays(attention_bits or bits)
        )
        if self.attention_arrays.bits < bits:
            raise UsageError(
                f"the precision of attention ({self.attention_arrays.bits} bits) is lower than that of its inputs "
                f"({bits} bits)",
                hint=f"write fixed:{bits}, or fixed:{bits}:B with a B larger than {bits}",
            )
        self.round_weights = round_weights
        self.name = (
            f"fixed:{bits}" if self.attention_arrays is self.arrays else f"fixed:{bits}:{self.attention_arrays.bits}"
        )

    def higher_precisions(self) -> Iterator[Arithmetic]:
        """Yield formats with one more bit at a time, up to ``MAX_TRIED_BITS``."""
        for bits in range(self.arrays.bits + 1, MAX_TRIED_BITS + 1):
            yield FixedPointArithmetic(bits, max(bits, self.attention_arrays.bits), round_weights=self.round_weights)

    def convert(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        """Round to F_b."""
        return Tensor(self._units(self.arrays, rows))

    def convert_weights(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        for row in rows:
            for weight in row:
                self._check(self.arrays, weight)
        return self.convert(rows)

    def convert_scales(self, scales: Sequence[Fraction], *, feature: bool) -> Tensor:
        """Convert inverse temperatures to F_b'."""
        for scale in () if feature else scales[:1]:
            self._check(self.attention_arrays, scale)
        return Tensor(self._units(self.attention_arrays, [scales])[0])

    def _units(self, grid: FixedPointArrays, rows: Sequence[Sequence[Fraction]]) -> Array:
        value = grid.zeros((len(rows), len(rows[0]) if rows else 0))
        for r, row in enumerate(rows):
            value[r] = [grid.format.round(number) if number else 0 for number in row]
        return value

    def _check(self, grid: FixedPointArrays, weight: Fraction) -> None:
        if self.round_weights or grid.format.contains(weight):
            return
        bits = min_bits(weight)
        reason = f"is not a number of {grid.format}"
        raise UnrepresentableError(
            weight,
            f"{reason}; the smallest precision that has it is {bits}" if bits else f"{reason}, nor of any other F_b",
        )

    def compile_affine(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> TensorMap:
        """Return the map that computes inner products from left to right, then adds the constants.

        Vectorised over rows: step k adds the k-th term of every row that has one, longest rows first.
        """
        for weight in (*(weight for row in rows for _, weight in row), *bias):
            self._check(self.arrays, weight)
        order = np.array(sorted(range(len(rows)), key=lambda row: -len(rows[row])), dtype=np.intp)
        terms = []
        for k in range(len(rows[order[0]]) if rows else 0):
            there = [rows[row][k] for row in order if len(rows[row]) > k]
            weights = self._units(self.arrays, [[weight for _, weight in there]])[0]
            terms.append((order[: len(there)], np.array([column for column, _ in there], dtype=np.intp), weights))
        constants = self._units(self.arrays, [bias])[0]

        def apply(x: Tensor) -> Tensor:
            found = self.arrays.zeros((*x.shape[:-1], len(rows)))
            for some, read, weights in terms:
                found[..., some] = self.arrays.add(found[..., some], self.arrays.multiply(x.value[..., read], weights))
            return Tensor(self.arrays.add(found, constants))

        return apply

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return Tensor(self.arrays.add(x.value, y.value))

    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        result = np.maximum(x.value, 0)
        one = np.array(1 << self.arrays.bits, dtype=self.arrays.dtype)  # NumPy would infer another dtype
        result[..., steps] = np.where(x.value[..., steps] >= 0, one, 0)
        return Tensor(result)

    def norm(self, x: Tensor) -> Tensor:
        """Return the sign of a single number; the rounding of longer norms is not specified, so they are rejected."""
        return Tensor(np.sign(x.value) * (1 << self.arrays.bits)) if x.shape[-1] == 1 else super().norm(x)

    def select_best_keys(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        scores = np.where(visible, self._scores(query, key, bias), -self.arrays.limit - 1)
        return np.asarray(visible & (scores == scores.max(axis=-1, keepdims=True)))

    def exact_scores(self, query: Tensor, key: Tensor) -> Array | None:
        """Return the rounded scores, whose order is decisive in F_b."""
        return self._scores(query, key, None)

    def average(self, chosen: Flags, value: Tensor) -> Tensor:
        """Divide the sum of the chosen values by their number, both in F_b', with one rounding."""
        numerator = self.attention_arrays.masked_sum(chosen, self.attention_arrays.widen(value.value, self.arrays.bits))
        ones = chosen.sum(axis=-1).astype(self.attention_arrays.dtype)
        return Tensor(self._divide(numerator, self.attention_arrays.saturate(ones << self.attention_arrays.bits)))

    def softmax_attention(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor
    ) -> TensorMap:
        """Use weights e_j = exp(scale · (score_j - maximum)) in F_b'; the largest is 1, so the sum is never 0."""
        inner = self.attention_arrays
        scores = inner.widen(self._scores(query, key, bias), self.arrays.bits)
        top = np.where(visible, scores, -inner.limit - 1).max(axis=-1, keepdims=True)
        below = np.where(visible, scores - top, 0)
        if (scale.value == scale.value[0]).all():
            powers = inner.map_distinct(lambda some: self._powers(some, scale.value[0]), below)
        else:
            powers = self._powers(below, scale.value[:, None])
        return partial(self._weighted_mean, np.where(visible, powers, 0))

    def _powers(self, below: Array, scale: Array) -> Array:
        """Return exp(scale · difference)."""
        return self.attention_arrays.exponential(
            self.attention_arrays.multiply(self.attention_arrays.saturate(below), scale)
        )

    def _weighted_mean(self, shares: Array, value: Tensor) -> Tensor:
        """Return Σ e_j v_j / Σ e_j, with sums in F_b' and the quotient rounded once to F_b."""
        numerator = self.attention_arrays.weighted_sum(
            shares, self.attention_arrays.widen(value.value, self.arrays.bits)
        )
        return Tensor(self._divide(numerator, self.attention_arrays.saturating_sum(shares)))

    def _scores(self, query: Tensor, key: Tensor, bias: Tensor | None) -> Array:
        scores = self.arrays.inner_products(query.value, key.value)
        return scores if bias is None else self.arrays.add(scores, bias.value)

    def _divide(self, numerator: Array, denominator: Array) -> Array:
        """Return the quotients in F_b; 0 where no key is visible and both sums are 0."""
        some = np.where(denominator == 0, 1, denominator)
        return self.attention_arrays.quotient(numerator, some[..., None], self.arrays)


def _fixed(name: str) -> FixedPointArithmetic | None:
    kind, _, bits = name.partition(":")
    if kind != "fixed":
        return None
    parts = bits.split(":")
    if len(parts) > 2 or not all(part.isascii() and part.isdecimal() and len(part) < 100 for part in parts):
        raise UsageError(
            f"{name!r} does not give the number of bits of fixed point",
            hint="write fixed:8 for 8 integer and 8 fractional bits, fixed:8:20 for 20 of each inside attention",
        )
    return FixedPointArithmetic(*map(int, parts))


ARITHMETIC = ArithmeticFamily(_fixed, ("fixed:B",), "fixed:8 has 8 integer and 8 fractional bits", order=4)
