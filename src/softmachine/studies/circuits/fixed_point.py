"""Fixed-point arithmetic of F_b on wires; each operation is a circuit of constant depth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from softmachine.engines.numerics.fixed_point_array import FixedPointArrays
from softmachine.studies.circuits.numbers import WireArithmetic, WireNumber
from softmachine.studies.circuits.wires import FALSE


class FixedPointOps:
    """Operations on numbers of F_b, in units of 2⁻ᵇ.

    Args:
        numbers: The integers on wires that represent them.
        bits: b.
    """

    def __init__(self, numbers: WireArithmetic, bits: int) -> None:
        self.numbers = numbers
        self.grid = FixedPointArrays(bits)
        self.limit = self.grid.limit
        self.bits = bits
        self.one = WireNumber(1 << bits)

    def saturate(self, units: int) -> int:
        """Clip an integer to the range of F_b."""
        return max(-self.limit, min(self.limit, units))

    def is_in_range(self, number: WireNumber) -> bool:
        """Whether an exact result is always in range."""
        return all(abs(bound) <= self.limit for bound in self.numbers.bounds(number))

    def multiply_by_constant(self, number: WireNumber, weight: int) -> WireNumber:
        """Multiply by a constant."""
        if weight % (1 << self.bits) == 0:
            exact = number * (weight >> self.bits)
            if self.is_in_range(exact):
                return exact
        rounded = self.grid.format.round_quotient
        return self.numbers.map(number, lambda value: rounded(value * weight, 1 << 2 * self.bits))

    def multiply(self, x: WireNumber, y: WireNumber) -> WireNumber:
        """Multiply two numbers: for each value of one, the other times that value."""
        if x.is_constant:
            return self.multiply_by_constant(y, x.constant)
        if y.is_constant:
            return self.multiply_by_constant(x, y.constant)
        few, many = sorted((x, y), key=lambda number: len(self.numbers.to_thermometer(number).values))
        values = self.numbers.to_thermometer(few).values
        return self.numbers.multiplex(
            few, {value: self.numbers.to_thermometer(self.multiply_by_constant(many, value)) for value in values}
        )

    def saturating_sum(self, terms: Sequence[WireNumber]) -> WireNumber:
        """Sum from left to right, saturating after every addition.

        Numbers of F_b have a common unit, so sums saturate but never round. If no partial sum can leave the range, the
        result is the exact sum.
        """
        terms = [term for term in terms if term != WireNumber(0)]
        if all(map(self.is_in_range, accumulate(terms))):
            return sum(terms, WireNumber(0))
        return self._saturating(terms)

    def _saturating(self, terms: Sequence[WireNumber]) -> WireNumber:
        """Sum with saturating partial sums, in constant depth.

        Unrolled, a sum of terms a₁ … aₙ is min(M, max(-M, min(M + A₁, max(-M + A₁, …, Aₙ)))), where Aₖ is the exact sum
        of the last k terms. By distributivity it is at least v if and only if, for some k, -M + Aₖ ≥ v and M + Aⱼ ≥ v
        for all j ≤ k, or else Aₙ ≥ v and M + Aⱼ ≥ v for all j. Where a partial sum is always above -M, or below M, that
        k or j is omitted; thus a sum of nonnegative terms is min(M, Aₙ).
        """
        terms = [self.numbers.with_nonnegative_weights(term) for term in terms]
        sums = list(accumulate(reversed(terms)))
        below, above = self._may_overflow(terms)
        wires = []
        values = self._partial_values(terms)
        for value in values[1:]:
            ceilings, found = [], []
            for suffix, floors, tops in zip(sums[:-1], below[-2::-1], above[-2::-1], strict=True):
                if tops:
                    ceilings.append(self.numbers.at_least(suffix, value - self.limit))
                floor = self.numbers.at_least(suffix, value + self.limit) if floors else FALSE
                if floor != FALSE:
                    found.append(self.numbers.wires.conjunction([floor, *ceilings]))
            found.append(self.numbers.wires.conjunction([self.numbers.at_least(sums[-1], value), *ceilings]))
            wires.append(self.numbers.wires.disjunction(found))
        return self.numbers.from_thermometer(values, wires)

    def _may_overflow(self, terms: Sequence[WireNumber]) -> tuple[list[bool], list[bool]]:
        """Return for each partial sum whether it may be below -M before saturation, and whether it may be above M."""
        below, above = [], []
        least = most = 0
        for term in terms:
            low, high = self.numbers.bounds(term)
            least, most = self.saturate(least) + low, self.saturate(most) + high
            below.append(least < -self.limit)
            above.append(most > self.limit)
        return below, above

    def _partial_values(self, terms: Sequence[WireNumber]) -> list[int]:
        found = {0}
        for term in terms:
            values = self.numbers.possible_values(term)
            found = {self.saturate(before + value) for before in found for value in values}
        return sorted(found)

    def divide(self, numerator: WireNumber, denominator: WireNumber, target: FixedPointOps) -> WireNumber:
        """Divide by a positive number, with one rounding to the precision ``target``."""
        shift = self.bits - target.bits

        def divided(number: WireNumber, by: int) -> WireNumber:
            parts = number.constant, *(weight for _, weight in number.weights)
            if by == self.one.constant and not any(part % (1 << shift) for part in parts):
                return WireNumber(number.constant >> shift, tuple((wire, w >> shift) for wire, w in number.weights))
            return self.numbers.map(number, lambda value: target.grid.format.round_quotient(value, by))

        if denominator.is_constant:
            return divided(numerator, denominator.constant)
        if numerator == denominator:
            return target.one
        values = self.numbers.to_thermometer(denominator).values
        shown = {value: self.numbers.to_thermometer(divided(numerator, value)) for value in values}
        return self.numbers.multiplex(denominator, shown, decreasing=self.numbers.bounds(numerator)[0] >= 0)

    def relu(self, number: WireNumber) -> WireNumber:
        """Apply ReLU."""
        low, high = self.numbers.bounds(number)
        if low >= 0:
            return number
        return WireNumber(0) if high <= 0 else self.numbers.map(number, lambda value: max(value, 0))

    def step(self, number: WireNumber) -> WireNumber:
        """Apply the step function: 1 if the number is not negative, else 0."""
        return self.numbers.from_bit(self.numbers.at_least(number, 0), self.one.constant)

    def sign(self, number: WireNumber) -> WireNumber:
        """Apply layer norm to the pair of the number and its negative: the sign."""
        one = self.one.constant
        return self.numbers.map(number, lambda value: one * ((value > 0) - (value < 0)))

    def exp(self, number: WireNumber) -> WireNumber:
        """Apply the exponential function."""
        return self.numbers.map(number, self.grid.exponential_of)

    def widen(self, number: WireNumber, target: FixedPointOps) -> WireNumber:
        """Convert a number to the units of a larger precision."""
        return number * (1 << target.bits - self.bits)
