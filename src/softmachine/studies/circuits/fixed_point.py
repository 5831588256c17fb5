"""Fixed-point arithmetic of F_b on wires; each operation is a circuit of constant depth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from softmachine.engines.numerics.fixed_point_array import Grid
from softmachine.studies.circuits.numbers import Number, Numbers, Thermometer
from softmachine.studies.circuits.wires import FALSE


class FixedNumbers:
    """Operations on numbers of F_b, in units of 2⁻ᵇ.

    Args:
        numbers: The integers on wires that represent them.
        bits: b.
    """

    def __init__(self, numbers: Numbers, bits: int) -> None:
        self.numbers = numbers
        self.grid = Grid(bits)
        self.limit = self.grid.limit
        self.bits = bits
        self.one = Number(1 << bits)

    def saturated(self, units: int) -> int:
        """Clip an integer to the range of F_b."""
        return max(-self.limit, min(self.limit, units))

    def fits(self, number: Number) -> bool:
        """Whether an exact result is always in range."""
        low, high = self.numbers.bounds(number)
        return -self.limit <= low and high <= self.limit

    def scaled(self, number: Number, weight: int) -> Number:
        """Multiply by a constant."""
        if weight % (1 << self.bits) == 0:
            exact = number * (weight >> self.bits)
            if self.fits(exact):
                return exact
        rounded = self.grid.format.quotient
        return self.numbers.mapped(number, lambda value: rounded(value * weight, 1 << 2 * self.bits))

    def product(self, x: Number, y: Number) -> Number:
        """Multiply two numbers: for each value of one, the other times that value."""
        if x.known:
            return self.scaled(y, x.constant)
        if y.known:
            return self.scaled(x, y.constant)
        few, many = sorted((x, y), key=lambda number: len(self.numbers.thermometer(number).values))
        values = self.numbers.thermometer(few).values
        return self.numbers.chosen(few, {value: self.numbers.thermometer(self.scaled(many, value)) for value in values})

    def total(self, terms: Sequence[Number]) -> Number:
        """Sum from left to right, saturating after every addition.

        Numbers of F_b have a common unit, so sums saturate but never round. If no partial sum can leave the range, the
        result is the exact sum.
        """
        terms = [term for term in terms if term != Number(0)]
        if all(map(self.fits, accumulate(terms))):
            return sum(terms, Number(0))
        return self._saturating(terms)

    def _saturating(self, terms: Sequence[Number]) -> Number:
        """Sum with saturating partial sums, in constant depth.

        Unrolled, a sum of terms a₁ … aₙ is min(M, max(-M, min(M + A₁, max(-M + A₁, …, Aₙ)))), where Aₖ is the exact sum
        of the last k terms. By distributivity it is at least v if and only if, for some k, -M + Aₖ ≥ v and M + Aⱼ ≥ v
        for all j ≤ k, or else Aₙ ≥ v and M + Aⱼ ≥ v for all j. Where a partial sum is always above -M, or below M, that
        k or j is omitted; thus a sum of nonnegative terms is min(M, Aₙ).
        """
        terms = [self.numbers.rising(term) for term in terms]
        sums = list(accumulate(reversed(terms)))
        below, above = self._leaves(terms)
        wires = []
        values = self._partial_values(terms)
        for value in values[1:]:
            ceilings, found = [], []
            for suffix, floors, tops in zip(sums[:-1], below[-2::-1], above[-2::-1], strict=True):
                if tops:
                    ceilings.append(self.numbers.at_least(suffix, value - self.limit))
                floor = self.numbers.at_least(suffix, value + self.limit) if floors else FALSE
                if floor != FALSE:
                    found.append(self.numbers.wires.every([floor, *ceilings]))
            found.append(self.numbers.wires.every([self.numbers.at_least(sums[-1], value), *ceilings]))
            wires.append(self.numbers.wires.some(found))
        return self.numbers.number(values, wires)

    def _leaves(self, terms: Sequence[Number]) -> tuple[list[bool], list[bool]]:
        """Return for each partial sum whether it may be below -M before saturation, and whether it may be above M."""
        below, above = [], []
        least = most = 0
        for term in terms:
            low, high = self.numbers.bounds(term)
            least, most = self.saturated(least) + low, self.saturated(most) + high
            below.append(least < -self.limit)
            above.append(most > self.limit)
        return below, above

    def _partial_values(self, terms: Sequence[Number]) -> list[int]:
        found = {0}
        for term in terms:
            values = self.numbers.values(term)
            found = {self.saturated(before + value) for before in found for value in values}
        return sorted(found)

    def quotient(self, numerator: Number, denominator: Number, into: FixedNumbers) -> Number:
        """Divide by a positive number, with one rounding to the precision ``into``."""
        shift = self.bits - into.bits

        def divided(number: Number, by: int) -> Number:
            if by == self.one.constant and self._divisible(number, 1 << shift):
                return Number(number.constant >> shift, tuple((wire, w >> shift) for wire, w in number.weights))
            return self.numbers.mapped(number, lambda value: into.grid.format.quotient(value, by))

        if denominator.known:
            return divided(numerator, denominator.constant)
        if numerator == denominator:
            return into.one
        shown: dict[int, Thermometer] = {}
        for value in self.numbers.thermometer(denominator).values:
            shown[value] = self.numbers.thermometer(divided(numerator, value))
        return self.numbers.chosen(denominator, shown, falling=self.numbers.bounds(numerator)[0] >= 0)

    def _divisible(self, number: Number, by: int) -> bool:
        return number.constant % by == 0 and all(weight % by == 0 for _, weight in number.weights)

    def rectified(self, number: Number) -> Number:
        """Apply ReLU."""
        low, high = self.numbers.bounds(number)
        if low >= 0:
            return number
        return Number(0) if high <= 0 else self.numbers.mapped(number, lambda value: max(value, 0))

    def stepped(self, number: Number) -> Number:
        """Apply the step function: 1 if the number is not negative, else 0."""
        return self.numbers.bit(self.numbers.at_least(number, 0), self.one.constant)

    def signed(self, number: Number) -> Number:
        """Apply layer norm to the pair of the number and its negative: the sign."""
        one = self.one.constant
        return self.numbers.mapped(number, lambda value: one * ((value > 0) - (value < 0)))

    def exponential(self, number: Number) -> Number:
        """Apply the exponential function."""
        return self.numbers.mapped(number, self.grid.power)

    def widened(self, number: Number, into: FixedNumbers) -> Number:
        """Convert a number to the units of a larger precision."""
        return number * (1 << into.bits - self.bits)
