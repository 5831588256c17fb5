"""Elementwise operations: tables, arithmetic, comparisons and conditional expressions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm, prod

from softmachine.ir import Signal, constant, named
from softmachine.ir.gadgets import all_of, select
from softmachine.ir.ranges import BIT, integer, real, union
from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import UNDEFINED, Operator
from softmachine.languages.rasp.values import apply, identity_key, is_number, truth_value
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial
from softmachine.theorems.rasp.arithmetic import Arithmetic, NoConstructionError, as_fraction, no_construction_error
from softmachine.theorems.rasp.integers import conjunction
from softmachine.theorems.rasp.tables import MAX_ROWS
from softmachine.theorems.rasp.values import BoundedFraction, BoundedInteger, Categorical, Value, as_number, one_hot

RELATIONS = {
    Operator.EQUAL: "=", Operator.UNEQUAL: "!=", Operator.LESS: "<", Operator.AT_MOST: "<=",
    Operator.GREATER: ">", Operator.AT_LEAST: ">=",
}  # fmt: skip
OPERATORS_BY_CASES = (Operator.MULTIPLY, Operator.DIVIDE, Operator.FLOOR_DIVIDE, Operator.MODULO)
MAX_CASES = 16
"""The largest number of factors or divisors that are handled case by case."""


@dataclass(frozen=True)
class ElementwiseGadgets(Arithmetic):
    """Builds the signals of elementwise operations."""

    def apply(self, name: str, operator: Operator, operands: Sequence[Value]) -> Value:
        """An operation on values.

        Raises:
            ConstructionError: If there is no construction for it.
        """
        if operator is Operator.CHOOSE:
            return self.choose(name, operands[0], operands[1], operands[2])
        categories = [operand for operand in operands if isinstance(operand, Categorical)]
        if len(categories) == len(operands) and prod(len(item.values) for item in categories) <= MAX_ROWS:
            return self.tabulate(name, categories, lambda *values: apply(operator, values))
        if operator in RELATIONS:
            return self.compare(name, operator, *operands)
        if operator in (Operator.AND, Operator.OR, Operator.NOT, Operator.INDICATOR):
            truths = [self.truth_value(f"{name}: {k}", operand) for k, operand in enumerate(operands)]
            return self.tabulate(name, truths, lambda *values: apply(operator, values))
        varying = [
            k for k, operand in enumerate(operands) if isinstance(operand, Categorical) and not operand.is_constant
        ]
        if operator in OPERATORS_BY_CASES and len(varying) == 1:
            return self._apply_by_cases(name, operator, operands, varying[0])
        numbers = [as_number(operand) for operand in operands]
        try:
            return self.apply_operator(name, operator, numbers)
        except NoConstructionError:
            if self.length is None:
                raise
            bounded = [self._list_integers(f"{name}: {k}", operand, self.length) for k, operand in enumerate(operands)]
            return self.table_of(name, bounded, lambda *values: apply(operator, values))

    def _apply_by_cases(self, name: str, operator: Operator, operands: Sequence[Value], place: int) -> Value:
        """A product or quotient of a number and a category: one case per value, and a choice between the results."""
        few = operands[place]
        assert isinstance(few, Categorical)
        as_number(few)
        if len(few.values) > MAX_CASES:
            raise no_construction_error(operator)
        options: list[tuple[Signal, Value]] = []
        for value in few.values:
            if place == 1 and operator is not Operator.MULTIPLY and not value:
                continue  # division by 0 is undefined
            one = Categorical((value,), self.input_bit, may_be_undefined=False)
            given = [one if k == place else operand for k, operand in enumerate(operands)]
            options.append((few.bit_of(value), self.apply(f"{name}, {value}", operator, given)))
        return self.choose_case(name, options, partial=few.may_be_undefined or len(options) < len(few.values))

    def _list_integers(self, name: str, value: Value, length: int) -> Categorical:
        """A number as a category over all integers that occur up to a length."""
        if isinstance(value, Categorical):
            return value
        if isinstance(value, BoundedFraction):
            raise NoConstructionError("it takes a function of a fraction, for which there is no construction")
        low, high = (int(end.at(length)) for end in (value.low, value.high))
        category = self.to_category(name, value, range(low, high + 1))
        return replace(category, may_be_undefined=value.presence is not None)

    def table(
        self, name: str, operands: Sequence[Value], rows: Sequence[tuple[tuple[ir.Value, ...], ir.Value]]
    ) -> Categorical:
        """A function given row by row; unbounded integers are compared with the values in the rows."""
        categories = [
            operand
            if isinstance(operand, Categorical)
            else self.to_category(f"{name}: {k}", operand, [row[0][k] for row in rows])
            for k, operand in enumerate(operands)
        ]
        results = {identity_key(given): result for given, result in rows}
        return self.table_of(name, categories, lambda *given: results.get(identity_key(given), UNDEFINED))

    def to_category(
        self, name: str, value: BoundedInteger | BoundedFraction, wanted: Iterable[ir.Value]
    ) -> Categorical:
        """A number as a category over the given values; undefined if it is another."""
        each = {identity_key(v): v for v in wanted}.values()
        values = [v for v in each if is_number(v) and not isinstance(v, bool)]
        bits = []
        for v in values:
            bit = self.integers.compare(f"{name} is {v}", self._difference(value, self._constant(v)), "=")
            bits.append(self._mask_undefined(f"{name} is {v}", bit, value.presence).forms[0])
        return Categorical(tuple(values), one_hot(values, bits) if bits else Signal((), ()), may_be_undefined=True)

    def truth_value(self, name: str, value: Value) -> Categorical:
        """The truth value of a value."""
        if isinstance(value, Categorical):
            return self.tabulate(name, [value], truth_value)
        unequal = self.integers.compare(name, value, "!=")
        return self._boolean_from_bit(name, unequal, value.presence)

    def _boolean_from_bit(self, name: str, true: Signal, presence: Signal | None) -> Categorical:
        """A Boolean from a bit; undefined where ``presence`` is 0."""
        defined = self.input_bit if presence is None else presence
        true = self._mask_undefined(name, true, presence)
        bits = one_hot((False, True), ((defined - true).forms[0], true.forms[0]))
        return Categorical((False, True), bits, may_be_undefined=presence is not None)

    def _mask_undefined(self, name: str, bit: Signal, presence: Signal | None) -> Signal:
        return bit if presence is None else all_of(f"{name}, defined", bit.with_range(BIT), presence)

    def compare(self, name: str, operator: Operator, left: Value, right: Value) -> Categorical:
        """Whether two numbers are in the relation; a symbol is not equal to any number."""
        for one, other in ((left, right), (right, left)):
            if (
                isinstance(one, Categorical)
                and not all(map(is_number, one.values))
                and not isinstance(other, Categorical)
            ):
                return self._compare_with_symbols(name, operator, one, other)
        one, other = as_number(left), as_number(right)
        presence = conjunction(f"{name}: both are defined", one.presence, other.presence)
        return self._boolean_from_bit(
            name, self.integers.compare(name, self._difference(one, other), RELATIONS[operator]), presence
        )

    def _compare_with_symbols(
        self, name: str, operator: Operator, mixed: Categorical, number: BoundedInteger | BoundedFraction
    ) -> Categorical:
        """Compares a category with symbols and a number; for symbols other than None, only equality is defined."""
        if not any(map(is_number, mixed.values)) and operator in (Operator.EQUAL, Operator.UNEQUAL):
            true = mixed.where(lambda value: value is not None) if operator is Operator.UNEQUAL else constant(0)
            symbols = mixed.where(lambda value: value is not None)
            presence = conjunction(
                f"{name}: both are defined",
                number.presence,
                symbols if mixed.may_be_undefined or None in mixed.values else None,
            )
            return self._boolean_from_bit(name, true.with_range(BIT), presence)
        raise ConstructionError("it compares an unbounded number with a value that may be a number or a symbol")

    def _constant(self, value: ir.Value) -> BoundedInteger | BoundedFraction:
        return as_number(Categorical((value,), self.input_bit, may_be_undefined=False))

    def choose(self, name: str, then: Value, condition: Value, otherwise: Value) -> Value:
        """``then`` where the condition is true, else ``otherwise``; only the chosen one must be defined."""
        decided = self.truth_value(f"{name}: condition", condition)
        yes, no = decided.bit_of(True), decided.bit_of(False)
        if decided.is_constant:
            return then if decided.values[0] is True else otherwise
        return self.choose_case(name, [(yes, then), (no, otherwise)], partial=decided.may_be_undefined)

    def choose_case(self, name: str, options: Sequence[tuple[Signal, Value]], *, partial: bool) -> Value:
        """The value whose bit is 1; undefined where no bit is, which occurs at input positions only if ``partial``."""
        if all(isinstance(value, Categorical) for _, value in options):
            return self.choose_category(
                name, [(bit, value) for bit, value in options if isinstance(value, Categorical)], partial
            )
        numbers = [(bit, as_number(value)) for bit, value in options]
        presence = self._is_defined_choice(name, numbers, partial)
        if all(isinstance(number, BoundedInteger) for _, number in numbers):
            chosen = self.integers.choose_integer(
                name, [(bit, number) for bit, number in numbers if isinstance(number, BoundedInteger)]
            )
            return replace(chosen, presence=presence)
        return self._choose_fraction(name, [(bit, as_fraction(number)) for bit, number in numbers], presence)

    def _is_defined_choice(
        self, name: str, options: Sequence[tuple[Signal, BoundedInteger | BoundedFraction]], partial: bool
    ) -> Signal | None:
        """A bit: whether the chosen value is defined."""
        if not partial and all(number.presence is None for _, number in options):
            return None
        total = constant(0)
        for k, (bit, number) in enumerate(options):
            here = bit if number.presence is None else all_of(f"{name}: {k} is defined", bit, number.presence)
            total = total + here
        return named(f"{name} is defined", total.with_range(BIT))

    def _choose_fraction(
        self, name: str, options: Sequence[tuple[Signal, BoundedFraction]], presence: Signal | None
    ) -> BoundedFraction:
        if all(ratio.power == 0 and ratio.value is not None for _, ratio in options):
            return self._choose_over_constant(name, options, presence)
        total, factor, power = constant(0), 1, 0
        low, high = Polynomial(0), Polynomial(0)
        for k, (bit, ratio) in enumerate(options):
            value = self.integers.to_real(ratio)
            if value.ranges[0].depends_on_length:
                raise ConstructionError("it chooses between unbounded fractions, which no layer can do")
            low, high = low.lower_bound(value.ranges[0].low), high.upper_bound(value.ranges[0].high)
            total = total + select(f"{name}: {k}", bit, value, constant(0))
            factor, power = lcm(factor, ratio.factor), max(power, ratio.power)
        return BoundedFraction(named(name, total.with_range(real(low, high))), factor, power, presence=presence)

    def _choose_over_constant(
        self, name: str, options: Sequence[tuple[Signal, BoundedFraction]], presence: Signal | None
    ) -> BoundedFraction:
        """A choice between fractions with constant denominators, as integers over a common denominator."""
        factor, numbers = lcm(*(ratio.factor for _, ratio in options)), []
        for bit, ratio in options:
            scaled = self.integers.to_real(ratio) * factor
            kind = union([integer(0, 0), scaled.ranges[0]])
            numbers.append((bit, BoundedInteger(scaled.with_range(integer(kind.low, kind.high)))))
        chosen = self.integers.choose_integer(name, numbers)
        return BoundedFraction(chosen.value * Fraction(1, factor), factor, 0, presence=presence)
