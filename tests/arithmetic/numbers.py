"""Numbers that are hard on floating point, and boxes around them: a stored value, an error bound, an exact number."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from softmachine.engines.numerics import Arithmetic, Tensor, float_affine
from softmachine.engines.numerics.base import Array

Exact = Array
"""An object array of fractions."""
Draw = Callable[[random.Random], Fraction]
SLACK = Fraction(float_affine.ROUNDING_SLACK)


def hard_number(chooser: random.Random, largest_exponent: int = 100) -> Fraction:
    """An integer, a dyadic number, a third, or something huge, tiny or next to the end of a float's digits."""
    sign = chooser.choice((1, -1))
    match chooser.randrange(9):
        case 0:
            return Fraction(0)
        case 1 | 2:
            return Fraction(sign * chooser.randrange(1, 10))
        case 3:
            return Fraction(sign * chooser.randrange(1, 50), 2 ** chooser.randrange(1, 25))
        case 4:
            return Fraction(sign * chooser.randrange(1, 50), chooser.choice((3, 5, 7, 10, 99)))
        case 5:
            return Fraction(sign * (2 ** chooser.choice((24, 53)) + chooser.randrange(-3, 4)))
        case 6:
            return Fraction(sign * chooser.randrange(1, 1000)) * Fraction(2) ** chooser.randrange(-largest_exponent, 30)
        case 7:
            return sign * Fraction(3, 7) * Fraction(10) ** chooser.randrange(-340, -300)
    return sign * Fraction(1, 3) * Fraction(2) ** chooser.randrange(-largest_exponent, largest_exponent)


def integer_number(chooser: random.Random) -> Fraction:
    return Fraction(chooser.randrange(-40, 41))


def exact_array(
    shape: tuple[int, ...], chooser: random.Random, number: Callable[[random.Random], Fraction] = hard_number
) -> Exact:
    array = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        array[index] = number(chooser)
    return array


def stored(numbers: Arithmetic, exact: Exact) -> Tensor:
    """An exact array as an arithmetic stores it."""
    flat = numbers.convert([exact.reshape(-1).tolist()])
    assert flat.error is not None
    return Tensor(flat.value[0].reshape(exact.shape), flat.error[0].reshape(exact.shape))


def boxed(numbers: Arithmetic, exact: Exact, chooser: random.Random) -> tuple[Tensor, Exact]:
    """The stored numbers with larger errors, and exact numbers anywhere within them, often at the end."""
    tensor = stored(numbers, exact)
    assert tensor.error is not None
    value, error, inside = tensor.value, tensor.error.copy(), np.empty(exact.shape, dtype=object)
    for index in np.ndindex(*exact.shape):
        if chooser.random() < 0.5:
            error[index] += abs(float(value[index])) * 2.0 ** -chooser.randrange(3, 60)
        offset = Fraction(float(error[index])) * Fraction(chooser.choice((-4, -4, -1, 0, 3, 4, 4)), 4)
        inside[index] = Fraction(float(value[index])) + offset
    return Tensor(value, error), inside


def violations(found: Tensor, exact: Exact) -> list[str]:
    """Where the error of a number exceeds its bound; numbers out of range are excluded."""
    assert found.error is not None
    wrong = []
    for index in np.ndindex(*exact.shape):
        value, error = float(found.value[index]), float(found.error[index])
        if not (np.isfinite(value) and np.isfinite(error)):
            continue
        if abs(Fraction(value) - exact[index]) > Fraction(error) * SLACK:
            wrong.append(f"{index}: {value!r} ± {error!r} for {float(exact[index])!r}")
    return wrong
