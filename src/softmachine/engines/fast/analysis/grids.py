"""Grids of numbers: integers over a denominator that is known statically, or fractions of two integers.

Most numbers of a run are integers, or integers over a constant times a power of i+1 (means over all positions). Such a
number is stored as its numerator alone, so that addition, comparison and sign tests are exact operations on 64-bit
integers. Where no such denominator can be proved (a mean over an unknown number of tied keys), both numerator and
denominator are stored.

The numerators are bounded for runs up to `MAX_POSITIONS` positions. Where the bound does not fit into 62 bits, the
generated code checks before it computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm

from softmachine.engines.fast.analysis.unrolled_program import UnrolledProgram
from softmachine.ir.signal import Affine, Atom
from softmachine.transformer.features import Feature, Monomial

MAX_POSITIONS = 2**30
"""Bounds hold for runs up to this number of positions; longer runs stop."""
OVERFLOW_LIMIT = 2**62
"""Sums of products whose absolute values add up to less than this cannot overflow."""


class UnsupportedModel(Exception):  # noqa: N818  (not an error: the dense engine does it)
    """The fast engine does not support the model; the message gives the reason."""


@dataclass(frozen=True)
class Denominator:
    """The denominators over · (i+1)^power."""

    over: int = 1
    power: int = 0


@dataclass(frozen=True)
class NumberRange:
    """The grid of a number (None if it is stored as a fraction), and the range of its numerator."""

    grid: Denominator | None
    low: int = 0
    high: int = 0

    @property
    def steady(self) -> bool:
        """Whether it is an integer over a constant at every position."""
        return self.grid is not None and self.grid.power == 0

    @property
    def over(self) -> int:
        """The constant denominator."""
        assert self.grid is not None
        return self.grid.over

    @property
    def size(self) -> int:
        """The largest absolute value of the numerator."""
        return max(abs(self.low), abs(self.high))

    @property
    def spread(self) -> Fraction:
        """Upper bound of the difference of the number at two positions."""
        if self.steady:
            return Fraction(self.high - self.low, self.over)
        return Fraction(max(self.high, 0) - min(self.low, 0), self.over)  # over different denominators


FRACTION = NumberRange(None)
BITS = NumberRange(Denominator(), 0, 1)


def feature_range(item: Feature, horizon: int = MAX_POSITIONS) -> NumberRange:
    """The range of a position feature, up to a position."""
    if isinstance(item, Monomial) and item.reciprocal_power:
        return NumberRange(Denominator(1, item.reciprocal_power), 1, 1)
    if item.denominator not in ("1", "i+1"):
        return FRACTION
    power = 0 if item.denominator == "1" else 1
    low, high = _stretched(floor(item.low.at(horizon)), ceil(item.high.at(horizon)), horizon**power)
    return NumberRange(Denominator(1, power), low, high)


Term = tuple[int, int, Atom | None]
"""A coefficient, an exponent of i+1, and an atom; None stands for 1."""


@dataclass(frozen=True)
class LinearNumerator:
    """A numerator: table[token] · s^power + Σ coefficient · s^p · atom, where s = i+1 and power is that of the grid.

    Args:
        grid: The denominators.
        table: An integer for each token; empty if all are 0.
        terms: The other terms.
        low: Lower bound of the values.
        high: Upper bound of the values.
        size: Upper bound of the absolute values of partial sums.
    """

    grid: Denominator
    table: tuple[int, ...]
    terms: tuple[Term, ...]
    low: int
    high: int
    size: int

    @property
    def number(self) -> NumberRange:
        """The range of the number."""
        return NumberRange(self.grid, self.low, self.high)

    @property
    def fixed(self) -> int | None:
        """The numerator, if it is constant."""
        if self.table or any(power or atom for _, power, atom in self.terms):
            return None
        return sum(coefficient for coefficient, _, _ in self.terms)

    def divided(self, divisor: int) -> LinearNumerator | None:
        """The numerator divided by a positive integer, if every coefficient is divisible."""
        if any(part % divisor for part in (*self.table, *(coefficient for coefficient, _, _ in self.terms))):
            return None
        return LinearNumerator(
            self.grid,
            tuple(entry // divisor for entry in self.table),
            tuple((coefficient // divisor, power, atom) for coefficient, power, atom in self.terms),
            -(-self.low // divisor),
            self.high // divisor,
            self.size // divisor,
        )


class NumberRanges:
    """The range of every atom of a program, filled in by the planner.

    Args:
        program: The program.
        horizon: The maximal number of positions for which bounds hold.
    """

    def __init__(self, program: UnrolledProgram, horizon: int = MAX_POSITIONS) -> None:
        self.program = program
        self.horizon = horizon
        self.atoms: dict[Atom, NumberRange] = {}

    def of(self, form: Affine) -> NumberRange:
        """The range of a form."""
        found = self.linear([form])
        return found[0].number if found else FRACTION

    def linear(self, forms: Sequence[Affine]) -> list[LinearNumerator] | None:
        """The numerators of some forms over one common denominator; None if none is known."""
        grids = [self.atoms[atom].grid for form in forms for atom in form.other_terms]
        if any(grid is None for grid in grids):
            return None
        power = max((grid.power for grid in grids if grid), default=0)
        over = lcm(*(part.denominator for form in forms for part in self._parts(form)))
        return [self._numerator(form, Denominator(over, power)) for form in forms]

    def _parts(self, form: Affine) -> Iterable[Fraction]:
        yield form.constant
        yield from form.token_terms.values()
        for atom, weight in form.other_terms.items():
            grid = self.atoms[atom].grid
            assert grid is not None
            yield weight / grid.over

    def _numerator(self, form: Affine, grid: Denominator) -> LinearNumerator:
        table: tuple[int, ...] = ()
        low, high, size = 0, 0, 0
        if form.token_terms:
            entries = [0] * self.program.vocabulary_size
            for token, value in form.token_terms.items():
                entries[token] = value.numerator * (grid.over // value.denominator)
            table = tuple(entries)
            low, high = _stretched(min(table), max(table), self.horizon**grid.power)
            size = max(abs(low), abs(high))
        constants = {grid.power: int(form.constant * grid.over)}
        terms: list[Term] = []
        numbers = self.program.numbers
        for atom, weight in sorted(form.other_terms.items(), key=lambda term: numbers[term[0]]):
            known = self.atoms[atom]
            assert known.grid is not None
            coefficient, power = int(weight * grid.over / known.grid.over), grid.power - known.grid.power
            if known.low == known.high:
                constants[power] = constants.get(power, 0) + coefficient * known.low
                continue
            terms.append((coefficient, power, atom))
            ends = sorted((coefficient * known.low, coefficient * known.high))
            least, most = _stretched(ends[0], ends[1], self.horizon**power)
            low, high, size = low + least, high + most, size + max(abs(least), abs(most))
        for power, constant in sorted(constants.items()):
            if constant:
                terms.append((constant, power, None))
                least, most = _stretched(constant, constant, self.horizon**power)
                low, high, size = low + least, high + most, size + max(abs(least), abs(most))
        coefficients = [coefficient for coefficient, _, _ in terms]
        if any(
            part and (max(part) >= OVERFLOW_LIMIT or min(part) <= -OVERFLOW_LIMIT) for part in (table, coefficients)
        ):
            raise UnsupportedModel("its weights are not integers of 62 bits over a common denominator")
        return LinearNumerator(grid, table, tuple(terms), low, high, size)


def _stretched(low: int, high: int, factor: int) -> tuple[int, int]:
    """The range of x · f for low ≤ x ≤ high and 1 ≤ f ≤ factor."""
    return min(low, low * factor), max(high, high * factor)
