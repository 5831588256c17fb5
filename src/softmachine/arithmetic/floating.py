"""IEEE floating point that knows how wrong it can be.

Every number carries a bound on its distance from the number that exact arithmetic would have given: rounding errors by
the standard model (Higham, *Accuracy and Stability of Numerical Algorithms*, ch. 3), and none at all where numbers are
small integers (or small multiples of 2⁻²⁰), as most are here. A decision is taken only if the bounds allow no other, so
that a run either is the exact run or stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic.base import Arithmetic, Array, Flags, SparseRows, Tensor, UndecidedError, first_or_last
from softmachine.arithmetic.closecall import Contest, decide
from softmachine.attention import Choice
from softmachine.errors import PrecisionError

Floats = NDArray[np.float64]

_GRIDS = (0, 20)
"""Numbers that are multiples of 2^-g, for g one of these, are tried as candidates for exact arithmetic."""
_SLACK = 1 + 2.0**-30
"""Error bounds are themselves computed in float64; where they decide, this factor makes up for that."""


@dataclass(frozen=True)
class FloatOperator:
    """A matrix in the format, cut down to the columns that it reads, and what bounds the error of applying it.

    Args:
        columns: The columns that are not zero.
        weight: These columns, in the format, transposed.
        bias: The constants, in the format.
        absolute: |weight|.
        absolute_bias: |bias|.
        weight_error: How far the weights are from the exact ones; None if they are exact.
        bias_error: How far the constants are from the exact ones; None if they are exact.
        pattern: 1 where a weight is not 0.
        gamma: γ_k for the number k of terms of each row.
        exact_to: If all numbers read are integers and no partial sum exceeds this, a row is computed without rounding.
        doubling: Rows of powers of two without a constant: reading one number, they do not round.
    """

    columns: NDArray[np.intp]
    weight: Array
    bias: Array
    absolute: Floats
    absolute_bias: Floats
    weight_error: Floats | None
    bias_error: Floats | None
    pattern: Floats
    gamma: Floats
    exact_to: Floats
    doubling: Flags


class Float(Arithmetic[FloatOperator]):
    """A floating-point format with running error bounds.

    Args:
        name: "float64" or "float32".
    """

    def __init__(self, name: str = "float64") -> None:
        self.name = name
        self.dtype = np.dtype(name)
        self.digits = np.finfo(self.dtype).nmant + 1
        self.roundoff = 2.0**-self.digits

    def numbers(self, rows: Sequence[Sequence[Fraction]]) -> Tensor:
        value = np.array([[float(number) for number in row] for row in rows], dtype=np.float64).reshape(len(rows), -1)
        rounded = value.astype(self.dtype)
        error = np.zeros(value.shape)
        for (r, c), number in np.ndenumerate(rounded):
            error[r, c] = _away(number, rows[r][c])
        return Tensor(rounded, error)

    def operator(self, rows: SparseRows, columns: int, bias: Sequence[Fraction]) -> FloatOperator:
        del columns
        used = sorted({c for row in rows for c, _ in row})
        place = {c: k for k, c in enumerate(used)}
        weight, weight_error = np.zeros((len(rows), len(used)), dtype=self.dtype), np.zeros((len(rows), len(used)))
        for r, row in enumerate(rows):
            for c, exact in row:
                weight[r, place[c]] = self.dtype.type(float(exact))
                weight_error[r, place[c]] = _away(weight[r, place[c]], exact)
        constants = self.numbers([[constant] for constant in bias])[:, 0] if bias else self.numbers([[]])[0]
        absolute = np.abs(weight).astype(np.float64)
        absolute_bias = np.abs(constants.value).astype(np.float64)
        both = np.hstack([absolute, absolute_bias[:, None]])
        powers_of_two = (np.frexp(absolute)[0] == 0.5) | (absolute == 0)
        assert constants.error is not None
        return FloatOperator(
            columns=np.array(used, dtype=np.intp),
            weight=weight.T.copy(),
            bias=constants.value,
            absolute=absolute.T.copy(),
            absolute_bias=absolute_bias,
            weight_error=weight_error.T.copy() if weight_error.any() else None,
            bias_error=constants.error if constants.error.any() else None,
            pattern=(absolute > 0).T.astype(np.float64),
            gamma=self._gamma((both > 0).sum(axis=1)),
            exact_to=_unit(both).min(axis=1) * 2.0**self.digits,
            doubling=powers_of_two.all(axis=1) & (absolute_bias == 0),
        )

    def apply(self, operator: FloatOperator, x: Tensor) -> Tensor:
        assert x.error is not None
        read, inherited = x.value[..., operator.columns], x.error[..., operator.columns]
        value = read @ operator.weight + operator.bias
        size = np.abs(read).astype(np.float64, copy=False)
        total = size @ operator.absolute + operator.absolute_bias
        if (size == np.rint(size)).all() and (total <= operator.exact_to).all():
            error = inherited @ operator.absolute
        else:
            error = inherited @ operator.absolute + self._rounding(operator, size, total)
        if operator.weight_error is not None:
            error += (size + inherited) @ operator.weight_error
        if operator.bias_error is not None:
            error += operator.bias_error
        return Tensor(value, error)

    def _rounding(self, operator: FloatOperator, size: Floats, total: Floats) -> Floats:
        """How far rounding can move the result: nothing where all numbers are on a grid that the format can hold."""
        exact = operator.doubling & ((size > 0).astype(np.float64) @ operator.pattern <= 1)
        for grid in _GRIDS:
            off_grid = _off(size, grid).astype(np.float64) @ operator.pattern > 0
            exact |= ~off_grid & (total <= operator.exact_to * 2.0**-grid)
        return np.where(exact, 0.0, operator.gamma * total)

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
        value, error = np.maximum(x.value, 0), x.error.copy()
        error[x.value + x.error * _SLACK <= 0] = 0
        if steps.any():
            part, doubt = x.value[..., steps], x.error[..., steps] * _SLACK
            self._check_finite(part)
            unclear = (np.abs(part) <= doubt) & (doubt > 0)
            if unclear.any():
                b, i, _ = np.argwhere(unclear)[0]
                raise UndecidedError(int(b), int(i), [], "the sign of a step's argument is not certain")
            value[..., steps], error[..., steps] = part >= 0, 0
        return Tensor(value, error)

    def choose(self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, choice: Choice) -> Flags:
        shape = (query.shape[0], query.shape[1], key.shape[1])
        if query.shape[-1] == 0 and bias is None:
            return first_or_last(np.broadcast_to(visible, shape), choice)
        score, doubt = self._scores(query, key, bias)
        low = np.where(visible, score - doubt, -np.inf)
        possible = visible & (score + doubt >= low.max(axis=-1, keepdims=True, initial=-np.inf))
        for b, i in np.argwhere(possible.sum(axis=-1) > 1):
            keys = np.flatnonzero(possible[b, i])
            contest = Contest(query[b, i], key[b, keys], None if bias is None else bias[i, keys])
            outcome = decide(contest, self.dtype)
            if isinstance(outcome, str):
                raise UndecidedError(int(b), int(i), keys.tolist(), f"{self.name} {outcome}")
            possible[b, i] = False
            possible[b, i, keys[outcome]] = True
        return first_or_last(possible, choice)

    def mean(self, chosen: Flags, value: Tensor) -> Tensor:
        counts = chosen.sum(axis=-1)
        if (counts == 1).all():
            index = (np.arange(len(counts))[:, None], chosen.argmax(axis=-1))
            return value[index]
        weights = chosen.astype(np.float64)
        count = counts[..., None].astype(np.float64)
        some = np.maximum(count, 1)
        size = np.abs(value.value).astype(np.float64)
        total = weights @ size
        rounding = self._gamma(count) * total
        for grid in _GRIDS:
            on_grid = weights @ _off(size, grid).astype(np.float64) == 0
            rounding[on_grid & (total <= 2.0 ** (self.digits - grid))] = 0
        numerator = chosen.astype(self.dtype) @ value.value
        mean = numerator / some.astype(self.dtype)
        divided = (mean == np.rint(mean)) & (mean.astype(np.float64) * some == numerator) & (total <= 2.0**self.digits)
        error = (rounding if value.error is None else rounding + weights @ value.error) / some
        error += np.where(divided | (count == 1), 0, self.roundoff * np.abs(mean))
        return Tensor(mean, error)

    def soft(
        self, query: Tensor, key: Tensor, bias: Tensor | None, visible: Flags, scale: Tensor, value: Tensor
    ) -> Tensor:
        assert scale.error is not None
        value_error = np.zeros(value.shape) if value.error is None else value.error
        score, doubt = self._scores(query, key, bias)
        factor = scale.value[:, None].astype(np.float64)
        shifted = np.where(visible, score * factor, -np.inf)
        top = shifted.max(axis=-1, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, 0)
        doubt = doubt * np.abs(factor) + (np.abs(score) + doubt) * scale.error[:, None]
        doubt += 4 * self.roundoff * (np.abs(score * factor) + np.abs(top))
        raw = np.exp(shifted - top).astype(self.dtype)
        weights = raw.astype(np.float64)
        normaliser = weights.sum(axis=-1, keepdims=True)
        share = np.divide(weights, normaliser, out=np.zeros_like(weights), where=normaliser > 0)
        result = (share.astype(self.dtype) @ value.value).astype(self.dtype)
        # Each weight is off by at most the factor exp(±doubt), and so is their sum.
        off = share * np.expm1(np.minimum(np.where(visible, doubt, 0), 700.0))
        spread = off + share * np.minimum(off.sum(axis=-1, keepdims=True), 1e300)
        keys = key.shape[1]
        rounding = (keys + 8) * self.roundoff * (share @ np.abs(value.value).astype(np.float64))
        rounding += keys * np.finfo(self.dtype).smallest_normal
        error = share @ value_error + 2 * (spread @ (np.abs(value.value) + value_error)) + rounding
        return Tensor(result, error)

    def largest(self, x: Tensor) -> NDArray[np.intp]:
        assert x.error is not None
        self._check_finite(x.value)
        winner: NDArray[np.intp] = x.value.argmax(axis=-1)
        at = winner[..., None]
        error = x.error * _SLACK
        rivals = x.value + error >= np.take_along_axis(x.value - error, at, -1)
        np.put_along_axis(rivals, at, np.zeros_like(at, dtype=bool), -1)
        if rivals.any():
            b, i, _ = np.argwhere(rivals)[0]
            candidates = [int(winner[b, i]), *np.flatnonzero(rivals[b, i]).tolist()]
            tie = not x.error[b, i, candidates].any()
            reason = "the logits are equal" if tie else f"{self.name} cannot tell the logits apart"
            raise UndecidedError(int(b), int(i), candidates, reason, tie=tie)
        return winner

    def _scores(self, query: Tensor, key: Tensor, bias: Tensor | None) -> tuple[Floats, Floats]:
        """Scores in float64 and how far they can be from both the exact scores and those that the format computes."""
        q = query.value.astype(np.float64, copy=False)
        k = np.swapaxes(key.value, 1, 2).astype(np.float64, copy=False)
        q_size, k_size = np.abs(q), np.abs(k)
        score = q @ k
        size = q_size @ k_size
        largest = size.max(initial=0)
        self._check_finite(largest)
        if (q == np.rint(q)).all() and (k == np.rint(k)).all() and largest <= 2.0**self.digits:
            doubt = np.zeros(score.shape)
        else:
            doubt = size * (2 * self._gamma(q.shape[-1] + 1))
        if query.error is not None:
            doubt += query.error @ k_size
        if key.error is not None:
            k_error = np.swapaxes(key.error, 1, 2)
            doubt += (q_size if query.error is None else q_size + query.error) @ k_error
        if bias is not None:
            assert bias.error is not None
            score = score + bias.value
            doubt += bias.error + 2 * self.roundoff * (size + np.abs(bias.value))
        return score, doubt * _SLACK

    def _gamma(self, operations: Any) -> Floats:
        """γ_k = k u / (1 - k u): the relative error of a sum of k products, in whatever order."""
        product = np.asarray(operations, dtype=np.float64) * self.roundoff
        return np.asarray(product / (1 - product))

    def _check_finite(self, numbers: Any) -> None:
        """Where something is decided, all numbers must be in range."""
        if not np.isfinite(numbers).all():
            raise PrecisionError(f"a number left the range of {self.name}", hint="use --arithmetic exact")


def _away(rounded: np.floating, exact: Fraction) -> float:
    """An upper bound of |rounded - exact|."""
    return float(np.nextafter(float(abs(Fraction(float(rounded)) - exact)), np.inf)) if rounded != exact else 0.0


def _off(size: Floats, grid: int) -> Flags:
    scaled = size if grid == 0 else size * 2.0**grid
    return np.asarray(scaled != np.rint(scaled))


def _unit(size: Floats) -> Floats:
    """The largest power of two that divides each number; infinity for 0."""
    mantissa, exponent = np.frexp(size)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    return np.where(size > 0, np.ldexp(lowest, exponent - 53), np.inf)
