"""Conversion of flint numbers: rationals to fractions, balls to enclosures."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from flint import arb, fmpq

from softmachine.support.errors import PrecisionError
from softmachine.transformer.sight import Enclosure, Number


def number(value: fmpq | arb) -> Number:
    """Convert a rational or a ball.

    Raises:
        PrecisionError: If the ball is not finite.
    """
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    if not value.is_finite():
        raise PrecisionError("a number is out of the range of ball arithmetic")
    if value.is_exact():
        return _dyadic(value)
    middle, radius = _dyadic(value.mid()), _dyadic(value.rad())
    return Enclosure(middle - radius, middle + radius)


def numbers(values: Iterable[fmpq | arb]) -> tuple[Number, ...]:
    """Convert several numbers."""
    return tuple(map(number, values))


def _dyadic(exact: arb) -> Fraction:
    mantissa, exponent = map(int, exact.man_exp())
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)
