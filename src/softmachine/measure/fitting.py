"""Formulas for measured numbers: the simplest function of n, out of a few families, that has exactly these values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

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
"""Which functions are combined, simple combinations first."""
_MOST_DENOMINATOR = 6
"""Coefficients with a larger denominator are not simple."""


@dataclass(frozen=True)
class Formula:
    """A linear combination of functions of n, as pairs of a coefficient and the name of a function."""

    terms: tuple[tuple[Fraction, str], ...]

    def at(self, n: int) -> Fraction:
        """The value for n."""
        return sum((factor * _FUNCTIONS[name](n) for factor, name in self.terms), Fraction(0))

    def __str__(self) -> str:
        text = ""
        for factor, name in self.terms:
            size = abs(factor)
            number = str(size) if size.denominator == 1 or not name else f"({size})"
            term = name if name and size == 1 else number + name
            sign = ("-" if factor < 0 else "") if not text else " - " if factor < 0 else " + "
            text += sign + term
        return text or "0"


def fitted(points: Mapping[int, int]) -> Formula | None:
    """The simplest formula with these values at these n; None if none of the known families has one.

    A family with k functions needs k + 1 points: as many determine the coefficients, and one more confirms them.
    """
    for family in _FAMILIES:
        if len(points) <= len(family) and len(family) > 1:
            continue
        factors = _solved([[Fraction(_FUNCTIONS[name](n)) for name in family] for n in points], list(points.values()))
        if factors and all(factor.denominator <= _MOST_DENOMINATOR for factor in factors):
            pairs = zip(factors, family, strict=True)
            return Formula(tuple((factor, name) for factor, name in pairs if factor))
    return None


def _solved(rows: Sequence[Sequence[Fraction]], values: Sequence[int]) -> list[Fraction] | None:
    """The one solution of a system of linear equations, by elimination; None if there is none, or more than one."""
    system = [[*row, Fraction(value)] for row, value in zip(rows, values, strict=True)]
    unknowns = len(rows[0])
    for k in range(unknowns):
        pivot = next((r for r in range(k, len(system)) if system[r][k]), None)
        if pivot is None:
            return None
        system[k], system[pivot] = system[pivot], system[k]
        system[k] = [number / system[k][k] for number in system[k]]
        for r in range(len(system)):
            if r != k and system[r][k]:
                factor = system[r][k]
                system[r] = [a - factor * b for a, b in zip(system[r], system[k], strict=True)]
    if any(row[-1] for row in system[unknowns:]):
        return None
    return [row[-1] for row in system[:unknowns]]
