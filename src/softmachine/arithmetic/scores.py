"""Scores of attention in floats: how far each can be off, which keys may have the largest, and close calls.

Where float bounds do not tell which of a few keys has the largest score, differences of scores are computed exactly:
the stored numbers are floats, hence rationals, so that what remains uncertain is only how far they are from the exact
ones. A decision also has to be one that the format itself would take: if its own rounded scores put a loser level with
a winner, the format cannot run this model.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from softmachine.arithmetic.base import Array, Flags, Floats, Tensor
from softmachine.arithmetic.operator import SLACK, gamma


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
        score, added = products(query, key, bias), 0.0
        whole = _whole(q) and _whole(k)
        if bias is not None:
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


def products(query: Tensor, key: Tensor, bias: Tensor | None) -> Floats:
    """The scores themselves."""
    k = np.swapaxes(key.value, 1, 2).astype(np.float64, copy=False)
    score: Floats = query.value.astype(np.float64, copy=False) @ k
    return score if bias is None else score + bias.value


def _whole(numbers: Array) -> bool:
    return bool((numbers == np.rint(numbers)).all())


def _inexact(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.error is not None and bool(tensor.error.any())


@dataclass(frozen=True)
class Contest:
    """A query, the keys that may have the largest score, and their biases."""

    query: Tensor
    keys: Tensor
    bias: Tensor | None


def decide(contest: Contest, dtype: np.dtype[np.floating], slack: float) -> list[int] | str:
    """The keys of maximal score, or the reason why it cannot be said (or the format would get it wrong).

    Error bounds are taken ``slack`` times.
    """
    count = contest.keys.shape[0]
    stored = [_stored_score(contest, key) for key in range(count)]
    leader = stored.index(max(stored))
    winners = []
    for other in range(count):
        lead, doubt = stored[leader] - stored[other], _doubt(contest, leader, other) * Fraction(slack)
        if lead <= doubt and doubt > 0 and other != leader:
            scores = _in_format(contest, dtype)
            return f"cannot tell whether the scores {scores[leader]!s} and {scores[other]!s} are equal"
        if lead == 0:
            winners.append(other)
    computed = _in_format(contest, dtype)
    losers = [other for other in range(count) if other not in winners]
    if losers and not max(computed[losers]) < min(computed[winners]):
        return f"rounds scores that differ to {computed[leader]!s} and {max(computed[losers])!s}, in the wrong order"
    return winners


def _stored_score(contest: Contest, key: int) -> Fraction:
    """The score of the numbers as they are stored, without rounding."""
    pairs = zip(contest.query.value, contest.keys.value[key], strict=True)
    total = sum((Fraction(float(q)) * Fraction(float(k)) for q, k in pairs), Fraction(0))
    return total if contest.bias is None else total + Fraction(float(contest.bias.value[key]))


def _doubt(contest: Contest, first: int, second: int) -> Fraction:
    """How far the difference of two stored scores can be from that of the exact ones.

    Where both keys have the same exact number, the query's error cancels.
    """
    query, keys, bias = contest.query, contest.keys, contest.bias
    total = Fraction(0)
    for c in range(query.shape[0]):
        step = abs(Fraction(float(keys.value[first, c])) - Fraction(float(keys.value[second, c])))
        step_error = _error(keys, (first, c)) + _error(keys, (second, c))
        q_error = _error(query, c)
        total += q_error * step + (abs(Fraction(float(query.value[c]))) + q_error) * step_error
    return total if bias is None else total + _error(bias, first) + _error(bias, second)


def _error(tensor: Tensor, index: int | tuple[int, int]) -> Fraction:
    return Fraction(0) if tensor.error is None else Fraction(float(tensor.error[index]))


def _in_format(contest: Contest, dtype: np.dtype[np.floating]) -> Array:
    """The scores as the format computes them, one product after the other."""
    total = np.zeros(contest.keys.shape[0], dtype=dtype)
    for c in range(contest.query.shape[0]):
        total = total + contest.query.value[c] * contest.keys.value[:, c]
    return total if contest.bias is None else total + contest.bias.value
