"""IEEE floating point as ordinary software has it: every operation rounded, nothing known of the errors.

This is what a stock implementation of the same weights would compute, rights and wrongs included; it serves to measure
where a format goes wrong. To know that a run is right, use :class:`softmachine.arithmetic.floating.Float`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic.base import Arithmetic, Array, Flags, SparseRows, Tensor, UndecidedError, first_or_last
from softmachine.transformer.attention import Choice

SUFFIX = ":plain"


@dataclass(frozen=True)
class PlainOperator:
    """An affine map: x ↦ x @ weight + bias."""

    weight: Array
    bias: Array


class PlainFloat(Arithmetic[PlainOperator]):
    """A floating-point format without error bounds.

    Args:
        format_name: "float64", "float32" or "float16".
    """

    checks_many = False

    def __init__(self, format_name: str = "float64") -> None:
        self.name = format_name + SUFFIX
        self.dtype = np.dtype(format_name)

    def numbers(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        columns = len(rows[0]) if rows else 0
        flat = [_nearest(number) for row in rows for number in row]
        with np.errstate(over="ignore"):
            return Tensor(np.array(flat, dtype=np.float64).reshape(len(rows), columns).astype(self.dtype))

    def operator(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> PlainOperator:
        weight = np.zeros((columns, len(rows)), dtype=np.float64)
        for r, row in enumerate(rows):
            for c, number in row:
                weight[c, r] = _nearest(number)
        with np.errstate(over="ignore"):
            return PlainOperator(weight.astype(self.dtype), self.numbers([bias]).value[0])

    def apply(self, operator: PlainOperator, x: Tensor) -> Tensor:
        return Tensor(x.value @ operator.weight + operator.bias)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return Tensor(x.value + y.value)

    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        return Tensor(np.where(steps, x.value >= 0, np.maximum(x.value, 0)).astype(self.dtype))

    def choose(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, choice: Choice) -> Flags:
        score = np.where(visible, self._scores(query, key, bias), -np.inf)
        chosen: Flags = visible & (score == score.max(axis=-1, keepdims=True, initial=-np.inf))
        return first_or_last(chosen, choice)

    def mean(self, chosen: Flags, value: Tensor) -> Tensor:
        some = np.maximum(chosen.sum(axis=-1, keepdims=True), 1).astype(self.dtype)
        return Tensor(chosen.astype(self.dtype) @ value.value / some)

    def shares(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor) -> Array:
        exponent = np.where(visible, self._scores(query, key, bias) * scale.value[:, None], -np.inf)
        top = exponent.max(axis=-1, keepdims=True, initial=-np.inf)
        weights = np.exp(exponent - np.where(np.isfinite(top), top, 0)).astype(self.dtype)
        total = weights.sum(axis=-1, keepdims=True)
        return np.asarray(weights / np.where(total > 0, total, 1))

    def mix(self, shares: Array, value: Tensor) -> Tensor:
        return Tensor(shares @ value.value)

    def largest(self, x: Tensor) -> NDArray[np.intp]:
        """The index of the largest number; a tie is an error, and so is what is not a number."""
        winner: NDArray[np.intp] = x.value.argmax(axis=-1)
        rivals = ~(x.value < np.take_along_axis(x.value, winner[..., None], -1))
        several = rivals.sum(axis=-1) > 1
        if several.any():
            b, i = np.argwhere(several)[0]
            candidates = np.flatnonzero(rivals[b, i]).tolist()
            known = bool(np.isfinite(x.value[b, i, candidates]).all())
            reason = "the logits are equal" if known else f"a logit left the range of {self.dtype}"
            raise UndecidedError(int(b), int(i), candidates, reason, tie=known)
        return winner

    def _scores(self, query: Tensor, key: Tensor, bias: Tensor | None) -> Array:
        scores: Array = query.value @ np.swapaxes(key.value, 1, 2)
        return scores if bias is None else scores + bias.value


def _nearest(number: Fraction) -> float:
    """The nearest double, or an infinity."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf
