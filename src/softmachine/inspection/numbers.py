"""Numbers of flint as numbers for people: fractions, and enclosures where a ball has a radius."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from flint import arb, fmpq

from softmachine.support.errors import PrecisionError
from softmachine.transformer.sight import Enclosure, Number


def number(value: fmpq | arb) -> Number:
    """The number that a rational or a ball stands for.

    Raises:
        PrecisionError: If nothing is known of it.
    """
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    if not value.is_finite():
        raise PrecisionError("a number has left the range of balls")
    if value.is_exact():
        return _dyadic(value)
    middle, radius = _dyadic(value.mid()), _dyadic(value.rad())
    return Enclosure(middle - radius, middle + radius)


def numbers(values: Iterable[fmpq | arb]) -> tuple[Number, ...]:
    """The same of several."""
    return tuple(map(number, values))


def _dyadic(exact: arb) -> Fraction:
    mantissa, exponent = map(int, exact.man_exp())
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)
