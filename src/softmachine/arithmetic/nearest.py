"""Softmax over many keys: those that get nearly no attention are told apart before anything is bounded.

A sharp softmax looks at a few of thousands of keys. The others get so little that it does not matter how little: their
scores are all that is computed of them. Bounds are for the few, and what the others could add is one number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic.base import Flags, Floats, Tensor
from softmachine.arithmetic.operator import FLOOR, SLACK, gamma

_MANY_KEYS = 64
"""Fewer keys are all taken."""
_FAR, _MOST_DOUBT = 100.0, 1.0
"""A key is left out if its exponent is so much below the largest of each query; if none is off by more than this."""


@dataclass(frozen=True)
class Nearest:
    """The keys that some query may look at.

    Args:
        keys: Their numbers.
        lost: What share all others have together, at most.
    """

    keys: NDArray[np.intp]
    lost: float

    def added(self, mean: Tensor, value: Tensor) -> Tensor:
        """The mean of the values of these keys, as one of the values of all."""
        assert mean.error is not None
        reach = np.abs(value.value).astype(np.float64) + (0.0 if value.error is None else value.error)
        return Tensor(mean.value, mean.error + 2 * SLACK * self.lost * reach.max(axis=1, keepdims=True) + FLOOR)


def nearest(
    query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor, digits: int
) -> Nearest | None:
    """The keys of one sequence that get more than a vanishing share from some query; None if these are not few.

    Let every exponent be off by at most d, and that of a key be 100 less than the largest. Then its share is less than
    exp(2 d - 100) times the largest, so that k such keys have less than k exp(2 d - 100). Leaving them out changes a
    mean by no more than twice that, times the largest value.
    """
    count = key.shape[1]
    if count < _MANY_KEYS or not _doubt(query, key, bias, scale, digits) <= _MOST_DOUBT:
        return None
    exponent = query.value[0].astype(np.float64, copy=False) @ key.value[0].astype(np.float64, copy=False).T
    if bias is not None:
        exponent = exponent + bias.value
    exponent *= scale.value[:, None].astype(np.float64)
    np.copyto(exponent, -np.inf, where=~visible)
    top = exponent.max(axis=-1, keepdims=True, initial=-np.inf)
    near = exponent >= np.where(np.isfinite(top), top - _FAR, np.inf)
    keys = np.flatnonzero(near.any(axis=0))
    return Nearest(keys, count * float(np.exp(2 * _MOST_DOUBT - _FAR))) if 2 * len(keys) < count else None


def _doubt(query: Tensor, key: Tensor, bias: Tensor | None, scale: Tensor, digits: int) -> float:
    """How far any exponent can be off, at most: from the largest numbers of all keys."""
    assert scale.error is not None
    (q, q_error), (k, k_error) = _sizes(query), _sizes(key)
    most, most_error = k.max(axis=0, initial=0), k_error.max(axis=0, initial=0)
    size = q @ most
    doubt = q_error @ most + (q + q_error) @ most_error
    if bias is not None:
        size = size + np.abs(bias.value).max(axis=-1)
        doubt = doubt + (0.0 if bias.error is None else bias.error.max(axis=-1))
    doubt = doubt + size * gamma(2 * len(most) + 8, digits)
    factor = np.abs(scale.value).astype(np.float64)
    return float((SLACK * (doubt * (factor + scale.error) + size * scale.error)).max(initial=0))


def _sizes(x: Tensor) -> tuple[Floats, Floats]:
    """The absolute values and errors of the one sequence."""
    size = np.abs(x.value[0]).astype(np.float64)
    return size, np.zeros(size.shape) if x.error is None else x.error[0]
