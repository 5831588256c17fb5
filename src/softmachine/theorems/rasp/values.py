"""Typed values of RASP sequence operators as signals: categorical, integer, fraction. All are 0 at the start token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import TypeAlias

from softmachine.ir import Signal
from softmachine.ir.ranges import BIT, ValueRange, integer, real
from softmachine.ir.signal import Affine
from softmachine.languages.rasp import ir
from softmachine.languages.rasp.values import identity_key, is_number
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial
from softmachine.theorems.rasp.layout import LinearInPosition


@dataclass(frozen=True)
class Categorical:
    """A value of a finite type, as a one-hot vector; zero where it is undefined.

    Args:
        values: The distinct values; True and 1 are different.
        bits: A bit per value.
        may_be_undefined: Whether it may be undefined at an input position.
        root: The category that it is a function of, if there is one; the bits are then sums of the root's.
        root_image: For each value of the root, the index of the function's value; -1 if it is undefined.
    """

    values: tuple[ir.Value, ...]
    bits: Signal
    may_be_undefined: bool
    root: Categorical | None = field(default=None, compare=False, repr=False)
    root_image: tuple[int, ...] = ()

    def where(self, holds: Callable[[ir.Value], bool]) -> Signal:
        """A bit: whether a predicate holds for the value."""
        form = Affine.sum(form for form, value in zip(self.bits.forms, self.values, strict=True) if holds(value))
        return Signal((form,), (BIT,))

    @property
    def presence(self) -> Signal:
        """A bit: whether the value is defined."""
        return self.where(lambda _: True)

    def bit_of(self, value: ir.Value) -> Signal:
        """A bit: whether it is this value."""
        wanted = identity_key(value)
        return self.where(lambda item: identity_key(item) == wanted)

    def weighted_sum(self, weight: Callable[[ir.Value], Fraction | int], kind: ValueRange) -> Signal:
        """The number assigned to the value; no unit."""
        parts = zip(self.bits.forms, self.values, strict=True)
        return Signal((Affine.sum(form * Fraction(weight(value)) for form, value in parts),), (kind,))

    @property
    def root_or_self(self) -> Categorical:
        """The root, or the category itself if it has none."""
        return self if self.root is None else self.root

    @property
    def is_constant(self) -> bool:
        """Whether it is the same value at every input position."""
        return len(self.values) == 1 and not self.may_be_undefined


@dataclass(frozen=True)
class BoundedInteger:
    """An integer x whose absolute value is at most a multiple of the length.

    Args:
        value: x; its range is from a lower bound that is nowhere positive to an upper bound that is nowhere negative.
        linear_form: x as a + b i + c n, if it is known to have this form.
        square: x², if it is known.
        inverse: 1/(x+1), if it is known; then 0 ≤ x ≤ n.
        presence: A bit: whether it is defined; None if it always is. Where it is not, x is any integer.
        selector_of_width: The selector whose width it is, if it is known to be one.
    """

    value: Signal
    linear_form: LinearInPosition | None = None
    square: Signal | None = None
    inverse: Signal | None = None
    presence: Signal | None = None
    selector_of_width: str | None = None

    @property
    def value_range(self) -> ValueRange:
        """The value range of x."""
        return self.value.ranges[0]

    @property
    def low(self) -> Polynomial:
        """The lower bound."""
        return self.value_range.low

    @property
    def high(self) -> Polynomial:
        """The upper bound."""
        return self.value_range.high

    @property
    def pieces(self) -> tuple[int, int]:
        """The least a and b with -a·n ≤ x ≤ b·n for every n ≥ 1."""
        return int(-self.low.at(1)), int(self.high.at(1))

    @property
    def slopes(self) -> tuple[int, int]:
        """The coefficients of n in the bounds of -x and x."""
        return self._positive_coefficients(1)

    @property
    def slack(self) -> tuple[int, int]:
        """The constant terms of the bounds of -x and x."""
        return self._positive_coefficients(0)

    def _positive_coefficients(self, power: int) -> tuple[int, int]:
        return max(int(-self.low.coefficient(power)), 0), max(int(self.high.coefficient(power)), 0)

    @property
    def depends_on_length(self) -> bool:
        """Whether its bounds depend on the length."""
        return self.value_range.depends_on_length


@dataclass(frozen=True)
class BoundedFraction:
    """A fraction with a denominator of at most factor · (n+1)^power.

    Args:
        value: The fraction as a real number; None if only numerator and denominator are known.
        factor: The denominator divides ``factor`` times a product of ``power`` numbers of at most n+1.
        power: The number of these factors.
        numerator_and_denominator: Numerator and denominator, if both are known as integers; the fraction is undefined
            or 0 where the latter is 0.
        presence: A bit: whether it is defined; None if it always is.
        selector_of_mean: The selector that it is a mean over, if it is one.
    """

    value: Signal | None
    factor: int
    power: int
    numerator_and_denominator: tuple[BoundedInteger, BoundedInteger] | None = None
    presence: Signal | None = None
    selector_of_mean: str | None = None


Value: TypeAlias = Categorical | BoundedInteger | BoundedFraction


def may_be_undefined(value: Value) -> bool:
    """Whether the value may be undefined at an input position."""
    return value.may_be_undefined if isinstance(value, Categorical) else value.presence is not None


def has_symbols(value: Value) -> bool:
    """Whether the value may be a symbol or None, which have no number."""
    return isinstance(value, Categorical) and not all(map(is_number, value.values))


def linear_integer(line: LinearInPosition, letter: Signal) -> BoundedInteger:
    """An integer that is linear in i and n."""
    low, high = line.bounds
    value = line.to_signal(letter)
    return BoundedInteger(value.with_range(integer(low, high)), line, line.square_signal(letter))


def constant_value(value: ir.Value, letter: Signal) -> Categorical:
    """The same value at every input position."""
    return Categorical((value,), letter.with_labels((format_label(value),), exclusive=True), may_be_undefined=False)


def format_label(value: ir.Value) -> str:
    """The label of a value."""
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


def one_hot(values: Sequence[ir.Value], forms: Sequence[Affine]) -> Signal:
    """Bits, at most one of which is 1, labelled by values."""
    return Signal(tuple(forms), (BIT,) * len(forms), tuple(map(format_label, values)), is_one_hot=True)


def as_number(value: Value) -> BoundedInteger | BoundedFraction:
    """The value as a number.

    Raises:
        ConstructionError: If some of its values are not numbers.
    """
    if not isinstance(value, Categorical):
        return value
    numbers = [Fraction(item) for item in value.values if is_number(item)]
    if len(numbers) < len(value.values) or not numbers:
        odd = next((item for item in value.values if not is_number(item)), None)
        raise ConstructionError(f"a number is required, but the value may be {format_label(odd)}")
    presence = value.presence if value.may_be_undefined else None
    denominator = lcm(*(number.denominator for number in numbers))
    low, high = min([Fraction(0), *numbers]), max([Fraction(0), *numbers])
    if denominator > 1:
        number = value.weighted_sum(_number_of_boolean, real(low, high))
        return BoundedFraction(number, denominator, 0, presence=presence)
    kind = integer(int(low), int(high))
    line = LinearInPosition(int(numbers[0])) if value.is_constant else None
    square = value.weighted_sum(
        lambda item: _number_of_boolean(item) ** 2, integer(0, int(max(low * low, high * high)))
    )
    return BoundedInteger(value.weighted_sum(_number_of_boolean, kind), line, square, presence=presence)


def _number_of_boolean(value: ir.Value) -> Fraction:
    assert is_number(value)
    return Fraction(value)
