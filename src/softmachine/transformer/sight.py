"""What a head saw at one position: the numbers that decided, and words for those who tell it in their own terms.

Numbers are fractions. Where softmax has no rational value they are enclosures: the true number is certainly inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

DIGITS = 6
"""Digits of a number that is not told exactly."""
CERTAIN = 12
"""Digits of a number that is near a shorter one, but is not it."""
LONGEST = 12
"""A fraction that takes more characters is told as a decimal number."""
READABLE = 10**4_000
"""Python reads no integer of more than 4,300 digits unasked; ends of enclosures with larger ones are rounded."""


@dataclass(frozen=True)
class Enclosure:
    """A real number that is known to lie between two fractions."""

    lower: Fraction
    upper: Fraction

    @property
    def middle(self) -> Fraction:
        """The fraction half way between them."""
        return (self.lower + self.upper) / 2

    def __float__(self) -> float:
        return float(self.middle)

    def __str__(self) -> str:
        """Digits that are all certain, with "…" after them; or a number, and how far it can be off at most."""
        short, longer = (_rounded(self.middle, digits) for digits in (DIGITS, CERTAIN))
        inside = next((number for number in (short, longer) if self.lower <= number <= self.upper), None)
        low, high = (_rounded(end, CERTAIN, ROUND_DOWN) for end in (self.lower, self.upper))
        if inside is None and low == high:
            return f"{_text(low)}…"
        near = short if inside is None else inside
        return f"{_text(near)} ± {_text(_rounded(max(self.upper - near, near - self.lower), 1, ROUND_UP))}"


Number: TypeAlias = Fraction | Enclosure
"""What is known of a number: all, or where it lies."""


def least(number: Number) -> Fraction:
    """No smaller number is possible."""
    return number.lower if isinstance(number, Enclosure) else number


def most(number: Number) -> Fraction:
    """No larger number is possible."""
    return number.upper if isinstance(number, Enclosure) else number


def told(number: Number) -> str:
    """A number for people: a fraction if it is short, else digits of it after ≈; of an enclosure, what is certain."""
    if isinstance(number, Enclosure):
        return str(number)
    text = written(number)
    return text if len(text) <= LONGEST else f"≈ {_text(_rounded(number, DIGITS))}"


def told_below(number: Fraction) -> str:
    """A number that is at most this one, in few digits."""
    return _text(_rounded(number, DIGITS, ROUND_FLOOR))


def written(number: Fraction) -> str:
    """A fraction as text, however long: what str says, which refuses to write more than 4,300 digits."""
    parts = (number.numerator, number.denominator) if number.denominator != 1 else (number.numerator,)
    return "/".join(str(Decimal(part)) for part in parts)


def written_ends(number: Enclosure) -> tuple[str, str]:
    """The ends of an enclosure as texts that are read as fractions; very long ones in few digits, rounded outwards."""
    ways = ((number.lower, ROUND_FLOOR), (number.upper, ROUND_CEILING))
    lower, upper = (written(end) if _is_readable(end) else _text(_rounded(end, CERTAIN, how)) for end, how in ways)
    return lower, upper


def _is_readable(number: Fraction) -> bool:
    return max(abs(number.numerator), number.denominator) < READABLE


def _rounded(number: Fraction, digits: int, how: str = ROUND_HALF_EVEN) -> Fraction:
    """A number with so many significant digits."""
    with localcontext(prec=digits, rounding=how, Emin=MIN_EMIN, Emax=MAX_EMAX):
        return Fraction(Decimal(number.numerator) / Decimal(number.denominator))


def _text(number: Fraction) -> str:
    """A decimal fraction of few digits."""
    with localcontext(prec=CERTAIN, Emin=MIN_EMIN, Emax=MAX_EMAX):
        decimal = (Decimal(number.numerator) / Decimal(number.denominator)).normalize()
        small = not decimal or -DIGITS <= decimal.adjusted() < LONGEST
        return f"{decimal:f}" if small else f"{decimal:e}".replace("e+", "e")


class Sight(Protocol):
    """What a head saw at one position of a context; positions count from 0."""

    @property
    def name(self) -> str:
        """The name of the head."""

    @property
    def position(self) -> int:
        """Where it looked from."""

    @property
    def tokens(self) -> Sequence[str]:
        """The tokens of the context, up to the last one that it could see."""

    @property
    def visible(self) -> Sequence[int]:
        """The positions that it could see."""

    @property
    def tied(self) -> Sequence[int]:
        """The positions of maximal score; of softmax, all that are not certainly below."""

    @property
    def chosen(self) -> Sequence[int]:
        """Those that hard attention takes the mean of; of softmax, those of maximal score."""

    @property
    def gap(self) -> Number | None:
        """How far the next best score is below; None if there is none."""

    @property
    def next_best(self) -> Sequence[int]:
        """The positions of the next best score."""

    @property
    def read(self) -> Mapping[str, Number]:
        """The residual stream that it read here, by the names of the coordinates."""

    @property
    def added(self) -> Mapping[str, Number]:
        """What it added to the residual stream, by the names of the coordinates; zeros are there if it may add."""
