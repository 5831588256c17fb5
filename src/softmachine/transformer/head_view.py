"""Activations of an attention head at one position, and text formatting of exact and enclosed numbers.

Numbers are fractions. Where softmax has no rational value they are enclosures: intervals that contain the true number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    ROUND_UP,
    Decimal,
    localcontext,
)
from fractions import Fraction
from typing import Protocol, TypeAlias

from softmachine.support.text import shorten_middle

SIGNIFICANT_DIGITS = 6
"""Significant digits of a rounded number."""
EXTRA_DIGITS = 12
"""Significant digits where `SIGNIFICANT_DIGITS` do not distinguish a number from a rounder one."""
MAX_FRACTION_LENGTH = 12
"""Maximum characters of a fraction; longer ones are formatted as decimals."""
MAX_EXACT_INTEGER = 10**4_000
"""Limit of exactly formatted integers: Python by default parses at most 4,300 digits; larger ends are rounded."""


@dataclass(frozen=True)
class Enclosure:
    """An interval between two fractions that contains a real number."""

    lower: Fraction
    upper: Fraction

    @property
    def midpoint(self) -> Fraction:
        """The midpoint."""
        return (self.lower + self.upper) / 2

    def __float__(self) -> float:
        return float(self.midpoint)

    def __str__(self) -> str:
        """Certain digits followed by "…", or a number and its maximum error."""
        short, longer = (_round(self.midpoint, digits) for digits in (SIGNIFICANT_DIGITS, EXTRA_DIGITS))
        inside = next((number for number in (short, longer) if self.lower <= number <= self.upper), None)
        low, high = (_round(end, EXTRA_DIGITS, ROUND_DOWN) for end in (self.lower, self.upper))
        if inside is None and low == high:
            return f"{_format_decimal(low)}…"
        near = short if inside is None else inside
        radius = _round(max(self.upper - near, near - self.lower), 1, ROUND_UP)
        return f"{_format_decimal(near)} ± {_format_decimal(radius)}"


EnclosedNumber: TypeAlias = Fraction | Enclosure
"""An exact number, or an interval that contains it."""


def lower_end(number: EnclosedNumber) -> Fraction:
    """The lower end."""
    return number.lower if isinstance(number, Enclosure) else number


def upper_end(number: EnclosedNumber) -> Fraction:
    """The upper end."""
    return number.upper if isinstance(number, Enclosure) else number


def midpoint(number: EnclosedNumber) -> Fraction:
    """The number itself, or the midpoint of its enclosure."""
    return number.midpoint if isinstance(number, Enclosure) else number


def format_number(number: EnclosedNumber) -> str:
    """Format a number: a fraction if it is short, else decimals after ≈; the certain digits of an enclosure."""
    if isinstance(number, Enclosure):
        return str(number)
    text = format_fraction(number)
    return text if len(text) <= MAX_FRACTION_LENGTH else f"≈ {_format_decimal(_round(number, SIGNIFICANT_DIGITS))}"


def format_rounded_down(number: Fraction) -> str:
    """Format a number, rounded down to few digits."""
    return _format_decimal(_round(number, SIGNIFICANT_DIGITS, ROUND_FLOOR))


def format_fraction(number: Fraction) -> str:
    """Format a fraction of any length; str refuses to format more than 4,300 digits."""
    parts = (number.numerator, number.denominator) if number.denominator != 1 else (number.numerator,)
    return "/".join(str(Decimal(part)) for part in parts)


def format_ends(number: Enclosure) -> tuple[str, str]:
    """The ends of an enclosure as parsable fractions; very long ones are rounded outwards to few digits."""
    ways = ((number.lower, ROUND_FLOOR), (number.upper, ROUND_CEILING))
    lower, upper = (
        format_fraction(end) if _is_readable(end) else _format_decimal(_round(end, EXTRA_DIGITS, how))
        for end, how in ways
    )
    return lower, upper


def _is_readable(number: Fraction) -> bool:
    return max(abs(number.numerator), number.denominator) < MAX_EXACT_INTEGER


def _round(number: Fraction, digits: int, how: str = ROUND_HALF_EVEN) -> Fraction:
    """Round a number to a number of significant digits."""
    with localcontext(prec=digits, rounding=how, Emin=MIN_EMIN, Emax=MAX_EMAX):
        return Fraction(Decimal(number.numerator) / Decimal(number.denominator))


def _format_decimal(number: Fraction) -> str:
    """Format a decimal fraction of few digits."""
    with localcontext(prec=EXTRA_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX):
        decimal = (Decimal(number.numerator) / Decimal(number.denominator)).normalize()
        small = not decimal or -SIGNIFICANT_DIGITS <= decimal.adjusted() < MAX_FRACTION_LENGTH
        return f"{decimal:f}" if small else f"{decimal:e}".replace("e+", "e")


class HeadView(Protocol):
    """Activations of a head at one query position; positions count from 0."""

    @property
    def position(self) -> int:
        """The position of the query."""

    @property
    def tokens(self) -> Sequence[str]:
        """The tokens of the context, up to the last visible one."""

    @property
    def visible(self) -> Sequence[int]:
        """The visible positions."""

    @property
    def chosen(self) -> Sequence[int]:
        """The positions that hard attention averages; for softmax, those of maximal score."""

    @property
    def read(self) -> Mapping[str, EnclosedNumber]:
        """The residual stream at the query, by coordinate name."""

    @property
    def retrieved(self) -> Sequence[EnclosedNumber]:
        """The weighted mean of the values."""

    @property
    def added(self) -> Mapping[str, EnclosedNumber]:
        """The output of the head, by coordinate name; includes zeros of coordinates that the head can write to."""


HeadExplanation: TypeAlias = str | Callable[[HeadView], str | None]
"""The explanation of a head: a noun phrase for the key that it selects, or a function from an activation to a clause.

The function returns None for an activation that it does not describe.
"""


def format_key(view: HeadView) -> str:
    """Format the first chosen key: its position and its token."""
    return f"position {view.chosen[0]:,} ({shorten_middle(view.tokens[view.chosen[0]])})"


def retrieved_bit(view: HeadView) -> bool:
    """Whether the first retrieved number, a bit up to the error of softmax, is 1."""
    return float(view.retrieved[0]) > 0.5


def explain_sum(view: HeadView, name: str) -> str | None:
    """Explain uniform attention as the sum of the integers that it averages; None for other attention."""
    seen = len(view.visible)
    if len(view.chosen) != seen:
        return None
    return f"{name} adds up to {round(midpoint(view.retrieved[0]) * seen):,} over {seen:,} positions"
