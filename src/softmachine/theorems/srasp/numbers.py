"""Integers of S-RASP as signals.

A feed-forward layer can compare integers, but it cannot choose between two that grow with the length: it is Lipschitz.
It can choose between x/(n+1) and y/(n+1), which are bounded, and a lookup then finds the integer again. So an integer
is carried as both, as far as it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Signal, attend, constant, named, position, stack
from softmachine.ir.gadgets import select
from softmachine.ir.kinds import Kind, integer, real
from softmachine.ir.primitives import Fall
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Bound
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax
from softmachine.transformer.features import I_SQUARED, INVERSE, LENGTH, Feature, I, N

MOST_PIECES = 64
SHARPNESS = 6
"""Softmax weighs what an integer is found by so that others have weight at most e^(-6(n+1)) each."""


@dataclass(frozen=True)
class ShareAfterStart(Feature):
    """1/(n+1), and 0 at the start token."""

    @property
    def name(self) -> str:
        """With a bracket for the condition."""
        return "[i>0]/(n+1)"

    def value(self, i: int, n: int) -> Fraction:
        """The share."""
        return Fraction(int(i > 0), n + 1)

    @property
    def over(self) -> None:
        """Nothing is promised."""
        return None

    @property
    def needs_length(self) -> bool:
        """It is a share of the length."""
        return True


RAMP = I * LENGTH**-1
SHARE = 1 / LENGTH


@dataclass(frozen=True)
class Number:
    """An integer x at every position; 0 at the start token.

    Args:
        low: No value is below this; a polynomial in n, of degree 1 at most and nowhere positive.
        high: No value is above this; likewise, and nowhere negative.
        share: x/(n+1).
        value: x; None if it is yet to be found.
        square: x²; None if it is yet to be found.
    """

    low: Bound
    high: Bound
    share: Signal
    value: Signal | None
    square: Signal | None = None

    @property
    def kind(self) -> Kind:
        """What is known of x."""
        return integer(self.low, self.high)

    @property
    def share_kind(self) -> Kind:
        """What is known of x/(n+1): (a + b n)/(n+1) is at most max(a, b)."""
        return real(min(self.low.coefficients), max(self.high.coefficients))

    @property
    def pieces(self) -> tuple[int, int]:
        """How many times n the size of x is at most, below 0 and above, for every n ≥ 1."""
        below, above = -self.low.at(1), self.high.at(1)
        return int(below), int(above)

    def __neg__(self) -> Number:
        return Number(
            self.high * -1, self.low * -1, -self.share, None if self.value is None else -self.value, self.square
        )

    def __add__(self, other: Number) -> Number:
        value = None if self.value is None or other.value is None else self.value + other.value
        return Number(self.low + other.low, self.high + other.high, self.share + other.share, value)

    def __sub__(self, other: Number) -> Number:
        return self + -other


def here() -> Number:
    """The position i."""
    zero, length = Bound.of(0), Bound.length()
    return Number(zero, length, position(RAMP), position(I), position(I_SQUARED))


def whole(number: int, one: Signal) -> Number:
    """A constant; ``one`` is 1 wherever it is to be the constant, and 0 at the start token."""
    share = position(ShareAfterStart()) * number
    return Number(Bound.of(min(number, 0)), Bound.of(max(number, 0)), share, one * number, one * number**2)


def choose_constants(condition: Signal, then: Signal, otherwise: Signal, one: Signal) -> Signal | None:
    """``then`` where a bit is 1, else ``otherwise``, if both are constants; it takes no unit. None if one is not.

    Assumes that the bit is 0 where ``one`` is.
    """
    chosen, left = _multiples(then, one), _multiples(otherwise, one)
    if chosen is None or left is None:
        return None
    return stack(*(condition * (yes - no) + one * no for yes, no in zip(chosen, left, strict=True)))


def _multiples(signal: Signal, one: Signal) -> list[Fraction] | None:
    """What each component is if it is a constant, or a constant times ``one``."""
    unit, factors = one.forms[0], []
    for form in signal.forms:
        atom = next(iter(form.terms), None)
        factor = form.constant if atom is None else form.terms[atom] / unit.terms.get(atom, Fraction(1))
        if atom is not None and unit * factor != form:
            return None
        factors.append(factor)
    return factors


@dataclass(frozen=True)
class Finder:
    """Finds integers by attention, hard or soft."""

    soft: bool

    def weighting(self, scale: Feature) -> Weighting:
        """Softmax at this scale, or hard attention, which needs none."""
        return softmax(scale) if self.soft else AVERAGE_HARD

    def at(self, name: str, index: Signal, read: Signal, per: Feature | None, mask: Mask) -> Signal:
        """What ``read`` is at the position x, from x·s, where s is the feature ``per`` or 1; nearest if there is none.

        The score is (2 x j - j²) · s. Gap: s.
        """
        scale = SHARPNESS * LENGTH**2 if per else SHARPNESS * LENGTH
        return attend(
            name,
            query=stack(2 * index, -(position(per) if per else constant(1))),
            key=stack(position(I), position(I_SQUARED)),
            value=read,
            mask=mask,
            weighting=self.weighting(scale),
            gap=per or Fraction(1),
            single=True,
            fall=Fall.QUADRATIC,
        )

    def found(self, name: str, number: Number) -> Number:
        """The same number, with its value and its square.

        Positions end with n, so that x is found in pieces: x = Σ_k clip(x - k n, 0, n) - Σ_k clip(-x - k n, 0, n), and
        x² = Σ_k p_k² + 2 k n p_k for these pieces p_k. One head each.
        """
        if number.value is None:
            return self._in_pieces(name, number, number.share, SHARE, 1 - position(SHARE), Mask.ALL)
        return self._in_pieces(name, number, number.value, None, position(N), Mask.ALL)

    def prefix_sum(self, name: str, term: Number) -> Number:
        """The sum over all positions so far, which lies between i·low and i·high: a mean, then a lookup of it.

        Raises:
            ConstructionError: If the term may grow with the length, so that no number of pieces is enough.
        """
        if term.kind.grows or term.value is None:
            raise ConstructionError(
                f"it adds integers between {term.low} and {term.high}, where n is the length: such a sum can grow "
                "faster than the length, and attention finds integers only among positions",
                hint="a prefix sum can be made of what is bounded by a constant, like (1 if … else 0)",
            )
        share = attend(
            f"mean of {name}", value=term.value, mask=Mask.CAUSAL, weighting=softmax() if self.soft else AVERAGE_HARD
        )
        length = Bound.length()
        number = Number(length * term.low, length * term.high, constant(0), None)
        return self._in_pieces(name, number, share, INVERSE, 1 - position(INVERSE), Mask.CAUSAL)

    def _in_pieces(
        self, name: str, number: Number, index: Signal, per: Feature | None, end: Signal, mask: Mask
    ) -> Number:
        """A number from x·s, where s is ``per``, and the last position, as ``end`` = e·s."""
        if sum(number.pieces) > MOST_PIECES:
            raise ConstructionError(
                f"{name} lies between {number.low} and {number.high}, where n is the length; "
                f"finding it takes {sum(number.pieces)} heads, and {MOST_PIECES} are the most that are built"
            )
        value, share, square = constant(0), constant(0), constant(0)
        for sign, count in zip((-1, 1), number.pieces, strict=True):
            for k in range(count):
                label = f"{'-' if sign < 0 else ''}{name}" + (f", piece {k + 1}" if count > 1 else "")
                squares = position(I_SQUARED) + 2 * k * position(I * N) if k else position(I_SQUARED)
                read = stack(position(I), position(RAMP), squares)
                piece = self.at(f"find {label}", sign * index - k * end, read, per, mask)
                value, share, square = value + sign * piece[0], share + sign * piece[1], square + piece[2]
        # The pieces of a prefix sum end with i and not with n, so that the squares are right for the first ones only.
        squared = mask is Mask.ALL or max(number.pieces) <= 1
        if number.value is not None:
            value, share = number.value, number.share
        return Number(
            number.low,
            number.high,
            share.known(number.share_kind),
            named(name, value.known(number.kind)),
            square if squared else None,
        )

    def value(self, name: str, number: Number) -> Signal:
        """The integer itself, found if need be."""
        found = number if number.value is not None else self.found(name, number)
        assert found.value is not None
        return found.value

    def squared(self, name: str, number: Number) -> tuple[Signal, Signal]:
        """The integer and its square, found if need be."""
        known = number.value is not None and number.square is not None
        found = number if known else self.found(name, number)
        assert found.value is not None
        assert found.square is not None
        return found.value, found.square

    def choose(self, name: str, condition: Signal, then: Number, otherwise: Number, one: Signal) -> Number:
        """``then`` where a bit is 1, else ``otherwise``: themselves if their difference is bounded, else the shares."""
        low, high = then.low.meet(otherwise.low), then.high.join(otherwise.high)
        chosen = Number(low, high, constant(0), None)
        value = None
        if then.value is not None and otherwise.value is not None:
            difference = then.value - otherwise.value
            value = choose_constants(condition, then.value, otherwise.value, one)
            if value is None and not difference.kinds[0].grows:
                value = otherwise.value + select(f"{name}: change", condition, difference, constant(0))
        shares = [number.share.known(number.share_kind) for number in (then, otherwise)]
        share = select(f"{name}/(n+1)", condition, *shares).known(chosen.share_kind)
        return Number(low, high, share, None if value is None else value.known(chosen.kind))
