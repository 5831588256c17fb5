"""Exact rational arithmetic (python-flint's ``fmpq``). Softmax of different scores is irrational and is rejected."""

from __future__ import annotations

from functools import partial

import numpy as np
from flint import fmpq, fmpz

from softmachine.engines.numerics.base import ArithmeticFamily, Array, Flags, Tensor, TensorMap
from softmachine.engines.numerics.python_objects import FlintArithmetic
from softmachine.support.errors import ConstructionError, FixHint
from softmachine.transformer.attention import AttentionKind

_ZERO, _ONE = fmpq(0), fmpq(1)


class Exact(FlintArithmetic):
    """Rational numbers; comparisons and ties are exact."""

    name = "exact"

    def convert_number(self, exact: fmpq) -> fmpq:
        return exact

    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        result = np.where(x.value > 0, x.value, _ZERO)
        result[..., steps] = np.where(x.value[..., steps] >= 0, _ONE, _ZERO)
        return Tensor(result)

    def norm(self, x: Tensor) -> Tensor:
        result = np.empty(x.shape, dtype=object)
        for index in np.ndindex(*x.shape[:-1]):
            row = x.value[index]
            square = sum((number * number for number in row), _ZERO) / len(row)
            if square == 0:
                result[index] = _ZERO
                continue
            root = fmpq(fmpz(square.p).isqrt(), fmpz(square.q).isqrt())
            if root * root != square:
                raise ConstructionError(
                    f"a layer norm divides by the square root of {square}, which is not a rational number",
                    hint=FixHint("use {} or float64", arithmetic="ball"),
                )
            result[index] = row / root
        return Tensor(result)

    def select_best_keys(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        scores = self.scores(query, key, bias)
        chosen = np.zeros(scores.shape, dtype=bool)
        for b, i in np.ndindex(*scores.shape[:2]):
            seen = np.flatnonzero(visible[i])
            if len(seen):
                row = scores[b, i, seen]
                chosen[b, i, seen] = row == row.max()
        return chosen

    def softmax_attention(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor
    ) -> TensorMap:
        return partial(self.average, self._uniform(query, key, bias, visible))

    def softmax_weights(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor) -> Array:
        chosen = self._uniform(query, key, bias, visible)
        counts = np.vectorize(fmpq, otypes=[object])(np.maximum(chosen.sum(axis=-1, keepdims=True), 1))
        shares: Array = np.where(chosen, _ONE / counts, _ZERO)
        return shares

    def _uniform(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        """Return the attention mask, provided that all visible scores are equal.

        Raises:
            ConstructionError: If they differ.
        """
        chosen = self.select_keys(query, key, bias, visible, AttentionKind.AVERAGE)
        if (chosen != visible).any():
            raise ConstructionError(
                "softmax of different scores is not a rational number, so exact arithmetic cannot compute it",
                hint=FixHint("use {} or float64, or --attention hard", arithmetic="ball"),
            )
        return chosen


ARITHMETIC = ArithmeticFamily(lambda name: Exact() if name == "exact" else None, ("exact",), order=0)
