"""Ball (midpoint-radius interval) arithmetic with python-flint's ``arb``: every ball encloses the exact real number.

Softmax transformers run rigorously: a decision holds for every number in the balls, and a comparison that the balls do
not determine raises an error. Two scores tie only if their difference is exactly zero.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from softmachine.engines.numerics.base import ArithmeticFamily, Array, Flags, Tensor, TensorMap, UndecidedError
from softmachine.engines.numerics.python_objects import FlintArithmetic
from softmachine.support.errors import UsageError

DEFAULT_BITS = 128
"""Default precision."""
_MIN_BITS, _MAX_BITS = 2, 1_000_000
_MIN_ACCURATE_BITS = 16
"""Below this many accurate bits of the softmax normaliser, the mean is intersected with the hull of the values."""
_ZERO, _ONE = arb(0), arb(1)
_Weights = tuple[NDArray[np.intp], int, Array]
"""Visible keys, the index of the reference key among them, and weights relative to the reference key's."""


class Ball(FlintArithmetic):
    """Balls with midpoints of a given precision.

    Flint's precision is global; every operation sets and restores it.

    Args:
        precision: Bits of a midpoint.
    """

    def __init__(self, precision: int = DEFAULT_BITS) -> None:
        if not _MIN_BITS <= precision <= _MAX_BITS:
            raise UsageError(
                f"balls cannot have {precision} bits", hint=f"choose a precision from {_MIN_BITS} to {_MAX_BITS:,}"
            )
        self.precision = precision
        self.name = "ball" if precision == DEFAULT_BITS else f"ball:{precision}"

    def convert_number(self, exact: fmpq) -> arb:
        """Return the number itself if it fits the precision, otherwise a ball around it."""
        return arb(exact)

    def working_precision(self) -> AbstractContextManager[object]:
        context: AbstractContextManager[object] = ctx.workprec(self.precision)
        return context

    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        """Apply ReLU and steps; ReLU maps a ball that contains 0 to the interval from 0 to its upper end."""
        result = np.empty(x.shape, dtype=object)
        with self.working_precision():
            for index, number in np.ndenumerate(x.value):
                result[index] = self._step(number, index) if steps[index[-1]] else _relu(number)
        return Tensor(result)

    def _step(self, number: arb, index: tuple[int, ...]) -> arb:
        if number >= 0:
            return _ONE
        if number < 0:
            return _ZERO
        reason = self._explain_undecided(f"the sign of a step's argument, {_format(number)}", "it is 0")
        raise UndecidedError(index[0], index[1], [], reason)

    def norm(self, x: Tensor) -> Tensor:
        """Normalise: of one number the sign must be certain; of several, that not all are 0."""
        result = np.empty(x.shape, dtype=object)
        with self.working_precision():
            for index in np.ndindex(*x.shape[:-1]):
                row = x.value[index]
                if all(number == 0 for number in row):
                    result[index] = _ZERO
                elif len(row) == 1 and (row[0] > 0 or row[0] < 0):
                    result[index] = _ONE if row[0] > 0 else -_ONE
                elif any(number > 0 or number < 0 for number in row):
                    square = sum((number * number for number in row), _ZERO) / len(row)
                    result[index] = row / square.sqrt()
                else:
                    reason = self._explain_undecided(f"the layer norm of {_format(row[0])}", "it is 0")
                    raise UndecidedError(index[0], index[1], [], reason)
        return Tensor(result)

    def select_best_keys(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        """Select the keys of maximal score; near-ties use differences of keys, in which common errors cancel."""
        with self.working_precision():
            scores = self.scores(query, key, bias)
            chosen = np.zeros(scores.shape, dtype=bool)
            for b, i in np.ndindex(*scores.shape[:2]):
                seen = np.flatnonzero(visible[i])
                if len(seen):
                    row = scores[b, i, seen]
                    keys = seen[~(row < row[_argmax_midpoint(row)])]
                    offset = None if bias is None else bias.value[i, keys]
                    leader, gaps = _find_leader(query.value[b, i], key.value[b, keys], offset)
                    unclear = np.flatnonzero(~((gaps < 0) | (gaps == 0)))
                    if len(unclear):
                        question = f"whether the scores are equal; they differ by {_format(gaps[unclear[0]])}"
                        candidates = keys[[leader, *unclear]].tolist()
                        raise UndecidedError(b, i, candidates, self._explain_undecided(question, "they are"))
                    chosen[b, i, keys[gaps == 0]] = True
        return chosen

    def softmax_attention(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor
    ) -> TensorMap:
        return partial(self._mix, self._weights(query, key, bias, visible, scale))

    def softmax_weights(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor) -> Array:
        result = np.full((query.shape[0], query.shape[1], key.shape[1]), _ZERO, dtype=object)
        with self.working_precision():
            for b, row in enumerate(self._weights(query, key, bias, visible, scale)):
                for i, (seen, _, weights) in enumerate(row):
                    if len(seen):
                        result[b, i, seen] = weights / weights.sum()
        return result

    def _weights(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor
    ) -> list[list[_Weights]]:
        """Return the weights exp(s (xⱼ - x₀)) relative to a visible reference key 0 of each query.

        The reference key is the one whose score x has the largest midpoint. Differences of keys are taken before the
        product with the query, so terms common to all keys cancel.
        """
        seen = [np.flatnonzero(row) for row in visible]
        with self.working_precision():
            scores = self.scores(query, key, bias) * scale.value[:, None]

            def weights(b: int, i: int) -> _Weights:
                if not len(seen[i]):
                    return seen[i], 0, seen[i]
                leader = _argmax_midpoint(scores[b, i, seen[i]])
                offset = None if bias is None else bias.value[i, seen[i]]
                gaps = _score_differences(query.value[b, i], key.value[b, seen[i]], offset, leader)
                return seen[i], leader, np.array([(gap * scale.value[i]).exp() for gap in gaps], dtype=object)

            return [[weights(b, i) for i in range(query.shape[1])] for b in range(query.shape[0])]

    def _mix(self, shares: list[list[_Weights]], value: Tensor) -> Tensor:
        """Compute the mean from differences: v₀ + Σ exp(s (xⱼ - x₀)) (vⱼ - v₀) / Σ exp(s (xⱼ - x₀)).

        The identity holds for any reference key 0; the mean of equal values has no error.
        """
        result = np.full((value.shape[0], len(shares[0]), value.shape[-1]), _ZERO, dtype=object)
        with self.working_precision():
            for b, i in np.ndindex(*result.shape[:2]):
                seen, leader, weights = shares[b if len(shares) > 1 else 0][i]
                if len(seen):
                    result[b, i] = _weighted_mean(weights, value.value[b, seen], leader)
        return Tensor(result)

    def argmax(self, x: Tensor) -> NDArray[np.intp]:
        result = np.empty(x.shape[:-1], dtype=np.intp)
        for index in np.ndindex(*x.shape[:-1]):
            row = x.value[index]
            winner = _argmax_midpoint(row)
            rivals = [k for k in range(len(row)) if k != winner and not row[k] < row[winner]]
            if rivals:
                tie = all(row[k] == row[winner] for k in rivals)
                question = f"which logit is larger, {_format(row[winner])} or {_format(row[rivals[0]])}"
                reason = "the logits are equal" if tie else self._explain_undecided(question, "they are equal")
                raise UndecidedError(index[0], index[1], [winner, *rivals], reason, tie=tie)
            result[index] = winner
        return result

    def _explain_undecided(self, question: str, hopeless: str) -> str:
        more = f"raise the precision (ball:{2 * self.precision}), which helps unless {hopeless}"
        return f"{self.precision} bits do not determine {question}; {more}"


def _relu(number: arb) -> arb:
    if number >= 0:
        return number
    return _ZERO if number <= 0 else number.max(_ZERO)


def _format(number: arb) -> str:
    return str(number.str(10))


def _argmax_midpoint(row: Array) -> int:
    """Return the index of the largest midpoint; the caller must verify that it is the maximum."""
    midpoints = [number.mid() for number in row.tolist()]
    return midpoints.index(max(midpoints))


def _score_differences(query: Array, keys: Array, bias: Array | None, leader: int) -> Array:
    """Return the score of each key minus the leader's; exactly 0 where the keys are the same exact numbers."""
    gaps: Array = ((keys - keys[leader]) * query).sum(axis=1, initial=_ZERO)
    if bias is not None:
        gaps = gaps + (bias - bias[leader])
    gaps[leader] = _ZERO
    return gaps


def _find_leader(query: Array, keys: Array, bias: Array | None) -> tuple[int, Array]:
    """Return a key that no other key certainly exceeds, and the score of each key minus its score."""
    leader = 0
    gaps = _score_differences(query, keys, bias, leader)
    while (gaps > 0).any():  # ends: each leader's score is certainly larger than that of the one before
        leader = int(np.flatnonzero(gaps > 0)[0])
        gaps = _score_differences(query, keys, bias, leader)
    return leader, gaps


def _weighted_mean(weights: Array, values: Array, leader: int) -> Array:
    base, total = values[leader], weights.sum()
    mean: Array = base + weights @ (values - base) / total
    if total.rel_accuracy_bits() < _MIN_ACCURATE_BITS:
        mean[:] = [_intersect_hull(number, column) for number, column in zip(mean, values.T, strict=True)]
    return mean


def _intersect_hull(mean: arb, values: Array) -> arb:
    """Intersect the enclosure of the mean with the hull of the values."""
    if not all(v.is_finite() for v in values):
        return mean
    hull = min(v.lower() for v in values).union(max(v.upper() for v in values))
    return mean.intersection(hull) if mean.is_finite() else hull


def _ball(name: str) -> Ball | None:
    kind, colon, bits = name.partition(":")
    return Ball(int(bits or DEFAULT_BITS)) if kind == "ball" and bits.isdecimal() is bool(colon) else None


ARITHMETIC = ArithmeticFamily(_ball, ("ball",), "ball:256 are balls of 256 bits", order=2)
