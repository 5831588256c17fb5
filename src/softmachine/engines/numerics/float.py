"""float64 and float32 with running error bounds.

Every number carries a bound on its distance from the exact result: rounding errors by the standard model (Higham,
*Accuracy and Stability of Numerical Algorithms*, ch. 3), and none where all numbers are small integers (or small
multiples of 2⁻²⁰), as most are in compiled models. The bounds include underflow; overflow raises an error. A decision
is made only if the bounds leave a single outcome, so a run either equals the exact run or stops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softmachine.engines.numerics.base import (
    Arithmetic,
    ArithmeticFamily,
    Array,
    Flags,
    Floats,
    SparseAffine,
    SparseRows,
    Tensor,
    TensorMap,
    TensorSum,
    UndecidedError,
    replace_coordinates,
)
from softmachine.engines.numerics.float_affine import (
    MIN_ERROR,
    ROUNDING_SLACK,
    FloatAffine,
    bound_map_rounding,
    bound_quotient_rounding,
    bound_sum_rounding,
    raise_to_min_error,
)
from softmachine.engines.numerics.float_mlp import FloatMlp, MlpActivations
from softmachine.engines.numerics.float_scores import ArgmaxCandidates, ScoresWithBounds, compute_scores, decide_exactly
from softmachine.engines.numerics.float_softmax import (
    KeptKeys,
    SoftmaxWeights,
    can_prune,
    exponentiate,
    prune_negligible_keys,
    scaled_exponents,
)
from softmachine.support.errors import FixHint, PrecisionError

_ROUNDED = 2.0**-52
"""Upper bound of the relative error of one float64 operation."""
_MAX_CHUNK_POSITIONS = 4096
"""Positions per chunk of the correlated error bound, to limit memory."""
_MAX_CHUNK_SCORES = 2**17
"""Scores per chunk of a softmax, to stay in the processor cache."""


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
        self.max_value = float(np.finfo(self.dtype).max)
        self.min_normal = float(np.finfo(self.dtype).smallest_normal)
        self._rounded = lru_cache(maxsize=1 << 14)(self._nearest)

    @property
    def negligible_weight(self) -> float:
        """Smaller attention weights count as zero; even the sum of many is far below one rounding error."""
        return max(self.min_normal, 2.0**-144)

    def convert(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        shape = (len(rows), len(rows[0]) if rows else 0)
        pairs = [self._rounded(*number.as_integer_ratio()) for row in rows for number in row]
        value, error = np.array(pairs, dtype=np.float64).reshape(*shape, 2).transpose(2, 0, 1)
        return Tensor(value.astype(self.dtype), error.copy())

    def _nearest(self, over: int, under: int) -> tuple[np.floating, float]:
        """Round a fraction to the format; return the result and a bound of its error."""
        try:
            nearest = over / under
        except OverflowError:
            nearest = math.inf
        if abs(nearest) > self.max_value:  # the cast may still round it down to the largest number
            with np.errstate(over="ignore"):
                self._check_finite(self.dtype.type(nearest))
        value = self.dtype.type(nearest)
        return value, bound_distance(value, over, under)

    def compile_affine(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> TensorMap:
        return partial(self.apply, self._operator((rows, columns, bias)))

    def _operator(self, affine: SparseAffine) -> FloatAffine:
        rows, _, bias = affine
        used = sorted({c for row in rows for c, _ in row})
        place = {c: k for k, c in enumerate(used)}
        weight, weight_error = np.zeros((len(rows), len(used)), dtype=self.dtype), np.zeros((len(rows), len(used)))
        for r, row in enumerate(rows):
            for c, exact in row:
                weight[r, place[c]], weight_error[r, place[c]] = self._rounded(*exact.as_integer_ratio())
        columns_read = np.array(used, dtype=np.intp)
        return FloatAffine.prepare(columns_read, Tensor(weight, weight_error), self.convert([bias])[0], self.digits)

    def apply(self, operator: FloatAffine, x: Tensor) -> Tensor:
        """Apply an affine map to the last axis."""
        assert x.error is not None
        read, inherited = x.value[..., operator.columns], x.error[..., operator.columns]
        value = read @ operator.weight + operator.bias
        size = np.abs(read).astype(np.float64, copy=False)
        whole = bool((size == np.rint(size)).all())
        if whole and operator.is_exact and not inherited.any() and operator.is_exact_for(size):
            return Tensor(value, np.zeros(value.shape))
        total = size @ operator.absolute + operator.absolute_bias
        error = operator.propagate_error(inherited)
        if not (whole and (total < operator.exact_to).all()):
            error += bound_map_rounding(operator, size, total, read, value, self.min_normal)
        if operator.weight_error is not None:
            error += (size + inherited) @ operator.weight_error
        if operator.bias_error is not None:
            error += operator.bias_error
        return Tensor(value, error)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum; its rounding error is itself a float, computed by Knuth's TwoSum."""
        total = x.value + y.value
        of_y = total - x.value
        rounding = np.abs((x.value - (total - of_y)) + (y.value - of_y)).astype(np.float64)
        assert x.error is not None
        assert y.error is not None
        return Tensor(total, x.error + y.error + rounding)

    def activate(self, x: Tensor, steps: Flags) -> Tensor:
        assert x.error is not None
        self._check_finite(x.value.min(initial=0))  # ReLU hides NaN and -∞, and keeps +∞
        value, error = np.maximum(x.value, 0), x.error.copy()
        error[x.value + x.error * ROUNDING_SLACK <= 0] = 0
        if steps.any():
            part, doubt = x.value[..., steps], x.error[..., steps] * ROUNDING_SLACK
            unclear = ~(np.abs(part) > doubt) & (doubt != 0)
            if unclear.any():
                b, i, _ = np.argwhere(unclear)[0]
                raise UndecidedError(int(b), int(i), [], "the sign of a step's argument is undecided")
            value[..., steps], error[..., steps] = part >= 0, 0
        return Tensor(value, error)

    def norm(self, x: Tensor) -> Tensor:
        """Normalise: one number to its exact sign; several with the bound |δy| ≤ (|δx| + |y| δr) / (r - δr).

        Here r is the root mean square, whose error δr is at most the largest error; rounding errors are added.
        """
        assert x.error is not None
        if x.shape[-1] == 1:
            doubt = x.error * ROUNDING_SLACK
            unclear = ~(np.abs(x.value) > doubt) & (doubt != 0)
            if unclear.any():
                b, i, _ = np.argwhere(unclear)[0]
                raise UndecidedError(int(b), int(i), [], "the sign of the normalised number is undecided")
            return Tensor(np.sign(x.value), np.zeros(x.shape))
        if self.name != "float64":
            return super().norm(x)
        root = np.sqrt(np.mean(x.value * x.value, axis=-1, keepdims=True))
        shift = np.max(x.error, axis=-1, keepdims=True) * ROUNDING_SLACK
        unclear = ~(root * (1 - _ROUNDED) > 2 * shift) & ((shift > 0) | (root > 0))
        if unclear.any():
            b, i, _ = np.argwhere(unclear)[0]
            raise UndecidedError(int(b), int(i), [], "the layer norm of numbers near 0 is undecided")
        safe = np.where(root > 0, root, 1.0)
        value = x.value / safe
        error = (x.error + np.abs(value) * shift) / (safe - shift) * ROUNDING_SLACK
        return Tensor(value, error + np.abs(value) * (x.shape[-1] + 8) * _ROUNDED)

    def compile_residual_affine(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> TensorSum:
        written, second = self._prepare_written((rows, columns, bias))
        return lambda x, y: replace_coordinates(x, written, self.add(x[..., written], self.apply(second, y)))

    def _prepare_written(self, affine: SparseAffine) -> tuple[NDArray[np.intp], FloatAffine]:
        """Return the nonzero rows of a map, and the map restricted to them."""
        rows, columns, bias = affine
        written = [r for r, row in enumerate(rows) if row or bias[r]]
        part = [rows[r] for r in written], columns, [bias[r] for r in written]
        return np.array(written, dtype=np.intp), self._operator(part)

    def compile_network(self, first: SparseAffine, steps: Flags, second: SparseAffine) -> TensorMap:
        written, back = self._prepare_written(second)
        return partial(self._feed_forward, FloatMlp.prepare(self._operator(first), steps, back, written))

    def _feed_forward(self, network: FloatMlp, x: Tensor) -> Tensor:
        before = self.apply(network.first, x)
        hidden = self.activate(before, network.steps)
        added = self.apply(network.second, hidden)
        result = self.add(x[..., network.written], added)
        assert x.error is not None
        assert result.error is not None
        batch, positions = np.nonzero(x.error[..., network.cancelling].any(axis=-1))
        for start in range(0, len(batch), _MAX_CHUNK_POSITIONS):
            some = (batch[start : start + _MAX_CHUNK_POSITIONS], positions[start : start + _MAX_CHUNK_POSITIONS])
            at = MlpActivations(*(part[some] for part in (x, before, hidden, added, result)))
            where = (some[0][:, None], some[1][:, None], network.gaining)
            result.error[where] = np.minimum(result.error[where], network.bound_correlated_error(at))
        return replace_coordinates(x, network.written, result)

    def select_best_keys(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags) -> Flags:
        scores = self._scores(query, key, bias)
        possible = scores.candidates(visible)
        for b, i in scores.undecided_queries(possible):
            keys = np.flatnonzero(possible[b, i])
            if bias is None and _equal_rows(key[b, keys]):
                continue
            assert scores.error_bound is not None
            self._check_finite(scores.error_bound[b, i, keys])
            contest = ArgmaxCandidates(query[b, i], key[b, keys], None if bias is None else bias[i, keys])
            outcome = decide_exactly(contest, self.dtype)
            if isinstance(outcome, str):
                raise UndecidedError(int(b), int(i), keys.tolist(), f"{self.name} {outcome}")
            possible[b, i] = False
            possible[b, i, keys[outcome]] = True
        return possible

    def exact_scores(self, query: Tensor, key: Tensor) -> Array | None:
        """Return the scores if they are exact, as sums of integers within the format's precision are."""
        scores = self._scores(query, key, None)
        return scores.value if scores.error_bound is None else None

    def average(self, chosen: Flags, value: Tensor) -> Tensor:
        counts = chosen.sum(axis=-1)
        if (counts == 1).all():
            return value[np.arange(value.shape[0])[:, None], chosen.argmax(axis=-1)]
        some = np.maximum(counts[..., None], 1).astype(np.float64)
        weights = chosen.astype(np.float64)
        numerator = chosen.astype(self.dtype) @ value.value
        mean = numerator / some.astype(self.dtype)
        error = bound_sum_rounding(weights, some, np.abs(value.value).astype(np.float64), self.digits)
        if value.error is not None and value.error.any():
            error = error + weights @ value.error
        moved = bound_quotient_rounding(numerator, some, mean, self.roundoff, self.min_normal)
        return Tensor(mean, raise_to_min_error(error) / some + moved)

    def softmax_attention(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor
    ) -> TensorMap:
        """Compute softmax attention in chunks of sequences that fit the cache; without scores, the mean of all keys."""
        if query.shape[-1] == 0 and bias is None:
            return partial(self.average, visible[None])
        together = max(1, _MAX_CHUNK_SCORES // max(1, query.shape[1] * key.shape[1]))
        blocks = [slice(start, start + together) for start in range(0, query.shape[0], together)]
        return partial(
            self._mix, [self._softmax_weights(query[block], key[block], bias, visible, scale) for block in blocks]
        )

    def _softmax_weights(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor
    ) -> SoftmaxWeights:
        """Return the attention weights; of one sequence, only of non-negligible keys, if these are a minority."""
        score, near = compute_scores(query, key, bias), None
        if can_prune(query, key, bias, scale, self.digits):
            near = prune_negligible_keys(score, visible, scale, self.negligible_weight)
        if near is not None:
            key, bias = key[:, near.keys], None if bias is None else bias[:, near.keys]
            score, visible = score[..., near.keys], visible[:, near.keys]
        return self._bound_weights(self._scores(query, key, bias, known=score), query, key, bias, visible, scale, near)

    def _bound_weights(
        self,
        scores: ScoresWithBounds,
        query: Tensor,
        key: Tensor,
        bias: Tensor | None,
        visible: Flags,
        scale: Tensor,
        near: KeptKeys | None,
    ) -> SoftmaxWeights:
        """Return attention weights with bounds, from the errors of score differences to the largest score."""
        assert scale.error is not None
        factor = scale.value[:, None].astype(np.float64)
        exponent, top, largest = scaled_exponents(scores.value, visible, scale)
        if not scores.largest * np.abs(factor).max(initial=0) <= self.max_value / 2:
            self._check_finite(np.abs(scores.value * factor).max(initial=0))
        doubt = self._exponent_doubt(scores, largest, factor)
        inherited = scores.bound_differences(top, query, key, bias)
        if inherited is not None:
            doubt += inherited * (np.abs(factor) + scale.error[:, None])
        if scale.error.any():
            doubt += np.abs(scores.value - largest) * scale.error[:, None]
        # Keys whose weight is certainly negligible.
        np.copyto(doubt, 0, where=~(exponent + doubt >= math.log(self.negligible_weight)))
        np.put_along_axis(doubt, top[..., None], 0, -1)
        weight = exponentiate(exponent, self.negligible_weight)
        stored = weight.astype(self.dtype, copy=False).astype(np.float64, copy=False)
        return SoftmaxWeights.of(stored, doubt, visible, self.negligible_weight, near)

    def _exponent_doubt(self, scores: ScoresWithBounds, largest: Floats, factor: Floats) -> Floats:
        """Bound the rounding error of scaled scores minus the largest, and of their exponentials.

        Scaling by powers of two does not round, and equal exact scores have difference 0.
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

    def _mix(self, shares: list[SoftmaxWeights], value: Tensor) -> Tensor:
        if len(shares) == 1:
            return self._weighted_mean(shares[0], value)
        ends = [0, *accumulate(len(block.weight) for block in shares)]
        pairs = zip(shares, pairwise(ends), strict=True)
        parts = [self._weighted_mean(block, value[start:end]) for block, (start, end) in pairs]
        return Tensor(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("value", "error")))

    def _weighted_mean(self, shares: SoftmaxWeights, value: Tensor) -> Tensor:
        result, moved = self.weighted_mean(shares.over_all_keys, value)
        return Tensor(result, shares.bound_mean_error(value) + moved)

    def weighted_mean(self, share: Floats, value: Tensor) -> tuple[Array, Floats | float]:
        """Return the weighted mean, and its error beyond a few float64 roundings.

        In formats smaller than float64 the error is measured by recomputing the mean in float64.
        """
        if self.dtype == np.float64:
            return share @ value.value, 0.0
        result = (share.astype(self.dtype) @ value.value).astype(self.dtype)
        return result, np.abs(result - share @ value.value.astype(np.float64))

    def argmax(self, x: Tensor) -> NDArray[np.intp]:
        assert x.error is not None
        self._check_finite(x.value)
        winner: NDArray[np.intp] = x.value.argmax(axis=-1)
        at = winner[..., None]
        error = x.error * ROUNDING_SLACK
        rivals = ~(x.value + error < np.take_along_axis(x.value - error, at, -1))
        np.put_along_axis(rivals, at, np.zeros_like(at, dtype=bool), -1)
        if rivals.any():
            b, i, _ = np.argwhere(rivals)[0]
            candidates = [int(winner[b, i]), *np.flatnonzero(rivals[b, i]).tolist()]
            tie = not x.error[b, i, candidates].any()
            reason = "the logits are equal" if tie else f"{self.name} cannot distinguish the logits"
            raise UndecidedError(int(b), int(i), candidates, reason, tie=tie)
        return winner

    def _scores(
        self, query: Tensor, key: Tensor, bias: Tensor | None, *, known: Floats | None = None
    ) -> ScoresWithBounds:
        """Return scores with error bounds for comparisons; for ``known`` scores, with bounds of their differences."""
        compared = known is None
        scores = ScoresWithBounds.of(query, key, bias, self.digits, self.min_normal, compared=compared, known=known)
        self._check_finite(scores.largest)
        return scores

    def _check_finite(self, numbers: ArrayLike) -> None:
        """Require that all numbers are in the range of the format."""
        if not np.all(np.abs(numbers) <= self.max_value):
            raise PrecisionError(
                f"a number is outside the range of {self.name}", hint=FixHint("use {}", arithmetic="exact")
            )


def bound_distance(value: np.floating, over: int, under: int) -> float:
    """Return an upper bound of the distance of a number from a fraction; 0 only if they are equal."""
    stored, unit = float(value).as_integer_ratio()
    steps = abs(stored * under - over * unit)
    return max(math.nextafter(steps / (unit * under), math.inf), MIN_ERROR) if steps else 0.0


def _equal_rows(keys: Tensor) -> bool:
    """Whether keys are equal and exact, so that their scores tie for every query."""
    exact = keys.error is None or not keys.error.any()
    return bool(exact and (keys.value == keys.value[0]).all())


ARITHMETIC = ArithmeticFamily(
    lambda name: Float(name) if name in ("float64", "float32") else None, ("float64", "float32"), order=1
)
