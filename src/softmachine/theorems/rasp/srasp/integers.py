"""Integers of S-RASP as signals: x and x/(n+1), and the lookups that recover one from the other.

A feed-forward layer can compare integers, but it cannot choose between two that grow with the length: it is Lipschitz.
It can choose between x/(n+1) and y/(n+1), which are bounded, and a lookup then recovers the integer. So an integer is
carried as both, as far as needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from softmachine.ir import Signal, attend, constant, named, position, stack
from softmachine.ir.gadgets import select
from softmachine.ir.primitives import ScoreDecay
from softmachine.ir.ranges import ValueRange, integer, real
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax_weighting
from softmachine.transformer.features import I_SQUARED, N_PLUS_ONE, RECIPROCAL, Feature, I, N
from softmachine.transformer.head_view import explain_sum

MAX_PIECES = 64
"""The largest number of heads that look up one integer."""
SHARPNESS = 6
"""Scaled gap of lookups, per n+1: every other key has weight at most e^(-6(n+1))."""


@dataclass(frozen=True)
class ShareAfterStart(Feature, stored_name="ShareAfterStart"):
    """The position feature 1/(n+1), and 0 at the start token."""

    @property
    def name(self) -> str:
        """The name, with an Iverson bracket for the condition."""
        return "[i>0]/(n+1)"

    def value(self, i: int, n: int) -> Fraction:
        """1/(n+1), or 0 at position 0."""
        return Fraction(int(i > 0), n + 1)

    @property
    def denominator(self) -> None:
        """No common denominator is declared."""
        return None

    @property
    def needs_length(self) -> bool:
        """True: the value depends on n."""
        return True


RAMP = I * N_PLUS_ONE**-1
SHARE = 1 / N_PLUS_ONE


@dataclass(frozen=True)
class ScaledInteger:
    """An integer x at every position; 0 at the start token.

    Args:
        low: A lower bound: a polynomial in n of degree at most 1, nowhere positive.
        high: An upper bound: likewise, nowhere negative.
        share: x/(n+1).
        value: x; None if it has not been looked up.
        square: x²; None if it has not been looked up.
    """

    low: Polynomial
    high: Polynomial
    share: Signal
    value: Signal | None
    square: Signal | None = None

    @property
    def value_range(self) -> ValueRange:
        """The value range of x."""
        return integer(self.low, self.high)

    @property
    def share_range(self) -> ValueRange:
        """The value range of x/(n+1): (a + b n)/(n+1) is at most max(a, b)."""
        return real(min(self.low.coefficients), max(self.high.coefficients))

    @property
    def pieces(self) -> tuple[int, int]:
        """The least a and b with -a·n ≤ x ≤ b·n for every n ≥ 1."""
        below, above = -self.low.at(1), self.high.at(1)
        return int(below), int(above)

    def __neg__(self) -> ScaledInteger:
        return ScaledInteger(
            -self.high, -self.low, -self.share, None if self.value is None else -self.value, self.square
        )

    def __add__(self, other: ScaledInteger) -> ScaledInteger:
        value = None if self.value is None or other.value is None else self.value + other.value
        return ScaledInteger(self.low + other.low, self.high + other.high, self.share + other.share, value)

    def __sub__(self, other: ScaledInteger) -> ScaledInteger:
        return self + -other


def position_signal() -> ScaledInteger:
    """The position i."""
    zero, length = Polynomial(0), Polynomial(0, 1)
    return ScaledInteger(zero, length, position(RAMP), position(I), position(I_SQUARED))


def constant_signal(number: int, one: Signal) -> ScaledInteger:
    """A constant; ``one`` is 1 where the constant applies, and 0 at the start token."""
    share = position(ShareAfterStart()) * number
    return ScaledInteger(Polynomial(min(number, 0)), Polynomial(max(number, 0)), share, one * number, one * number**2)


def choose_constants(condition: Signal, then: Signal, otherwise: Signal, one: Signal) -> Signal | None:
    """``then`` where a bit is 1, else ``otherwise``, if both are constants; takes no unit. None if one is not.

    Assumes that the bit is 0 where ``one`` is.
    """
    chosen, left = _constant_components(then, one), _constant_components(otherwise, one)
    if chosen is None or left is None:
        return None
    return stack(*(condition * (yes - no) + one * no for yes, no in zip(chosen, left, strict=True)))


def _constant_components(signal: Signal, one: Signal) -> list[Fraction] | None:
    """The constants of a signal whose components are constants, or constants times ``one``; otherwise None."""
    unit, factors = one.forms[0], []
    for form in signal.forms:
        atom = next(iter(form.terms), None)
        factor = form.constant if atom is None else form.terms[atom] / unit.terms.get(atom, Fraction(1))
        if atom is not None and unit * factor != form:
            return None
        factors.append(factor)
    return factors


@dataclass(frozen=True)
class IntegerLookups:
    """Lookups of integers, by hard or soft attention."""

    soft: bool

    def weighting(self, scale: Feature) -> Weighting:
        """Softmax at this scale, or hard attention, which needs none."""
        return softmax_weighting(scale) if self.soft else AVERAGE_HARD

    def lookup(self, name: str, index: Signal, read: Signal, per: Feature | None, mask: Mask) -> Signal:
        """``read`` at the position x, given x·s, where s is the feature ``per`` or 1; else at the nearest.

        The score is (2 x j - j²) · s. Gap: s.
        """
        scale = SHARPNESS * N_PLUS_ONE**2 if per else SHARPNESS * N_PLUS_ONE
        return attend(
            name,
            query=stack(2 * index, -(position(per) if per else constant(1))),
            key=stack(position(I), position(I_SQUARED)),
            value=read,
            mask=mask,
            weighting=self.weighting(scale),
            gap=per or Fraction(1),
            single_key=True,
            decay=ScoreDecay.QUADRATIC,
            explains="the position looked up",
        )

    def with_value_and_square(self, name: str, number: ScaledInteger) -> ScaledInteger:
        """The same number, with its value and its square.

        The largest position is n, so that x is looked up in pieces, one head each:
        x = Σ_k clip(x - k n, 0, n) - Σ_k clip(-x - k n, 0, n), and x² = Σ_k p_k² + 2 k n p_k for these pieces p_k.
        """
        if number.value is None:
            return self._lookup_in_pieces(name, number, number.share, SHARE, 1 - position(SHARE), Mask.ALL)
        return self._lookup_in_pieces(name, number, number.value, None, position(N), Mask.ALL)

    def prefix_sum(self, name: str, term: ScaledInteger) -> ScaledInteger:
        """The sum over all positions up to i, between i·low and i·high: a mean, then a lookup.

        Raises:
            ConstructionError: If the term may grow with the length, so that no constant number of pieces suffices.
        """
        if term.value_range.depends_on_length or term.value is None:
            raise ConstructionError(
                f"it adds integers between {term.low} and {term.high}, where n is the length: such a sum can grow "
                "faster than the length, and attention looks integers up only among positions",
                hint="add integers that are bounded by a constant, like (1 if … else 0)",
            )
        share = attend(
            f"mean of {name}",
            value=term.value,
            mask=Mask.CAUSAL,
            weighting=softmax_weighting() if self.soft else AVERAGE_HARD,
            explains=partial(explain_sum, name=name),
        )
        length = Polynomial(0, 1)
        number = ScaledInteger(length * term.low, length * term.high, constant(0), None)
        return self._lookup_in_pieces(name, number, share, RECIPROCAL, 1 - position(RECIPROCAL), Mask.CAUSAL)

    def _lookup_in_pieces(
        self, name: str, number: ScaledInteger, index: Signal, per: Feature | None, end: Signal, mask: Mask
    ) -> ScaledInteger:
        """The integer x, given x·s and e·s (``end``), where s is ``per`` and e is the last position."""
        if sum(number.pieces) > MAX_PIECES:
            raise ConstructionError(
                f"{name} lies between {number.low} and {number.high}, where n is the length; "
                f"looking it up takes {sum(number.pieces)} heads; the limit is {MAX_PIECES}"
            )
        value, share, square = constant(0), constant(0), constant(0)
        for sign, count in zip((-1, 1), number.pieces, strict=True):
            for k in range(count):
                label = f"{'-' if sign < 0 else ''}{name}" + (f", piece {k + 1}" if count > 1 else "")
                squares = position(I_SQUARED) + 2 * k * position(I * N) if k else position(I_SQUARED)
                read = stack(position(I), position(RAMP), squares)
                piece = self.lookup(f"recover {label}", sign * index - k * end, read, per, mask)
                value, share, square = value + sign * piece[0], share + sign * piece[1], square + piece[2]
        # The pieces of a prefix sum end at i, not at n, so that squares are right for the first piece only.
        squared = mask is Mask.ALL or max(number.pieces) <= 1
        if number.value is not None:
            value, share = number.value, number.share
        return ScaledInteger(
            number.low,
            number.high,
            share.with_range(number.share_range),
            named(name, value.with_range(number.value_range)),
            square if squared else None,
        )

    def with_value(self, name: str, number: ScaledInteger) -> Signal:
        """The integer itself, looked up if necessary."""
        found = number if number.value is not None else self.with_value_and_square(name, number)
        assert found.value is not None
        return found.value

    def with_square(self, name: str, number: ScaledInteger) -> tuple[Signal, Signal]:
        """The integer and its square, looked up if necessary."""
        known = number.value is not None and number.square is not None
        found = number if known else self.with_value_and_square(name, number)
        assert found.value is not None
        assert found.square is not None
        return found.value, found.square

    def choose(
        self, name: str, condition: Signal, then: ScaledInteger, otherwise: ScaledInteger, one: Signal
    ) -> ScaledInteger:
        """``then`` where a bit is 1, else ``otherwise``; only x/(n+1) is chosen if their difference is unbounded."""
        low, high = then.low.lower_bound(otherwise.low), then.high.upper_bound(otherwise.high)
        chosen = ScaledInteger(low, high, constant(0), None)
        value = None
        if then.value is not None and otherwise.value is not None:
            difference = then.value - otherwise.value
            value = choose_constants(condition, then.value, otherwise.value, one)
            if value is None and not difference.ranges[0].depends_on_length:
                value = otherwise.value + select(f"{name}: change", condition, difference, constant(0))
        shares = [number.share.with_range(number.share_range) for number in (then, otherwise)]
        share = select(f"{name}/(n+1)", condition, *shares).with_range(chosen.share_range)
        return ScaledInteger(low, high, share, None if value is None else value.with_range(chosen.value_range))
