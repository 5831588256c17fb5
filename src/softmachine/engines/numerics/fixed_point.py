"""Fixed-point numbers F_b: a sign, b integer and b fractional bits.

Definitions A.1 and A.2 of "Revisiting Padded Transformer Expressivity": F_b are the multiples a · 2⁻ᵇ with
|a| ≤ 4ᵇ - 1; the largest is B_F = 2ᵇ - 2⁻ᵇ. A real number is rounded to the nearest member, ties away from
zero, and beyond B_F to B_F, which is an ordinary number: B_F - 1 is less than B_F.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softmachine.support.errors import UsageError

MOST_BITS = 4096
"""Largest precision b."""


@dataclass(frozen=True)
class FixedPoint:
    """The numbers F_b.

    Args:
        bits: b, the number of integer bits and of fractional bits.
    """

    bits: int

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MOST_BITS:
            raise UsageError(
                f"fixed point with {self.bits} bits is not supported",
                hint=f"choose a precision from 1 to {MOST_BITS:,}",
            )

    @property
    def unit(self) -> Fraction:
        """2⁻ᵇ, the distance between neighbours."""
        return Fraction(1, 1 << self.bits)

    @property
    def limit(self) -> int:
        """4ᵇ - 1, the largest number in units."""
        return (1 << 2 * self.bits) - 1

    @property
    def largest(self) -> Fraction:
        """B_F = 2ᵇ - 2⁻ᵇ."""
        return self.limit * self.unit

    def holds(self, number: Fraction) -> bool:
        """Whether the number is in F_b."""
        return abs(number) <= self.largest and (number.numerator << self.bits) % number.denominator == 0

    def units(self, number: Fraction) -> int:
        """Round a number to F_b; the result is in units of 2⁻ᵇ."""
        return self.quotient(number.numerator, number.denominator)

    def quotient(self, numerator: int, denominator: int) -> int:
        """Round a quotient to F_b; the result is in units of 2⁻ᵇ."""
        scaled, divisor = abs(numerator) << self.bits + 1, abs(denominator)
        size = min((scaled + divisor) // (2 * divisor), self.limit)
        return size if (numerator < 0) == (denominator < 0) else -size

    def __str__(self) -> str:
        return f"F_{self.bits}"


def least_bits(number: Fraction) -> int | None:
    """Return the smallest b such that F_b contains the number; None if its denominator is not a power of two."""
    fractional = number.denominator.bit_length() - 1
    if number.denominator != 1 << fractional:
        return None
    return max(1, fractional, (abs(number.numerator) // number.denominator).bit_length())
