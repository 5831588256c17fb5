"""Softmax over many keys: those that get nearly no attention are told apart before anything else is computed.

A sharp softmax looks at a few of thousands of keys. The others get so little that it does not matter how little: their
scores are all that is computed of them. Shares and bounds are for the few, and what the others could add is one number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics.base import Array, Flags, Floats, Tensor
from softmachine.engines.numerics.operator import SLACK, gamma

MANY_KEYS = 64
"""Of fewer keys, all are taken."""
_HUGE = 2.0**100
"""Larger scores may leave the range of a format."""
_MOST_DOUBT = 1.0
"""No exponent is off by more than this where keys are left out."""


class Near(NamedTuple):
    """The few keys of a sequence whose weight, beside the largest one, is not negligible for all queries.

    Let every exponent be off by at most d, and let that of a key be so much below the largest that its exponential is
    less than ε. Then its share is less than ε exp(2 d), and k such keys have less than k ε exp(2 d) together. Leaving
    them out changes a mean by no more than twice that, times the largest value.

    Args:
        keys: These keys.
        among: How many keys there are.
        lost: The share that all others have, at most.
    """

    keys: NDArray[np.intp]
    among: int
    lost: float

    def spread(self, weight: Floats) -> Floats:
        """Weights of these keys among those of all, which are 0: sums have the same order whatever the others are."""
        among_all = np.zeros((*weight.shape[:-1], self.among))
        among_all[..., self.keys] = weight
        return among_all

    def error(self, value: Tensor) -> Floats:
        """How far a mean of values moves if these keys are taken for all of them."""
        size = np.abs(value.value).astype(np.float64, copy=False)
        reach = largest(size if value.error is None else size + value.error)
        return np.asarray(2 * SLACK * self.lost * reach[:, None])


def well_known(query: Tensor, key: Tensor, bias: Tensor | None, scale: Tensor, digits: int) -> bool:
    """Whether keys of one sequence may be left out: there are many, and no exponent is off by much.

    How far any can be off, at most, follows from the largest numbers of all keys.
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
    """The keys of one sequence that some query does not find negligible, if they are few; given well-known scores."""
    exponent = score[0] * scale.value[:, None]
    hide(exponent, visible, -np.inf)
    top = exponent.max(axis=-1, keepdims=True)
    # One more than is needed: who compares after rounding differently must not find another key.
    near = exponent >= np.where(np.isfinite(top), top + (math.log(negligible) - 1), np.inf)
    keys, count = np.flatnonzero(near.any(axis=0)), score.shape[-1]
    lost = count * negligible * math.exp(2 * _MOST_DOUBT)
    return Near(keys, count, lost) if 2 * len(keys) < count else None


def hide(numbers: Array, visible: Flags, hidden: float) -> None:
    """Put a number where a query does not see a key; only keys that some query does not see are gone through."""
    some = np.flatnonzero(~visible.all(axis=0))
    if some.size:
        part = slice(some[0], some[-1] + 1)
        np.copyto(numbers[..., part], hidden, where=~visible[:, part])


def largest(size: Floats) -> Floats:
    """The largest of each coordinate, given (…, positions, coordinates)."""
    # Numpy is slow along an axis before a short one.
    turned = np.ascontiguousarray(np.swapaxes(size, -1, -2))
    return np.asarray(turned.max(axis=-1, initial=0))


def _sizes(x: Tensor) -> tuple[Floats, Floats]:
    """The absolute values and errors of the one sequence."""
    size = np.abs(x.value[0]).astype(np.float64)
    return size, np.zeros(size.shape) if x.error is None else x.error[0]
