"""Gadgets for integers and fractions of RASP programs: lookup among positions, comparison, choice, rounding.

A feed-forward layer can add integers and compare them, but it cannot choose between two that grow with the length: it
is Lipschitz. It can choose between 1/(x+1) and 1/(y+1), and a lookup then recovers the integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from softmachine.ir import Signal, attend, constant, named, position, relu, stack
from softmachine.ir.gadgets import gate, select
from softmachine.ir.gadgets.boolean import all_of
from softmachine.ir.gadgets.integers import by_signs, compared, counted
from softmachine.ir.primitives import Fall
from softmachine.ir.ranges import BIT, Kind, integer
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Bound
from softmachine.theorems.rasp.layout import FIRST, Frame, Line
from softmachine.theorems.rasp.values import Number, Ratio
from softmachine.transformer.features import I_SQUARED, INVERSE, Bit, Feature, I, N

MOST_PIECES = 64
"""The largest number of heads that look up one integer."""
MOST_COUNTED = 8192
"""The largest excess over a multiple of n that units count, two units per step."""
PLACE = (I, I_SQUARED, INVERSE)
"""The features that a lookup of x reads at position x: x, x² and 1/(x+1)."""


@dataclass(frozen=True)
class Finder:
    """Gadgets for integers: lookups among positions, arithmetic, comparison and choice."""

    frame: Frame

    # Lookups

    def at(
        self,
        name: str,
        index: Signal,
        read: Signal,
        *,
        unit: Signal | None = None,
        gap: Feature | Fraction = Fraction(1),
        even: Signal | None = None,
    ) -> Signal:
        """``read`` at the position x, given x·u and u; at the nearest one if x is not a position.

        The score is (2 x j - j²) · u, plus ``even`` where j is even. Gap: at least u.
        """
        query = [2 * index, -unit if unit is not None else constant(-1)]
        key = [position(I), position(I_SQUARED)]
        if even is not None:
            query.append(even)
            key.append(1 - position(Bit(0)))
        return attend(
            name,
            query=stack(*query),
            key=stack(*key),
            value=read,
            mask=self.frame.mask,
            gap=gap,
            single=True,
            fall=Fall.QUADRATIC if even is None else Fall.FLAT,
        )

    def number_at(self, name: str, index: Signal, unit: Signal) -> Number:
        """The integer 0 ≤ x ≤ n, given x·u and u, where u is at least 1/(n+1). Gap: u."""
        found = self.at(f"recover {name}", index, _places(), unit=unit, gap=self.frame.unit)
        _, high = self.frame.end.bounds
        return _of_place(name, found, high)

    def scaled(self, name: str, index: Signal, unit: Signal, low: int, high: int) -> Number:
        """The integer s, given s·u, where u = 1/(c+1) and low·c ≤ s ≤ high·c for a count c."""
        self._few(name, -low + high)
        if (low, high) == (0, 1):
            return self.number_at(name, index, unit)
        count = 1 - unit  # c·u
        value, square = constant(0), constant(0)
        for sign, pieces in ((-1, -low), (1, high)):
            for k in range(pieces):
                label = f"{name}, {sign * (k + 1)}"
                parts = [sign * index - m * count for m in (k, k + 1)]
                above, beyond = (relu(f"{label}: above {m}", part) for m, part in enumerate(parts))
                clipped = above - beyond if k + 1 < pieces else above
                piece = self.number_at(label, clipped, unit)
                value = value + sign * piece.value
                if pieces == 1 and piece.square is not None:
                    square = square + piece.square
        _, end = self.frame.end.bounds
        number = Number(end * low, end * high, value, square=square if max(-low, high) == 1 else None)
        return replace(number, value=named(name, value.known(number.kind)))

    # Integers that are known

    def squared(self, name: str, number: Number) -> Signal:
        """x², looked up if necessary, as the sum of the squares of max(0, x) and max(0, -x)."""
        if number.square is not None:
            return number.square
        square = constant(0)
        for sign, slope, slack in zip((-1, 1), number.slopes, number.slack, strict=True):
            if slope or slack:
                side = f"{'-' if sign < 0 else ''}{name}"
                kind = integer(0, (number.low * -1, number.high)[sign > 0])
                part = (sign * number.value).known(kind)
                if min(number.slopes) or min(number.slack) or any(number.low.coefficients):
                    part = relu(f"{side}: above 0", part)
                square = square + self._square(side, part, slope, slack)
        largest = number.high.join(number.low * -1)
        return square.known(integer(0, largest * largest))

    def _square(self, name: str, part: Signal, slope: int, slack: int) -> Signal:
        """The square of an integer from 0 to slope · n + slack."""
        if slope == 0:
            return self._bounded_square(name, part, slack)
        letter, end = self.frame.letter, self.frame.end.signal(self.frame.letter)
        if slope == 1:
            # z = x - slack is at most n and is looked up where it is positive; x² = z² + 2 slack z + slack².
            lowered = part - slack * letter
            square = self.at(f"square of {name}", lowered, position(I_SQUARED))
            if not slack:
                return square
            below = relu(f"{name}: below {slack}", -lowered).known(integer(0, slack))
            below_square = self._bounded_square(name, below, slack)
            return square + below_square + lowered * (2 * slack) + letter * slack**2
        if self.frame.causal:
            raise ConstructionError(
                f"its square is needed, and it may be {slope} times the number of symbols so far; a decoder "
                "looks up squares of integers up to that number only"
            )
        self._few(name, slope + slack)
        square = constant(0)
        for k in range(slope + slack):
            read = position(I_SQUARED) + 2 * k * position(I * N) if k else position(I_SQUARED)
            square = square + self.at(f"square of {name}, {k + 1}", part - k * end, read)
        return square

    def _bounded_square(self, name: str, part: Signal, most: int) -> Signal:
        """The square of an integer from 0 to a constant: x + 2 Σ_k max(0, x - k), one unit per k."""
        total = part
        for k in range(1, most):
            total = total + 2 * relu(f"square of {name}: above {k}", part - k)
        return total

    def look(self, name: str, number: Number, read: Sequence[Feature]) -> Signal:
        """Features of the position x, for 0 ≤ x ≤ n."""
        return self.at(name, number.value, stack(*(position(feature) for feature in read)))

    def restored(self, name: str, number: Number) -> Number:
        """The integer that a number is within 1/4 of: looked up again, with its square and inverse if x ≤ n. Gap: 1.

        The excess over multiples of n is bounded by a constant, and counted by units.
        """
        self._few(name, sum(number.slopes))
        if max(number.slack) > MOST_COUNTED:
            raise ConstructionError(
                f"its loop carries an integer that may be {max(number.slack):,} beyond a multiple of the length; the "
                f"limit is {MOST_COUNTED:,}"
            )
        if (number.slopes, number.slack) == ((0, 1), (0, 0)):
            found = _of_place(name, self.at(f"recover {name}", number.value, _places()), number.high)
            return replace(found, presence=number.presence)
        end, total = self.frame.end.signal(self.frame.letter), constant(0)
        for sign, slope, slack in zip((-1, 1), number.slopes, number.slack, strict=True):
            parts = [sign * number.value - k * end for k in range(slope + 1)]
            for k, part in enumerate(parts[:-1]):
                total = total + sign * self.at(f"recover {name}, {sign * (k + 1)}", part, position(I))
            if slack:
                total = total + sign * counted(f"{name}: {'below' if sign < 0 else 'beyond'}", parts[-1], slack)
        return replace(number, value=named(name, total.known(number.kind)))

    # Arithmetic

    def plus(self, one: Number, other: Number, presence: Signal | None) -> Number:
        """The sum; no unit. If one is the constant 0, the other is returned unchanged."""
        for nothing, same in ((one, other), (other, one)):
            if nothing.line == Line():
                return replace(same, presence=presence)
        line = None if one.line is None or other.line is None else one.line + other.line
        value = one.value + other.value
        low, high = one.low + other.low, one.high + other.high
        square = None
        if line is not None:
            low, high = line.bounds
            square = line.square(self.frame.letter)
        return Number(low, high, value.known(integer(low, high)), line, square, presence=presence)

    def times(self, number: Number, factor: int) -> Number:
        """A multiple; no unit."""
        if factor == 1:
            return number
        ends = (number.low * factor, number.high * factor)
        low, high = ends[factor < 0], ends[factor >= 0]
        square = None if number.square is None else number.square * factor**2
        line = None if number.line is None else number.line * factor
        value = (number.value * factor).known(integer(low, high))
        return Number(low, high, value, line, square, presence=number.presence)

    def minus(self, one: Number, other: Number, presence: Signal | None) -> Number:
        """The difference; no unit."""
        return self.plus(one, self.times(other, -1), presence)

    def rectified(self, name: str, number: Number) -> Number:
        """max(0, x)."""
        value = relu(name, number.value).known(integer(0, number.high))
        return Number(Bound.of(0), number.high, value, presence=number.presence)

    def clipped(self, name: str, number: Number) -> Number:
        """The number clipped to the range from -1 to n, with its square. Gap: 1."""
        low = relu(f"{name}: above -1", number.value + self.frame.letter)
        end = self.frame.end.signal(self.frame.letter) + self.frame.letter
        value = low - relu(f"{name}: above n", low - end) - self.frame.letter
        _, high = self.frame.end.bounds
        value = named(f"{name}: clipped", value.known(integer(-1, high)))
        square = self.at(f"square of {name}", value, position(I_SQUARED)) + relu(f"{name}: -1", -value)
        return Number(Bound.of(-1), high, value, square=square.known(integer(0, high * high)), presence=number.presence)

    def compare(self, name: str, difference: Number | Ratio, relation: str) -> Signal:
        """A bit: whether a number is in the relation to 0; 0 at the start token."""
        if isinstance(difference, Number):
            return compared(name, difference.value, relation, self.frame.letter)
        if difference.value is None and difference.over is not None:  # the denominator is positive
            return self.compare(name, difference.over[0], relation)
        value = self.real(difference)
        if difference.power == 0:
            return compared(name, value * difference.factor, relation, self.frame.letter)
        letter = self.frame.letter
        above, below = constant(0), constant(0)
        if relation in ("<=", ">", "=", "!="):
            above = self.positive(f"{name}: above", value, difference)
        if relation in (">=", "<", "=", "!="):
            below = self.positive(f"{name}: below", -value, difference)
        return named(name, by_signs(relation, letter - below, letter - above, letter).known(BIT))

    def real(self, ratio: Ratio) -> Signal:
        """A fraction as a real number.

        Raises:
            ConstructionError: If only its numerator and denominator are known.
        """
        if ratio.value is None:
            raise ConstructionError(
                "it is a mean over a union of selectors that take different heads, and no head computes it as a number",
                hint="compare it with a constant, or aggregate with each selector separately",
            )
        return ratio.value

    def least(self, ratio: Ratio) -> Feature:
        """Half of the smallest absolute value of a nonzero fraction."""
        return self.frame.unit**ratio.power * Fraction(1, 2 * ratio.factor)

    def positive(self, name: str, value: Signal, like: Ratio) -> Signal:
        """A bit: whether a fraction is positive, decided by a head (Heaviside by attention).

        Position 1 scores x - δ, where 2δ is the smallest nonzero value of x, and position 0 scores 0. Gap: δ.
        """
        delta, first = self.least(like), position(FIRST)
        return attend(
            name,
            query=stack(value - position(delta), constant(-1)),
            key=stack(first, self.frame.letter - first),
            value=first,
            mask=self.frame.mask,
            gap=delta,
            single=True,
        ).known(BIT)

    def floor(self, name: str, value: Signal, like: Ratio) -> Number:
        """The floor of a fraction, which may be negative. Gap: 1/denominator."""
        shifted = value - Fraction(1, 2) + position(self.least(like))
        return self._nearest(name, shifted, self.frame.unit**like.power * Fraction(1, like.factor), None)

    def rounded(self, name: str, value: Signal, like: Ratio) -> Number:
        """The nearest integer, ties to even. Gap: half of 1/denominator."""
        least = self.least(like)
        return self._nearest(name, value, least, position(least))

    def _nearest(self, name: str, value: Signal, gap: Feature | Fraction, even: Signal | None) -> Number:
        """The integer nearest to a real number, looked up in pieces."""
        kind = value.kinds[0]
        pieces = (max(0, ceil(-kind.low.at(1))), max(0, ceil(kind.high.at(1))))
        self._few(name, sum(pieces))
        end, total = self.frame.end.signal(self.frame.letter), constant(0)
        for sign, count in zip((-1, 1), pieces, strict=True):
            for k in range(count):
                label = f"{name}, {sign * (k + 1)}"
                total = total + sign * self.at(label, sign * value - k * end, position(I), gap=gap, even=even)
        _, length = self.frame.end.bounds
        low, high = length * -pieces[0], length * pieces[1]
        return Number(low, high, named(name, total.known(integer(low, high))))

    # Choice

    def choose(self, name: str, options: Sequence[tuple[Signal, Number]]) -> Number:
        """The number whose bit is 1; 0 where no bit is. At most one bit is 1, and all are 0 at the start token."""
        low, high = Bound.of(0), Bound.of(0)
        for _, number in options:
            low, high = low.meet(number.low), high.join(number.high)
        value = self._near(name, options)
        if value is None:
            value = constant(0)
            for k, (bit, number) in enumerate(options):
                if number.line is not None and not number.line.b and not number.line.c:
                    value = value + bit * number.line.a
                elif not number.grows or max(number.slack):
                    rest = number.value if not number.grows else self._rest(f"{name}, {k}", number)
                    value = value + select(f"{name}: {k}", bit, rest, constant(0))
            grown = [(bit, number) for bit, number in options if number.grows]
            for place, shares in sorted(self._shares(name, grown).items()):
                piece = self._chosen_piece(f"{name}, {place}", shares)
                value = value + (1 if place > 0 else -1) * piece.value
        return Number(low, high, named(name, value.known(integer(low, high))))

    def _chosen_piece(self, name: str, shares: Sequence[tuple[Signal, Signal]]) -> Number:
        """The piece p whose bit is 1, or 0 if none is, given 1/(p+1) for each."""
        inverse = constant(1)
        for k, (bit, share) in enumerate(shares):
            kept = gate(f"{name}: 1/(x+1), {k}", share, off=(1 - bit).known(BIT))
            inverse = inverse - bit + kept
        inverse = named(f"{name}: 1/(x+1)", inverse.known(Kind(Bound.of(0), Bound.of(1), None)))
        return self.number_at(name, 1 - inverse, inverse)

    def _near(self, name: str, options: Sequence[tuple[Signal, Number]]) -> Signal | None:
        """The choice by units, if two numbers have a bounded difference, and one bit is 1 at every input position."""
        if len(options) != 2 or (options[0][0] + options[1][0]).forms != self.frame.letter.forms:
            return None
        (bit, then), (_, otherwise) = options
        difference = then.value - otherwise.value
        if difference.kinds[0].grows or not otherwise.grows:
            return None
        return otherwise.value + select(f"{name}: change", bit, difference, constant(0))

    def _rest(self, name: str, number: Number) -> Signal:
        """The excess of a number over the multiples of n that it reaches: bounded by a constant."""
        end, (below, above) = self.frame.end.signal(self.frame.letter), number.slopes
        less, more = number.slack
        high = relu(f"{name}: beyond", number.value - above * end) if more else constant(0)
        low = relu(f"{name}: below", -number.value - below * end) if less else constant(0)
        return (high - low).known(integer(-less, more))

    def _shares(self, name: str, options: Sequence[tuple[Signal, Number]]) -> dict[int, list[tuple[Signal, Signal]]]:
        """For each multiple of n, the bits of the options that reach it, and 1/(p+1) for the option's piece p there."""
        unit, end = Kind(Bound.of(0), Bound.of(1), None), self.frame.end.signal(self.frame.letter)
        shares: dict[int, list[tuple[Signal, Signal]]] = {}
        for k, (bit, number) in enumerate(options):
            if number.inverse is not None:
                shares.setdefault(1, []).append((bit, number.inverse.known(unit)))
                continue
            self._few(name, sum(number.slopes))
            for sign, slope in zip((-1, 1), number.slopes, strict=True):
                for piece in range(slope):
                    place = sign * (piece + 1)
                    index = sign * number.value - piece * end
                    found = self.at(f"1/(x+1) of {name}, {k}, {place}", index, position(INVERSE))
                    shares.setdefault(place, []).append((bit, found.known(unit)))
        return shares

    def _few(self, name: str, pieces: int) -> None:
        if pieces > MOST_PIECES:
            raise ConstructionError(
                f"looking up {name} takes {pieces} heads, one per multiple of the length that it can reach; "
                f"the limit is {MOST_PIECES}"
            )


def _places() -> Signal:
    return stack(*(position(feature) for feature in PLACE))


def _of_place(name: str, found: Signal, high: Bound) -> Number:
    """The number that a lookup retrieved."""
    value = named(name, found[0].known(integer(0, high)))
    square = found[1].known(integer(0, high * high))
    return Number(Bound.of(0), high, value, square=square, inverse=found[2])


def both(name: str, *presences: Signal | None) -> Signal | None:
    """The conjunction of presence bits; None if all are None (defined at every input position)."""
    bits: list[Signal] = []
    for bit in presences:
        if bit is not None and all(bit.forms != other.forms for other in bits):
            bits.append(bit)
    if len(bits) < 2:
        return bits[0] if bits else None
    return all_of(name, *bits)
