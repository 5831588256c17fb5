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
from softmachine.ir.gadgets.integers import compare_by_signs, compare_with_zero, round_to_integer
from softmachine.ir.primitives import ScoreDecay
from softmachine.ir.ranges import BIT, integer, real, union
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial
from softmachine.theorems.rasp.layout import FIRST, LinearInPosition, PositionLayout
from softmachine.theorems.rasp.values import BoundedFraction, BoundedInteger
from softmachine.transformer.features import I_SQUARED, RECIPROCAL, Bit, Feature, I, N

MAX_PIECES = 64
"""The largest number of heads that look up one integer."""
MAX_COUNTED = 8192
"""The largest excess over a multiple of n that units count, two units per step."""
POSITION_FEATURES = (I, I_SQUARED, RECIPROCAL)
"""The features that a lookup of x reads at position x: x, x² and 1/(x+1)."""


@dataclass(frozen=True)
class IntegerGadgets:
    """Gadgets for integers: lookups among positions, arithmetic, comparison and choice."""

    layout: PositionLayout

    # Lookups

    def lookup_scaled(
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
            mask=self.layout.mask,
            gap=gap,
            single_key=True,
            decay=ScoreDecay.QUADRATIC if even is None else ScoreDecay.FLAT,
            explains="the position looked up",
        )

    def integer_at(self, name: str, index: Signal, unit: Signal) -> BoundedInteger:
        """The integer 0 ≤ x ≤ n, given x·u and u, where u is at least 1/(n+1). Gap: u."""
        found = self.lookup_scaled(
            f"recover {name}", index, _position_signal(), unit=unit, gap=self.layout.inverse_visible
        )
        _, high = self.layout.last_visible.bounds
        return _integer_from_lookup(name, found, high)

    def recover_scaled(self, name: str, index: Signal, unit: Signal, low: int, high: int) -> BoundedInteger:
        """The integer s, given s·u, where u = 1/(c+1) and low·c ≤ s ≤ high·c for a count c."""
        self._choose_among_few(name, -low + high)
        if (low, high) == (0, 1):
            return self.integer_at(name, index, unit)
        count = 1 - unit  # c·u
        value, square = constant(0), constant(0)
        for sign, pieces in ((-1, -low), (1, high)):
            for k in range(pieces):
                label = f"{name}, {sign * (k + 1)}"
                parts = [sign * index - m * count for m in (k, k + 1)]
                above, beyond = (relu(f"{label}: above {m}", part) for m, part in enumerate(parts))
                clipped = above - beyond if k + 1 < pieces else above
                piece = self.integer_at(label, clipped, unit)
                value = value + sign * piece.value
                if pieces == 1 and piece.square is not None:
                    square = square + piece.square
        _, end = self.layout.last_visible.bounds
        value = named(name, value.with_range(integer(end * low, end * high)))
        return BoundedInteger(value, square=square if max(-low, high) == 1 else None)

    # Integers that are known

    def with_square(self, name: str, number: BoundedInteger) -> Signal:
        """x², looked up if necessary, as the sum of the squares of max(0, x) and max(0, -x)."""
        if number.square is not None:
            return number.square
        square = constant(0)
        for sign, slope, slack in zip((-1, 1), number.slopes, number.slack, strict=True):
            if slope or slack:
                side = f"{'-' if sign < 0 else ''}{name}"
                kind = integer(0, (-number.low, number.high)[sign > 0])
                part = (sign * number.value).with_range(kind)
                if min(number.slopes) or min(number.slack) or any(number.low.coefficients):
                    part = relu(f"{side}: above 0", part)
                square = square + self._square_of_range(side, part, slope, slack)
        largest = number.high.upper_bound(-number.low)
        return square.with_range(integer(0, largest * largest))

    def _square_of_range(self, name: str, part: Signal, slope: int, slack: int) -> Signal:
        """The square of an integer from 0 to slope · n + slack."""
        if slope == 0:
            return self._bounded_square(name, part, slack)
        letter, end = self.layout.input_bit, self.layout.last_visible.to_signal(self.layout.input_bit)
        if slope == 1:
            # z = x - slack is at most n and is looked up where it is positive; x² = z² + 2 slack z + slack².
            lowered = part - slack * letter
            square = self.lookup_scaled(f"square of {name}", lowered, position(I_SQUARED))
            if not slack:
                return square
            below = relu(f"{name}: below {slack}", -lowered).with_range(integer(0, slack))
            below_square = self._bounded_square(name, below, slack)
            return square + below_square + lowered * (2 * slack) + letter * slack**2
        if self.layout.causal:
            raise ConstructionError(
                f"its square is needed, and it may be {slope} times the number of symbols so far; a decoder "
                "looks up squares of integers up to that number only"
            )
        self._choose_among_few(name, slope + slack)
        square = constant(0)
        for k in range(slope + slack):
            read = position(I_SQUARED) + 2 * k * position(I * N) if k else position(I_SQUARED)
            square = square + self.lookup_scaled(f"square of {name}, {k + 1}", part - k * end, read)
        return square

    def _bounded_square(self, name: str, part: Signal, most: int) -> Signal:
        """The square of an integer from 0 to a constant: x + 2 Σ_k max(0, x - k), one unit per k."""
        total = part
        for k in range(1, most):
            total = total + 2 * relu(f"square of {name}: above {k}", part - k)
        return total

    def lookup(self, name: str, number: BoundedInteger, read: Sequence[Feature]) -> Signal:
        """Features of the position x, for 0 ≤ x ≤ n."""
        return self.lookup_scaled(name, number.value, stack(*(position(feature) for feature in read)))

    def restore(self, name: str, number: BoundedInteger) -> BoundedInteger:
        """The integer that a number is within 1/4 of: looked up again, with its square and inverse if x ≤ n. Gap: 1.

        The excess over multiples of n is bounded by a constant, and counted by units.
        """
        self._choose_among_few(name, sum(number.slopes))
        if max(number.slack) > MAX_COUNTED:
            raise ConstructionError(
                f"its loop carries an integer that may be {max(number.slack):,} beyond a multiple of the length; the "
                f"limit is {MAX_COUNTED:,}"
            )
        if (number.slopes, number.slack) == ((0, 1), (0, 0)):
            found = _integer_from_lookup(
                name, self.lookup_scaled(f"recover {name}", number.value, _position_signal()), number.high
            )
            return replace(found, presence=number.presence)
        end, total = self.layout.last_visible.to_signal(self.layout.input_bit), constant(0)
        for sign, slope, slack in zip((-1, 1), number.slopes, number.slack, strict=True):
            parts = [sign * number.value - k * end for k in range(slope + 1)]
            for k, part in enumerate(parts[:-1]):
                total = total + sign * self.lookup_scaled(f"recover {name}, {sign * (k + 1)}", part, position(I))
            if slack:
                total = total + sign * round_to_integer(
                    f"{name}: {'below' if sign < 0 else 'beyond'}", parts[-1], slack
                )
        return replace(number, value=named(name, total.with_range(number.value_range)))

    # Arithmetic

    def add(self, one: BoundedInteger, other: BoundedInteger, presence: Signal | None) -> BoundedInteger:
        """The sum; no unit. If one is the constant 0, the other is returned unchanged."""
        for nothing, same in ((one, other), (other, one)):
            if nothing.linear_form == LinearInPosition():
                return replace(same, presence=presence)
        line = None if one.linear_form is None or other.linear_form is None else one.linear_form + other.linear_form
        value = one.value + other.value
        low, high = one.low + other.low, one.high + other.high
        square = None
        if line is not None:
            low, high = line.bounds
            square = line.square_signal(self.layout.input_bit)
        return BoundedInteger(value.with_range(integer(low, high)), line, square, presence=presence)

    def multiply(self, number: BoundedInteger, factor: int) -> BoundedInteger:
        """A multiple; no unit."""
        if factor == 1:
            return number
        ends = (number.low * factor, number.high * factor)
        low, high = ends[factor < 0], ends[factor >= 0]
        square = None if number.square is None else number.square * factor**2
        line = None if number.linear_form is None else number.linear_form * factor
        value = (number.value * factor).with_range(integer(low, high))
        return BoundedInteger(value, line, square, presence=number.presence)

    def subtract(self, one: BoundedInteger, other: BoundedInteger, presence: Signal | None) -> BoundedInteger:
        """The difference; no unit."""
        return self.add(one, self.multiply(other, -1), presence)

    def relu(self, name: str, number: BoundedInteger) -> BoundedInteger:
        """max(0, x)."""
        value = relu(name, number.value).with_range(integer(0, number.high))
        return BoundedInteger(value, presence=number.presence)

    def clip(self, name: str, number: BoundedInteger) -> BoundedInteger:
        """The number clipped to the range from -1 to n, with its square. Gap: 1."""
        low = relu(f"{name}: above -1", number.value + self.layout.input_bit)
        end = self.layout.last_visible.to_signal(self.layout.input_bit) + self.layout.input_bit
        value = low - relu(f"{name}: above n", low - end) - self.layout.input_bit
        _, high = self.layout.last_visible.bounds
        value = named(f"{name}: clipped", value.with_range(integer(-1, high)))
        square = self.lookup_scaled(f"square of {name}", value, position(I_SQUARED)) + relu(f"{name}: -1", -value)
        square = square.with_range(integer(0, high * high))
        return BoundedInteger(value, square=square, presence=number.presence)

    def compare(self, name: str, difference: BoundedInteger | BoundedFraction, relation: str) -> Signal:
        """A bit: whether a number is in the relation to 0; 0 at the start token."""
        if isinstance(difference, BoundedInteger):
            return compare_with_zero(name, difference.value, relation, self.layout.input_bit)
        if difference.value is None and difference.numerator_and_denominator is not None:  # the denominator is positive
            return self.compare(name, difference.numerator_and_denominator[0], relation)
        value = self.to_real(difference)
        if difference.power == 0:
            return compare_with_zero(name, value * difference.factor, relation, self.layout.input_bit)
        letter = self.layout.input_bit
        above, below = constant(0), constant(0)
        if relation in ("<=", ">", "=", "!="):
            above = self.is_positive(f"{name}: above", value, difference)
        if relation in (">=", "<", "=", "!="):
            below = self.is_positive(f"{name}: below", -value, difference)
        return named(name, compare_by_signs(relation, letter - below, letter - above, letter).with_range(BIT))

    def to_real(self, ratio: BoundedFraction) -> Signal:
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

    def min_nonzero(self, ratio: BoundedFraction) -> Feature:
        """Half of the smallest absolute value of a nonzero fraction."""
        return self.layout.inverse_visible**ratio.power * Fraction(1, 2 * ratio.factor)

    def is_positive(self, name: str, value: Signal, like: BoundedFraction) -> Signal:
        """A bit: whether a fraction is positive, decided by a head (Heaviside by attention).

        Position 1 scores x - δ, where 2δ is the smallest nonzero value of x, and position 0 scores 0. Gap: δ.
        """
        delta, first = self.min_nonzero(like), position(FIRST)
        return attend(
            name,
            query=stack(value - position(delta), constant(-1)),
            key=stack(first, self.layout.input_bit - first),
            value=first,
            mask=self.layout.mask,
            gap=delta,
            single_key=True,
            explains="position 1 for a positive number, position 0 for others",
        ).with_range(BIT)

    def floor(self, name: str, value: Signal, like: BoundedFraction) -> BoundedInteger:
        """The floor of a fraction, which may be negative. Gap: 1/denominator."""
        shifted = value - Fraction(1, 2) + position(self.min_nonzero(like))
        return self._nearest(name, shifted, self.layout.inverse_visible**like.power * Fraction(1, like.factor), None)

    def round_half_even(self, name: str, value: Signal, like: BoundedFraction) -> BoundedInteger:
        """The nearest integer, ties to even. Gap: half of 1/denominator."""
        least = self.min_nonzero(like)
        return self._nearest(name, value, least, position(least))

    def _nearest(self, name: str, value: Signal, gap: Feature | Fraction, even: Signal | None) -> BoundedInteger:
        """The integer nearest to a real number, looked up in pieces."""
        kind = value.ranges[0]
        pieces = (max(0, ceil(-kind.low.at(1))), max(0, ceil(kind.high.at(1))))
        self._choose_among_few(name, sum(pieces))
        end, total = self.layout.last_visible.to_signal(self.layout.input_bit), constant(0)
        for sign, count in zip((-1, 1), pieces, strict=True):
            for k in range(count):
                label = f"{name}, {sign * (k + 1)}"
                total = total + sign * self.lookup_scaled(
                    label, sign * value - k * end, position(I), gap=gap, even=even
                )
        _, length = self.layout.last_visible.bounds
        return BoundedInteger(named(name, total.with_range(integer(length * -pieces[0], length * pieces[1]))))

    # Choice

    def choose_integer(self, name: str, options: Sequence[tuple[Signal, BoundedInteger]]) -> BoundedInteger:
        """The number whose bit is 1; 0 where no bit is. At most one bit is 1, and all are 0 at the start token."""
        kind = union([integer(0, 0), *(number.value_range for _, number in options)])
        value = self._choose_by_units(name, options)
        if value is None:
            value = constant(0)
            for k, (bit, number) in enumerate(options):
                if number.linear_form is not None and not number.linear_form.b and not number.linear_form.c:
                    value = value + bit * number.linear_form.a
                elif not number.depends_on_length or max(number.slack):
                    rest = number.value if not number.depends_on_length else self._remainder(f"{name}, {k}", number)
                    value = value + select(f"{name}: {k}", bit, rest, constant(0))
            grown = [(bit, number) for bit, number in options if number.depends_on_length]
            for place, shares in sorted(self._piece_shares(name, grown).items()):
                piece = self._chosen_piece(f"{name}, {place}", shares)
                value = value + (1 if place > 0 else -1) * piece.value
        return BoundedInteger(named(name, value.with_range(kind)))

    def _chosen_piece(self, name: str, shares: Sequence[tuple[Signal, Signal]]) -> BoundedInteger:
        """The piece p whose bit is 1, or 0 if none is, given 1/(p+1) for each."""
        inverse = constant(1)
        for k, (bit, share) in enumerate(shares):
            kept = gate(f"{name}: 1/(x+1), {k}", share, blockers=(1 - bit).with_range(BIT))
            inverse = inverse - bit + kept
        inverse = named(f"{name}: 1/(x+1)", inverse.with_range(real(0, 1)))
        return self.integer_at(name, 1 - inverse, inverse)

    def _choose_by_units(self, name: str, options: Sequence[tuple[Signal, BoundedInteger]]) -> Signal | None:
        """The choice by units, if two numbers have a bounded difference, and one bit is 1 at every input position."""
        if len(options) != 2 or (options[0][0] + options[1][0]).forms != self.layout.input_bit.forms:
            return None
        (bit, then), (_, otherwise) = options
        difference = then.value - otherwise.value
        if difference.ranges[0].depends_on_length or not otherwise.depends_on_length:
            return None
        return otherwise.value + select(f"{name}: change", bit, difference, constant(0))

    def _remainder(self, name: str, number: BoundedInteger) -> Signal:
        """The excess of a number over the multiples of n that it reaches: bounded by a constant."""
        end, (below, above) = self.layout.last_visible.to_signal(self.layout.input_bit), number.slopes
        less, more = number.slack
        high = relu(f"{name}: beyond", number.value - above * end) if more else constant(0)
        low = relu(f"{name}: below", -number.value - below * end) if less else constant(0)
        return (high - low).with_range(integer(-less, more))

    def _piece_shares(
        self, name: str, options: Sequence[tuple[Signal, BoundedInteger]]
    ) -> dict[int, list[tuple[Signal, Signal]]]:
        """For each multiple of n, the bits of the options that reach it, and 1/(p+1) for the option's piece p there."""
        unit, end = (
            real(0, 1),
            self.layout.last_visible.to_signal(self.layout.input_bit),
        )
        shares: dict[int, list[tuple[Signal, Signal]]] = {}
        for k, (bit, number) in enumerate(options):
            if number.inverse is not None:
                shares.setdefault(1, []).append((bit, number.inverse.with_range(unit)))
                continue
            self._choose_among_few(name, sum(number.slopes))
            for sign, slope in zip((-1, 1), number.slopes, strict=True):
                for piece in range(slope):
                    place = sign * (piece + 1)
                    index = sign * number.value - piece * end
                    found = self.lookup_scaled(f"1/(x+1) of {name}, {k}, {place}", index, position(RECIPROCAL))
                    shares.setdefault(place, []).append((bit, found.with_range(unit)))
        return shares

    def _choose_among_few(self, name: str, pieces: int) -> None:
        if pieces > MAX_PIECES:
            raise ConstructionError(
                f"looking up {name} takes {pieces} heads, one per multiple of the length that it can reach; "
                f"the limit is {MAX_PIECES}"
            )


def _position_signal() -> Signal:
    return stack(*(position(feature) for feature in POSITION_FEATURES))


def _integer_from_lookup(name: str, found: Signal, high: Polynomial) -> BoundedInteger:
    """The number that a lookup retrieved."""
    value = named(name, found[0].with_range(integer(0, high)))
    square = found[1].with_range(integer(0, high * high))
    return BoundedInteger(value, square=square, inverse=found[2])


def conjunction(name: str, *presences: Signal | None) -> Signal | None:
    """The conjunction of presence bits; None if all are None (defined at every input position)."""
    bits: list[Signal] = []
    for bit in presences:
        if bit is not None and all(bit.forms != other.forms for other in bits):
            bits.append(bit)
    if len(bits) < 2:
        return bits[0] if bits else None
    return all_of(name, *bits)
