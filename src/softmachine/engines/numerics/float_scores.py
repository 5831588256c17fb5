"""Attention scores in floats: error bounds, candidates for the maximum, and exact resolution of near-ties.

Where float bounds do not determine the maximum among a few keys, differences of scores are computed exactly: the stored
numbers are floats, hence rationals, so only their distance from the exact ones remains uncertain. A decision must also
be the one that the format itself makes: if its rounded scores rank a loser level with a winner, the format cannot run
this model.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics.base import Array, Flags, Floats, Tensor
from softmachine.engines.numerics.float_affine import ROUNDING_SLACK, largest_dividing_power, rounding_factor

_SINGLE = 24
"""Significant bits of float32."""


@dataclass(frozen=True)
class ScoresWithBounds:
    """Scores of queries and keys, with error bounds.

    Args:
        value: (batch, queries, keys), in float64; in float32 if they are exact in it and only compared.
        error_bound: Bound of the distance from both the exact scores and those that the format computes; None if all
            agree. Where only differences matter, the rounding error alone.
        largest: Upper bound of all intermediate results.
        rounding: The part of ``doubt`` that is the format's rounding; None if the format computes these scores exactly.
    """

    value: Floats
    error_bound: Floats | None
    largest: float
    rounding: Floats | None = None

    @staticmethod
    def of(
        query: Tensor,
        key: Tensor,
        bias: Tensor | None,
        digits: int,
        least: float,
        *,
        compared: bool = False,
        known: Floats | None = None,
    ) -> ScoresWithBounds:
        """Compute scores for a format with ``digits`` significant bits and smallest normal number ``least``.

        Sums of multiples of a power of two are exact as long as they have no more significant bits than the format. If
        they are only ``compared``, scores that are exact in float32 are computed in it. If they are ``known``, only
        their differences matter, and :meth:`bound_differences` bounds the errors of queries and keys.
        """
        q = query.value.astype(np.float64, copy=False)
        k = np.swapaxes(key.value, 1, 2).astype(np.float64, copy=False)
        q_size, k_size = np.abs(q), np.abs(k)
        unit, added = _unit(q_size, np.swapaxes(k_size, 1, 2)), 0.0
        if bias is not None:
            added = float(np.abs(bias.value).max(initial=0))
            unit = min(unit, _dividing_powers(np.abs(bias.value)).min(initial=np.inf))
        exact_to = 2.0**digits * unit if unit >= least else 0.0
        reach = float(q_size.max(axis=(0, 1), initial=0) @ k_size.max(axis=(0, 2), initial=0)) + added
        exact = reach < exact_to and not any(map(_inexact, (query, key, bias)))
        if exact and compared and bias is None and (single := _scores_in_float32(q, k, reach, unit)) is not None:
            return ScoresWithBounds(single, None, reach)
        score = compute_scores(query, key, bias) if known is None else known
        if exact:
            return ScoresWithBounds(score, None, reach)
        size = q_size @ k_size
        largest = float(size.max(initial=0)) + added
        doubt, rounding = np.zeros(score.shape), None
        if not largest < exact_to:
            rounding = size * (2 * rounding_factor(q.shape[-1] + 1, digits)) + 4 * q.shape[-1] * least
            if bias is not None:
                rounding += 2 * 2.0**-digits * (size + np.abs(bias.value))
            doubt += rounding
        if known is not None:
            return ScoresWithBounds(score, doubt, largest, rounding)
        if query.error is not None:
            doubt += query.error @ k_size
        if key.error is not None:
            doubt += (q_size if query.error is None else q_size + query.error) @ np.swapaxes(key.error, 1, 2)
        if bias is not None and bias.error is not None:
            doubt += bias.error
        return ScoresWithBounds(score, doubt * ROUNDING_SLACK, largest, rounding)

    def bound_differences(
        self, top: NDArray[np.intp], query: Tensor, key: Tensor, bias: Tensor | None
    ) -> Floats | None:
        """Bound the error of each score minus the score of one reference key per query; None if there is no error.

        An error of the query contributes only its product with the difference of the keys. Without this cancellation,
        the bound for a lookup of position c from 1/(c+1) would be c² roundings instead of c.

        Args:
            top: (batch, queries), the reference keys.
            query: The queries of these scores.
            key: The keys of these scores.
            bias: The biases of these scores.
        """
        if self.error_bound is None:
            return None
        doubt = np.zeros(self.value.shape)
        chosen = np.arange(len(key.value))[:, None], top
        if query.error is not None:
            for c in np.flatnonzero(query.error.any(axis=(0, 1))):
                part = key.value[..., c].astype(np.float64, copy=False)
                doubt += query.error[..., c, None] * np.abs(part[:, None, :] - part[chosen][..., None])
        if key.error is not None and key.error.any():
            size = np.abs(query.value).astype(np.float64, copy=False)
            size = size if query.error is None else size + query.error
            doubt += size @ np.swapaxes(key.error, 1, 2)
            doubt += np.einsum("bic,bic->bi", size, key.error[chosen])[..., None]
        for more in (self.rounding, None if bias is None or bias.error is None else bias.error[None]):
            if more is not None:
                doubt += more + np.take_along_axis(np.broadcast_to(more, doubt.shape), top[..., None], -1)
        return np.asarray(doubt * ROUNDING_SLACK)

    def candidates(self, visible: Flags) -> Flags:
        """Return the visible keys that may have the largest score: (batch, queries, keys)."""
        if self.error_bound is None and visible.all():
            return np.asarray(self.value == self.value.max(axis=-1, keepdims=True, initial=-np.inf))
        low = self.value if self.error_bound is None else self.value - self.error_bound
        high = self.value if self.error_bound is None else self.value + self.error_bound
        lowest = np.where(visible, low, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
        return np.asarray(visible & ~(high < lowest))

    def undecided_queries(self, candidates: Flags) -> Array:
        """Return the queries, as pairs (sequence, query), with several candidates whose scores are inexact."""
        if self.error_bound is None:
            return np.empty((0, 2), dtype=np.intp)
        several = np.argwhere(candidates.sum(axis=-1) > 1)
        b, i = several.T
        return np.asarray(several[(candidates[b, i] & (self.error_bound[b, i] != 0)).any(axis=-1)])


def compute_scores(query: Tensor, key: Tensor, bias: Tensor | None) -> Floats:
    """Compute the scores without bounds."""
    k = np.swapaxes(key.value, 1, 2).astype(np.float64, copy=False)
    score: Floats = query.value.astype(np.float64, copy=False) @ k
    return score if bias is None else score + bias.value


def _scores_in_float32(query: Floats, key: Floats, reach: float, unit: float) -> Array | None:
    """Compute scores that are multiples of ``unit`` below ``reach`` in float32; None if that is inexact."""
    if not (reach < 2.0**_SINGLE * unit and unit >= np.finfo(np.float32).tiny):
        return None
    q, k = query.astype(np.float32), key.astype(np.float32)
    return q @ k if (q == query).all() and (k == key).all() else None


def _unit(query: Floats, key: Floats) -> float:
    """Return a power of two that divides all products of coordinates; at least 1 if all numbers are integers."""
    units = [_dividing_powers(part).min(axis=(0, 1), initial=np.inf) for part in (query, key)]
    with np.errstate(invalid="ignore"):
        products = units[0] * units[1]
    return float(np.where(np.isnan(products), np.inf, products).min(initial=np.inf))


def _dividing_powers(size: Floats) -> Floats:
    """Return the largest power of two that divides each number, or 1 if all are integers; infinity for 0."""
    if (size == np.rint(size)).all():
        return np.where(size > 0, 1.0, np.inf)
    return largest_dividing_power(size)


def _inexact(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.error is not None and bool(tensor.error.any())


@dataclass(frozen=True)
class ArgmaxCandidates:
    """A query, the candidate keys for its maximal score, and their biases."""

    query: Tensor
    keys: Tensor
    bias: Tensor | None


def decide_exactly(contest: ArgmaxCandidates, dtype: np.dtype[np.floating]) -> list[int] | str:
    """Return the keys of maximal score, or the reason why they are undecided or differ in the format."""
    count = contest.keys.shape[0]
    stored = [_stored_score(contest, key) for key in range(count)]
    leader = stored.index(max(stored))
    winners = []
    for other in range(count):
        lead, doubt = (
            stored[leader] - stored[other],
            _bound_difference(contest, leader, other) * Fraction(ROUNDING_SLACK),
        )
        if lead <= doubt and doubt > 0 and other != leader:
            scores = _scores_in_format(contest, dtype)
            return f"cannot decide whether the scores {scores[leader]!s} and {scores[other]!s} are equal"
        if lead == 0:
            winners.append(other)
    computed = _scores_in_format(contest, dtype)
    losers = [other for other in range(count) if other not in winners]
    if losers and not max(computed[losers]) < min(computed[winners]):
        return f"rounds scores that differ to {computed[leader]!s} and {max(computed[losers])!s}, in the wrong order"
    return winners


def _stored_score(contest: ArgmaxCandidates, key: int) -> Fraction:
    """Return the exact score of the stored numbers."""
    pairs = zip(contest.query.value, contest.keys.value[key], strict=True)
    total = sum((Fraction(float(q)) * Fraction(float(k)) for q, k in pairs), Fraction(0))
    return total if contest.bias is None else total + Fraction(float(contest.bias.value[key]))


def _bound_difference(contest: ArgmaxCandidates, first: int, second: int) -> Fraction:
    """Bound the error of the difference of two stored scores.

    In coordinates where both keys are the same exact number, the query's error cancels.
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


def _scores_in_format(contest: ArgmaxCandidates, dtype: np.dtype[np.floating]) -> Array:
    """Return the scores as the format computes them, adding one product after the other."""
    total = np.zeros(contest.keys.shape[0], dtype=dtype)
    for c in range(contest.query.shape[0]):
        total = total + contest.query.value[c] * contest.keys.value[:, c]
    return total if contest.bias is None else total + contest.bias.value
