"""Interval arithmetic with bounds that are polynomials in the input length, and widening for loops.

Every function returns a range that contains the result wherever it is defined. A `Mismatch` carries the message of a
type error; inference adds the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import ceil, floor, lcm
from typing import Final

from softmachine.languages.rasp.ir import Operator, Value
from softmachine.languages.rasp.types import LENGTH, ONE, ZERO, Finite, Integer, Line, Ratio, Type
from softmachine.languages.rasp.values import apply, identity, is_number

MOST_VALUES: Final = 1 << 10
"""Maximal size of a finite type."""
HIGHEST_DEGREE: Final = 8
"""Maximal degree of a bound."""
LARGEST_COMMON: Final = 16
"""Maximal denominator of fractions that are brought to a common denominator."""
PATIENCE: Final = 8
"""Rounds of loop inference before growing bounds are widened."""
FASTEST: Final = 16
"""Maximal slope of the widened bounds in a loop, as a multiple of the length."""
UNENDING: Final = "the numbers in the loop grow without bound; limit them, for example by min(x, length)"
LARGEST_COEFFICIENT: Final = 10**18


class Mismatch(Exception):  # noqa: N818 - inference turns it into a problem with a place
    """A type error."""


@dataclass(frozen=True)
class Range:
    """The range of a number: lower and upper bound of the value, upper bound of the denominator."""

    low: Line
    high: Line
    denominator: Line = ONE

    @property
    def integral(self) -> bool:
        """Whether all numbers of the range are integers."""
        return self.denominator == ONE

    @property
    def size(self) -> Line:
        """Upper bound of the absolute value."""
        return self.high.or_more(-self.low).or_more(ZERO)

    @property
    def may_be_zero(self) -> bool:
        """Whether the bounds do not exclude 0."""
        return not self.low.at_least(ONE) and not (-self.high).at_least(ONE)

    def typed(self, partial: bool) -> Type:
        """The type of the numbers in this range."""
        for bound in (self.low, self.high, self.denominator):
            if bound.degree > HIGHEST_DEGREE or max(map(abs, bound.coefficients)) > LARGEST_COEFFICIENT:
                raise Mismatch(f"a number may exceed n^{HIGHEST_DEGREE}; use smaller numbers")
        if not self.integral:
            return Ratio(self.low, self.high, self.denominator, partial)
        if self.low.degree == self.high.degree == 0 and self.high.constant - self.low.constant < MOST_VALUES:
            return Finite(tuple(range(self.low.constant, self.high.constant + 1)), partial)
        return Integer(self.low, self.high, partial)


def range_of(found: Type) -> Range | None:
    """The range of a numeric type; None for other types."""
    match found:
        case Integer():
            return Range(found.low, found.high)
        case Ratio():
            return Range(found.low, found.high, found.denominator)
        case Finite(values=values):
            numbers = [Fraction(value) for value in values if is_number(value)]
            if not numbers or len(numbers) < len(values):
                return None
            common = lcm(*(number.denominator for number in numbers))
            return Range(Line(floor(min(numbers))), Line(ceil(max(numbers))), Line(common))


def united(one: Type, other: Type) -> Type:
    """The union of two types."""
    partial = one.partial or other.partial
    if isinstance(one, Finite) and isinstance(other, Finite):
        values = distinct([*one.values, *other.values])
        if len(values) <= MOST_VALUES:
            return Finite(values, partial)
    if one == Finite((), one.partial):
        return replace(other, partial=partial)
    if other == Finite((), other.partial):
        return replace(one, partial=partial)
    first, second = range_of(one), range_of(other)
    if first is None or second is None:
        raise Mismatch(
            f"a value may be {one}, or {other}: numbers that grow with the length do not mix with other values"
        )
    return _hull(first, second).typed(partial)


def widened(old: Type, new: Type, rounds: int) -> Type:
    """The union of two types, widened after several rounds: bounds that still grow jump to the next limit."""
    both = united(old, new)
    before, now = range_of(old), range_of(both)
    if both == old or rounds < PATIENCE or before is None or now is None:
        return both
    if not now.integral:
        raise Mismatch(UNENDING)
    high = now.high if before.high.at_least(now.high) else _limit(now.high)
    low = now.low if now.low.at_least(before.low) else -_limit(-now.low)
    return Range(low, high).typed(both.partial)


def _limit(bound: Line) -> Line:
    """The next limit for widening: a linear bound, of at least twice the slope."""
    if bound.higher or bound.slope >= FASTEST:
        raise Mismatch(UNENDING)
    slope = max(1, 2 * bound.slope)
    return Line(max(bound.at(1), 0) - slope, slope).or_more(bound)


def distinct(values: Sequence[Value]) -> tuple[Value, ...]:
    """The values without duplicates, in order."""
    return tuple({identity(value): value for value in values}.values())


def mean(values: Range) -> Range:
    """The range of the mean of up to n numbers."""
    if values.denominator.degree or values.denominator.constant > LARGEST_COMMON:
        raise Mismatch(
            "a mean of fractions with different denominators has no bounded denominator; "
            "aggregate numerators, or round first"
        )
    common = lcm(*range(1, values.denominator.constant + 1))
    return replace(values, denominator=Line(common) * LENGTH)


def total(values: Range) -> Range:
    """The range of the sum of 0 to n numbers."""
    return Range(values.low.or_less(ZERO) * LENGTH, values.high.or_more(ZERO) * LENGTH, values.denominator)


def arithmetic(operator: Operator, operands: Sequence[Range]) -> tuple[Range, bool]:
    """The range of the result of an operation, and whether the result may be undefined."""
    return _RULES[operator](*operands)


def _hull(one: Range, other: Range) -> Range:
    denominator = one.denominator.or_more(other.denominator)
    return Range(one.low.or_less(other.low), one.high.or_more(other.high), denominator)


def _common(one: Range, other: Range) -> Line:
    """A bound for the denominator of a sum or a product."""
    return one.denominator * other.denominator


def _add(one: Range, other: Range) -> tuple[Range, bool]:
    return Range(one.low + other.low, one.high + other.high, _common(one, other)), False


def _subtract(one: Range, other: Range) -> tuple[Range, bool]:
    return Range(one.low - other.high, one.high - other.low, _common(one, other)), False


def _multiply(one: Range, other: Range) -> tuple[Range, bool]:
    corners = [left * right for left in (one.low, one.high) for right in (other.low, other.high)]
    return Range(reduce(Line.or_less, corners), reduce(Line.or_more, corners), _common(one, other)), False


def _divide(one: Range, other: Range) -> tuple[Range, bool]:
    """Division by a/b with |a| ≥ 1: the absolute value is at most the dividend's times b."""
    if other.size == ZERO:
        raise Mismatch("the divisor is always 0")
    largest = one.size * other.denominator
    signed = not (one.low.at_least(ZERO) and other.low.at_least(ZERO))
    low = -largest if signed else ZERO
    denominator = (one.denominator * other.size * other.denominator).or_more(ONE)
    return Range(low, largest, denominator), other.may_be_zero


def _floor_divide(one: Range, other: Range) -> tuple[Range, bool]:
    quotient, partial = _divide(one, other)
    low = quotient.low if quotient.low.at_least(ZERO) else quotient.low - ONE
    return Range(low, quotient.high), partial


def _modulo(one: Range, other: Range) -> tuple[Range, bool]:
    """The remainder has the sign of the divisor and a smaller absolute value."""
    if other.size == ZERO:
        raise Mismatch("the divisor is always 0")
    less = ONE if one.integral and other.integral else ZERO
    low = ZERO if other.low.at_least(ZERO) else (other.low + less).or_less(ZERO)
    high = ZERO if (-other.high).at_least(ZERO) else (other.high - less).or_more(ZERO)
    return Range(low, high, _common(one, other)), other.may_be_zero


def _minimum(one: Range, other: Range) -> tuple[Range, bool]:
    return replace(_hull(one, other), high=_lesser(one.high, other.high)), False


def _maximum(one: Range, other: Range) -> tuple[Range, bool]:
    return replace(_hull(one, other), low=-_lesser(-one.low, -other.low)), False


def _lesser(one: Line, other: Line) -> Line:
    """The better of two upper bounds: the one that is never larger, otherwise the one of lower degree."""
    if one.at_least(other):
        return other
    return other if other.degree < one.degree and not other.at_least(one) else one


def _negate(one: Range) -> tuple[Range, bool]:
    return Range(-one.high, -one.low, one.denominator), False


def _absolute(one: Range) -> tuple[Range, bool]:
    low = one.low if one.low.at_least(ZERO) else -one.high if (-one.high).at_least(ZERO) else ZERO
    return Range(low, one.size, one.denominator), False


def _whole(one: Range) -> tuple[Range, bool]:
    """Rounding preserves the bounds, which are integers."""
    return Range(one.low, one.high), False


_RULES: Final[Mapping[Operator, Callable[..., tuple[Range, bool]]]] = {
    Operator.ADD: _add,
    Operator.SUBTRACT: _subtract,
    Operator.MULTIPLY: _multiply,
    Operator.DIVIDE: _divide,
    Operator.FLOOR_DIVIDE: _floor_divide,
    Operator.MODULO: _modulo,
    Operator.MINIMUM: _minimum,
    Operator.MAXIMUM: _maximum,
    Operator.NEGATE: _negate,
    Operator.ABSOLUTE: _absolute,
    Operator.ROUND: _whole,
    Operator.TRUNCATE: _whole,
}


def power(base: Type, exponent: Type) -> tuple[Range, bool]:
    """The range of a power with an exponent from a finite set, or with base 1, 0 or -1 and any integer exponent."""
    found, by = range_of(base), range_of(exponent)
    if found is None or by is None:
        raise Mismatch("'^' needs numbers")
    if isinstance(exponent, Finite):
        return _few_powers(found, exponent)
    if not isinstance(exponent, Integer) or not isinstance(base, Finite) or found.size.at_least(Line(2)):
        raise Mismatch(
            "this power grows faster than every polynomial; the exponent must have finitely many integer values"
        )
    results = [apply(Operator.POWER, (value, times)) for value in base.values for times in (-1, 0, 1)]
    numbers = Finite(distinct([value for value in results if is_number(value)]))
    united_range = range_of(numbers)
    assert united_range is not None
    return united_range, len(numbers.values) < len(results) and not by.low.at_least(ZERO)


def _few_powers(base: Range, exponent: Finite) -> tuple[Range, bool]:
    results: list[Range] = []
    partial = False
    for times in exponent.values:
        if not isinstance(times, int):
            partial = True
            continue
        if abs(times) > HIGHEST_DEGREE:
            raise Mismatch(f"an exponent is at most {HIGHEST_DEGREE} if the base grows with the length")
        product = Range(ONE, ONE)
        for _ in range(abs(times)):
            product, _never = _multiply(product, base)
        if times < 0:
            product, undefined = _divide(Range(ONE, ONE), product)
            partial |= undefined
        results.append(product)
    if not results:
        raise Mismatch("an exponent must be an integer")
    return reduce(_hull, results), partial
