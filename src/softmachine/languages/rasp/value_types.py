"""Types of sequence operators: what is known of a value before the program runs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from math import comb
from typing import TypeAlias

from softmachine.languages.rasp.core import Value
from softmachine.languages.rasp.expressions import literal

MOST_SHOWN = 8


@dataclass(frozen=True)
class Line:
    """A bound that may grow with the length n ≥ 1: ``constant + slope · n``, or faster for products of integers.

    Args:
        constant: What does not grow.
        slope: What is multiplied by n.
        higher: What is multiplied by n², n³, …; empty if it is a line.
    """

    constant: int
    slope: int = 0
    higher: tuple[int, ...] = ()

    @classmethod
    def of(cls, coefficients: list[int]) -> Line:
        """The bound with these coefficients of 1, n, n² and so on."""
        constant, slope, *higher = [*coefficients, 0, 0]
        while higher and not higher[-1]:
            higher.pop()
        return cls(constant, slope, tuple(higher))

    @property
    def coefficients(self) -> tuple[int, ...]:
        """Those of 1, n, n² and so on."""
        return (self.constant, self.slope, *self.higher)

    @property
    def degree(self) -> int:
        """How fast it grows: 0 if not at all, 1 if as a line."""
        return 1 + len(self.higher) if self.higher else int(self.slope != 0)

    def at(self, n: int) -> int:
        """The bound at a length."""
        return sum(coefficient * n**power for power, coefficient in enumerate(self.coefficients))

    def __add__(self, other: Line) -> Line:
        return Line.of([one + two for one, two in zip_longest(self.coefficients, other.coefficients, fillvalue=0)])

    def __neg__(self) -> Line:
        return Line.of([-coefficient for coefficient in self.coefficients])

    def __sub__(self, other: Line) -> Line:
        return self + -other

    def __mul__(self, other: Line) -> Line:
        product = [0] * (len(self.coefficients) + len(other.coefficients))
        for power, one in enumerate(self.coefficients):
            for more, two in enumerate(other.coefficients):
                product[power + more] += one * two
        return Line.of(product)

    def at_least(self, other: Line) -> bool:
        """Whether it is known to be no less than another at every length."""
        return min((self - other)._from_one()) >= 0

    def or_more(self, other: Line) -> Line:
        """A bound that is no less than both."""
        pairs = zip_longest(self._from_one(), other._from_one(), fillvalue=0)
        return _to_zero([max(pair) for pair in pairs])

    def or_less(self, other: Line) -> Line:
        """A bound that is no more than both."""
        return -((-self).or_more(-other))

    def _from_one(self) -> list[int]:
        """The coefficients of 1, m, m², … for m = n - 1, which is 0 or more."""
        return _shifted(self.coefficients, 1)

    def __str__(self) -> str:
        terms = [_signed(factor, power) for power, factor in enumerate(self.coefficients) if factor]
        text = "".join(reversed(terms))
        return text.removeprefix("+") or "0"


ZERO, ONE, LENGTH = Line(0), Line(1), Line(0, 1)


@dataclass(frozen=True)
class Finite:
    """One of finitely many values: symbols, Booleans, small numbers, tuples; None among them where a dialect has it.

    Args:
        values: All of them, each once (True and 1 are two values), in the order in which they were found.
        partial: Whether it may be undefined somewhere.
    """

    values: tuple[Value, ...]
    partial: bool = False

    def __str__(self) -> str:
        if not self.values:
            return "undefined"
        more = ", …" if len(self.values) > MOST_SHOWN else ""
        listed = ", ".join(map(literal, self.values[:MOST_SHOWN])) + more
        if all(isinstance(value, str) for value in self.values):
            listed = f"a symbol ({listed})"
        elif len(self.values) > 1:
            listed = f"one of {listed}"
        return listed + _or_undefined(self.partial)


@dataclass(frozen=True)
class Integer:
    """An integer whose size is bounded by a function of the length; True and False count as 1 and 0.

    Args:
        low: No value is below this.
        high: No value is above this.
        partial: Whether it may be undefined somewhere.
    """

    low: Line
    high: Line
    partial: bool = False

    def __str__(self) -> str:
        return f"an integer from {self.low} to {self.high}" + _or_undefined(self.partial)


@dataclass(frozen=True)
class Ratio:
    """A fraction: a mean, or a quotient; ``low`` and ``high`` bound its value.

    Args:
        low: No value is below this.
        high: No value is above this.
        denominator: No denominator is larger.
        partial: Whether it may be undefined somewhere.
    """

    low: Line
    high: Line
    denominator: Line
    partial: bool = False

    def __str__(self) -> str:
        text = f"a fraction from {self.low} to {self.high} with denominators up to {self.denominator}"
        return text + _or_undefined(self.partial)


Type: TypeAlias = Finite | Integer | Ratio


def _or_undefined(partial: bool) -> str:
    return ", or undefined" if partial else ""


def _shifted(coefficients: tuple[int, ...] | list[int], by: int) -> list[int]:
    """The coefficients of p(m + by)."""
    shifted = [0] * len(coefficients)
    for power, factor in enumerate(coefficients):
        for lower in range(power + 1):
            shifted[lower] += factor * comb(power, lower) * by ** (power - lower)
    return shifted


def _to_zero(from_one: list[int]) -> Line:
    return Line.of(_shifted(from_one, -1))


def _signed(factor: int, power: int) -> str:
    raised = {0: "", 1: "n"}.get(power, f"n^{power}")
    return {1: f"+{raised}", -1: f"-{raised}"}.get(factor, f"{factor:+}{raised}") if power else f"{factor:+}"
