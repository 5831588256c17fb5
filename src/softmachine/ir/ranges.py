"""Value ranges of the components of a signal: an interval, and a denominator.

Ranges are inferred through affine maps, ReLU and attention. Gadgets check the ranges that they assume when the graph is
built, and the exact interpreter checks every range on every value it computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from softmachine.support.polynomial import Polynomial, simplify_fraction

INTEGERS = "1"
OVER_POSITIONS = "i+1"
_DENOMINATORS = (INTEGERS, OVER_POSITIONS)


@dataclass(frozen=True)
class ValueRange:
    """Numbers between two bounds that are integers divided by ``over``.

    Args:
        low: Lower bound; may grow with the length.
        high: Upper bound; may grow with the length.
        denominator: The denominator: "1" for integers, "i+1" for integers divided by the number of positions up to this
            one, None for arbitrary reals.
    """

    low: Polynomial
    high: Polynomial
    denominator: str | None

    @property
    def is_bit(self) -> bool:
        """Whether the number is 0 or 1."""
        return self.is_within(BIT)

    @property
    def is_integer(self) -> bool:
        """Whether the number is an integer."""
        return self.denominator == INTEGERS

    @property
    def depends_on_length(self) -> bool:
        """Whether a bound depends on the length."""
        return self.low.degree > 0 or self.high.degree > 0

    def is_within(self, other: ValueRange) -> bool:
        """Whether this range is contained in the other one."""
        inside = other.low.is_coefficientwise_at_most(self.low) and self.high.is_coefficientwise_at_most(other.high)
        return inside and _common_denominator({self.denominator, other.denominator}) == other.denominator

    def narrower(self, other: ValueRange) -> ValueRange:
        """Return the range that is contained in the other; this one if neither is."""
        return other if other.is_within(self) else self

    def contains(self, value: Fraction, i: int, n: int) -> bool:
        """Whether the range contains a value at position i of n."""
        grid = {INTEGERS: 1, OVER_POSITIONS: i + 1}.get(self.denominator or "")
        on_grid = grid is None or (value * grid).denominator == 1
        return on_grid and self.low.at(n) <= value <= self.high.at(n)

    def __str__(self) -> str:
        if self == BIT:
            return "bit"
        what = {INTEGERS: "integer", OVER_POSITIONS: "integer/(i+1)"}.get(self.denominator or "", "real")
        return f"{what} in {self.low}..{self.high}"


def integer(low: Polynomial | int, high: Polynomial | int) -> ValueRange:
    """Integers between two bounds."""
    return ValueRange(Polynomial.coerce(low), Polynomial.coerce(high), INTEGERS)


def real(low: Polynomial | Fraction | int, high: Polynomial | Fraction | int) -> ValueRange:
    """Reals between two bounds."""
    return ValueRange(Polynomial.coerce(low), Polynomial.coerce(high), None)


def exact(value: Fraction) -> ValueRange:
    """Return the range of a constant."""
    return ValueRange(Polynomial(value), Polynomial(value), INTEGERS if value.denominator == 1 else None)


BIT = integer(0, 1)
SIGN = integer(-1, 1)
REALS = real(-(10**300), 10**300)
"""The range of a number about which nothing is declared: its bounds are beyond all values that are computed."""


def affine_range(terms: Iterable[tuple[Fraction, ValueRange]], constant: Fraction) -> ValueRange:
    """Return the range of an affine combination, by interval arithmetic."""
    low, high = [simplify_fraction(constant)], [simplify_fraction(constant)]
    grids = {INTEGERS if constant.denominator == 1 else None}
    for factor, kind in terms:
        number = simplify_fraction(factor)
        below, above = (kind.high, kind.low) if number < 0 else (kind.low, kind.high)
        _accumulate(low, below, number)
        _accumulate(high, above, number)
        grids.add(kind.denominator if isinstance(number, int) else None)
    return ValueRange(Polynomial(*low), Polynomial(*high), _common_denominator(grids))


def _accumulate(total: list[Fraction | int], bound: Polynomial, factor: Fraction | int) -> None:
    """Add a multiple of one polynomial to another, in place and in integers (a hot spot of compilation)."""
    total += [0] * (len(bound.coefficients) - len(total))
    for k, coefficient in enumerate(bound.coefficients):
        if coefficient:
            total[k] += coefficient * factor


def relu_range(kind: ValueRange) -> ValueRange:
    """Return the range of ReLU(x)."""
    zero = Polynomial(0)
    low = kind.low if zero.is_coefficientwise_at_most(kind.low) else zero
    return ValueRange(low, kind.high.upper_bound(zero), kind.denominator)


def union(kinds: Iterable[ValueRange]) -> ValueRange:
    """Return a range that contains all the given ones."""
    first, *rest = kinds
    for kind in rest:
        first = ValueRange(
            first.low.lower_bound(kind.low),
            first.high.upper_bound(kind.high),
            _common_denominator({first.denominator, kind.denominator}),
        )
    return first


def _common_denominator(grids: set[str | None]) -> str | None:
    """Return the common denominator: every integer is also an integer over i+1; None means any real."""
    return None if None in grids else max(grids, key=lambda grid: _DENOMINATORS.index(grid or ""))
