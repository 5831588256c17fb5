"""Static types of sequence operators: finite domains, and ranges that grow with the input length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from softmachine.languages.rasp.expression_printer import format_literal
from softmachine.languages.rasp.ir import Value
from softmachine.support.polynomial import Polynomial

MAX_SHOWN_VALUES = 8


ZERO, ONE, LENGTH = Polynomial(0), Polynomial(1), Polynomial(0, 1)


def is_at_least(one: Polynomial, other: Polynomial) -> bool:
    """Whether a polynomial is provably at least another one at every length n ≥ 1."""
    return other.shifted(1).is_coefficientwise_at_most(one.shifted(1))


def upper_bound(one: Polynomial, other: Polynomial) -> Polynomial:
    """A polynomial that is at least both at every length n ≥ 1."""
    return one.shifted(1).upper_bound(other.shifted(1)).shifted(-1)


def lower_bound(one: Polynomial, other: Polynomial) -> Polynomial:
    """A polynomial that is at most both at every length n ≥ 1."""
    return one.shifted(1).lower_bound(other.shifted(1)).shifted(-1)


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

    low: Polynomial
    high: Polynomial
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

    low: Polynomial
    high: Polynomial
    denominator: Polynomial
    partial: bool = False

    def __str__(self) -> str:
        text = f"a fraction from {self.low} to {self.high} with denominators up to {self.denominator}"
        return text + _undefined_suffix(self.partial)


Type: TypeAlias = FiniteType | IntegerType | FractionType


def _undefined_suffix(partial: bool) -> str:
    return ", or undefined" if partial else ""
