"""Static types of sequence operators: finite domains, and ranges that grow with the input length."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from math import comb
from typing import TypeAlias

from softmachine.languages.rasp.expression_printer import format_literal
from softmachine.languages.rasp.ir import Value

MAX_SHOWN_VALUES = 8


@dataclass(frozen=True)
class LengthPolynomial:
    """A bound that is a polynomial in the length n ≥ 1: ``constant + slope · n`` and, for products, higher powers.

    Args:
        constant: The coefficient of 1.
        slope: The coefficient of n.
        higher: The coefficients of n², n³, …; empty if the bound is linear.
    """

    constant: int
    slope: int = 0
    higher: tuple[int, ...] = ()

    @classmethod
    def from_coefficients(cls, coefficients: list[int]) -> LengthPolynomial:
        """The bound with these coefficients of 1, n, n², …."""
        constant, slope, *higher = [*coefficients, 0, 0]
        while higher and not higher[-1]:
            higher.pop()
        return cls(constant, slope, tuple(higher))

    @property
    def coefficients(self) -> tuple[int, ...]:
        """The coefficients of 1, n, n², …."""
        return (self.constant, self.slope, *self.higher)

    @property
    def degree(self) -> int:
        """The degree of the polynomial: 0 if constant, 1 if linear."""
        return 1 + len(self.higher) if self.higher else int(self.slope != 0)

    def evaluate(self, n: int) -> int:
        """The bound at length n."""
        return sum(coefficient * n**power for power, coefficient in enumerate(self.coefficients))

    def __add__(self, other: LengthPolynomial) -> LengthPolynomial:
        return LengthPolynomial.from_coefficients(
            [one + two for one, two in zip_longest(self.coefficients, other.coefficients, fillvalue=0)]
        )

    def __neg__(self) -> LengthPolynomial:
        return LengthPolynomial.from_coefficients([-coefficient for coefficient in self.coefficients])

    def __sub__(self, other: LengthPolynomial) -> LengthPolynomial:
        return self + -other

    def __mul__(self, other: LengthPolynomial) -> LengthPolynomial:
        product = [0] * (len(self.coefficients) + len(other.coefficients))
        for power, one in enumerate(self.coefficients):
            for more, two in enumerate(other.coefficients):
                product[power + more] += one * two
        return LengthPolynomial.from_coefficients(product)

    def is_at_least(self, other: LengthPolynomial) -> bool:
        """Whether it is provably at least another bound at every length."""
        return min((self - other)._coefficients_from_one()) >= 0

    def upper_bound_with(self, other: LengthPolynomial) -> LengthPolynomial:
        """A bound that is at least both."""
        pairs = zip_longest(self._coefficients_from_one(), other._coefficients_from_one(), fillvalue=0)
        return _polynomial_from_one([max(pair) for pair in pairs])

    def lower_bound_with(self, other: LengthPolynomial) -> LengthPolynomial:
        """A bound that is at most both."""
        return -((-self).upper_bound_with(-other))

    def _coefficients_from_one(self) -> list[int]:
        """The coefficients of 1, m, m², … for m = n - 1 ≥ 0."""
        return _shift_coefficients(self.coefficients, 1)

    def __str__(self) -> str:
        terms = [_format_term(factor, power) for power, factor in enumerate(self.coefficients) if factor]
        text = "".join(reversed(terms))
        return text.removeprefix("+") or "0"


ZERO, ONE, LENGTH = LengthPolynomial(0), LengthPolynomial(1), LengthPolynomial(0, 1)


@dataclass(frozen=True)
class FiniteType:
    """A finite domain: symbols, Booleans, small numbers, tuples, and None in dialects that have it.

    Args:
        values: All values, without duplicates (True and 1 are different), in order of discovery.
        partial: Whether the sequence operator may be undefined at some position.
    """

    values: tuple[Value, ...]
    partial: bool = False

    def __str__(self) -> str:
        if not self.values:
            return "undefined"
        more = ", …" if len(self.values) > MAX_SHOWN_VALUES else ""
        listed = ", ".join(map(format_literal, self.values[:MAX_SHOWN_VALUES])) + more
        if all(isinstance(value, str) for value in self.values):
            listed = f"a symbol ({listed})"
        elif len(self.values) > 1:
            listed = f"one of {listed}"
        return listed + _undefined_suffix(self.partial)


@dataclass(frozen=True)
class IntegerType:
    """An integer bounded by polynomials in the length; True and False count as 1 and 0.

    Args:
        low: Lower bound.
        high: Upper bound.
        partial: Whether the sequence operator may be undefined at some position.
    """

    low: LengthPolynomial
    high: LengthPolynomial
    partial: bool = False

    def __str__(self) -> str:
        return f"an integer from {self.low} to {self.high}" + _undefined_suffix(self.partial)


@dataclass(frozen=True)
class FractionType:
    """A fraction, such as a mean or a quotient, with bounds on its value and its denominator.

    Args:
        low: Lower bound.
        high: Upper bound.
        denominator: Upper bound of the denominator.
        partial: Whether the sequence operator may be undefined at some position.
    """

    low: LengthPolynomial
    high: LengthPolynomial
    denominator: LengthPolynomial
    partial: bool = False

    def __str__(self) -> str:
        text = f"a fraction from {self.low} to {self.high} with denominators up to {self.denominator}"
        return text + _undefined_suffix(self.partial)


Type: TypeAlias = FiniteType | IntegerType | FractionType


def _undefined_suffix(partial: bool) -> str:
    return ", or undefined" if partial else ""


def _shift_coefficients(coefficients: tuple[int, ...] | list[int], by: int) -> list[int]:
    """The coefficients of p(m + by)."""
    shifted = [0] * len(coefficients)
    for power, factor in enumerate(coefficients):
        for lower in range(power + 1):
            shifted[lower] += factor * comb(power, lower) * by ** (power - lower)
    return shifted


def _polynomial_from_one(from_one: list[int]) -> LengthPolynomial:
    return LengthPolynomial.from_coefficients(_shift_coefficients(from_one, -1))


def _format_term(factor: int, power: int) -> str:
    raised = {0: "", 1: "n"}.get(power, f"n^{power}")
    return {1: f"+{raised}", -1: f"-{raised}"}.get(factor, f"{factor:+}{raised}") if power else f"{factor:+}"
