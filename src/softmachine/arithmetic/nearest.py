"""Softmax over many keys: bounds are for those that get more than a vanishing share of attention.

A sharp softmax looks at a few of thousands of keys. The others get so little that it does not matter how little: their
shares are computed, but how far each is off is not. What they could change is one number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic.base import Floats, Tensor
from softmachine.arithmetic.operator import SLACK, gamma
from softmachine.arithmetic.softmax import FloatShares

MANY_KEYS = 64
"""Of fewer keys, all are bounded."""
_HUGE = 2.0**100
"""Larger scores may leave the range of a format."""
FAR, MOST_DOUBT = 100.0, 1.0
"""A key is far if its exponent is so much below the largest of each query; if none is off by more than this."""


@dataclass(frozen=True)
class NearShares:
    """Shares of attention of one sequence, most of them next to nothing.

    Let every exponent be off by at most d, and that of a key be 100 below the largest. Then its share is less than
    exp(2 d - 100) times the largest, and k such keys have less than k exp(2 d - 100) together. Leaving them out changes
    a mean by no more than twice that, times the largest value: of the exact shares, and again of the computed ones.

    Args:
        share: All shares: (1, queries, keys).
        keys: The keys that are not far from all queries.
        near: Their shares among themselves, and how far those can be off.
    """

    share: Floats
    keys: NDArray[np.intp]
    near: FloatShares

    def error(self, value: Tensor) -> Floats:
        """How far the mean of these values can be off, if it is computed in float64."""
        count, size = self.share.shape[-1], np.abs(value.value).astype(np.float64)
        reach = (size if value.error is None else size + value.error).max(axis=1, keepdims=True)
        lost = count * np.exp(2 * MOST_DOUBT - FAR)
        rounding = 2 * (2 * count + 20) * 2.0**-53 * (self.share @ size)
        bound = self.near.error(value[:, self.keys]) + (rounding + 4 * lost * reach) * SLACK
        return np.asarray(bound + 8 * count * self.near.negligible * (reach + 1))


def near_keys(weight: Floats) -> NDArray[np.intp] | None:
    """The keys that are not far from all queries, if these are few; from exponentials of which the largest is 1."""
    keys = np.flatnonzero((weight > np.exp(-FAR)).any(axis=(0, 1)))
    return keys if 2 * len(keys) < weight.shape[-1] else None


def most_doubt(query: Tensor, key: Tensor, bias: Tensor | None, scale: Tensor, digits: int) -> float:
    """How far any exponent can be off, at most: from the largest numbers of all keys; infinite if these are huge."""
    assert scale.error is not None
    (q, q_error), (k, k_error) = _sizes(query), _sizes(key)
    most, most_error = k.max(axis=0, initial=0), k_error.max(axis=0, initial=0)
    size = q @ most
    doubt = q_error @ most + (q + q_error) @ most_error
    if bias is not None:
        size = size + np.abs(bias.value).max(axis=-1)
        doubt = doubt + (0.0 if bias.error is None else bias.error.max(axis=-1))
    doubt = doubt + size * gamma(2 * len(most) + 8, digits)
    if not size.max(initial=0) <= _HUGE:
        return np.inf
    factor = np.abs(scale.value).astype(np.float64)
    return float((SLACK * (doubt * (factor + scale.error) + size * scale.error)).max(initial=0))


def _sizes(x: Tensor) -> tuple[Floats, Floats]:
    """The absolute values and errors of the one sequence."""
    size = np.abs(x.value[0]).astype(np.float64)
    return size, np.zeros(size.shape) if x.error is None else x.error[0]
