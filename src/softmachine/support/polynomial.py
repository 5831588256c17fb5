"""Polynomials in a number n, such as the number of positions, used as bounds.

Coefficients are Python integers where possible. python-flint's ``fmpq_poly`` adds faster, but it compares coefficients
several times more slowly, is not hashable, and its import would delay the start of every command.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import starmap, zip_longest


def simplify_fraction(number: Fraction | int) -> Fraction | int:
    """Convert a fraction to an integer if it is one."""
    return number.numerator if number.denominator == 1 else number


@dataclass(frozen=True, init=False)
class Polynomial:
    """A polynomial c₀ + c₁ n + c₂ n² + …, used as a bound for every n ≥ 0.

    Args:
        coefficients: c₀, c₁, …: integers where possible, without zeros at the end except for c₀.
    """

    coefficients: tuple[Fraction | int, ...]

    def __init__(self, *coefficients: Fraction | int) -> None:
        simplified = [*map(simplify_fraction, coefficients)] or [0]
        while len(simplified) > 1 and not simplified[-1]:
            simplified.pop()
        object.__setattr__(self, "coefficients", tuple(simplified))

    @staticmethod
    def coerce(value: Polynomial | Fraction | int) -> Polynomial:
        """Convert a number to a constant polynomial."""
        return value if isinstance(value, Polynomial) else Polynomial(value)

    @property
    def degree(self) -> int:
        """The degree; 0 for the polynomial 0."""
        return len(self.coefficients) - 1

    def coefficient(self, power: int) -> Fraction | int:
        """The coefficient of a power of n."""
        return self.coefficients[power] if power <= self.degree else 0

    def at(self, n: int) -> Fraction:
        """The value at n."""
        return Fraction(sum(c * n**k for k, c in enumerate(self.coefficients)))

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial(*map(sum, self._pairs(other)))

    def __neg__(self) -> Polynomial:
        return Polynomial(*(-c for c in self.coefficients))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial | Fraction | int) -> Polynomial:
        factors = Polynomial.coerce(other).coefficients
        product: list[Fraction | int] = [0] * (len(self.coefficients) + len(factors))
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(factors):
                product[i + j] += a * b
        return Polynomial(*product)

    def __pow__(self, exponent: int) -> Polynomial:
        return self * self ** (exponent - 1) if exponent else Polynomial(1)

    def shifted(self, by: int) -> Polynomial:
        """The polynomial in m with n = m + ``by``."""
        shifted = Polynomial(0)
        for c in reversed(self.coefficients):  # Horner's rule
            shifted = shifted * Polynomial(by, 1) + Polynomial(c)
        return shifted

    def upper_bound(self, other: Polynomial) -> Polynomial:
        """An upper bound of both, coefficient by coefficient (valid because n ≥ 0)."""
        return Polynomial(*starmap(max, self._pairs(other)))

    def lower_bound(self, other: Polynomial) -> Polynomial:
        """A lower bound of both, coefficient by coefficient."""
        return Polynomial(*starmap(min, self._pairs(other)))

    def is_coefficientwise_at_most(self, other: Polynomial) -> bool:
        """Whether every coefficient is at most the other's: sufficient for the bound to be, for every n ≥ 0."""
        return all(a <= b for a, b in self._pairs(other))

    def _pairs(self, other: Polynomial) -> zip_longest[tuple[Fraction | int, Fraction | int]]:
        return zip_longest(self.coefficients, other.coefficients, fillvalue=0)

    def __str__(self) -> str:
        text = ""
        for power, c in reversed([*enumerate(self.coefficients)]):
            if c:
                size = str(abs(c)) if abs(c) != 1 or not power else ""
                sign = "-" if c < 0 else "+" if text else ""
                text += sign + size + ("" if not power else "n" if power == 1 else f"n^{power}")
        return text or "0"
