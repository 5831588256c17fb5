"""Integer expressions over n and indices: sums, products, floor quotients, remainders, powers, logarithms.

Every value has O(log n) bits and is computable in O(log n) space, which makes a family uniform.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from softmachine.support.errors import InputError

LARGEST = 1 << 48
"""Maximum absolute value of an expression."""


@dataclass(frozen=True)
class Number:
    """An integer literal."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Variable:
    """The input length n, or an index."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Operation:
    """A binary operation: + - * / % ^."""

    sign: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        level = LEVELS[self.sign]
        left = _bracketed(self.left, level)
        space = "" if self.sign == "^" else " "
        return f"{left}{space}{self.sign}{space}{_bracketed(self.right, level + 1)}"


@dataclass(frozen=True)
class Log:
    """⌈log₂ x⌉, and 0 for x ≤ 1."""

    of: Expression

    def __str__(self) -> str:
        return f"log({self.of})"


Expression = Number | Variable | Operation | Log
LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 3}
"""Operator precedence: higher binds tighter."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of two expressions: = != < <= > >=."""

    relation: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether the comparison is true for these values of the variables."""
        return COMPARISONS[self.relation](value(self.left, values), value(self.right, values))


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "=": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__,
}  # fmt: skip


def value(expression: Expression, values: Mapping[str, int]) -> int:
    """Evaluate an expression.

    Raises:
        InputError: If a divisor is 0, an exponent is negative, or a number is too large.
    """
    match expression:
        case Number(number):
            return number
        case Variable(name):
            return values[name]
        case Log(of):
            return max(value(of, values) - 1, 0).bit_length()
        case Operation(sign, left, right):
            found = _operated(sign, value(left, values), value(right, values), expression)
    if abs(found) > LARGEST:
        raise InputError(f"{expression} is {found:,}; numbers of a family are at most {LARGEST:,}")
    return found


def variables(expression: Expression) -> set[str]:
    """The names of the variables of an expression."""
    match expression:
        case Variable(name):
            return {name}
        case Operation(_, left, right):
            return variables(left) | variables(right)
        case Log(of):
            return variables(of)
    return set()


def _operated(sign: str, left: int, right: int, whole: Expression) -> int:
    if sign in "/%" and right == 0:
        raise InputError(f"{whole} divides by 0", hint="a range or a condition should leave this case out")
    if sign == "^" and not (0 <= right <= 64 and abs(left) <= 1 << 32):
        raise InputError(f"{whole} is {left}^{right}; exponents are between 0 and 64, and bases are small")
    operations: dict[str, Callable[[int, int], int]] = {
        "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__, "%": int.__mod__, "^": pow,
    }  # fmt: skip
    return operations[sign](left, right)


def _bracketed(part: Expression, level: int) -> str:
    inner = LEVELS[part.sign] if isinstance(part, Operation) else 9
    return f"({part})" if inner < level else str(part)
