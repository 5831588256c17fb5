"""Conversion between Python objects and core values: floats to exact fractions, numpy scalars to Python numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from softmachine.languages.rasp.ir import Value
from softmachine.languages.rasp.values import normalise_number

MAX_DENOMINATOR: Final = 10**6
"""Maximal denominator of the fraction that a float converts to."""
MAX_RELATIVE_ERROR: Final = Fraction(1, 1 << 50)
"""Maximal relative error of a float with respect to the intended fraction: a few roundings."""


def exact_fraction(number: float) -> int | Fraction:
    """The fraction that a float approximates: one with a small denominator, such as 1/3 or 1/10.

    Raises:
        ValueError: If the float is not finite, or if there is no such fraction.
    """
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number")
    stored, denominator = Fraction(number), 1
    while denominator <= MAX_DENOMINATOR:
        fraction = stored.limit_denominator(denominator)
        if abs(fraction - stored) <= MAX_RELATIVE_ERROR * abs(stored):
            return normalise_number(fraction)
        denominator *= 10
    raise ValueError(f"{number!r} is not a fraction with a denominator up to {MAX_DENOMINATOR:,}")


def to_value(item: object) -> Value:
    """Convert a Python object to a core value.

    Raises:
        ValueError: If it is not a value; the message gives its type.
    """
    if type(item).__module__ == "numpy" and hasattr(item, "item") and not getattr(item, "shape", ()):
        item = item.item()
    match item:
        case None | bool() | str():
            return item
        case int() | Fraction():
            return normalise_number(item)
        case float():
            return exact_fraction(item)
        case tuple():
            return tuple(map(to_value, item))
        case _:
            raise ValueError(f"a {type(item).__name__} is not a symbol, a Boolean, a number, None or a tuple of these")


def to_python(value: Value) -> object:
    """Convert a core value to a Python object, as functions receive and evaluation returns it: fractions to floats."""
    if isinstance(value, tuple):
        return tuple(map(to_python, value))
    return float(value) if isinstance(value, Fraction) else value
