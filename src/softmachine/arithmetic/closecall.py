"""Close calls: which of a few keys has the largest score, when float bounds alone do not tell.

The stored numbers are floats, hence rationals, so differences of scores are computed exactly; what remains uncertain is
only how far the stored numbers are from the exact ones. A decision also has to be one that the format itself would
take: if its own rounded scores put a loser level with a winner, the format cannot run this model.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from softmachine.arithmetic.base import Array, Tensor


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
