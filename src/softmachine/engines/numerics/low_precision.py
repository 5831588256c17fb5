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

from softmachine.engines.numerics.base import ArithmeticFamily, Array, Flags, Floats, Tensor
from softmachine.engines.numerics.float import Float, bound_distance
from softmachine.engines.numerics.float_affine import FloatAffine
from softmachine.support.errors import FixHint, PrecisionError

FORMATS: dict[str, type] = {
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


@dataclass(frozen=True)
class StorageFormat:
    """A number format: the rounding function, and the largest number."""

    round: Callable[[Array], Floats]
    max_value: float

    @staticmethod
    def find(name: str) -> StorageFormat:
        """Return the format with this name."""
        dtype = FORMATS[name]
        most = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        return StorageFormat(lambda numbers: numbers.astype(dtype).astype(np.float64), most)


class LowPrecisionFloat(Float):
    """A small format for stored numbers, with accumulation in float64.

    Args:
        name: One of ``FORMATS``.
    """

    def __init__(self, name: str) -> None:
        super().__init__("float64")
        self.name = name
        self.format = StorageFormat.find(name)

    def round_stored(self, x: Tensor) -> Tensor:
        """Round to the format, and add the change to the error bounds."""
        if not (np.abs(x.value) <= self.format.max_value).all():
            raise PrecisionError(
                f"a number is outside the range of {self.name}", hint=FixHint("use {} or exact", arithmetic="float64")
            )
        value = self.format.round(x.value)
        moved = np.abs(value - x.value)
        return Tensor(value, moved if x.error is None else x.error + moved)

    def convert(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        return self.round_stored(super().convert(rows))

    def _nearest(self, over: int, under: int) -> tuple[np.floating, float]:
        wide, _ = super()._nearest(over, under)
        if abs(wide) > self.format.max_value:
            raise PrecisionError(f"the weight {over / under:g} is outside the range of {self.name}")
        value = np.float64(self.format.round(np.array([wide]))[0])
        return value, bound_distance(value, over, under)

    def apply(self, operator: FloatAffine, x: Tensor) -> Tensor:
        return self.round_stored(super().apply(operator, x))

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return self.round_stored(super().add(x, y))

    def average(self, chosen: Flags, value: Tensor) -> Tensor:
        return self.round_stored(super().average(chosen, value))

    def weighted_mean(self, share: Floats, value: Tensor) -> tuple[Array, Floats]:
        """Return the rounded mean with rounded weights, and the rounding error."""
        weights = self.format.round(share)
        wide = weights @ value.value
        result = self.format.round(wide)
        moved = np.abs(weights - share) @ np.abs(value.value)
        return result, np.asarray(moved + np.abs(result - wide))


ARITHMETIC = ArithmeticFamily(
    lambda name: LowPrecisionFloat(name) if name in FORMATS else None, tuple(FORMATS), order=5
)
