"""Polynomials in the number of positions n ≥ 0, used as bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import zip_longest

from softmachine.support.text import format_sign


def simplify_fraction(number: Fraction) -> Fraction | int:
    """Convert a fraction to an integer if it is one."""
    return number.numerator if number.denominator == 1 else number


@dataclass(frozen=True)
class Polynomial:
    """A polynomial c₀ + c₁ n + c₂ n² + …, used as a bound for every length n ≥ 0."""

    coefficients: tuple[Fraction, ...]

    @cached_property
    def simplified_coefficients(self) -> tuple[Fraction | int, ...]:
        """The coefficients, as integers where possible, which are faster."""
        return tuple(map(simplify_fraction, self.coefficients))

    @staticmethod
    def coerce(value: Polynomial | Fraction | int) -> Polynomial:
        """Convert a number to a constant polynomial."""
        return value if isinstance(value, Polynomial) else Polynomial((Fraction(value),))

    @staticmethod
    def variable() -> Polynomial:
        """The polynomial n."""
        return Polynomial((Fraction(0), Fraction(1)))

    def at(self, n: int) -> Fraction:
        """The value at n."""
        return sum((c * n**k for k, c in enumerate(self.coefficients)), Fraction(0))

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial(tuple(a + b for a, b in self._pairs(other)))

    def __mul__(self, other: Polynomial | Fraction | int) -> Polynomial:
        if not isinstance(other, Polynomial):
            return Polynomial(tuple(c * Fraction(other) for c in self.coefficients))
        product = [Fraction(0)] * (len(self.coefficients) + len(other.coefficients) - 1)
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other.coefficients):
                product[i + j] += a * b
        return Polynomial(tuple(product))

    def __pow__(self, exponent: int) -> Polynomial:
        return self * self ** (exponent - 1) if exponent else Polynomial.coerce(1)

    def upper_bound(self, other: Polynomial) -> Polynomial:
        """An upper bound of both, coefficient by coefficient (valid because n ≥ 0)."""
        return Polynomial(tuple(max(pair) for pair in self._pairs(other)))

    def lower_bound(self, other: Polynomial) -> Polynomial:
        """A lower bound of both, coefficient by coefficient."""
        return Polynomial(tuple(min(pair) for pair in self._pairs(other)))

    def is_coefficientwise_at_most(self, other: Polynomial) -> bool:
        """Whether every coefficient is at most the other's: sufficient for the bound to be, for every n ≥ 0."""
        return all(
            a <= b for a, b in zip_longest(self.simplified_coefficients, other.simplified_coefficients, fillvalue=0)
        )

    def _pairs(self, other: Polynomial) -> list[tuple[Fraction, Fraction]]:
        return list(zip_longest(self.coefficients, other.coefficients, fillvalue=Fraction(0)))

    def __str__(self) -> str:
        powers = ["", "n", "n²", *(f"n^{k}" for k in range(3, len(self.coefficients)))]
        text = ""
        for c, power in reversed([*zip(self.coefficients, powers, strict=False)]):
            if c:
                text += f"{format_sign(c < 0, text)}{abs(c) if abs(c) != 1 or not power else ''}{power}"
        return text or "0"
