"""Value ranges of the components of a signal: an interval, and a denominator.

Ranges are inferred through affine maps, ReLU and attention. Gadgets check the ranges that they assume when the graph is
built, and the exact interpreter checks every range on every value it computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from softmachine.support.polynomial import Bound, whole

INTEGERS = "1"
SHARES = "i+1"
_GRIDS = (INTEGERS, SHARES)


@dataclass(frozen=True)
class Kind:
    """Numbers between two bounds that are integers divided by ``over``.

    Args:
        low: Lower bound; may grow with the length.
        high: Upper bound; may grow with the length.
        over: The denominator: "1" for integers, "i+1" for integers divided by the number of positions up to this one,
            None for arbitrary reals.
    """

    low: Bound
    high: Bound
    over: str | None

    @property
    def is_bit(self) -> bool:
        """Whether the number is 0 or 1."""
        return self.within(BIT)

    @property
    def is_integer(self) -> bool:
        """Whether the number is an integer."""
        return self.over == INTEGERS

    @property
    def grows(self) -> bool:
        """Whether a bound depends on the length."""
        return any(self.low.coefficients[1:]) or any(self.high.coefficients[1:])

    def within(self, other: Kind) -> bool:
        """Whether this range is contained in the other one."""
        inside = other.low.surely_at_most(self.low) and self.high.surely_at_most(other.high)
        return inside and _coarsest({self.over, other.over}) == other.over

    def tighter(self, other: Kind) -> Kind:
        """Return the range that is contained in the other; this one if neither is."""
        return other if other.within(self) else self

    def admits(self, value: Fraction, i: int, n: int) -> bool:
        """Whether the range contains a value at position i of n."""
        grid = {INTEGERS: 1, SHARES: i + 1}.get(self.over or "")
        on_grid = grid is None or (value * grid).denominator == 1
        return on_grid and self.low.at(n) <= value <= self.high.at(n)

    def __str__(self) -> str:
        if self == BIT:
            return "bit"
        what = {INTEGERS: "integer", SHARES: "integer/(i+1)"}.get(self.over or "", "real")
        return f"{what} in {self.low}..{self.high}"


def integer(low: Bound | int, high: Bound | int) -> Kind:
    """Integers between two bounds."""
    return Kind(Bound.of(low), Bound.of(high), INTEGERS)


def real(low: Bound | Fraction | int, high: Bound | Fraction | int) -> Kind:
    """Reals between two bounds."""
    return Kind(Bound.of(low), Bound.of(high), None)


def exactly(value: Fraction) -> Kind:
    """Return the range of a constant."""
    return Kind(Bound.of(value), Bound.of(value), INTEGERS if value.denominator == 1 else None)


BIT = integer(0, 1)
SIGN = integer(-1, 1)


def combination(terms: Iterable[tuple[Fraction, Kind]], constant: Fraction) -> Kind:
    """Return the range of an affine combination, by interval arithmetic."""
    low, high = [whole(constant)], [whole(constant)]
    grids = {INTEGERS if constant.denominator == 1 else None}
    for factor, kind in terms:
        number = whole(factor)
        below, above = (kind.high, kind.low) if number < 0 else (kind.low, kind.high)
        _accumulate(low, below, number)
        _accumulate(high, above, number)
        grids.add(kind.over if isinstance(number, int) else None)
    return Kind(Bound(tuple(map(Fraction, low))), Bound(tuple(map(Fraction, high))), _coarsest(grids))


def _accumulate(total: list[Fraction | int], bound: Bound, factor: Fraction | int) -> None:
    """Add a multiple of one polynomial to another, in place and in integers (a hot spot of compilation)."""
    total += [0] * (len(bound.numbers) - len(total))
    for k, coefficient in enumerate(bound.numbers):
        if coefficient:
            total[k] += coefficient * factor


def rectified(kind: Kind) -> Kind:
    """Return the range of ReLU(x)."""
    zero = Bound.of(0)
    return Kind(kind.low if zero.surely_at_most(kind.low) else zero, kind.high.join(zero), kind.over)


def union(kinds: Iterable[Kind]) -> Kind:
    """Return a range that contains all the given ones."""
    first, *rest = kinds
    for kind in rest:
        first = Kind(first.low.meet(kind.low), first.high.join(kind.high), _coarsest({first.over, kind.over}))
    return first


def _coarsest(grids: set[str | None]) -> str | None:
    """Return the common denominator: every integer is also an integer over i+1; None means any real."""
    return None if None in grids else max(grids, key=lambda grid: _GRIDS.index(grid or ""))
