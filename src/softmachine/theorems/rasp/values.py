"""Typed values of RASP sequence operators as signals: categorical, integer, fraction. All are 0 at the start token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import TypeAlias

from softmachine.ir import Signal
from softmachine.ir.ranges import BIT, Kind, integer
from softmachine.ir.signal import Affine
from softmachine.languages.rasp import ir
from softmachine.languages.rasp.values import identity, is_number
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Bound
from softmachine.theorems.rasp.layout import Line


@dataclass(frozen=True)
class Category:
    """A value of a finite type, as a one-hot vector; zero where it is undefined.

    Args:
        values: The distinct values; True and 1 are different.
        bits: A bit per value.
        partial: Whether it may be undefined at an input position.
        root: The category that it is a function of, if there is one; the bits are then sums of the root's.
        image: For each value of the root, the index of the function's value; -1 if it is undefined.
    """

    values: tuple[ir.Value, ...]
    bits: Signal
    partial: bool
    root: Category | None = field(default=None, compare=False, repr=False)
    image: tuple[int, ...] = ()

    def where(self, holds: Callable[[ir.Value], bool]) -> Signal:
        """A bit: whether a predicate holds for the value."""
        form = Affine.sum(form for form, value in zip(self.bits.forms, self.values, strict=True) if holds(value))
        return Signal((form,), (BIT,))

    @property
    def defined(self) -> Signal:
        """A bit: whether the value is defined."""
        return self.where(lambda _: True)

    def bit(self, value: ir.Value) -> Signal:
        """A bit: whether it is this value."""
        wanted = identity(value)
        return self.where(lambda item: identity(item) == wanted)

    def weighed(self, weight: Callable[[ir.Value], Fraction | int], kind: Kind) -> Signal:
        """The number assigned to the value; no unit."""
        parts = zip(self.bits.forms, self.values, strict=True)
        return Signal((Affine.sum(form * Fraction(weight(value)) for form, value in parts),), (kind,))

    @property
    def source(self) -> Category:
        """The root, or the category itself if it has none."""
        return self if self.root is None else self.root

    @property
    def constant(self) -> bool:
        """Whether it is the same value at every input position."""
        return len(self.values) == 1 and not self.partial


@dataclass(frozen=True)
class Number:
    """An integer x whose absolute value is at most a multiple of the length.

    Args:
        low: A lower bound, nowhere positive.
        high: An upper bound, nowhere negative.
        value: x.
        line: x as a + b i + c n, if it is known to have this form.
        square: x², if it is known.
        inverse: 1/(x+1), if it is known; then 0 ≤ x ≤ n.
        presence: A bit: whether it is defined; None if it always is. Where it is not, x is any integer.
        width_of: The selector whose width it is, if it is known to be one.
    """

    low: Bound
    high: Bound
    value: Signal
    line: Line | None = None
    square: Signal | None = None
    inverse: Signal | None = None
    presence: Signal | None = None
    width_of: str | None = None

    @property
    def kind(self) -> Kind:
        """The value range of x."""
        return integer(self.low, self.high)

    @property
    def pieces(self) -> tuple[int, int]:
        """The least a and b with -a·n ≤ x ≤ b·n for every n ≥ 1."""
        return int(-self.low.at(1)), int(self.high.at(1))

    @property
    def slopes(self) -> tuple[int, int]:
        """The coefficients of n in the bounds of -x and x."""
        below, above = (self.low * -1).coefficients, self.high.coefficients
        return _positive((*below, Fraction(0))[1]), _positive((*above, Fraction(0))[1])

    @property
    def slack(self) -> tuple[int, int]:
        """The constant terms of the bounds of -x and x."""
        return _positive((self.low * -1).coefficients[0]), _positive(self.high.coefficients[0])

    @property
    def grows(self) -> bool:
        """Whether its bounds depend on the length."""
        return self.kind.grows


@dataclass(frozen=True)
class Ratio:
    """A fraction with a denominator of at most factor · (n+1)^power.

    Args:
        value: The fraction as a real number; None if only numerator and denominator are known.
        factor: The denominator divides ``factor`` times a product of ``power`` numbers of at most n+1.
        power: The number of these factors.
        over: Numerator and denominator, if both are known as integers; the fraction is undefined or 0 where the latter
            is 0.
        presence: A bit: whether it is defined; None if it always is.
        mean_over: The selector that it is a mean over, if it is one.
    """

    value: Signal | None
    factor: int
    power: int
    over: tuple[Number, Number] | None = None
    presence: Signal | None = None
    mean_over: str | None = None


Value: TypeAlias = Category | Number | Ratio


def _positive(number: Fraction) -> int:
    return max(int(number), 0)


def partial(value: Value) -> bool:
    """Whether the value may be undefined at an input position."""
    return value.partial if isinstance(value, Category) else value.presence is not None


def has_symbols(value: Value) -> bool:
    """Whether the value may be a symbol or None, which have no number."""
    return isinstance(value, Category) and not all(map(is_number, value.values))


def line_number(line: Line, letter: Signal) -> Number:
    """An integer that is linear in i and n."""
    low, high = line.bounds
    value = line.signal(letter)
    return Number(low, high, value.known(integer(low, high)), line, line.square(letter))


def constant(value: ir.Value, letter: Signal) -> Category:
    """The same value at every input position."""
    return Category((value,), letter.labelled((shown(value),), exclusive=True), partial=False)


def shown(value: ir.Value) -> str:
    """The label of a value."""
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


def one_hot(values: Sequence[ir.Value], forms: Sequence[Affine]) -> Signal:
    """Bits, at most one of which is 1, labelled by values."""
    return Signal(tuple(forms), (BIT,) * len(forms), tuple(map(shown, values)), exclusive=True)


def numeric(value: Value) -> Number | Ratio:
    """The value as a number.

    Raises:
        ConstructionError: If some of its values are not numbers.
    """
    if not isinstance(value, Category):
        return value
    numbers = [Fraction(item) for item in value.values if is_number(item)]
    if len(numbers) < len(value.values) or not numbers:
        odd = next((item for item in value.values if not is_number(item)), None)
        raise ConstructionError(f"a number is required, but the value may be {shown(odd)}")
    presence = value.defined if value.partial else None
    denominator = lcm(*(number.denominator for number in numbers))
    low, high = min([Fraction(0), *numbers]), max([Fraction(0), *numbers])
    if denominator > 1:
        real = Kind(Bound.of(low), Bound.of(high), None)
        return Ratio(value.weighed(_number, real), denominator, 0, presence=presence)
    kind = integer(int(low), int(high))
    line = Line(int(numbers[0])) if value.constant else None
    square = value.weighed(lambda item: _number(item) ** 2, integer(0, int(max(low * low, high * high))))
    return Number(kind.low, kind.high, value.weighed(_number, kind), line, square, presence=presence)


def _number(value: ir.Value) -> Fraction:
    assert is_number(value)
    return Fraction(value)
