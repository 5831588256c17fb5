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
from softmachine.support.errors import ConstructionError, Remedy
from softmachine.theorems.rasp.integers import Finder, both
from softmachine.theorems.rasp.tables import MOST_ROWS, Tables
from softmachine.theorems.rasp.values import Category, Number, Ratio, Value, one_hot
from softmachine.transformer.features import Residue

HIGHEST_POWER = 2
"""Fractions whose denominators are products of more counts are rejected."""


@dataclass(frozen=True)
class Arithmetic(Tables):
    """Builds sums, multiples, quotients by constants, and rounding."""

    def plus(self, one: Number | Ratio, other: Number | Ratio, presence: Signal | None = None) -> Number | Ratio:
        """The sum of two numbers; no unit."""
        if isinstance(one, Number) and isinstance(other, Number):
            return self.finder.plus(one, other, presence)
        over = _pair(one, other, self.finder) or _pair(other, one, self.finder)
        first, second = as_ratio(one), as_ratio(other)
        power = first.power + second.power
        alike = _same_width(first, second)
        if alike:
            power = max(first.power, second.power)
            over = self._over_one(first, second)
        mean_over = first.mean_over if alike or second.power == 0 else second.mean_over if first.power == 0 else None
        value = None
        if first.value is not None and second.value is not None and power <= HIGHEST_POWER:
            value = first.value + second.value
        elif over is None:
            self.finder.real(first)
            self.finder.real(second)
            raise ConstructionError(
                "it compares or adds fractions whose common denominator is too large to distinguish their values"
            )
        factor = lcm(first.factor, second.factor)
        return Ratio(value, factor, power, over, presence, mean_over)

    def _over_one(self, one: Ratio, other: Ratio) -> tuple[Number, Number] | None:
        """Numerator and denominator of a sum of fractions over the width of one selector."""
        if one.over is None or other.over is None or one.factor != other.factor:
            return None
        return self.finder.plus(one.over[0], other.over[0], None), one.over[1]

    def scaled(self, number: Number | Ratio, factor: Fraction) -> Number | Ratio:
        """A multiple; no unit."""
        if isinstance(number, Number):
            if factor.denominator == 1:
                return self.finder.times(number, int(factor))
            number = as_ratio(number)
        over = None
        if number.over is not None:
            top, below = number.over
            over = (self.finder.times(top, factor.numerator), self.finder.times(below, factor.denominator))
        value = None if number.value is None else number.value * factor
        return Ratio(value, number.factor * factor.denominator, number.power, over, number.presence, number.mean_over)

    def _difference(self, one: Number | Ratio, other: Number | Ratio) -> Number | Ratio:
        return self.plus(one, self.scaled(other, Fraction(-1)))

    def arithmetic(self, name: str, operator: Operator, numbers: Sequence[Number | Ratio]) -> Value:
        """An operation on numbers, at least one of which is unbounded or a fraction."""
        presence = both(f"{name}: all are defined", *(number.presence for number in numbers))
        one, other = numbers[0], numbers[-1]
        match operator:
            case Operator.ADD:
                return self.plus(one, other, presence)
            case Operator.SUBTRACT:
                return self.plus(one, self.scaled(other, Fraction(-1)), presence)
            case Operator.NEGATE:
                return self.scaled(one, Fraction(-1))
            case Operator.ABSOLUTE:
                negative = self._rectified(f"{name}: below", self.scaled(one, Fraction(-1)))
                return self.plus(one, self.scaled(negative, Fraction(2)), presence)
            case Operator.MINIMUM | Operator.MAXIMUM:
                sign = Fraction(1 if operator is Operator.MAXIMUM else -1)
                excess = self._rectified(name, self.scaled(self._difference(one, other), sign))
                return self.plus(other, self.scaled(excess, sign), presence)
            case Operator.MULTIPLY:
                return self._product(one, other, presence)
            case Operator.DIVIDE:
                return self._quotient(name, one, other, presence)
            case Operator.FLOOR_DIVIDE | Operator.MODULO:
                return self._divided(name, operator, one, other, presence)
            case Operator.ROUND | Operator.TRUNCATE:
                return self._rounded(name, operator, one, presence)
        raise opaque(operator)

    def _rectified(self, name: str, number: Number | Ratio) -> Number | Ratio:
        if isinstance(number, Number):
            return self.finder.rectified(name, number)
        value = relu(name, self.finder.real(number))
        return replace(number, value=value, over=None)

    def _product(self, one: Number | Ratio, other: Number | Ratio, presence: Signal | None) -> Value:
        for first, second in ((one, other), (other, one)):
            factor = known_constant(first)
            if factor is not None:
                return replace(self.scaled(second, factor), presence=presence)
            if isinstance(first, Ratio) and isinstance(second, Number) and _is_denominator(first, second):
                assert first.over is not None
                return replace(first.over[0], presence=presence)
        raise opaque(Operator.MULTIPLY)

    def _quotient(self, name: str, one: Number | Ratio, other: Number | Ratio, presence: Signal | None) -> Value:
        divisor = known_constant(other)
        if divisor:
            return replace(self.scaled(one, 1 / divisor), presence=presence)
        dividend = known_constant(one)
        if dividend is not None and isinstance(other, Ratio) and other.over is not None:
            top, below = other.over
            if top.kind.is_bit:  # dividend · c / 1, and undefined where the mean is 0
                here = both(f"{name}: defined", presence, self.finder.compare(f"{name}: not 0", top, "!="))
                return replace(self.scaled(below, dividend), presence=here)
        raise opaque(Operator.DIVIDE)

    def _divided(
        self, name: str, operator: Operator, one: Number | Ratio, other: Number | Ratio, presence: Signal | None
    ) -> Value:
        divisor = known_constant(other)
        if not divisor:
            raise opaque(operator)
        modulus = int(divisor)
        small = isinstance(one, Number) and modulus == divisor and 1 < modulus <= MOST_ROWS
        if operator is Operator.MODULO and small and isinstance(one, Number) and one.pieces == (0, 1):
            rest = self.finder.look(f"{name}: residues", one, [Residue(modulus, r) for r in range(modulus)])
            forms = [rest[r].forms[0] for r in range(modulus)]
            forms[0] = (rest[0] - self.finder.frame.sink).forms[0]  # the start token has residue 0 as well
            if presence is not None:
                kept = [all_of(f"{name}: {r}", Signal((form,), (BIT,)), presence) for r, form in enumerate(forms)]
                forms = [signal.forms[0] for signal in kept]
            values = tuple(range(modulus))
            return Category(values, named(name, one_hot(values, forms)), partial=presence is not None)
        quotient = as_ratio(self.scaled(one, 1 / divisor))
        floor = self.finder.floor(f"{name}: floor", self.finder.real(quotient), quotient)
        if operator is Operator.FLOOR_DIVIDE:
            return replace(floor, presence=presence)
        return replace(self.plus(one, self.scaled(floor, -divisor)), presence=presence)

    def _rounded(self, name: str, operator: Operator, one: Number | Ratio, presence: Signal | None) -> Value:
        if isinstance(one, Number):
            return one
        value = self.finder.real(one)
        if operator is Operator.ROUND:
            return replace(self.finder.rounded(name, value, one), presence=presence)
        if value.kinds[0].low.at(1) >= 0 and not value.kinds[0].low.at(2) < 0:
            return replace(self.finder.floor(name, value, one), presence=presence)
        parts = [
            self.finder.floor(f"{name}: {side}", relu(f"{name}: {side}", sign * value), one)
            for side, sign in (("above", 1), ("below", -1))
        ]
        return self.finder.minus(parts[0], parts[1], presence)


def as_ratio(number: Number | Ratio) -> Ratio:
    """The number as a fraction."""
    if isinstance(number, Ratio):
        return number
    return Ratio(number.value, 1, 0, presence=number.presence)


def known_constant(number: Number | Ratio) -> Fraction | None:
    """The number, if it is the same at every input position of every word."""
    if isinstance(number, Number) and number.line is not None and not number.line.b and not number.line.c:
        return Fraction(number.line.a)
    return None


def _is_denominator(ratio: Ratio, number: Number) -> bool:
    """Whether a fraction times a number is its numerator."""
    if ratio.over is None:
        return False
    if ratio.mean_over is not None and ratio.mean_over == number.width_of:
        return True
    below = ratio.over[1]
    return below.value.forms == number.value.forms if below.line is None else below.line == number.line


def _same_width(one: Ratio, other: Ratio) -> bool:
    """Whether two fractions have the width of the same selector as denominator, up to constants."""
    return one.mean_over is not None and one.mean_over == other.mean_over and one.power == other.power == 1


def _pair(ratio: Number | Ratio, number: Number | Ratio, finder: Finder) -> tuple[Number, Number] | None:
    """Numerator and denominator of a fraction plus a constant."""
    if not isinstance(ratio, Ratio) or ratio.over is None:
        return None
    shift = known_constant(number)
    top, below = ratio.over
    if shift is None:
        return None
    more = finder.times(below, shift.numerator)
    return finder.plus(finder.times(top, shift.denominator), more, None), finder.times(below, shift.denominator)


class OpaqueError(ConstructionError):
    """A function of unbounded numbers that has a construction only up to a given length, or none."""


def opaque(operator: Operator) -> OpaqueError:
    """The error for an operation."""
    return OpaqueError(
        f"it takes {operator.value!r} of two integers without bound, or of a fraction, for which there is no "
        "construction that serves every length",
        hint=Remedy("for integers, use a table for words up to a length: {}", context=32),
    )
