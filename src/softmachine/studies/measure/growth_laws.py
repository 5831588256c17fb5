"""Fits of sequences: an exact formula in n, or an approximate growth law.

A *formula* is the simplest function of n, out of a few families, with exactly these values. A *law* classifies the
growth as polynomial or exponential, as far as a few numbers allow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate, pairwise
from math import exp, expm1, isqrt, log, sqrt
from statistics import fmean, linear_regression

from softmachine.support.text import format_sign
from softmachine.transformer.features import ceil_log2

_FUNCTIONS: dict[str, Callable[[int], int]] = {
    "": lambda _: 1,
    "n": lambda n: n,
    "n²": lambda n: n**2,
    "n³": lambda n: n**3,
    "⌈log₂ n⌉": ceil_log2,
    "⌈log₂(n+1)⌉": lambda n: ceil_log2(n + 1),
    "n⌈log₂ n⌉": lambda n: n * ceil_log2(n),
    "⌈log₂ n⌉²": lambda n: ceil_log2(n) ** 2,
    "⌈√n⌉": lambda n: isqrt(n - 1) + 1 if n else 0,
}
_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("",),
    ("n", ""),
    ("⌈log₂ n⌉", ""),
    ("⌈log₂(n+1)⌉", ""),
    ("⌈√n⌉", ""),
    ("n²", "n", ""),
    ("⌈log₂ n⌉²", "⌈log₂ n⌉", ""),
    ("n", "⌈log₂ n⌉", ""),
    ("n³", "n²", "n", ""),
    ("n⌈log₂ n⌉", "n", "⌈log₂ n⌉", ""),
)
"""The sets of functions that are combined, simple ones first."""
_MAX_DENOMINATOR = 6
"""Maximum denominator of coefficients."""
MIN_VALUES = 5
"""Minimum number of values for a law."""
MIN_ERROR_RATIO = 2.0
"""Minimum ratio of the errors of the two laws for a decision."""


@dataclass(frozen=True)
class ClosedForm:
    """A linear combination of functions of n, as pairs of a coefficient and the name of a function."""

    terms: tuple[tuple[Fraction, str], ...]

    def evaluate(self, n: int) -> Fraction:
        """Return the value for n."""
        return sum((factor * _FUNCTIONS[name](n) for factor, name in self.terms), Fraction(0))

    def __str__(self) -> str:
        text = ""
        for factor, name in self.terms:
            size = abs(factor)
            number = str(size) if size.denominator == 1 or not name else f"({size})"
            term = name if name and size == 1 else number + name
            text += format_sign(factor < 0, text) + term
        return text or "0"


def find_closed_form(points: Mapping[int, int]) -> ClosedForm | None:
    """Find the simplest formula with these values at these n; None if the points do not determine and confirm one.

    A family of k functions needs 2k + 1 points: k determine the coefficients, and the others, held out, confirm them.
    The largest n must be at least twice the k-th smallest: a logarithm is almost constant, or almost linear, on a short
    interval. If two formulas with the same number of terms have these values, the result is None: for example, powers
    of two do not distinguish ⌈log₂ n⌉ + 1 from ⌈log₂(n+1)⌉.
    """
    sizes, found = sorted(points), set[ClosedForm]()
    for family in _FAMILIES:
        count = len(family)
        if len(sizes) <= 2 * count or sizes[-1] < 2 * max(1, sizes[count - 1]):
            continue
        factors = _solve([[_FUNCTIONS[name](n) for name in family] for n in sizes], [points[n] for n in sizes])
        if factors and all(factor.denominator <= _MAX_DENOMINATOR for factor in factors):
            pairs = zip(factors, family, strict=True)
            found.add(ClosedForm(tuple((factor, name) for factor, name in pairs if factor)))
    fewest = min((len(formula.terms) for formula in found), default=0)
    simplest = [formula for formula in found if len(formula.terms) == fewest]
    return simplest[0] if len(simplest) == 1 else None


def _solve(rows: Sequence[Sequence[int]], values: Sequence[int]) -> list[Fraction] | None:
    """Return the unique solution of a linear system; None if there is none, or more than one."""
    from flint import fmpq_mat

    unknowns = len(rows[0])
    reduced, rank = fmpq_mat([[*row, value] for row, value in zip(rows, values, strict=True)]).rref()
    if rank != unknowns or reduced[unknowns - 1, unknowns - 1] != 1:
        return None
    solution = (reduced[k, unknowns] for k in range(unknowns))
    return [Fraction(int(number.p), int(number.q)) for number in solution]


class GrowthLaw(StrEnum):
    """Growth law of a sequence."""

    CONSTANT = "constant"
    POLYNOMIAL = "polynomial"
    EXPONENTIAL = "exponential"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class GrowthFit:
    """The best power c · n^degree and the best exponential c · base^n through the later half of a sequence.

    The running maximum is fitted, as many sequences are small for some n. Since they often differ for odd and even n,
    neighbours are averaged first (geometrically). A fit describes these numbers and is not a proof about later ones.

    Args:
        law: The law that fits clearly better; constant if all numbers are equal.
        degree: Degree of the power.
        base: Base of the exponential.
        power_error: Relative error of the power (root mean square of logarithms, as a factor minus 1).
        exponential_error: The same for the exponential.
        first: The first n that was used.
        last: The last n that was used.
    """

    law: GrowthLaw
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
            case GrowthLaw.CONSTANT:
                return f"constant for {where}"
            case GrowthLaw.POLYNOMIAL:
                return f"polynomial: like {power} {errors[0]} for {where} (like {exponential} only {errors[1]})"
            case GrowthLaw.EXPONENTIAL:
                return f"exponential: like {exponential} {errors[1]} for {where} (like {power} only {errors[0]})"
            case GrowthLaw.UNCLEAR:
                return f"unclear: like {power} {errors[0]} and like {exponential} {errors[1]} for {where}"


def fit_growth(numbers: Mapping[int, float]) -> GrowthFit | None:
    """Fit the growth of the running maximum of a sequence; None if there are too few values.

    Args:
        numbers: A positive number for each of some n ≥ 1.
    """
    given = sorted((n, value) for n, value in numbers.items() if n >= 1 and value > 0)
    if len(given) < MIN_VALUES:
        return None
    lengths, values = zip(*given, strict=True)
    first = min(len(given) // 2, len(given) - MIN_VALUES)
    used = list(zip(lengths, accumulate(values, max), strict=True))[first:]
    logarithms = _neighbour_means([log(value) for _, value in used])
    degree, power_error = _fit_line(_neighbour_means([log(n) for n, _ in used]), logarithms)
    rate, exponential_error = _fit_line(_neighbour_means([float(n) for n, _ in used]), logarithms)
    if len({value for _, value in used}) == 1:
        law = GrowthLaw.CONSTANT
    elif power_error * MIN_ERROR_RATIO <= exponential_error:
        law = GrowthLaw.POLYNOMIAL
    elif exponential_error * MIN_ERROR_RATIO <= power_error:
        law = GrowthLaw.EXPONENTIAL
    else:
        law = GrowthLaw.UNCLEAR
    return GrowthFit(law, degree, exp(rate), expm1(power_error), expm1(exponential_error), used[0][0], used[-1][0])


def _neighbour_means(numbers: list[float]) -> list[float]:
    """Return the means of neighbours."""
    return [(one + two) / 2 for one, two in pairwise(numbers)]


def _fit_line(x: list[float], y: list[float]) -> tuple[float, float]:
    """Return the slope of the least-squares line, and the root mean square of the residuals."""
    slope, intercept = linear_regression(x, y)
    return slope, sqrt(fmean((b - intercept - slope * a) ** 2 for a, b in zip(x, y, strict=True)))
