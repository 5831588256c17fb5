"""int8: every weight and every stored number is an integer from -128 to 127; sums are accumulated in a wider format.

Nothing is rounded. A weight, mean or activation that is not such an integer raises an error, so a run in int8 equals
the exact run. Made for models with residual streams of -1, 0 and 1 and hard attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn

import numpy as np

from softmachine.engines.numerics.base import ArithmeticFamily, Array, Flags, SparseRows, Tensor, TensorMap
from softmachine.engines.numerics.float_unchecked import UncheckedFloat
from softmachine.support.errors import FixHint, PrecisionError

MIN_VALUE, MAX_VALUE = -128, 127
_MAX_TERMS = 2**24 // 128**2
"""Products of two 8-bit integers whose sum is exact in float32."""


class Int8(UncheckedFloat):
    """8-bit integers, stored and accumulated in float32, which is exact for integers up to 2²⁴."""

    is_draft_efficient = True

    def __init__(self) -> None:
        self.name, self.dtype = "int8", np.dtype(np.float32)

    def convert(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        columns = len(rows[0]) if rows else 0
        flat = [_require_int8(number) for row in rows for number in row]
        return Tensor(np.array(flat, dtype=self.dtype).reshape(len(rows), columns))

    def compile_affine(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> TensorMap:
        used = sorted({c for row in rows for c, _ in row})
        place = {c: k for k, c in enumerate(used)}
        weight = np.zeros((len(used), len(rows)), dtype=self.dtype)
        for r, row in enumerate(rows):
            for c, number in row:
                weight[place[c], r] = _require_int8(number)
        _check_terms(len(used))
        read, constants = np.array(used, dtype=np.intp), self.convert([bias]).value[0]
        return lambda x: _require_representable(x.value[..., read] @ weight + constants)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return _require_representable(x.value + y.value)

    def select_best_keys(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        _check_terms(query.shape[-1])
        return super().select_best_keys(query, key, bias, visible)

    def average(self, chosen: Flags, value: Tensor) -> Tensor:
        counts = chosen.sum(axis=-1, keepdims=True)
        if (counts == 1).all():
            return value[np.arange(value.shape[0])[:, None], chosen.argmax(axis=-1)]
        total = chosen.astype(np.float64) @ value.value
        mean = total / np.maximum(counts, 1)
        if (mean != np.rint(mean)).any():
            raise PrecisionError(
                "a head takes the mean of different numbers, which is not an integer and not representable in int8",
                hint=FixHint("use {}, or a theorem whose heads retrieve one number", arithmetic="float64"),
            )
        return Tensor(mean.astype(self.dtype))

    def softmax_attention(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor
    ) -> NoReturn:
        raise PrecisionError(
            "softmax weights are not integers, so int8 cannot represent them", hint=FixHint("use {}", attention="hard")
        )


def _check_terms(terms: int) -> None:
    if terms > _MAX_TERMS:
        raise PrecisionError(f"a sum of {terms} products of 8-bit integers is not exact in float32")


def _require_int8(number: Fraction) -> int:
    if number.denominator != 1 or not MIN_VALUE <= number <= MAX_VALUE:
        raise PrecisionError(
            f"the number {number} is not representable in int8",
            hint=FixHint("use {}, or a theorem for int8, such as `turing-ternary`", arithmetic="float64"),
        )
    return int(number)


def _require_representable(value: Array) -> Tensor:
    if value.size and (value.min() < MIN_VALUE or value.max() > MAX_VALUE):
        raise PrecisionError(
            "a number is outside the range of int8", hint=FixHint("use {} or exact", arithmetic="float64")
        )
    return Tensor(value)


ARITHMETIC = ArithmeticFamily(lambda name: Int8() if name == "int8" else None, ("int8",), order=6)
