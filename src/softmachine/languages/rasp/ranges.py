"""Interval arithmetic with bounds that are polynomials in the input length, and widening for loops.

Every function returns a range that contains the result wherever it is defined. A `RaspTypeError` carries the message of
a type error; inference adds the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import ceil, floor, lcm
from typing import Final

from softmachine.languages.rasp.ir import Operator, Value
from softmachine.languages.rasp.types import (
    LENGTH,
    ONE,
    ZERO,
    FiniteType,
    FractionType,
    IntegerType,
    Type,
    is_at_least,
    lower_bound,
    upper_bound,
)
from softmachine.languages.rasp.values import apply, identity_key, is_number
from softmachine.support.polynomial import Polynomial

MAX_FINITE_VALUES: Final = 1 << 10
"""Maximal size of a finite type."""
MAX_DEGREE: Final = 8
"""Maximal degree of a bound."""
MAX_COMMON_DENOMINATOR: Final = 16
"""Maximal denominator of fractions that are brought to a common denominator."""
ROUNDS_BEFORE_WIDENING: Final = 8
"""Rounds of loop inference before growing bounds are widened."""
MAX_WIDENED_SLOPE: Final = 16
"""Maximal slope of the widened bounds in a loop, as a multiple of the length."""
UNBOUNDED_LOOP_MESSAGE: Final = "the numbers in the loop grow without bound; limit them, for example by min(x, length)"
MAX_COEFFICIENT: Final = 10**18


class RaspTypeError(Exception):
    """A type error."""


@dataclass(frozen=True)
class NumericRange:
    """The range of a number: lower and upper bound of the value, upper bound of the denominator."""

    low: Polynomial
    high: Polynomial
    denominator: Polynomial = ONE

    @property
    def is_integral(self) -> bool:
        """Whether all numbers of the range are integers."""
        return self.denominator == ONE

    @property
    def max_abs(self) -> Polynomial:
        """Upper bound of the absolute value."""
        return upper_bound(upper_bound(self.high, -self.low), ZERO)

    @property
    def may_be_zero(self) -> bool:
        """Whether the bounds do not exclude 0."""
        return not is_at_least(self.low, ONE) and not is_at_least(-self.high, ONE)

    def to_type(self, partial: bool) -> Type:
        """The type of the numbers in this range."""
        for bound in (self.low, self.high, self.denominator):
            if bound.degree > MAX_DEGREE or not all(
                -MAX_COEFFICIENT <= c <= MAX_COEFFICIENT for c in bound.coefficients
            ):
                raise RaspTypeError(f"a number may exceed n^{MAX_DEGREE}; use smaller numbers")
        if not self.is_integral:
            return FractionType(self.low, self.high, self.denominator, partial)
        if self.low.degree == self.high.degree == 0 and (self.high - self.low).at(0) < MAX_FINITE_VALUES:
            return FiniteType(tuple(range(int(self.low.at(0)), int(self.high.at(0)) + 1)), partial)
        return IntegerType(self.low, self.high, partial)


def numeric_range(value_type: Type) -> NumericRange | None:
    """The range of a numeric type; None for other types."""
    match value_type:
        case IntegerType():
            return NumericRange(value_type.low, value_type.high)
        case FractionType():
            return NumericRange(value_type.low, value_type.high, value_type.denominator)
        case FiniteType(values=values):
            numbers = [Fraction(value) for value in values if is_number(value)]
            if not numbers or len(numbers) < len(values):
                return None
            common = lcm(*(number.denominator for number in numbers))
            return NumericRange(Polynomial(floor(min(numbers))), Polynomial(ceil(max(numbers))), Polynomial(common))


def unite_types(one: Type, other: Type) -> Type:
    """The union of two types."""
    partial = one.partial or other.partial
    if isinstance(one, FiniteType) and isinstance(other, FiniteType):
        values = deduplicate([*one.values, *other.values])
        if len(values) <= MAX_FINITE_VALUES:
            return FiniteType(values, partial)
    if one == FiniteType((), one.partial):
        return replace(other, partial=partial)
    if other == FiniteType((), other.partial):
        return replace(one, partial=partial)
    first, second = numeric_range(one), numeric_range(other)
    if first is None or second is None:
        raise RaspTypeError(
            f"a value may be {one}, or {other}: numbers that grow with the length do not mix with other values"
        )
    return _hull(first, second).to_type(partial)


def widen_type(old: Type, new: Type, rounds: int) -> Type:
    """The union of two types, widened after several rounds: bounds that still grow jump to the next limit."""
    both = unite_types(old, new)
    before, now = numeric_range(old), numeric_range(both)
    if both == old or rounds < ROUNDS_BEFORE_WIDENING or before is None or now is None:
        return both
    if not now.is_integral:
        raise RaspTypeError(UNBOUNDED_LOOP_MESSAGE)
    high = now.high if is_at_least(before.high, now.high) else _widening_limit(now.high)
    low = now.low if is_at_least(now.low, before.low) else -_widening_limit(-now.low)
    return NumericRange(low, high).to_type(both.partial)


def _widening_limit(bound: Polynomial) -> Polynomial:
    """The next limit for widening: a linear bound, of at least twice the slope."""
    if bound.degree > 1 or bound.coefficient(1) >= MAX_WIDENED_SLOPE:
        raise RaspTypeError(UNBOUNDED_LOOP_MESSAGE)
    slope = max(1, 2 * int(bound.coefficient(1)))
    return upper_bound(Polynomial(max(int(bound.at(1)), 0) - slope, slope), bound)


def deduplicate(values: Sequence[Value]) -> tuple[Value, ...]:
    """The values without duplicates, in order."""
    return tuple({identity_key(value): value for value in values}.values())


def range_of_mean(values: NumericRange) -> NumericRange:
    """The range of the mean of up to n numbers."""
    if values.denominator.degree or values.denominator.at(0) > MAX_COMMON_DENOMINATOR:
        raise RaspTypeError(
            "a mean of fractions with different denominators has no bounded denominator; "
            "aggregate numerators, or round first"
        )
    common = lcm(*range(1, int(values.denominator.at(0)) + 1))
    return replace(values, denominator=LENGTH * common)


def range_of_sum(values: NumericRange) -> NumericRange:
    """The range of the sum of 0 to n numbers."""
    return NumericRange(
        lower_bound(values.low, ZERO) * LENGTH, upper_bound(values.high, ZERO) * LENGTH, values.denominator
    )


def range_of_operation(operator: Operator, operands: Sequence[NumericRange]) -> tuple[NumericRange, bool]:
    """The range of the result of an operation, and whether the result may be undefined."""
    if operator in _TOTAL_RULES:
        return _TOTAL_RULES[operator](*operands), False
    if operands[1].max_abs == ZERO:
        raise RaspTypeError("the divisor is always 0")
    return _DIVISION_RULES[operator](*operands), operands[1].may_be_zero


def _hull(one: NumericRange, other: NumericRange) -> NumericRange:
    denominator = upper_bound(one.denominator, other.denominator)
    return NumericRange(lower_bound(one.low, other.low), upper_bound(one.high, other.high), denominator)


def _multiply(one: NumericRange, other: NumericRange) -> NumericRange:
    corners = [left * right for left in (one.low, one.high) for right in (other.low, other.high)]
    return NumericRange(
        reduce(lower_bound, corners),
        reduce(upper_bound, corners),
        one.denominator * other.denominator,
    )


def _divide(one: NumericRange, other: NumericRange) -> NumericRange:
    """Division by a/b with |a| ≥ 1: the absolute value is at most the dividend's times b."""
    largest = one.max_abs * other.denominator
    signed = not (is_at_least(one.low, ZERO) and is_at_least(other.low, ZERO))
    low = -largest if signed else ZERO
    denominator = upper_bound(one.denominator * other.max_abs * other.denominator, ONE)
    return NumericRange(low, largest, denominator)


def _floor_divide(one: NumericRange, other: NumericRange) -> NumericRange:
    quotient = _divide(one, other)
    low = quotient.low if is_at_least(quotient.low, ZERO) else quotient.low - ONE
    return NumericRange(low, quotient.high)


def _modulo(one: NumericRange, other: NumericRange) -> NumericRange:
    """The remainder has the sign of the divisor and a smaller absolute value."""
    less = ONE if one.is_integral and other.is_integral else ZERO
    low = ZERO if is_at_least(other.low, ZERO) else lower_bound(other.low + less, ZERO)
    high = ZERO if is_at_least(-other.high, ZERO) else upper_bound(other.high - less, ZERO)
    return NumericRange(low, high, one.denominator * other.denominator)


def _tighter_bound(one: Polynomial, other: Polynomial) -> Polynomial:
    """The better of two upper bounds: the one that is never larger, otherwise the one of lower degree."""
    if is_at_least(one, other):
        return other
    return other if other.degree < one.degree and not is_at_least(other, one) else one


def _absolute(one: NumericRange) -> NumericRange:
    low = one.low if is_at_least(one.low, ZERO) else -one.high if is_at_least(-one.high, ZERO) else ZERO
    return NumericRange(low, one.max_abs, one.denominator)


def _round(one: NumericRange) -> NumericRange:
    """Rounding preserves the bounds, which are integers."""
    return NumericRange(one.low, one.high)


_TOTAL_RULES: Final[Mapping[Operator, Callable[..., NumericRange]]] = {
    Operator.ADD: lambda one, other: NumericRange(
        one.low + other.low, one.high + other.high, one.denominator * other.denominator
    ),
    Operator.SUBTRACT: lambda one, other: NumericRange(
        one.low - other.high, one.high - other.low, one.denominator * other.denominator
    ),
    Operator.MULTIPLY: _multiply,
    Operator.MINIMUM: lambda one, other: replace(_hull(one, other), high=_tighter_bound(one.high, other.high)),
    Operator.MAXIMUM: lambda one, other: replace(_hull(one, other), low=-_tighter_bound(-one.low, -other.low)),
    Operator.NEGATE: lambda one: NumericRange(-one.high, -one.low, one.denominator),
    Operator.ABSOLUTE: _absolute,
    Operator.ROUND: _round,
    Operator.TRUNCATE: _round,
}
_DIVISION_RULES: Final[Mapping[Operator, Callable[..., NumericRange]]] = {
    Operator.DIVIDE: _divide,
    Operator.FLOOR_DIVIDE: _floor_divide,
    Operator.MODULO: _modulo,
}
"""Operations that are undefined where the second operand is 0."""


def range_of_power(base: Type, exponent: Type) -> tuple[NumericRange, bool]:
    """The range of a power with an exponent from a finite set, or with base 1, 0 or -1 and any integer exponent."""
    found, by = numeric_range(base), numeric_range(exponent)
    if found is None or by is None:
        raise RaspTypeError("'^' needs numbers")
    if isinstance(exponent, FiniteType):
        return _finite_powers(found, exponent)
    if (
        not isinstance(exponent, IntegerType)
        or not isinstance(base, FiniteType)
        or is_at_least(found.max_abs, Polynomial(2))
    ):
        raise RaspTypeError(
            "this power grows faster than every polynomial; the exponent must have finitely many integer values"
        )
    results = [apply(Operator.POWER, (value, times)) for value in base.values for times in (-1, 0, 1)]
    numbers = FiniteType(deduplicate([value for value in results if is_number(value)]))
    united_range = numeric_range(numbers)
    assert united_range is not None
    return united_range, len(numbers.values) < len(results) and not is_at_least(by.low, ZERO)


def _finite_powers(base: NumericRange, exponent: FiniteType) -> tuple[NumericRange, bool]:
    results: list[NumericRange] = []
    partial = False
    for times in exponent.values:
        if not isinstance(times, int):
            partial = True
            continue
        if abs(times) > MAX_DEGREE:
            raise RaspTypeError(f"an exponent is at most {MAX_DEGREE} if the base grows with the length")
        product = NumericRange(ONE, ONE)
        for _ in range(abs(times)):
            product = _multiply(product, base)
        if times < 0:
            product, undefined = range_of_operation(Operator.DIVIDE, (NumericRange(ONE, ONE), product))
            partial |= undefined
        results.append(product)
    if not results:
        raise RaspTypeError("an exponent must be an integer")
    return reduce(_hull, results), partial
