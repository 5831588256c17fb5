"""Floating point without error bounds: every operation is rounded, as in ordinary software.

The results are those of any standard implementation of the same weights, errors included; they show where a format
fails. For runs that are proved correct, use :class:`softmachine.engines.numerics.float.Float`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics.base import (
    Arithmetic,
    ArithmeticFamily,
    Array,
    Flags,
    SparseRows,
    Tensor,
    TensorMap,
    UndecidedError,
)

FORMATS = {"float64:plain": "float64", "float32:plain": "float32", "float16:plain": "float16"}


class UncheckedFloat(Arithmetic):
    """A floating-point format without error bounds.

    Args:
        name: One of ``FORMATS``.
    """

    is_draft_efficient = False
    is_approximate = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = np.dtype(FORMATS[name])

    def higher_precisions(self) -> Iterator[Arithmetic]:
        """Yield the wider formats in ascending order."""
        wider = {name: np.dtype(of).itemsize for name, of in FORMATS.items() if np.dtype(of) > self.dtype}
        return (UncheckedFloat(name) for name in sorted(wider, key=wider.__getitem__))

    def convert(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        columns = len(rows[0]) if rows else 0
        flat = [_round_to_float(number) for row in rows for number in row]
        with np.errstate(over="ignore"):
            return Tensor(np.array(flat, dtype=np.float64).reshape(len(rows), columns).astype(self.dtype))

    def matrix(self, rows: SparseRows, columns: int) -> Array:
        """Return the transposed matrix of these sparse rows."""
        wide = np.zeros((columns, len(rows)), dtype=np.float64)
        for r, row in enumerate(rows):
            for c, number in row:
                wide[c, r] = _round_to_float(number)
        with np.errstate(over="ignore"):
            return wide.astype(self.dtype)

    def compile_affine(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> TensorMap:
        weight, constants = self.matrix(rows, columns), self.convert([bias]).value[0]
        return lambda x: Tensor(x.value @ weight + constants)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return Tensor(x.value + y.value)

    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        return Tensor(np.where(steps, x.value >= 0, np.maximum(x.value, 0)).astype(self.dtype))

    def norm(self, x: Tensor) -> Tensor:
        root = np.sqrt((x.value * x.value).mean(axis=-1, keepdims=True))
        return Tensor((x.value / np.where(root > 0, root, 1)).astype(self.dtype))

    def select_best_keys(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        score = np.where(visible, self._scores(query, key, bias), -np.inf)
        return np.asarray(visible & (score == score.max(axis=-1, keepdims=True, initial=-np.inf)))

    def average(self, chosen: Flags, value: Tensor) -> Tensor:
        some = np.maximum(chosen.sum(axis=-1, keepdims=True), 1).astype(self.dtype)
        return Tensor(chosen.astype(self.dtype) @ value.value / some)

    def softmax_attention(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor
    ) -> TensorMap:
        exponent = np.where(visible, self._scores(query, key, bias) * scale.value[:, None], -np.inf)
        top = exponent.max(axis=-1, keepdims=True, initial=-np.inf)
        weights = np.exp(exponent - np.where(np.isfinite(top), top, 0)).astype(self.dtype)
        total = weights.sum(axis=-1, keepdims=True)
        shares = weights / np.where(total > 0, total, 1)
        return lambda value: Tensor(shares @ value.value)

    def argmax(self, x: Tensor) -> NDArray[np.intp]:
        """Return the argmax; a tie or NaN is an error."""
        try:
            return super().argmax(x)
        except UndecidedError as doubt:
            if np.isfinite(x.value[doubt.sequence, doubt.position, list(doubt.candidates)]).all():
                raise
            reason = f"a logit is outside the range of {self.dtype}"
            raise UndecidedError(doubt.sequence, doubt.position, doubt.candidates, reason) from None

    def _scores(self, query: Tensor, key: Tensor, bias: Tensor | None) -> Array:
        scores: Array = query.value @ np.swapaxes(key.value, 1, 2)
        return scores if bias is None else scores + bias.value


def _round_to_float(number: Fraction) -> float:
    """Return the nearest float64, or an infinity."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


ARITHMETIC = ArithmeticFamily(
    lambda name: UncheckedFloat(name) if name in FORMATS else None,
    note="float32:plain is float32 without error bounds",
    order=3,
)
