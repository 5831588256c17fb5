"""What a head saw at one position: the numbers that decided, and words for those who tell it in their own terms.

Numbers are fractions. Where softmax has no rational value they are enclosures: the true number is certainly inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

DIGITS = 6
"""Decimal places of a number that is not told exactly."""
LONGEST = 12
"""A fraction that takes more characters is told as a decimal number."""


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
        radius = float(self.upper - self.lower) / 2
        return f"{_decimal(self.middle)} ± {radius:.0e}"


Number: TypeAlias = Fraction | Enclosure
"""What is known of a number: all, or where it lies."""


def least(number: Number) -> Fraction:
    """No smaller number is possible."""
    return number.lower if isinstance(number, Enclosure) else number


def most(number: Number) -> Fraction:
    """No larger number is possible."""
    return number.upper if isinstance(number, Enclosure) else number


def told(number: Number) -> str:
    """A number for people: a fraction if it is short, else its decimals after ≈; ± if even the exact one is unknown."""
    if isinstance(number, Enclosure):
        return str(number)
    text = str(number)
    return text if len(text) <= LONGEST else f"≈ {_decimal(number)}"


def _decimal(number: Fraction) -> str:
    size = abs(number)
    if size and not Fraction(1, 10**DIGITS) <= size < 10**LONGEST:
        return f"{float(number):.{DIGITS}g}"
    return f"{float(number):.{DIGITS}f}".rstrip("0").rstrip(".")


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
