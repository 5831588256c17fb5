"""Types of sequence operators: what is known of a value before the program runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from softmachine.languages.rasp.core import Value


@dataclass(frozen=True)
class Line:
    """A bound that may grow with the length: ``constant + slope · n``."""

    constant: int
    slope: int = 0

    def at(self, n: int) -> int:
        """The bound at a length."""
        return self.constant + self.slope * n

    def __str__(self) -> str:
        if not self.slope:
            return str(self.constant)
        grows = {1: "n", -1: "-n"}.get(self.slope, f"{self.slope}n")
        return grows if not self.constant else f"{grows}{self.constant:+d}"


@dataclass(frozen=True)
class Finite:
    """One of finitely many values: symbols, Booleans, small numbers, tuples; None among them where a dialect has it.

    Args:
        values: All of them, each once (True and 1 are two values), in the order in which they were found.
        partial: Whether it may be undefined somewhere.
    """

    values: tuple[Value, ...]
    partial: bool = False


@dataclass(frozen=True)
class Integer:
    """An integer whose size is at most a multiple of the length.

    Args:
        low: No value is below this.
        high: No value is above this.
        partial: Whether it may be undefined somewhere.
    """

    low: Line
    high: Line
    partial: bool = False


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


Type: TypeAlias = Finite | Integer | Ratio
