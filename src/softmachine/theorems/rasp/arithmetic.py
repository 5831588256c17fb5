"""Arithmetic on integers and fractions: affine maps, ReLU units for kinks, lookups for floor and modulo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

from softmachine.ir import Signal, named, relu
from softmachine.ir.gadgets import all_of
from softmachine.ir.ranges import BIT
from softmachine.languages.rasp.ir import Operator
from softmachine.support.errors import ConstructionError, FixHint
from softmachine.theorems.rasp.integers import IntegerGadgets, conjunction
from softmachine.theorems.rasp.tables import MAX_ROWS, TableGadgets
from softmachine.theorems.rasp.values import BoundedFraction, BoundedInteger, Categorical, Value, one_hot
from softmachine.transformer.features import Residue

HIGHEST_POWER = 2
"""Fractions whose denominators are products of more counts are rejected."""


@dataclass(frozen=True)
class Arithmetic(TableGadgets):
    """Builds sums, multiples, quotients by constants, and rounding."""

    def add(
        self,
        one: BoundedInteger | BoundedFraction,
        other: BoundedInteger | BoundedFraction,
        presence: Signal | None = None,
    ) -> BoundedInteger | BoundedFraction:
        """The sum of two numbers; no unit."""
        if isinstance(one, BoundedInteger) and isinstance(other, BoundedInteger):
            return self.integers.add(one, other, presence)
        over = _fraction_plus_constant(one, other, self.integers) or _fraction_plus_constant(other, one, self.integers)
        first, second = as_fraction(one), as_fraction(other)
        power = first.power + second.power
        alike = _have_same_width(first, second)
        if alike:
            power = max(first.power, second.power)
            over = self._add_over_width(first, second)
        mean_over = (
            first.selector_of_mean
            if alike or second.power == 0
            else second.selector_of_mean
            if first.power == 0
            else None
        )
        value = None
        if first.value is not None and second.value is not None and power <= HIGHEST_POWER:
            value = first.value + second.value
        elif over is None:
            self.integers.to_real(first)
            self.integers.to_real(second)
            raise ConstructionError(
                "it compares or adds fractions whose common denominator is too large to distinguish their values"
            )
        factor = lcm(first.factor, second.factor)
        return BoundedFraction(value, factor, power, over, presence, mean_over)

    def _add_over_width(
        self, one: BoundedFraction, other: BoundedFraction
    ) -> tuple[BoundedInteger, BoundedInteger] | None:
        """Numerator and denominator of a sum of fractions over the width of one selector."""
        if (
            one.numerator_and_denominator is None
            or other.numerator_and_denominator is None
            or one.factor != other.factor
        ):
            return None
        return self.integers.add(
            one.numerator_and_denominator[0], other.numerator_and_denominator[0], None
        ), one.numerator_and_denominator[1]

    def scale(self, number: BoundedInteger | BoundedFraction, factor: Fraction) -> BoundedInteger | BoundedFraction:
        """A multiple; no unit."""
        if isinstance(number, BoundedInteger):
            if factor.denominator == 1:
                return self.integers.multiply(number, int(factor))
            number = as_fraction(number)
        over = None
        if number.numerator_and_denominator is not None:
            top, below = number.numerator_and_denominator
            over = (self.integers.multiply(top, factor.numerator), self.integers.multiply(below, factor.denominator))
        value = None if number.value is None else number.value * factor
        return BoundedFraction(
            value, number.factor * factor.denominator, number.power, over, number.presence, number.selector_of_mean
        )

    def _difference(
        self, one: BoundedInteger | BoundedFraction, other: BoundedInteger | BoundedFraction
    ) -> BoundedInteger | BoundedFraction:
        return self.add(one, self.scale(other, Fraction(-1)))

    def apply_operator(
        self, name: str, operator: Operator, numbers: Sequence[BoundedInteger | BoundedFraction]
    ) -> Value:
        """An operation on numbers, at least one of which is unbounded or a fraction."""
        presence = conjunction(f"{name}: all are defined", *(number.presence for number in numbers))
        one, other = numbers[0], numbers[-1]
        match operator:
            case Operator.ADD:
                return self.add(one, other, presence)
            case Operator.SUBTRACT:
                return self.add(one, self.scale(other, Fraction(-1)), presence)
            case Operator.NEGATE:
                return self.scale(one, Fraction(-1))
            case Operator.ABSOLUTE:
                negative = self._relu(f"{name}: below", self.scale(one, Fraction(-1)))
                return self.add(one, self.scale(negative, Fraction(2)), presence)
            case Operator.MINIMUM | Operator.MAXIMUM:
                sign = Fraction(1 if operator is Operator.MAXIMUM else -1)
                excess = self._relu(name, self.scale(self._difference(one, other), sign))
                return self.add(other, self.scale(excess, sign), presence)
            case Operator.MULTIPLY:
                return self._product(one, other, presence)
            case Operator.DIVIDE:
                return self._quotient(name, one, other, presence)
            case Operator.FLOOR_DIVIDE | Operator.MODULO:
                return self._divide(name, operator, one, other, presence)
            case Operator.ROUND | Operator.TRUNCATE:
                return self._round(name, operator, one, presence)
        raise no_construction_error(operator)

    def _relu(self, name: str, number: BoundedInteger | BoundedFraction) -> BoundedInteger | BoundedFraction:
        if isinstance(number, BoundedInteger):
            return self.integers.relu(name, number)
        value = relu(name, self.integers.to_real(number))
        return replace(number, value=value, numerator_and_denominator=None)

    def _product(
        self, one: BoundedInteger | BoundedFraction, other: BoundedInteger | BoundedFraction, presence: Signal | None
    ) -> Value:
        for first, second in ((one, other), (other, one)):
            factor = constant_value(first)
            if factor is not None:
                return replace(self.scale(second, factor), presence=presence)
            if (
                isinstance(first, BoundedFraction)
                and isinstance(second, BoundedInteger)
                and _is_denominator(first, second)
            ):
                assert first.numerator_and_denominator is not None
                return replace(first.numerator_and_denominator[0], presence=presence)
        raise no_construction_error(Operator.MULTIPLY)

    def _quotient(
        self,
        name: str,
        one: BoundedInteger | BoundedFraction,
        other: BoundedInteger | BoundedFraction,
        presence: Signal | None,
    ) -> Value:
        divisor = constant_value(other)
        if divisor:
            return replace(self.scale(one, 1 / divisor), presence=presence)
        dividend = constant_value(one)
        if dividend is not None and isinstance(other, BoundedFraction) and other.numerator_and_denominator is not None:
            top, below = other.numerator_and_denominator
            if top.value_range.is_bit:  # dividend · c / 1, and undefined where the mean is 0
                here = conjunction(f"{name}: defined", presence, self.integers.compare(f"{name}: not 0", top, "!="))
                return replace(self.scale(below, dividend), presence=here)
        raise no_construction_error(Operator.DIVIDE)

    def _divide(
        self,
        name: str,
        operator: Operator,
        one: BoundedInteger | BoundedFraction,
        other: BoundedInteger | BoundedFraction,
        presence: Signal | None,
    ) -> Value:
        divisor = constant_value(other)
        if not divisor:
            raise no_construction_error(operator)
        modulus = int(divisor)
        small = isinstance(one, BoundedInteger) and modulus == divisor and 1 < modulus <= MAX_ROWS
        if operator is Operator.MODULO and small and isinstance(one, BoundedInteger) and one.pieces == (0, 1):
            rest = self.integers.lookup(f"{name}: residues", one, [Residue(modulus, r) for r in range(modulus)])
            forms = [rest[r].forms[0] for r in range(modulus)]
            forms[0] = (rest[0] - self.integers.layout.sink).forms[0]  # the start token has residue 0 as well
            if presence is not None:
                kept = [all_of(f"{name}: {r}", Signal((form,), (BIT,)), presence) for r, form in enumerate(forms)]
                forms = [signal.forms[0] for signal in kept]
            values = tuple(range(modulus))
            return Categorical(values, named(name, one_hot(values, forms)), may_be_undefined=presence is not None)
        quotient = as_fraction(self.scale(one, 1 / divisor))
        floor = self.integers.floor(f"{name}: floor", self.integers.to_real(quotient), quotient)
        if operator is Operator.FLOOR_DIVIDE:
            return replace(floor, presence=presence)
        return replace(self.add(one, self.scale(floor, -divisor)), presence=presence)

    def _round(
        self, name: str, operator: Operator, one: BoundedInteger | BoundedFraction, presence: Signal | None
    ) -> Value:
        if isinstance(one, BoundedInteger):
            return one
        value = self.integers.to_real(one)
        if operator is Operator.ROUND:
            return replace(self.integers.round_half_even(name, value, one), presence=presence)
        if value.ranges[0].low.at(1) >= 0 and not value.ranges[0].low.at(2) < 0:
            return replace(self.integers.floor(name, value, one), presence=presence)
        parts = [
            self.integers.floor(f"{name}: {side}", relu(f"{name}: {side}", sign * value), one)
            for side, sign in (("above", 1), ("below", -1))
        ]
        return self.integers.subtract(parts[0], parts[1], presence)


def as_fraction(number: BoundedInteger | BoundedFraction) -> BoundedFraction:
    """The number as a fraction."""
    if isinstance(number, BoundedFraction):
        return number
    return BoundedFraction(number.value, 1, 0, presence=number.presence)


def constant_value(number: BoundedInteger | BoundedFraction) -> Fraction | None:
    """The number, if it is the same at every input position of every word."""
    if (
        isinstance(number, BoundedInteger)
        and number.linear_form is not None
        and not number.linear_form.b
        and not number.linear_form.c
    ):
        return Fraction(number.linear_form.a)
    return None


def _is_denominator(ratio: BoundedFraction, number: BoundedInteger) -> bool:
    """Whether a fraction times a number is its numerator."""
    if ratio.numerator_and_denominator is None:
        return False
    if ratio.selector_of_mean is not None and ratio.selector_of_mean == number.selector_of_width:
        return True
    below = ratio.numerator_and_denominator[1]
    return (
        below.value.forms == number.value.forms
        if below.linear_form is None
        else below.linear_form == number.linear_form
    )


def _have_same_width(one: BoundedFraction, other: BoundedFraction) -> bool:
    """Whether two fractions have the width of the same selector as denominator, up to constants."""
    return (
        one.selector_of_mean is not None
        and one.selector_of_mean == other.selector_of_mean
        and one.power == other.power == 1
    )


def _fraction_plus_constant(
    ratio: BoundedInteger | BoundedFraction, number: BoundedInteger | BoundedFraction, finder: IntegerGadgets
) -> tuple[BoundedInteger, BoundedInteger] | None:
    """Numerator and denominator of a fraction plus a constant."""
    if not isinstance(ratio, BoundedFraction) or ratio.numerator_and_denominator is None:
        return None
    shift = constant_value(number)
    top, below = ratio.numerator_and_denominator
    if shift is None:
        return None
    more = finder.multiply(below, shift.numerator)
    return finder.add(finder.multiply(top, shift.denominator), more, None), finder.multiply(below, shift.denominator)


class NoConstructionError(ConstructionError):
    """A function of unbounded numbers that has a construction only up to a given length, or none."""


def no_construction_error(operator: Operator) -> NoConstructionError:
    """The error for an operation."""
    return NoConstructionError(
        f"it takes {operator.value!r} of two integers without bound, or of a fraction, for which there is no "
        "construction that serves every length",
        hint=FixHint("for integers, use a table for words up to a length: {}", context=32),
    )
