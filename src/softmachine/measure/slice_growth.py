"""How a sequence of positive numbers grows: like a power of n, or exponentially, as far as a few numbers can tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, pairwise
from math import exp, expm1, log, sqrt

FEWEST = 5
"""With fewer numbers nothing is said."""
CLEAR = 2.0
"""One law must miss the numbers by so many times what the other one does."""


class Law(StrEnum):
    """How numbers grow."""

    CONSTANT = "constant"
    POLYNOMIAL = "polynomial"
    EXPONENTIAL = "exponential"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Fit:
    """The best power c · n^degree and the best exponential c · base^n through the later half of some numbers.

    What is fitted is the largest number up to n, as many sequences are small for some n. And since they often differ
    for odd and even n, numbers that follow each other are averaged first (geometrically). A fit is a description of
    these numbers and no proof of what comes after them.

    Args:
        law: Which one fits clearly better; constant if the numbers are all the same.
        degree: Of the power.
        base: Of the exponential.
        power_error: By which factor (less 1) the power misses the numbers, on average (root mean square of logarithms).
        exponential_error: The same for the exponential.
        first: The first n that was used.
        last: The last n that was used.
    """

    law: Law
    degree: float
    base: float
    power_error: float
    exponential_error: float
    first: int
    last: int

    def __str__(self) -> str:
        power, exponential = f"n^{self.degree:.2f}", f"{self.base:.2f}^n"
        errors = f"to {self.power_error:.1%}", f"to {self.exponential_error:.1%}"
        where = f"n = {self.first} … {self.last}"
        match self.law:
            case Law.CONSTANT:
                return f"constant for {where}"
            case Law.POLYNOMIAL:
                return f"polynomial: like {power} {errors[0]} for {where} (like {exponential} only {errors[1]})"
            case Law.EXPONENTIAL:
                return f"exponential: like {exponential} {errors[1]} for {where} (like {power} only {errors[0]})"
            case Law.UNCLEAR:
                return f"unclear: like {power} {errors[0]} and like {exponential} {errors[1]} for {where}"


def fit(numbers: Mapping[int, float]) -> Fit | None:
    """How the largest number up to n grows with n; None if there are too few to tell.

    Args:
        numbers: A positive number for each of some n ≥ 1.
    """
    given = sorted((n, value) for n, value in numbers.items() if n >= 1 and value > 0)
    if len(given) < FEWEST:
        return None
    points = [
        (n, largest) for (n, _), largest in zip(given, accumulate((value for _, value in given), max), strict=True)
    ]
    used = points[min(len(points) // 2, len(points) - FEWEST) :]
    logarithms = _means([log(value) for _, value in used])
    degree, power_error = _line(_means([log(n) for n, _ in used]), logarithms)
    rate, exponential_error = _line(_means([float(n) for n, _ in used]), logarithms)
    if len({value for _, value in used}) == 1:
        law = Law.CONSTANT
    elif power_error * CLEAR <= exponential_error:
        law = Law.POLYNOMIAL
    elif exponential_error * CLEAR <= power_error:
        law = Law.EXPONENTIAL
    else:
        law = Law.UNCLEAR
    return Fit(law, degree, exp(rate), expm1(power_error), expm1(exponential_error), used[0][0], used[-1][0])


def _means(numbers: list[float]) -> list[float]:
    """The means of numbers that follow each other."""
    return [(one + two) / 2 for one, two in pairwise(numbers)]


def _line(x: list[float], y: list[float]) -> tuple[float, float]:
    """The slope of the line of least squares through some points, and the root mean square of what is left."""
    count = len(x)
    x_mean, y_mean = sum(x) / count, sum(y) / count
    slope = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True)) / sum((a - x_mean) ** 2 for a in x)
    rest = sum((b - y_mean - slope * (a - x_mean)) ** 2 for a, b in zip(x, y, strict=True))
    return slope, sqrt(rest / count)
