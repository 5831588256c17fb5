"""Pruning of keys with negligible softmax weight.

A softmax at low temperature gives nearly all weight to a few of thousands of keys. Of the others only the scores are
computed; weights and bounds cover the few, and one number bounds the contribution of all others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics.base import Array, Flags, Floats, Tensor
from softmachine.engines.numerics.operator import SLACK, gamma

MANY_KEYS = 64
"""With fewer keys, none is pruned."""
_HUGE = 2.0**100
"""Larger scores may overflow a format."""
_MOST_DOUBT = 1.0
"""Largest error of an exponent with which keys may be pruned."""


class Near(NamedTuple):
    """The keys of a sequence whose weight, relative to the largest, is not negligible for some query.

    Let every exponent have an error of at most d, and let a key's exponent minus the largest have an exponential below
    ε. Then the key's weight is less than ε exp(2 d), and k such keys have less than k ε exp(2 d) together. Pruning them
    changes a mean by at most twice that, times the largest value.

    Args:
        keys: These keys.
        among: The number of all keys.
        lost: Upper bound of the total weight of the pruned keys.
    """

    keys: NDArray[np.intp]
    among: int
    lost: float

    def spread(self, weight: Floats) -> Floats:
        """Scatter weights of these keys into an array over all keys, so that the order of summation does not change."""
        among_all = np.zeros((*weight.shape[:-1], self.among))
        among_all[..., self.keys] = weight
        return among_all

    def error(self, value: Tensor) -> Floats:
        """Bound the change of a mean of values that pruning causes."""
        size = np.abs(value.value).astype(np.float64, copy=False)
        reach = largest(size if value.error is None else size + value.error)
        return np.asarray(2 * SLACK * self.lost * reach[:, None])


def well_known(query: Tensor, key: Tensor, bias: Tensor | None, scale: Tensor, digits: int) -> bool:
    """Whether keys may be pruned: one sequence, many keys, and small errors of all exponents.

    The bound of the errors uses the largest absolute value of each coordinate over all keys.
    """
    if query.shape[0] > 1 or key.shape[1] < MANY_KEYS:
        return False
    assert scale.error is not None
    (q, q_error), (k, k_error) = _sizes(query), _sizes(key)
    most, most_error = largest(k), largest(k_error)
    size = q @ most
    doubt = q_error @ most + (q + q_error) @ most_error
    if bias is not None:
        size = size + np.abs(bias.value).max(axis=-1)
        doubt = doubt + (0.0 if bias.error is None else bias.error.max(axis=-1))
    doubt = doubt + size * gamma(2 * len(most) + 8, digits)
    factor = np.abs(scale.value).astype(np.float64)
    off = SLACK * (doubt * (factor + scale.error) + size * scale.error)
    return bool(size.max(initial=0) <= _HUGE and off.max(initial=0) <= _MOST_DOUBT)


def nearest(score: Array, visible: Flags, scale: Tensor, negligible: float) -> Near | None:
    """Return the keys of one sequence that are not negligible for some query; None unless they are a minority."""
    exponent = score[0] * scale.value[:, None]
    hide(exponent, visible, -np.inf)
    top = exponent.max(axis=-1, keepdims=True)
    # The -1 is a safety margin: a comparison that rounds differently must not find another key.
    near = exponent >= np.where(np.isfinite(top), top + (math.log(negligible) - 1), np.inf)
    keys, count = np.flatnonzero(near.any(axis=0)), score.shape[-1]
    lost = count * negligible * math.exp(2 * _MOST_DOUBT)
    return Near(keys, count, lost) if 2 * len(keys) < count else None


def hide(numbers: Array, visible: Flags, hidden: float) -> None:
    """Overwrite masked entries with a number; only the range of keys that some query does not see is scanned."""
    some = np.flatnonzero(~visible.all(axis=0))
    if some.size:
        part = slice(some[0], some[-1] + 1)
        np.copyto(numbers[..., part], hidden, where=~visible[:, part])


def largest(size: Floats) -> Floats:
    """Return the maximum of each coordinate of (…, positions, coordinates)."""
    # NumPy reductions are slow along an axis that precedes a short one.
    turned = np.ascontiguousarray(np.swapaxes(size, -1, -2))
    return np.asarray(turned.max(axis=-1, initial=0))


def _sizes(x: Tensor) -> tuple[Floats, Floats]:
    """Return absolute values and errors of a tensor with one sequence."""
    size = np.abs(x.value[0]).astype(np.float64)
    return size, np.zeros(size.shape) if x.error is None else x.error[0]
