"""Exact rational numbers (python-flint's ``fmpq``), in object arrays. Softmax has no rational value and is refused."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from softmachine.arithmetic.base import Arithmetic, Array, Flags, SparseRows, Tensor, UndecidedError, first_or_last
from softmachine.errors import ConstructionError
from softmachine.transformer.attention import Choice

_ZERO = fmpq(0)
ExactOperator = tuple[list[list[tuple[int, fmpq]]], list[fmpq]]


class Exact(Arithmetic[ExactOperator]):
    """Rational numbers; every tie is a tie."""

    name = "exact"
    checks_many = False

    def numbers(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        shape = (len(rows), len(rows[0]) if rows else 0)
        value = np.empty(shape, dtype=object)
        for r, row in enumerate(rows):
            value[r] = [_exact(number) for number in row]
        return Tensor(value)

    def operator(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> ExactOperator:
        del columns
        return [[(c, _exact(w)) for c, w in row] for row in rows], [_exact(b) for b in bias]

    def apply(self, operator: ExactOperator, x: Tensor) -> Tensor:
        rows, bias = operator
        result = np.empty((*x.shape[:-1], len(rows)), dtype=object)
        for r, (row, constant) in enumerate(zip(rows, bias, strict=True)):
            total: Array | fmpq = constant
            for c, weight in row:
                total = total + weight * x.value[..., c]
            result[..., r] = total
        return Tensor(result)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return Tensor(x.value + y.value)

    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        positive = x.value > 0
        result = np.where(positive, x.value, _ZERO)
        result[..., steps] = np.where(x.value[..., steps] >= 0, fmpq(1), _ZERO)
        return Tensor(result)

    def choose(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, choice: Choice) -> Flags:
        shape = (query.shape[0], query.shape[1], key.shape[1])
        if query.shape[-1] == 0 and bias is None:
            return first_or_last(np.broadcast_to(visible, shape), choice)
        scores = np.full(shape, _ZERO, dtype=object)
        for c in range(query.shape[-1]):
            scores = scores + query.value[:, :, None, c] * key.value[:, None, :, c]
        if bias is not None:
            scores = scores + bias.value
        chosen = np.zeros(shape, dtype=bool)
        for b, i in np.ndindex(*shape[:2]):
            seen = np.flatnonzero(visible[i])
            if len(seen):
                row = scores[b, i, seen]
                chosen[b, i, seen] = row == row.max()
        return first_or_last(chosen, choice)

    def mean(self, chosen: Flags, value: Tensor) -> Tensor:
        batch, queries = value.shape[0], chosen.shape[1]
        result = np.full((batch, queries, value.shape[-1]), _ZERO, dtype=object)
        for b, i in np.ndindex(batch, queries):
            keys = np.flatnonzero(chosen[b if len(chosen) > 1 else 0, i])
            if len(keys):
                result[b, i] = value.value[b, keys].sum(axis=0) / fmpq(len(keys))
        return Tensor(result)

    def shares(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor) -> Flags:
        del scale
        chosen = self.choose(query, key, bias, visible, Choice.AVERAGE)
        if (chosen != visible).any():
            raise ConstructionError(
                "softmax of different scores is not a rational number, so exact arithmetic cannot run it",
                hint="use --arithmetic ball or float64, or --attention hard",
            )
        return chosen

    def mix(self, shares: Flags, value: Tensor) -> Tensor:
        return self.mean(shares, value)

    def largest(self, x: Tensor) -> NDArray[np.intp]:
        result = np.empty(x.shape[:-1], dtype=np.intp)
        for index in np.ndindex(*x.shape[:-1]):
            row = x.value[index]
            winners = np.flatnonzero(row == row.max())
            if len(winners) > 1:
                raise UndecidedError(index[0], index[1], winners.tolist(), "the logits are equal", tie=True)
            result[index] = winners[0]
        return result


def _exact(number: Fraction) -> fmpq:
    return fmpq(number.numerator, number.denominator)
