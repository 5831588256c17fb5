"""Low-precision floats: every stored number is rounded to a small format; sums are accumulated in float64.

The residual stream, weights, hidden units, queries, keys, values and attention weights are numbers of the format; a
matrix product, a score or a softmax is computed from them in float64 and then rounded, as accelerators do. Rounding
errors are measured where they occur and propagated as in float64, so a run either equals the exact run or stops with
the position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import ml_dtypes
import numpy as np

from softmachine.engines.numerics.base import Array, Family, Flags, Floats, Tensor
from softmachine.engines.numerics.float import Float, distance
from softmachine.engines.numerics.float_affine import FloatOperator
from softmachine.support.errors import PrecisionError, Remedy

FORMATS: dict[str, type] = {
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


@dataclass(frozen=True)
class Format:
    """A number format: the rounding function, and the largest number."""

    nearest: Callable[[Array], Floats]
    most: float

    @staticmethod
    def named(name: str) -> Format:
        """Return the format with this name."""
        dtype = FORMATS[name]
        most = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        return Format(lambda numbers: numbers.astype(dtype).astype(np.float64), most)


class Rounded(Float):
    """A small format for stored numbers, with accumulation in float64.

    Args:
        name: One of ``FORMATS``.
    """

    def __init__(self, name: str) -> None:
        super().__init__("float64")
        self.name = name
        self.format = Format.named(name)

    def stored(self, x: Tensor) -> Tensor:
        """Round to the format, and add the change to the error bounds."""
        if not (np.abs(x.value) <= self.format.most).all():
            raise PrecisionError(
                f"a number is outside the range of {self.name}", hint=Remedy("use {} or exact", arithmetic="float64")
            )
        value = self.format.nearest(x.value)
        moved = np.abs(value - x.value)
        return Tensor(value, moved if x.error is None else x.error + moved)

    def numbers(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        return self.stored(super().numbers(rows))

    def _nearest(self, over: int, under: int) -> tuple[np.floating, float]:
        wide, _ = super()._nearest(over, under)
        if abs(wide) > self.format.most:
            raise PrecisionError(f"the weight {over / under:g} is outside the range of {self.name}")
        value = np.float64(self.format.nearest(np.array([wide]))[0])
        return value, distance(value, over, under)

    def apply(self, operator: FloatOperator, x: Tensor) -> Tensor:
        return self.stored(super().apply(operator, x))

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return self.stored(super().add(x, y))

    def mean(self, chosen: Flags, value: Tensor) -> Tensor:
        return self.stored(super().mean(chosen, value))

    def weighted(self, share: Floats, value: Tensor) -> tuple[Array, Floats]:
        """Return the rounded mean with rounded weights, and the rounding error."""
        weights = self.format.nearest(share)
        wide = weights @ value.value
        result = self.format.nearest(wide)
        moved = np.abs(weights - share) @ np.abs(value.value)
        return result, np.asarray(moved + np.abs(result - wide))


ARITHMETIC = Family(lambda name: Rounded(name) if name in FORMATS else None, tuple(FORMATS), order=5)
