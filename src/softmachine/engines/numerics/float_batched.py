"""float64 for a batch of sequences, with error bounds shared by the batch.

Running error bounds cost more than the numbers themselves. A bound from the largest absolute values of the batch holds
for every sequence, so one bound per position and coordinate suffices, hundreds of times fewer. Sequences for which such
a bound does not determine a decision are flagged and left to :class:`.float.Float`, one by one. So every answer
equals that of exact arithmetic.

Memory layout: the numbers of one coordinate at one position are contiguous over the batch, so that maps become sums of
long rows, and a layer touches only the coordinates that it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics.base import (
    Array,
    Flags,
    Floats,
    Index,
    SparseAffine,
    SparseRows,
    Tensor,
    TensorMap,
    TensorSum,
)
from softmachine.engines.numerics.float import Float
from softmachine.engines.numerics.float_affine import MIN_ERROR, ROUNDING_SLACK, FloatAffine, rounding_factor
from softmachine.support.errors import ConstructionError

_FINE, _ARBITRARY = 20, 127
"""Numbers are multiples of 2^-g, where g is 0 or the first of these; the second marks arbitrary numbers."""
_MAX_EXPONENT = 300.0
"""Exponents up to this need no subtraction of the maximum: their exponentials and sums do not overflow."""
_MAX_EXPONENT_ERROR = 0.25
"""Largest error of an exponent; sequences with larger ones are flagged as undecided."""
_MAX_CHUNK_SCORES = 1 << 16
"""Scores per chunk, to stay in the processor cache."""


@dataclass(frozen=True)
class BatchTensor(Tensor):
    """A batch of sequences, (sequence, position, coordinate), stored in the reverse order of axes.

    Args:
        value: The numbers.
        error: Error bound for all sequences: (1, position, coordinate).
        size: Upper bound of the absolute values: (1, position, coordinate).
        grid: The g such that all numbers are multiples of 2^-g: (1, position, coordinate).
    """

    error: Floats
    size: Floats = field(kw_only=True)
    grid: NDArray[np.int8] = field(kw_only=True)

    @property
    def transposed(self) -> Array:
        """The numbers in memory order: [coordinate, position, sequence]."""
        return self.value.T

    def __getitem__(self, index: Index | tuple[Index, ...]) -> BatchTensor:
        first, *rest = index if isinstance(index, tuple) else (index,)
        shared = (..., *rest) if first is Ellipsis else (slice(None), *rest)
        return BatchTensor(self.value[index], self.error[shared], size=self.size[shared], grid=self.grid[shared])

    def concat(self, others: Sequence[Tensor], axis: int) -> BatchTensor:
        """Concatenate this tensor and others along an axis."""
        parts = [self, *(part for part in others if isinstance(part, BatchTensor))]
        value = np.concatenate([part.transposed for part in parts], {0: 2, 1: 1, 2: 0}[axis % 3]).T
        error, size, grid = (np.concatenate([getattr(p, name) for p in parts], axis) for name in _SHARED)
        return BatchTensor(value, error, size=size, grid=grid)


_SHARED = ("error", "size", "grid")


def _from_transposed(memory: Array, error: Floats, size: Floats, grid: NDArray[np.int8]) -> BatchTensor:
    return BatchTensor(memory.T, error[None], size=size[None], grid=grid[None])


class BatchFloat(Float):
    """float64 for a batch; ``doubtful`` flags the sequences with an undecided comparison, whose results are invalid."""

    overwrites_inputs = True

    def __init__(self) -> None:
        super().__init__("float64")
        self.undecided: Flags = np.zeros(0, dtype=bool)

    def start_batch(self, sequences: int) -> None:
        """Reset the flags for a new batch."""
        self.undecided = np.zeros(sequences, dtype=bool)

    def gather_rows(self, matrix: Tensor, indices: NDArray[np.intp]) -> BatchTensor:
        assert matrix.error is not None
        memory = np.take(np.ascontiguousarray(matrix.value.T), np.ascontiguousarray(indices.T), axis=1)
        of_any = matrix.error.max(axis=0), *(part[0] for part in _measure(matrix.value.T[:, None]))
        error, size, grid = (np.repeat(part[None], indices.shape[1], axis=0) for part in of_any)
        return _from_transposed(memory, error, size, grid)

    def compile_affine(self, rows: SparseRows, columns: int, bias: Sequence[object]) -> TensorMap:
        prepared = self._operator((rows, columns, bias))  # type: ignore[arg-type]
        return lambda x: self._apply_map(prepared, x) if isinstance(x, BatchTensor) else self.apply(prepared, x)

    def _apply_map(self, operator: FloatAffine, x: BatchTensor) -> BatchTensor:
        read = x.transposed[operator.columns]
        flat = operator.weight.T @ read.reshape(len(read), x.shape[0] * x.shape[1])
        flat += operator.bias[:, None]
        memory = flat.reshape(len(operator.bias), *read.shape[1:])
        size, inherited, grid = (part[0][:, operator.columns] for part in (x.size, x.error, x.grid))
        total = size @ operator.absolute + operator.absolute_bias
        exact, fine = _exact_results(operator, size, grid, total)
        error = operator.propagate_error(inherited)
        error += np.where(exact, 0.0, operator.gamma * total + (len(operator.columns) + 1) * MIN_ERROR)
        if operator.weight_error is not None:
            error += (size + inherited) @ operator.weight_error
        if operator.bias_error is not None:
            error += operator.bias_error
        return _from_transposed(memory, error, total * ROUNDING_SLACK, fine)

    def compile_residual_affine(self, rows: SparseRows, columns: int, bias: Sequence[object]) -> TensorSum:
        """Return x + W y + b; only rows with a weight or a constant are computed."""
        used = [r for r, row in enumerate(rows) if row or bias[r]]
        prepared = self._operator(([rows[r] for r in used], columns, [bias[r] for r in used]))  # type: ignore[misc]
        return lambda x, y: self._add_in_place(
            x, self._apply_map(prepared, _as_batch(y)), np.array(used, dtype=np.intp)
        )

    def _add_in_place(self, x: Tensor, y: BatchTensor, where: NDArray[np.intp]) -> BatchTensor:
        """Add to some coordinates of x in place; their sizes are measured anew, so that bounds do not accumulate."""
        x = _as_batch(x)
        error, size, grid = (part[0].copy() for part in (x.error, x.size, x.grid))
        total, coarse = size[:, where] + y.size[0], np.maximum(grid[:, where], y.grid[0])
        exact = (coarse < _ARBITRARY) & (total < 2.0 ** (self.digits - np.minimum(coarse, _FINE).astype(np.float64)))
        error[:, where] += y.error[0] + np.where(exact, 0.0, self.roundoff * total)
        for k, (coordinate, row) in enumerate(zip(where.tolist(), y.transposed, strict=True)):
            changed = x.transposed[coordinate]
            changed += row
            size[:, coordinate], grid[:, coordinate] = (part[:, 0] for part in _measure(changed[None]))
            np.minimum(grid[:, coordinate], coarse[:, k], out=grid[:, coordinate], where=exact[:, k])
        return _from_transposed(x.transposed, error, size, grid)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        if not isinstance(x, BatchTensor):
            return super().add(x, y)
        assert y.error is not None
        if isinstance(y, BatchTensor):
            return self._add_in_place(x, y, np.arange(x.shape[-1]))
        where = np.flatnonzero(y.value.any(axis=0) | y.error.any(axis=0))  # the same for all sequences
        memory = y.value.T[where][..., None]
        return self._add_in_place(x, _from_transposed(memory, y.error[:, where], *_measure(memory)), where)

    def compile_network(self, first: SparseAffine, steps: Flags, second: SparseAffine) -> TensorMap:
        there, back = self._operator(first), self.compile_residual_affine(*second)
        return lambda x: back(x, self._activate(self._apply_map(there, _as_batch(x)), steps))

    def compile_norm_network(
        self, first: SparseAffine, steps: Flags, second: SparseAffine, norms: Sequence[Sequence[int]]
    ) -> TensorMap:
        """Reject layer norm.

        Raises:
            ConstructionError: Always.
        """
        raise ConstructionError("layer norm is not supported with error bounds shared by a batch")

    def _activate(self, x: BatchTensor, steps: Flags) -> BatchTensor:
        memory = np.maximum(x.transposed, 0)
        top = x.transposed.max(axis=-1, initial=-np.inf).T
        self._check_finite(x.transposed.min(initial=0))
        error, grid = np.where(top + x.error[0] * ROUNDING_SLACK <= 0, 0.0, x.error[0]), x.grid[0].copy()
        if steps.any():
            part, doubt = x.transposed[steps], x.error[0][:, steps].T[..., None] * ROUNDING_SLACK
            self.undecided |= ((np.abs(part) <= doubt) & (doubt != 0)).any(axis=(0, 1))
            memory[steps], error[:, steps], grid[:, steps] = part >= 0, 0, 0
        size = np.where(steps, 1.0, np.maximum(top, 0))
        return _from_transposed(memory, error, size, grid)

    def select_best_keys(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        """Select the best keys, one query at a time, so that its scores stay in the cache."""
        q, k = _as_batch(query), _as_batch(key)
        doubt = self._bound_scores(q, k, bias)
        certain = not doubt.any()
        chosen = np.zeros((*visible.shape, q.shape[0]), dtype=bool)
        for i in np.flatnonzero(visible.any(axis=1)).tolist():
            keys = _as_slice(visible[i])
            score = _compute_scores(q.transposed[:, i : i + 1], k.transposed[:, keys])[0]
            if bias is not None:
                score += bias.value[i, keys, None]
            if certain:
                chosen[i, keys] = score == score.max(axis=0)
                continue
            off = doubt[i, keys, None]
            possible = score + off >= (score - off).max(axis=0)
            several = np.count_nonzero(possible, axis=0) > 1
            self.undecided |= several & (possible & (off != 0)).any(axis=0)
            chosen[i, keys] = possible
        return np.moveaxis(chosen, -1, 0)

    def _bound_scores(self, query: BatchTensor, key: BatchTensor, bias: Tensor | None) -> Floats:
        """Bound the errors of scores, for any order of summation: (queries, keys)."""
        (q, q_error, q_grid), (k, k_error, k_grid) = ((x.size[0], x.error[0], x.grid[0]) for x in (query, key))
        size = q @ k.T
        whole = not q_grid.any() and not k_grid.any()
        if bias is not None:
            size = size + np.abs(bias.value)
            whole = whole and bool((bias.value == np.rint(bias.value)).all())
        self._check_finite(size)
        doubt = q_error @ k.T + (q + q_error) @ k_error.T
        if bias is not None and bias.error is not None:
            doubt = doubt + bias.error
        if not (whole and size.max(initial=0) < 2.0**self.digits):
            terms = q.shape[-1] + 2
            doubt = doubt + size * (2 * rounding_factor(terms, self.digits)) + 4 * terms * MIN_ERROR
        return np.asarray(doubt * ROUNDING_SLACK)

    def average(self, chosen: Flags, value: Tensor) -> BatchTensor:
        x = _as_batch(value)
        flags = np.moveaxis(chosen, 0, -1)  # [query, key, sequence]
        counts = np.count_nonzero(flags, axis=1)
        numerator = _sum_over_keys(flags.astype(np.float64), x.transposed)
        some = np.maximum(counts, 1).astype(np.float64)
        memory = numerator / some
        seen = np.asarray(flags.any(axis=-1))
        size, error, coarse = (
            _max_over_visible(seen, x.size[0]),
            _max_over_visible(seen, x.error[0]),
            _max_over_visible(seen, x.grid[0]),
        )
        most = int(counts.max(initial=0))
        if most > 1:
            on_grid = (coarse == 0) & (size * most < 2.0**self.digits)
            error += np.where(on_grid, 0.0, rounding_factor(most, self.digits) * size + MIN_ERROR)
            product = memory * some
            exact = (product == numerator) & (memory == np.rint(memory)) & (np.abs(product) < 2.0**53)
            error += np.where(exact.all(axis=-1).T & on_grid, 0.0, self.roundoff * size * ROUNDING_SLACK + MIN_ERROR)
        return _from_transposed(
            memory, error, size * ROUNDING_SLACK, np.where(most > 1, _ARBITRARY, coarse).astype(np.int8)
        )

    def softmax_attention(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor
    ) -> TensorMap:
        q, k = _as_batch(query), _as_batch(key)
        assert scale.error is not None
        factor, off = np.abs(scale.value)[:, None], scale.error[:, None]
        doubt = self._bound_scores(q, k, bias)
        size = q.size[0] @ k.size[0].T + (0.0 if bias is None else np.abs(bias.value)) + doubt
        reach = size * (factor + off)
        largest = reach.max(axis=-1, initial=0)
        doubts = doubt * (factor + off) + size * off
        doubts += (2 * q.shape[-1] + 12) * self.roundoff * largest[:, None]
        doubt = (doubts * visible).max(axis=-1, initial=0)
        self._check_finite(largest)
        if (doubt > _MAX_EXPONENT_ERROR).any():
            self.undecided[:] = True
        steep = bool((largest > _MAX_EXPONENT).any())
        shares = partial(self._weights, q, k, bias, visible, scale, steep)
        return partial(self._soft_mean, shares, visible, np.minimum(doubt, _MAX_EXPONENT_ERROR))

    def _weights(
        self,
        q: BatchTensor,
        k: BatchTensor,
        bias: Tensor | None,
        visible: Flags,
        scale: Tensor,
        steep: bool,
        some: slice,
    ) -> Floats:
        """Return unnormalised attention weights: [query, key, sequence]."""
        exponent = _compute_scores(q.transposed[..., some] * scale.value[:, None], k.transposed[..., some])
        if bias is not None:
            exponent += (bias.value * scale.value[:, None])[..., None]
        if steep:
            np.copyto(exponent, -np.inf, where=~visible[..., None])
            exponent -= np.maximum(exponent.max(axis=1, keepdims=True), -self.max_value)
            np.maximum(exponent, -_MAX_EXPONENT, out=exponent)
        weight = np.exp(exponent, out=exponent)
        if not visible.all():
            weight *= visible[..., None]
        return weight

    def _soft_mean(self, shares: partial[Floats], visible: Flags, doubt: Floats, value: Tensor) -> BatchTensor:
        """Return the weighted mean of values.

        If every exponent has an error of at most d, weights and their sum are off by factors between exp(-d) and
        exp(d), so the relative error of a normalised weight is at most exp(2d) - 1, which is less than 3d for d ≤ 1/4.
        """
        x, (query, _) = _as_batch(value), (shares.args[0], shares.args[1])
        keys, sequences = visible.shape[1], x.shape[0]
        memory = np.empty((x.shape[-1], len(visible), sequences))
        if query.shape[0] == 1:
            weight = shares(slice(None))
            total = weight.sum(axis=1)
            memory[:] = _sum_over_keys(weight, x.transposed) / np.where(total > 0, total, 1)
        else:
            together = max(1, _MAX_CHUNK_SCORES // max(1, visible.size))
            for start, stop in pairwise([*range(0, sequences, together), sequences]):
                some = slice(start, stop)
                weight = shares(some)
                total = weight.sum(axis=1)
                memory[..., some] = _sum_over_keys(weight, x.transposed[..., some]) / np.where(total > 0, total, 1)
        size, error = _max_over_visible(visible, x.size[0]), _max_over_visible(visible, x.error[0])
        off = (3 * doubt + (2 * keys + 20) * self.roundoff)[:, None]
        lost = keys * np.exp(-_MAX_EXPONENT)  # weights clamped at exp(-_STEEP) relative to the largest
        error = error * (1 + off) + size * (2 * off + 4 * lost) + MIN_ERROR
        return _from_transposed(
            memory, error * ROUNDING_SLACK, size * ROUNDING_SLACK, np.full(size.shape, _ARBITRARY, dtype=np.int8)
        )

    def argmax(self, x: Tensor) -> NDArray[np.intp]:
        logits = _as_batch(x)
        self._check_finite(logits.transposed)
        best = logits.transposed.max(axis=0)
        reach = best - 2 * ROUNDING_SLACK * logits.error[0].max(axis=-1)[:, None]
        self.undecided |= (np.count_nonzero(logits.transposed >= reach, axis=0) > 1).any(axis=0)
        return np.asarray(logits.transposed.argmax(axis=0).T)


def _as_batch(x: Tensor) -> BatchTensor:
    assert isinstance(x, BatchTensor)
    return x


def _as_slice(seen: Flags) -> slice | NDArray[np.intp]:
    """Return the indices of set flags (at least one); as a slice, which avoids a copy, if they are contiguous."""
    places = np.flatnonzero(seen)
    first, last = int(places[0]), int(places[-1])
    return slice(first, last + 1) if last - first < len(places) else places


def _exact_results(
    operator: FloatAffine, size: Floats, grid: NDArray[np.int8], total: Floats
) -> tuple[Flags, NDArray[np.int8]]:
    """Return where a map does not round for any sequence, and the grids of its results: (position, row)."""
    units = operator.exact_to * 2.0**-53
    off = {g: ((grid > g) @ operator.pattern) > 0 for g in (0, _FINE)}
    whole, fine = ~off[0] & (total < operator.exact_to), ~off[_FINE] & (total < operator.exact_to * 2.0**-_FINE)
    shrinking = ((operator.absolute < 1) & (operator.pattern > 0)).any(axis=0)
    alone = operator.doubling & (((size > 0) @ operator.pattern) <= 1) & ~shrinking
    grids = np.where(whole & (units >= 1), 0, _ARBITRARY)
    grids[(grids > 0) & ((whole & (units >= 2.0**-_FINE)) | (fine & (units >= 1)))] = _FINE
    return whole | fine | alone, grids.astype(np.int8)


def _measure(memory: Array) -> tuple[Floats, NDArray[np.int8]]:
    """Return the largest absolute values and the grids of the numbers: (position, coordinate)."""
    size = np.maximum(memory.max(axis=-1, initial=0), -memory.min(axis=-1, initial=0)).T
    return size, np.where((memory == np.rint(memory)).all(axis=-1).T, 0, _ARBITRARY).astype(np.int8)


def _max_over_visible(visible: Flags, of_keys: Array) -> Array:
    """Return the maximum over the visible keys of each query: (queries, coordinates)."""
    return np.asarray(np.where(visible[..., None], of_keys, 0).max(axis=1, initial=0))


def _compute_scores(query: Array, key: Array) -> Floats:
    """Return the scores: [query, key, sequence]."""
    shape = query.shape[1], key.shape[1], query.shape[2]
    score = np.zeros(shape) if not len(query) else query[0][:, None] * key[0]
    for q, k in zip(query[1:], key[1:], strict=True):
        score += q[:, None] * k
    return score


def _sum_over_keys(weight: Floats, value: Array) -> Floats:
    """Sum over keys: [query, key, sequence] and [coordinate, key, sequence] give [coordinate, query, sequence]."""
    if weight.shape[-1] == 1:
        return np.asarray(weight[..., 0] @ value)
    return np.stack([np.einsum("qkb,kb->qb", weight, row) for row in value]) if len(value) else value
