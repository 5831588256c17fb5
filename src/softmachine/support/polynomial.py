"""Polynomials in the number of positions n ≥ 0, used as bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import zip_longest

from softmachine.support.text import sign


def whole(number: Fraction) -> Fraction | int:
    """Convert a fraction to an integer if it is one."""
    return number.numerator if number.denominator == 1 else number


@dataclass(frozen=True)
class Bound:
    """A polynomial c₀ + c₁ n + c₂ n² + …, used as a bound for every length n ≥ 0."""

    coefficients: tuple[Fraction, ...]

    @cached_property
    def numbers(self) -> tuple[Fraction | int, ...]:
        """The coefficients, as integers where possible, which are faster."""
        return tuple(map(whole, self.coefficients))

    @staticmethod
    def of(value: Bound | Fraction | int) -> Bound:
        """Convert a number to a constant polynomial."""
        return value if isinstance(value, Bound) else Bound((Fraction(value),))

    @staticmethod
    def length() -> Bound:
        """The polynomial n."""
        return Bound((Fraction(0), Fraction(1)))

    def at(self, n: int) -> Fraction:
        """The value at n."""
        return sum((c * n**k for k, c in enumerate(self.coefficients)), Fraction(0))

    def __add__(self, other: Bound) -> Bound:
        return Bound(tuple(a + b for a, b in self._pairs(other)))

    def __mul__(self, other: Bound | Fraction | int) -> Bound:
        if not isinstance(other, Bound):
            return Bound(tuple(c * Fraction(other) for c in self.coefficients))
        product = [Fraction(0)] * (len(self.coefficients) + len(other.coefficients) - 1)
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other.coefficients):
                product[i + j] += a * b
        return Bound(tuple(product))

    def __pow__(self, exponent: int) -> Bound:
        return self * self ** (exponent - 1) if exponent else Bound.of(1)

    def join(self, other: Bound) -> Bound:
        """An upper bound of both, coefficient by coefficient (valid because n ≥ 0)."""
        return Bound(tuple(max(pair) for pair in self._pairs(other)))

    def meet(self, other: Bound) -> Bound:
        """A lower bound of both, coefficient by coefficient."""
        return Bound(tuple(min(pair) for pair in self._pairs(other)))

    def surely_at_most(self, other: Bound) -> bool:
        """Whether every coefficient is at most the other's: sufficient for the bound to be, for every n ≥ 0."""
        return all(a <= b for a, b in zip_longest(self.numbers, other.numbers, fillvalue=0))

    def _pairs(self, other: Bound) -> list[tuple[Fraction, Fraction]]:
        return list(zip_longest(self.coefficients, other.coefficients, fillvalue=Fraction(0)))

    def __str__(self) -> str:
        powers = ["", "n", "n²", *(f"n^{k}" for k in range(3, len(self.coefficients)))]
        text = ""
        for c, power in reversed([*zip(self.coefficients, powers, strict=False)]):
            if c:
                text += f"{sign(c < 0, text)}{abs(c) if abs(c) != 1 or not power else ''}{power}"
        return text or "0"
