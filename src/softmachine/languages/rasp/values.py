"""Values and the exact semantics of elementwise operations and reductions on them.

Python objects are converted: floats to exact fractions, numpy scalars to Python numbers.
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias, TypeGuard

from softmachine.languages.rasp.ir import UNDEFINED, Operator, Reduction, Undefined, Value

PartialValue: TypeAlias = Value | Undefined
"""A value, or `UNDEFINED`."""
Rational: TypeAlias = bool | int | Fraction

MAX_SYMBOL_LENGTH: Final = 1000
"""Concatenation to a longer symbol is undefined."""
MAX_BITS: Final = 1 << 14
"""A power with more bits is undefined."""


def identity_key(value: PartialValue | tuple[PartialValue, ...]) -> Hashable:
    """A hashable key that, unlike Python's equality, distinguishes True from 1, also inside tuples."""
    if isinstance(value, tuple):
        return tuple(map(identity_key, value))
    return (isinstance(value, bool), value)


def is_identical(one: Value, other: Value) -> bool:
    """Whether two values are identical; True and 1 are not."""
    return identity_key(one) == identity_key(other)


def format_value(value: PartialValue) -> str:
    """A value as text, as outputs show it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(format_value, value))})"
    return "undefined" if isinstance(value, Undefined) else str(value)


def is_number(value: PartialValue) -> TypeGuard[Rational]:
    """Whether a value is a number; True and False count as 1 and 0."""
    return isinstance(value, int | Fraction)


def normalise_number(number: Rational) -> int | Fraction:
    """A number in normal form: an ``int`` if it is integral."""
    if isinstance(number, Fraction):
        return number.numerator if number.denominator == 1 else number
    return int(number)


def truth_value(value: PartialValue) -> bool | Undefined:
    """The truth value of a Boolean or a number (true unless 0); undefined for other values."""
    return bool(value) if is_number(value) else UNDEFINED


def apply(operator: Operator, operands: Sequence[PartialValue]) -> PartialValue:
    """The result of an operation. Undefined operands propagate, except in the branch that a choice does not take."""
    if operator is Operator.CHOOSE:
        then, condition, otherwise = operands
        decided = truth_value(condition)
        return UNDEFINED if decided is UNDEFINED else then if decided else otherwise
    if UNDEFINED in operands:
        return UNDEFINED
    if operator in _COMPARISON_FUNCTIONS:
        return _compare(operator, *operands)
    if operator in _LOGICAL_FUNCTIONS:
        decisions = [truth_value(operand) for operand in operands]
        return UNDEFINED if UNDEFINED in decisions else _LOGICAL_FUNCTIONS[operator](*decisions)
    if operator is Operator.ADD and all(isinstance(operand, str) for operand in operands):
        together = "".join(operand for operand in operands if isinstance(operand, str))
        return together if len(together) <= MAX_SYMBOL_LENGTH else UNDEFINED
    numbers = [operand for operand in operands if is_number(operand)]
    return UNDEFINED if len(numbers) < len(operands) else _NUMERIC_FUNCTIONS[operator](*numbers)


def reduce_values(values: Sequence[PartialValue], reduction: Reduction) -> PartialValue:
    """Reduce the selected values, one or more, to one value."""
    if UNDEFINED in values:
        return UNDEFINED
    first, *others = values
    assert not isinstance(first, Undefined)
    if all(isinstance(other, Undefined) or is_identical(first, other) for other in others):
        return first
    numbers = [value for value in values if is_number(value)]
    if len(numbers) < len(values):
        return UNDEFINED
    if reduction is Reduction.MEAN:
        return normalise_number(Fraction(sum(numbers)) / len(numbers))
    best = max(numbers) if reduction is Reduction.MAXIMUM else min(numbers)
    # The maximum of Booleans is a Boolean; with a number among them, it is a number.
    return best if all(isinstance(number, bool) for number in numbers) else normalise_number(best)


def _compare(operator: Operator, left: Any, right: Any) -> PartialValue:
    if left is None or right is None:
        return UNDEFINED
    try:
        return bool(_COMPARISON_FUNCTIONS[operator](left, right))
    except TypeError:  # the operands are not ordered
        return UNDEFINED


def _power(base: Rational, exponent: Rational) -> PartialValue:
    power, by = Fraction(base), normalise_number(exponent)
    if not isinstance(by, int) or (not power and by < 0):
        return UNDEFINED
    if (power.numerator.bit_length() + power.denominator.bit_length()) * abs(by) > MAX_BITS and power not in (
        -1,
        0,
        1,
    ):
        return UNDEFINED
    return normalise_number(power**by)


def _unless_zero(operation: Callable[[Any, Any], Any]) -> Callable[[Rational, Rational], PartialValue]:
    return lambda left, right: normalise_number(operation(Fraction(left), Fraction(right))) if right else UNDEFINED


_COMPARISON_FUNCTIONS: Final[Mapping[Operator, Callable[[Any, Any], Any]]] = {
    Operator.EQUAL: python.eq,
    Operator.UNEQUAL: python.ne,
    Operator.LESS: python.lt,
    Operator.AT_MOST: python.le,
    Operator.GREATER: python.gt,
    Operator.AT_LEAST: python.ge,
}
_LOGICAL_FUNCTIONS: Final[Mapping[Operator, Callable[..., PartialValue]]] = {
    Operator.AND: lambda left, right: left and right,
    Operator.OR: lambda left, right: left or right,
    Operator.NOT: lambda operand: not operand,
    Operator.INDICATOR: int,
}
_NUMERIC_FUNCTIONS: Final[Mapping[Operator, Callable[..., PartialValue]]] = {
    Operator.ADD: lambda left, right: normalise_number(left + right),
    Operator.SUBTRACT: lambda left, right: normalise_number(left - right),
    Operator.MULTIPLY: lambda left, right: normalise_number(left * right),
    Operator.DIVIDE: _unless_zero(python.truediv),
    Operator.FLOOR_DIVIDE: _unless_zero(python.floordiv),
    Operator.MODULO: _unless_zero(python.mod),
    Operator.POWER: _power,
    Operator.NEGATE: lambda operand: normalise_number(-operand),
    Operator.ABSOLUTE: lambda operand: normalise_number(abs(operand)),
    Operator.ROUND: lambda operand: round(Fraction(operand)),
    Operator.TRUNCATE: lambda operand: int(Fraction(operand)),
    Operator.MINIMUM: lambda left, right: normalise_number(min(left, right)),
    Operator.MAXIMUM: lambda left, right: normalise_number(max(left, right)),
}


MAX_DENOMINATOR: Final = 10**6
"""Maximal denominator of the fraction that a float converts to."""
MAX_RELATIVE_ERROR: Final = Fraction(1, 1 << 50)
"""Maximal relative error of a float with respect to the intended fraction: a few roundings."""


def exact_fraction(number: float) -> int | Fraction:
    """The fraction that a float approximates: one with a small denominator, such as 1/3 or 1/10.

    Raises:
        ValueError: If the float is not finite, or if there is no such fraction.
    """
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number")
    stored, denominator = Fraction(number), 1
    while denominator <= MAX_DENOMINATOR:
        fraction = stored.limit_denominator(denominator)
        if abs(fraction - stored) <= MAX_RELATIVE_ERROR * abs(stored):
            return normalise_number(fraction)
        denominator *= 10
    raise ValueError(f"{number!r} is not a fraction with a denominator up to {MAX_DENOMINATOR:,}")


def to_value(item: object) -> Value:
    """Convert a Python object to a core value.

    Raises:
        ValueError: If it is not a value; the message gives its type.
    """
    if type(item).__module__ == "numpy" and hasattr(item, "item") and not getattr(item, "shape", ()):
        item = item.item()
    match item:
        case None | bool() | str():
            return item
        case int() | Fraction():
            return normalise_number(item)
        case float():
            return exact_fraction(item)
        case tuple():
            return tuple(map(to_value, item))
        case _:
            raise ValueError(f"a {type(item).__name__} is not a symbol, a Boolean, a number, None or a tuple of these")


def to_python(value: Value) -> object:
    """Convert a core value to a Python object, as functions receive and evaluation returns it: fractions to floats."""
    if isinstance(value, tuple):
        return tuple(map(to_python, value))
    return float(value) if isinstance(value, Fraction) else value
