"""Values as Python programs have them: floats are read as fractions, and numbers of numpy as Python's own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from softmachine.languages.rasp.core import Value
from softmachine.languages.rasp.values import plain

LARGEST_DENOMINATOR: Final = 10**6
"""Of the fraction that a float is read as."""
ROUNDING: Final = Fraction(1, 1 << 50)
"""So far, relative to its size, a float may be from the fraction that it was meant as: a few roundings."""


def exact(number: float) -> int | Fraction:
    """The fraction that a float was meant as: one with a small denominator, as 1/3 or 1/10.

    Raises:
        ValueError: If it is infinite, or no number, or there is no such fraction.
    """
    if not math.isfinite(number):
        raise ValueError(f"{number} is no number")
    stored, denominator = Fraction(number), 1
    while denominator <= LARGEST_DENOMINATOR:
        fraction = stored.limit_denominator(denominator)
        if abs(fraction - stored) <= ROUNDING * abs(stored):
            return plain(fraction)
        denominator *= 10
    raise ValueError(f"{number!r} is not a fraction with a denominator up to {LARGEST_DENOMINATOR:,}")


def value_of(item: object) -> Value:
    """What the core takes a Python object for.

    Raises:
        ValueError: If it is no value; the message says what it is.
    """
    if type(item).__module__ == "numpy" and hasattr(item, "item") and not getattr(item, "shape", ()):
        item = item.item()
    match item:
        case None | bool() | str():
            return item
        case int() | Fraction():
            return plain(item)
        case float():
            return exact(item)
        case tuple():
            return tuple(map(value_of, item))
        case _:
            raise ValueError(f"a {type(item).__name__} is not a symbol, a Boolean, a number, None or a tuple of these")


def python_value(value: Value) -> object:
    """What a Python function is called with, and what evaluating gives: a fraction is a float there."""
    if isinstance(value, tuple):
        return tuple(map(python_value, value))
    return float(value) if isinstance(value, Fraction) else value
