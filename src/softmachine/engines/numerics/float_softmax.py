"""Softmax in floats: attention weights, their error bounds, and the error of a weighted mean.

A softmax at low temperature gives nearly all weight to a few of thousands of keys; the others are pruned. Only their
scores are computed; weights and bounds cover the few, and one number bounds the contribution of all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics.base import Array, Flags, Floats, Tensor
from softmachine.engines.numerics.float_affine import ROUNDING_SLACK, rounding_factor

MIN_PRUNED_KEYS = 64
"""With fewer keys, none is pruned."""
_MAX_SCORE = 2.0**100
"""Larger scores may overflow a format."""
_MAX_PRUNING_ERROR = 1.0
"""Largest error of an exponent with which keys may be pruned."""


class KeptKeys(NamedTuple):
    """The keys of a sequence whose weight, relative to the largest, is not negligible for some query.

    Let every exponent have an error of at most d, and let a key's exponent minus the largest have an exponential below
    ε. Then the key's weight is less than ε exp(2 d), and k such keys have less than k ε exp(2 d) together. Pruning them
    changes a mean by at most twice that, times the largest value.

    Args:
        keys: These keys.
        key_count: The number of all keys.
        pruned_weight: Upper bound of the total weight of the pruned keys.
    """

    keys: NDArray[np.intp]
    key_count: int
    pruned_weight: float

    def scatter(self, weight: Floats) -> Floats:
        """Scatter weights of these keys into an array over all keys, so that the order of summation does not change."""
        among_all = np.zeros((*weight.shape[:-1], self.key_count))
        among_all[..., self.keys] = weight
        return among_all

    def error(self, value: Tensor) -> Floats:
        """Bound the change of a mean of values that pruning causes."""
        size = np.abs(value.value).astype(np.float64, copy=False)
        reach = max_over_positions(size if value.error is None else size + value.error)
        return np.asarray(2 * ROUNDING_SLACK * self.pruned_weight * reach[:, None])


def can_prune(query: Tensor, key: Tensor, bias: Tensor | None, scale: Tensor, digits: int) -> bool:
    """Whether keys may be pruned: one sequence, many keys, and small errors of all exponents.

    The bound of the errors uses the largest absolute value of each coordinate over all keys.
    """
    if query.shape[0] > 1 or key.shape[1] < MIN_PRUNED_KEYS:
        return False
    assert scale.error is not None
    (q, q_error), (k, k_error) = _absolute_and_error(query), _absolute_and_error(key)
    most, most_error = max_over_positions(k), max_over_positions(k_error)
    size = q @ most
    doubt = q_error @ most + (q + q_error) @ most_error
    if bias is not None:
        size = size + np.abs(bias.value).max(axis=-1)
        doubt = doubt + (0.0 if bias.error is None else bias.error.max(axis=-1))
    doubt = doubt + size * rounding_factor(2 * len(most) + 8, digits)
    factor = np.abs(scale.value).astype(np.float64)
    off = ROUNDING_SLACK * (doubt * (factor + scale.error) + size * scale.error)
    return bool(size.max(initial=0) <= _MAX_SCORE and off.max(initial=0) <= _MAX_PRUNING_ERROR)


def prune_negligible_keys(score: Array, visible: Flags, scale: Tensor, negligible: float) -> KeptKeys | None:
    """Return the keys of one sequence that are not negligible for some query; None unless they are a minority."""
    exponent = score[0] * scale.value[:, None]
    masked_fill(exponent, visible, -np.inf)
    top = exponent.max(axis=-1, keepdims=True)
    # The -1 is a safety margin: a comparison that rounds differently must not find another key.
    near = exponent >= np.where(np.isfinite(top), top + (math.log(negligible) - 1), np.inf)
    keys, count = np.flatnonzero(near.any(axis=0)), score.shape[-1]
    lost = count * negligible * math.exp(2 * _MAX_PRUNING_ERROR)
    return KeptKeys(keys, count, lost) if 2 * len(keys) < count else None


def masked_fill(numbers: Array, visible: Flags, fill: float) -> None:
    """Overwrite masked entries with a number; only the range of keys that some query does not see is scanned."""
    some = np.flatnonzero(~visible.all(axis=0))
    if some.size:
        part = slice(some[0], some[-1] + 1)
        np.copyto(numbers[..., part], fill, where=~visible[:, part])


def max_over_positions(size: Floats) -> Floats:
    """Return the maximum of each coordinate of (…, positions, coordinates)."""
    # NumPy reductions are slow along an axis that precedes a short one.
    turned = np.ascontiguousarray(np.swapaxes(size, -1, -2))
    return np.asarray(turned.max(axis=-1, initial=0))


def _absolute_and_error(x: Tensor) -> tuple[Floats, Floats]:
    """Return absolute values and errors of a tensor with one sequence."""
    size = np.abs(x.value[0]).astype(np.float64)
    return size, np.zeros(size.shape) if x.error is None else x.error[0]


_MAX_EXPONENT_ERROR = 300.0
"""Above this error of an exponent, the mean is only bounded by the range of the values."""
_MAX_DISTINCT_VALUES = 8
"""Up to this many distinct values, distances from them are summed by matrix products."""


@dataclass(frozen=True)
class SoftmaxWeights:
    """Softmax weights with error bounds.

    Args:
        weight: (batch, queries, keys); the weights of a query sum to 1, or to 0 if it sees no key.
        error_bound: Error bound of each weight.
        visible: (queries, keys), the attention mask.
        is_bounded: (batch, queries, 1), whether the bounds of a query's weights are usable.
        negligible: Smaller weights count as zero.
        kept: The keys that remain after pruning; None if all.
    """

    weight: Floats
    error_bound: Floats
    visible: Flags
    is_bounded: Flags
    negligible: float
    kept: KeptKeys | None = None

    @staticmethod
    def of(
        weight: Floats, doubt: Floats, visible: Flags, negligible: float, near: KeptKeys | None = None
    ) -> SoftmaxWeights:
        """Normalise weights whose logarithms have error bounds ``doubt``.

        Each weight is off by a factor of at most exp(±doubt), and the exact sum lies between ``lowest`` times and one
        plus the total ``growth`` times the computed one.
        """
        of_all = weight if near is None else near.scatter(weight)
        share = weight / np.maximum(of_all.sum(axis=-1, keepdims=True), 1)
        most = doubt.max(axis=-1, keepdims=True, initial=0)
        if (most <= 0.5).all():  # exp(d) - 1 <= d + d² and exp(-d) >= 1 - d
            growth = doubt * (1 + doubt)
            lowest = share.sum(axis=-1, keepdims=True) - np.einsum("bij,bij->bi", share, doubt)[..., None]
        else:
            growth = np.expm1(np.minimum(doubt, _MAX_EXPONENT_ERROR))
            lowest = (share * np.exp(-np.minimum(doubt, _MAX_EXPONENT_ERROR))).sum(axis=-1, keepdims=True)
        off = np.maximum(share, negligible)
        masked_fill(off, visible, 0)
        growth += np.einsum("bij,bij->bi", off, growth)[..., None]
        off *= growth
        off /= np.where(lowest > 0, lowest, 1)
        return SoftmaxWeights(share, off, visible, most < _MAX_EXPONENT_ERROR, negligible, near)

    @property
    def over_all_keys(self) -> Floats:
        """The weights over all keys, 0 for pruned ones."""
        return self.weight if self.kept is None else self.kept.scatter(self.weight)

    def bound_mean_error(self, value: Tensor) -> Floats:
        """Bound the error of the weighted mean over all keys, computed in float64."""
        if self.kept is None:
            return self._error(value)
        return self._error(value[:, self.kept.keys]) + self.kept.error(value)

    def _error(self, value: Tensor) -> Floats:
        """Bound the error of the weighted mean over the remaining keys.

        Weights sum to 1, so only differences from the value of the largest weight count: where one key, or several of
        equal value, have nearly all the weight, errors of the weights cancel. The range of the values bounds the mean
        in any case.
        """
        keys, size = self.weight.shape[-1], np.abs(value.value).astype(np.float64)
        value_error = np.zeros(size.shape) if value.error is None else value.error
        underflow = 4 * self.negligible * (size + 1).sum(axis=1, keepdims=True)
        error = (2 * keys + 20) * 2.0**-53 * (self.weight @ size) + underflow
        error += self._bound_shift(value.value.astype(np.float64, copy=False))
        if value_error.any():
            error += (self.weight + self.error_bound) @ value_error
        some = self.visible.any(axis=-1, keepdims=True)
        width = 2.01 * max_over_positions(size + value_error)[:, None] * some
        return np.asarray(np.where(np.isfinite(error) & self.is_bounded, np.minimum(error, width), width))

    def _bound_shift(self, value: Floats) -> Floats:
        """Bound the change of the means if weights have errors that are compensated by the largest weight."""
        chosen = value[np.arange(len(value))[:, None], self.weight.argmax(axis=-1)]
        if chosen.shape[1] <= _MAX_DISTINCT_VALUES:
            return np.asarray(np.einsum("bij,bijc->bic", self.error_bound, np.abs(value[:, None] - chosen[:, :, None])))
        moved = np.empty(chosen.shape)
        for c in range(value.shape[-1]):
            component, best = value[..., c], chosen[..., c]
            distinct = _distinct(best)
            if len(distinct) <= _MAX_DISTINCT_VALUES:
                sums = self.error_bound @ np.abs(component[..., None] - distinct)
                moved[..., c] = np.take_along_axis(sums, np.searchsorted(distinct, best)[..., None], -1)[..., 0]
            else:
                moved[..., c] = np.einsum(
                    "bij,bij->bi", self.error_bound, np.abs(component[:, None, :] - best[..., None])
                )
        return moved


def _distinct(numbers: Floats) -> Floats:
    """Return the distinct numbers in ascending order."""
    # The first np.unique of a process takes 10 ms, since it imports numpy.ma.
    ordered = np.sort(numbers, axis=None)
    return np.asarray(ordered[np.append(True, ordered[1:] != ordered[:-1])])


def scaled_exponents(score: Floats, visible: Flags, scale: Tensor) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Return scaled scores minus the largest (-∞ where masked), the argmax, and the score there."""
    factor = scale.value[:, None].astype(np.float64)
    exponent = score * factor
    masked_fill(exponent, visible, -np.inf)
    top = exponent.argmax(axis=-1)
    best = np.take_along_axis(score, top[..., None], -1)
    exponent -= best * factor
    return exponent, top, best


def exponentiate(exponent: Floats, negligible: float) -> Floats:
    """Return the exponentials, 0 where negligible; the exponents are overwritten."""
    np.copyto(exponent, -np.inf, where=exponent < math.log(negligible))
    return np.exp(exponent, out=exponent)
