"""Object arrays of python-flint numbers: the common base of rational and ball arithmetic."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction

import numpy as np
from flint import fmpq

from softmachine.engines.numerics.base import Arithmetic, Array, Flags, SparseRows, Tensor, TensorMap


class FlintArithmetic(Arithmetic):
    """An arithmetic whose numbers are Python objects, added and multiplied one by one."""

    is_draft_efficient, seconds_per_product, bytes_per_number = False, 3e-6, 96

    @abstractmethod
    def convert_number(self, exact: fmpq) -> object:
        """Convert an exact number."""

    def working_precision(self) -> AbstractContextManager[object]:
        """Return the precision context of every operation."""
        return nullcontext()

    def convert(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        value = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
        with self.working_precision():
            for r, row in enumerate(rows):
                value[r] = [self._number(exact) for exact in row]
        return Tensor(value)

    def _number(self, exact: Fraction) -> object:
        return self.convert_number(fmpq(exact.numerator, exact.denominator))

    def compile_affine(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> TensorMap:
        with self.working_precision():
            weights = [[(c, self._number(w)) for c, w in row] for row in rows]
            constants = [self._number(b) for b in bias]

        def apply(x: Tensor) -> Tensor:
            result = np.empty((*x.shape[:-1], len(weights)), dtype=object)
            with self.working_precision():
                for r, row in enumerate(weights):
                    total = constants[r]
                    for c, weight in row:
                        total = x.value[..., c] * weight + total
                    result[..., r] = total
            return Tensor(result)

        return apply

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        with self.working_precision():
            return Tensor(x.value + y.value)

    def scores(self, query: Tensor, key: Tensor, bias: Tensor | None) -> Array:
        """Return the scores of all queries and keys; to be called inside :meth:`working_precision`."""
        zero = self.convert_number(fmpq(0))
        scores = np.full((query.shape[0], query.shape[1], key.shape[1]), zero, dtype=object)
        for c in range(query.shape[-1]):
            scores = scores + query.value[:, :, None, c] * key.value[:, None, :, c]
        return scores if bias is None else scores + bias.value

    @abstractmethod
    def softmax_weights(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor) -> Array:
        """Return the softmax weights of softmax attention: (batch, queries, keys); 0 for masked keys.

        Raises:
            ConstructionError: If the weights are not representable.
        """

    def average(self, chosen: Flags, value: Tensor) -> Tensor:
        batch, queries = value.shape[0], chosen.shape[1]
        result = np.full((batch, queries, value.shape[-1]), self.convert_number(fmpq(0)), dtype=object)
        with self.working_precision():
            for b, i in np.ndindex(batch, queries):
                keys = np.flatnonzero(chosen[b if len(chosen) > 1 else 0, i])
                if len(keys) == 1:
                    result[b, i] = value.value[b, keys[0]]
                elif len(keys):
                    result[b, i] = value.value[b, keys].sum(axis=0) / self.convert_number(fmpq(len(keys)))
        return Tensor(result)
