"""Scores of attention in floats, how far each can be off, and which keys may have the largest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softmachine.arithmetic.base import Array, Flags, Tensor
from softmachine.arithmetic.operator import SLACK, Floats, gamma


@dataclass(frozen=True)
class FloatScores:
    """The scores of queries with keys, in float64.

    Args:
        value: (batch, queries, keys).
        doubt: How far they can be from both the exact scores and those that a format computes; None if both are these.
        largest: No number on the way to them is larger.
    """

    value: Floats
    doubt: Floats | None
    largest: float

    @staticmethod
    def of(query: Tensor, key: Tensor, bias: Tensor | None, digits: int, least: float) -> FloatScores:
        """The scores for a format of so many binary digits, whose least normal number is this.

        Sums of integers are exact as long as they have no more digits than the format.
        """
        q = query.value.astype(np.float64, copy=False)
        k = np.swapaxes(key.value, 1, 2).astype(np.float64, copy=False)
        q_size, k_size = np.abs(q), np.abs(k)
        score, added = q @ k, 0.0
        whole = _whole(q) and _whole(k)
        if bias is not None:
            score = score + bias.value
            added = float(np.abs(bias.value).max(initial=0))
            whole = whole and _whole(bias.value)
        reach = float(q_size.max(axis=(0, 1), initial=0) @ k_size.max(axis=(0, 2), initial=0)) + added
        if whole and reach < 2.0**digits and not any(map(_inexact, (query, key, bias))):
            return FloatScores(score, None, reach)
        size = q_size @ k_size
        largest = float(size.max(initial=0)) + added
        doubt = np.zeros(score.shape)
        if not (whole and largest < 2.0**digits):
            doubt += size * (2 * gamma(q.shape[-1] + 1, digits)) + 4 * q.shape[-1] * least
            if bias is not None:
                doubt += 2 * 2.0**-digits * (size + np.abs(bias.value))
        if query.error is not None:
            doubt += query.error @ k_size
        if key.error is not None:
            doubt += (q_size if query.error is None else q_size + query.error) @ np.swapaxes(key.error, 1, 2)
        if bias is not None and bias.error is not None:
            doubt += bias.error
        return FloatScores(score, doubt * SLACK, largest)

    def candidates(self, visible: Flags) -> Flags:
        """Which of the visible keys may have the largest score: (batch, queries, keys)."""
        low = self.value if self.doubt is None else self.value - self.doubt
        high = self.value if self.doubt is None else self.value + self.doubt
        lowest = np.where(visible, low, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
        return np.asarray(visible & ~(high < lowest))

    def unsure(self, candidates: Flags) -> Array:
        """The queries, as pairs of sequence and place, with several candidates whose scores are not exact."""
        if self.doubt is None:
            return np.empty((0, 2), dtype=np.intp)
        several = np.argwhere(candidates.sum(axis=-1) > 1)
        b, i = several.T
        return np.asarray(several[(candidates[b, i] & (self.doubt[b, i] != 0)).any(axis=-1)])


def _whole(numbers: Array) -> bool:
    return bool((numbers == np.rint(numbers)).all())


def _inexact(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.error is not None and bool(tensor.error.any())
