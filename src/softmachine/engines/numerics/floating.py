"""IEEE floating point that knows how wrong it can be.

Every number carries a bound on its distance from the number that exact arithmetic would have given: rounding errors by
the standard model (Higham, *Accuracy and Stability of Numerical Algorithms*, ch. 3), and none at all where numbers are
small integers (or small multiples of 2⁻²⁰), as most are here. What underflow takes away is part of the bounds, and a
number that leaves the range stops the run. A decision is taken only if the bounds allow no other, so that a run either
is the exact run or stops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softmachine.engines.numerics import rounding
from softmachine.engines.numerics.base import (
    Affine,
    Arithmetic,
    Array,
    Family,
    Flags,
    Floats,
    Map,
    SparseRows,
    Sum,
    Tensor,
    UndecidedError,
    replaced,
)
from softmachine.engines.numerics.nearest import Near, nearest, well_known
from softmachine.engines.numerics.network import FloatNetwork, Place
from softmachine.engines.numerics.operator import FLOOR, SLACK, FloatOperator, floored
from softmachine.engines.numerics.scores import Contest, FloatScores, decide, products
from softmachine.engines.numerics.softmax import FloatShares, exponentials, exponents
from softmachine.support.errors import PrecisionError, Remedy

_ROUNDED = 2.0**-52
"""What one operation of float64 adds to an error, relatively, and more."""
_MOST_PLACES = 4096
"""So many places are looked at together."""
_MOST_SCORES = 2**17
"""So many scores of a softmax are computed together."""


class Float(Arithmetic):
    """A floating-point format with running error bounds.

    Args:
        name: "float64" or "float32".
    """

    def __init__(self, name: str = "float64") -> None:
        self.name = name
        self.dtype = np.dtype(name)
        self.digits = np.finfo(self.dtype).nmant + 1
        self.roundoff = 2.0**-self.digits
        self.most = float(np.finfo(self.dtype).max)
        self.least = float(np.finfo(self.dtype).smallest_normal)
        self._rounded = lru_cache(maxsize=1 << 14)(self._nearest)

    @property
    def negligible(self) -> float:
        """Smaller shares of attention count as zero: those of many keys together are far below a rounding."""
        return max(self.least, 2.0**-144)

    def numbers(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        shape = (len(rows), len(rows[0]) if rows else 0)
        pairs = [self._rounded(*number.as_integer_ratio()) for row in rows for number in row]
        value, error = np.array(pairs, dtype=np.float64).reshape(*shape, 2).transpose(2, 0, 1)
        return Tensor(value.astype(self.dtype), error.copy())

    def _nearest(self, over: int, under: int) -> tuple[np.floating, float]:
        """A fraction in the format, and an upper bound of how far that is from it."""
        try:
            nearest = over / under
        except OverflowError:
            nearest = math.inf
        if abs(nearest) > self.most:  # it may be rounded down to that
            with np.errstate(over="ignore"):
                self._check_finite(self.dtype.type(nearest))
        value = self.dtype.type(nearest)
        return value, distance(value, over, under)

    def operator(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> Map:
        return partial(self.apply, self._operator((rows, columns, bias)))

    def _operator(self, affine: Affine) -> FloatOperator:
        rows, _, bias = affine
        used = sorted({c for row in rows for c, _ in row})
        place = {c: k for k, c in enumerate(used)}
        weight, weight_error = np.zeros((len(rows), len(used)), dtype=self.dtype), np.zeros((len(rows), len(used)))
        for r, row in enumerate(rows):
            for c, exact in row:
                weight[r, place[c]], weight_error[r, place[c]] = self._rounded(*exact.as_integer_ratio())
        columns_read = np.array(used, dtype=np.intp)
        return FloatOperator.of(columns_read, Tensor(weight, weight_error), self.numbers([bias])[0], self.digits)

    def apply(self, operator: FloatOperator, x: Tensor) -> Tensor:
        """The map applied to the last axis."""
        assert x.error is not None
        read, inherited = x.value[..., operator.columns], x.error[..., operator.columns]
        value = read @ operator.weight + operator.bias
        size = np.abs(read).astype(np.float64, copy=False)
        whole = bool((size == np.rint(size)).all())
        if whole and operator.exact and not inherited.any() and operator.keeps(size):
            return Tensor(value, np.zeros(value.shape))
        total = size @ operator.absolute + operator.absolute_bias
        error = operator.inherited(inherited)
        if not (whole and (total < operator.exact_to).all()):
            error += rounding.of_map(operator, size, total, read, value, self.least)
        if operator.weight_error is not None:
            error += (size + inherited) @ operator.weight_error
        if operator.bias_error is not None:
            error += operator.bias_error
        return Tensor(value, error)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum; the rounding error of a sum is itself a float, which Knuth's TwoSum computes."""
        total = x.value + y.value
        of_y = total - x.value
        rounding = np.abs((x.value - (total - of_y)) + (y.value - of_y)).astype(np.float64)
        assert x.error is not None
        assert y.error is not None
        return Tensor(total, x.error + y.error + rounding)

    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        assert x.error is not None
        self._check_finite(x.value.min(initial=0))  # all that ReLU would hide; it keeps positive infinity
        value, error = np.maximum(x.value, 0), x.error.copy()
        error[x.value + x.error * SLACK <= 0] = 0
        if steps.any():
            part, doubt = x.value[..., steps], x.error[..., steps] * SLACK
            unclear = ~(np.abs(part) > doubt) & (doubt != 0)
            if unclear.any():
                b, i, _ = np.argwhere(unclear)[0]
                raise UndecidedError(int(b), int(i), [], "the sign of a step's argument is not certain")
            value[..., steps], error[..., steps] = part >= 0, 0
        return Tensor(value, error)

    def norm(self, x: Tensor) -> Tensor:
        """Of one number its sign, exactly; of several, with the bound |δy| ≤ (|δx| + |y| δr) / (r - δr), r their root.

        The mean of squares changes its root by at most the largest error; the format's own rounding comes on top.
        """
        assert x.error is not None
        if x.shape[-1] == 1:
            doubt = x.error * SLACK
            unclear = ~(np.abs(x.value) > doubt) & (doubt != 0)
            if unclear.any():
                b, i, _ = np.argwhere(unclear)[0]
                raise UndecidedError(int(b), int(i), [], "the sign of what is normalised is not certain")
            return Tensor(np.sign(x.value), np.zeros(x.shape))
        if self.name != "float64":
            return super().norm(x)
        root = np.sqrt(np.mean(x.value * x.value, axis=-1, keepdims=True))
        shift = np.max(x.error, axis=-1, keepdims=True) * SLACK
        unclear = ~(root * (1 - _ROUNDED) > 2 * shift) & ((shift > 0) | (root > 0))
        if unclear.any():
            b, i, _ = np.argwhere(unclear)[0]
            raise UndecidedError(int(b), int(i), [], "the layer norm of numbers near 0 is not certain")
        safe = np.where(root > 0, root, 1.0)
        value = x.value / safe
        error = (x.error + np.abs(value) * shift) / (safe - shift) * SLACK
        return Tensor(value, error + np.abs(value) * (x.shape[-1] + 8) * _ROUNDED)

    def adding(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> Sum:
        written, second = self._writing((rows, columns, bias))
        return lambda x, y: replaced(x, written, self.add(x[..., written], self.apply(second, y)))

    def _writing(self, affine: Affine) -> tuple[NDArray[np.intp], FloatOperator]:
        """The rows of a map that have a weight or a constant, and the map to these alone."""
        rows, columns, bias = affine
        written = [r for r, row in enumerate(rows) if row or bias[r]]
        part = [rows[r] for r in written], columns, [bias[r] for r in written]
        return np.array(written, dtype=np.intp), self._operator(part)

    def network(self, first: Affine, steps: Flags, second: Affine) -> Map:
        written, back = self._writing(second)
        return partial(self._feed, FloatNetwork.of(self._operator(first), steps, back, written))

    def _feed(self, network: FloatNetwork, x: Tensor) -> Tensor:
        before = self.apply(network.first, x)
        hidden = self.activate(before, network.steps)
        added = self.apply(network.second, hidden)
        result = self.add(x[..., network.written], added)
        assert x.error is not None
        assert result.error is not None
        batch, positions = np.nonzero(x.error[..., network.cancelling].any(axis=-1))
        for start in range(0, len(batch), _MOST_PLACES):
            some = (batch[start : start + _MOST_PLACES], positions[start : start + _MOST_PLACES])
            at = Place(*(part[some] for part in (x, before, hidden, added, result)))
            where = (some[0][:, None], some[1][:, None], network.gaining)
            result.error[where] = np.minimum(result.error[where], network.correlated(at))
        return replaced(x, network.written, result)

    def best(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        scores = self._scores(query, key, bias)
        possible = scores.candidates(visible)
        for b, i in scores.unsure(possible):
            keys = np.flatnonzero(possible[b, i])
            if bias is None and _equal_rows(key[b, keys]):
                continue
            assert scores.doubt is not None
            self._check_finite(scores.doubt[b, i, keys])
            contest = Contest(query[b, i], key[b, keys], None if bias is None else bias[i, keys])
            outcome = decide(contest, self.dtype)
            if isinstance(outcome, str):
                raise UndecidedError(int(b), int(i), keys.tolist(), f"{self.name} {outcome}")
            possible[b, i] = False
            possible[b, i, keys[outcome]] = True
        return possible

    def certain_scores(self, query: Tensor, key: Tensor) -> Array | None:
        """Scores that are exact: sums of integers that the format can hold."""
        scores = self._scores(query, key, None)
        return scores.value if scores.doubt is None else None

    def mean(self, chosen: Flags, value: Tensor) -> Tensor:
        counts = chosen.sum(axis=-1)
        if (counts == 1).all():
            return value[np.arange(value.shape[0])[:, None], chosen.argmax(axis=-1)]
        some = np.maximum(counts[..., None], 1).astype(np.float64)
        weights = chosen.astype(np.float64)
        numerator = chosen.astype(self.dtype) @ value.value
        mean = numerator / some.astype(self.dtype)
        error = rounding.of_sum(weights, some, np.abs(value.value).astype(np.float64), self.digits)
        if value.error is not None and value.error.any():
            error = error + weights @ value.error
        moved = rounding.of_quotient(numerator, some, mean, self.roundoff, self.least)
        return Tensor(mean, floored(error) / some + moved)

    def soft(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor) -> Map:
        """Some sequences at a time, so that their scores stay in the cache; without scores, the mean of all keys."""
        if query.shape[-1] == 0 and bias is None:
            return partial(self.mean, visible[None])
        together = max(1, _MOST_SCORES // max(1, query.shape[1] * key.shape[1]))
        blocks = [slice(start, start + together) for start in range(0, query.shape[0], together)]
        return partial(self._mix, [self._shares(query[block], key[block], bias, visible, scale) for block in blocks])

    def _shares(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor) -> FloatShares:
        """Of one sequence, those of keys that matter, if most do not."""
        score, near = products(query, key, bias), None
        if well_known(query, key, bias, scale, self.digits):
            near = nearest(score, visible, scale, self.negligible)
        if near is not None:
            key, bias = key[:, near.keys], None if bias is None else bias[:, near.keys]
            score, visible = score[..., near.keys], visible[:, near.keys]
        return self._bounded(self._scores(query, key, bias, known=score), query, key, bias, visible, scale, near)

    def _bounded(
        self,
        scores: FloatScores,
        query: Tensor,
        key: Tensor,
        bias: Tensor | None,
        visible: Flags,
        scale: Tensor,
        near: Near | None,
    ) -> FloatShares:
        """The shares of keys; how far they are off follows from how far each score is off beside the largest."""
        assert scale.error is not None
        factor = scale.value[:, None].astype(np.float64)
        exponent, top, largest = exponents(scores.value, visible, scale)
        if not scores.largest * np.abs(factor).max(initial=0) <= self.most / 2:
            self._check_finite(np.abs(scores.value * factor).max(initial=0))
        doubt = self._exponent_doubt(scores, largest, factor)
        inherited = scores.beside(top, query, key, bias)
        if inherited is not None:
            doubt += inherited * (np.abs(factor) + scale.error[:, None])
        if scale.error.any():
            doubt += np.abs(scores.value - largest) * scale.error[:, None]
        # Keys whose weight is negligible beyond doubt.
        np.copyto(doubt, 0, where=~(exponent + doubt >= math.log(self.negligible)))
        np.put_along_axis(doubt, top[..., None], 0, -1)
        weight = exponentials(exponent, self.negligible)
        stored = weight.astype(self.dtype, copy=False).astype(np.float64, copy=False)
        return FloatShares.of(stored, doubt, visible, self.negligible, near)

    def _exponent_doubt(self, scores: FloatScores, largest: Floats, factor: Floats) -> Floats:
        """How far a format's scaled scores, less the largest, and their exponentials are off by its own rounding.

        Powers of two scale without rounding; and where the format's scores are the same, so is what it makes of them.
        """
        exact = scores.rounding is None
        if exact and (np.frexp(factor)[0] == 0.5).all():
            doubt = np.abs(scores.value - largest)
        else:
            doubt = np.abs(scores.value)
            doubt += np.abs(largest)
        doubt *= np.abs(factor) * (4 * self.roundoff)
        doubt += 4 * self.roundoff
        if exact:
            np.copyto(doubt, 0, where=scores.value == largest)
        return doubt

    def _mix(self, shares: list[FloatShares], value: Tensor) -> Tensor:
        if len(shares) == 1:
            return self._mixed(shares[0], value)
        ends = [0, *accumulate(len(block.share) for block in shares)]
        pairs = zip(shares, pairwise(ends), strict=True)
        parts = [self._mixed(block, value[start:end]) for block, (start, end) in pairs]
        return Tensor(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("value", "error")))

    def _mixed(self, shares: FloatShares, value: Tensor) -> Tensor:
        result, moved = self.weighted(shares.of_all, value)
        return Tensor(result, shares.error(value) + moved)

    def weighted(self, share: Floats, value: Tensor) -> tuple[Array, Floats | float]:
        """The mean with these weights; and how far it moved beyond what a few roundings of float64 explain.

        In formats smaller than float64 that is measured, by computing it once more in float64.
        """
        if self.dtype == np.float64:
            return share @ value.value, 0.0
        result = (share.astype(self.dtype) @ value.value).astype(self.dtype)
        return result, np.abs(result - share @ value.value.astype(np.float64))

    def largest(self, x: Tensor) -> NDArray[np.intp]:
        assert x.error is not None
        self._check_finite(x.value)
        winner: NDArray[np.intp] = x.value.argmax(axis=-1)
        at = winner[..., None]
        error = x.error * SLACK
        rivals = ~(x.value + error < np.take_along_axis(x.value - error, at, -1))
        np.put_along_axis(rivals, at, np.zeros_like(at, dtype=bool), -1)
        if rivals.any():
            b, i, _ = np.argwhere(rivals)[0]
            candidates = [int(winner[b, i]), *np.flatnonzero(rivals[b, i]).tolist()]
            tie = not x.error[b, i, candidates].any()
            reason = "the logits are equal" if tie else f"{self.name} cannot tell the logits apart"
            raise UndecidedError(int(b), int(i), candidates, reason, tie=tie)
        return winner

    def _scores(self, query: Tensor, key: Tensor, bias: Tensor | None, *, known: Floats | None = None) -> FloatScores:
        """The scores that are compared; or, if they are known, how far their differences can be off."""
        compared = known is None
        scores = FloatScores.of(query, key, bias, self.digits, self.least, compared=compared, known=known)
        self._check_finite(scores.largest)
        return scores

    def _check_finite(self, numbers: ArrayLike) -> None:
        """Where something is decided, all numbers must be in range."""
        if not np.all(np.abs(numbers) <= self.most):
            raise PrecisionError(f"a number left the range of {self.name}", hint=Remedy("use {}", arithmetic="exact"))


def distance(value: np.floating, over: int, under: int) -> float:
    """An upper bound of how far a number is from a fraction; 0 only if it is that."""
    stored, unit = float(value).as_integer_ratio()
    steps = abs(stored * under - over * unit)
    return max(math.nextafter(steps / (unit * under), math.inf), FLOOR) if steps else 0.0


def _equal_rows(keys: Tensor) -> bool:
    """Whether keys are the same and exact, so that their scores are tied, whatever the query is."""
    exact = keys.error is None or not keys.error.any()
    return bool(exact and (keys.value == keys.value[0]).all())


ARITHMETIC = Family(
    lambda name: Float(name) if name in ("float64", "float32") else None, ("float64", "float32"), order=1
)
