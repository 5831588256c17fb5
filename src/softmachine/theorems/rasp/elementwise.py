"""Elementwise operations: tables, arithmetic, comparisons and conditional expressions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm, prod

from softmachine.ir import Signal, constant, named
from softmachine.ir.gadgets import all_of, select
from softmachine.ir.ranges import BIT, Kind
from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import UNDEFINED, Operator
from softmachine.languages.rasp.values import apply, identity, is_number, truth
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Bound
from softmachine.theorems.rasp.arithmetic import Arithmetic, OpaqueError, as_ratio, opaque
from softmachine.theorems.rasp.integers import both
from softmachine.theorems.rasp.tables import MOST_ROWS
from softmachine.theorems.rasp.values import Category, Number, Ratio, Value, numeric, one_hot

RELATIONS = {
    Operator.EQUAL: "=", Operator.UNEQUAL: "!=", Operator.LESS: "<", Operator.AT_MOST: "<=",
    Operator.GREATER: ">", Operator.AT_LEAST: ">=",
}  # fmt: skip
CASE_BY_CASE = (Operator.MULTIPLY, Operator.DIVIDE, Operator.FLOOR_DIVIDE, Operator.MODULO)
MOST_CASES = 16
"""The largest number of factors or divisors that are handled case by case."""


@dataclass(frozen=True)
class Pointwise(Arithmetic):
    """Builds the signals of elementwise operations."""

    def apply(self, name: str, operator: Operator, operands: Sequence[Value]) -> Value:
        """An operation on values.

        Raises:
            ConstructionError: If there is no construction for it.
        """
        if operator is Operator.CHOOSE:
            return self.choose(name, operands[0], operands[1], operands[2])
        categories = [operand for operand in operands if isinstance(operand, Category)]
        if len(categories) == len(operands) and prod(len(item.values) for item in categories) <= MOST_ROWS:
            return self.tabulated(name, categories, lambda *values: apply(operator, values))
        if operator in RELATIONS:
            return self.compared(name, operator, *operands)
        if operator in (Operator.AND, Operator.OR, Operator.NOT, Operator.INDICATOR):
            truths = [self.truth(f"{name}: {k}", operand) for k, operand in enumerate(operands)]
            return self.tabulated(name, truths, lambda *values: apply(operator, values))
        varying = [k for k, operand in enumerate(operands) if isinstance(operand, Category) and not operand.constant]
        if operator in CASE_BY_CASE and len(varying) == 1:
            return self._by_cases(name, operator, operands, varying[0])
        numbers = [numeric(operand) for operand in operands]
        try:
            return self.arithmetic(name, operator, numbers)
        except OpaqueError:
            if self.length is None:
                raise
            bounded = [self._listed(f"{name}: {k}", operand, self.length) for k, operand in enumerate(operands)]
            return self.table_of(name, bounded, lambda *values: apply(operator, values))

    def _by_cases(self, name: str, operator: Operator, operands: Sequence[Value], place: int) -> Value:
        """A product or quotient of a number and a category: one case per value, and a choice between the results."""
        few = operands[place]
        assert isinstance(few, Category)
        numeric(few)
        if len(few.values) > MOST_CASES:
            raise opaque(operator)
        options: list[tuple[Signal, Value]] = []
        for value in few.values:
            if place == 1 and operator is not Operator.MULTIPLY and not value:
                continue  # division by 0 is undefined
            one = Category((value,), self.letter, partial=False)
            given = [one if k == place else operand for k, operand in enumerate(operands)]
            options.append((few.bit(value), self.apply(f"{name}, {value}", operator, given)))
        return self.cases(name, options, partial=few.partial or len(options) < len(few.values))

    def _listed(self, name: str, value: Value, length: int) -> Category:
        """A number as a category over all integers that occur up to a length."""
        if isinstance(value, Category):
            return value
        if isinstance(value, Ratio):
            raise OpaqueError("it takes a function of a fraction, for which there is no construction")
        low, high = (int(end.at(length)) for end in (value.low, value.high))
        category = self.sorted_out(name, value, range(low, high + 1))
        return replace(category, partial=value.presence is not None)

    def table(
        self, name: str, operands: Sequence[Value], rows: Sequence[tuple[tuple[ir.Value, ...], ir.Value]]
    ) -> Category:
        """A function given row by row; unbounded integers are compared with the values in the rows."""
        categories = [
            operand
            if isinstance(operand, Category)
            else self.sorted_out(f"{name}: {k}", operand, [row[0][k] for row in rows])
            for k, operand in enumerate(operands)
        ]
        results = {identity(given): result for given, result in rows}
        return self.table_of(name, categories, lambda *given: results.get(identity(given), UNDEFINED))

    def sorted_out(self, name: str, value: Number | Ratio, wanted: Iterable[ir.Value]) -> Category:
        """A number as a category over the given values; undefined if it is another."""
        each = {identity(v): v for v in wanted}.values()
        values = [v for v in each if is_number(v) and not isinstance(v, bool)]
        bits = []
        for v in values:
            bit = self.finder.compare(f"{name} is {v}", self._difference(value, self._constant(v)), "=")
            bits.append(self._present(f"{name} is {v}", bit, value.presence).forms[0])
        return Category(tuple(values), one_hot(values, bits) if bits else Signal((), ()), partial=True)

    def truth(self, name: str, value: Value) -> Category:
        """The truth value of a value."""
        if isinstance(value, Category):
            return self.tabulated(name, [value], truth)
        unequal = self.finder.compare(name, value, "!=")
        return self._boolean(name, unequal, value.presence)

    def _boolean(self, name: str, true: Signal, presence: Signal | None) -> Category:
        """A Boolean from a bit; undefined where ``presence`` is 0."""
        defined = self.letter if presence is None else presence
        true = self._present(name, true, presence)
        bits = one_hot((False, True), ((defined - true).forms[0], true.forms[0]))
        return Category((False, True), bits, partial=presence is not None)

    def _present(self, name: str, bit: Signal, presence: Signal | None) -> Signal:
        return bit if presence is None else all_of(f"{name}, defined", bit.known(BIT), presence)

    def compared(self, name: str, operator: Operator, left: Value, right: Value) -> Category:
        """Whether two numbers are in the relation; a symbol is not equal to any number."""
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Category) and not all(map(is_number, one.values)) and not isinstance(other, Category):
                return self._with_symbols(name, operator, one, other)
        one, other = numeric(left), numeric(right)
        presence = both(f"{name}: both are defined", one.presence, other.presence)
        return self._boolean(
            name, self.finder.compare(name, self._difference(one, other), RELATIONS[operator]), presence
        )

    def _with_symbols(self, name: str, operator: Operator, mixed: Category, number: Number | Ratio) -> Category:
        """Compares a category with symbols and a number; for symbols other than None, only equality is defined."""
        if not any(map(is_number, mixed.values)) and operator in (Operator.EQUAL, Operator.UNEQUAL):
            true = mixed.where(lambda value: value is not None) if operator is Operator.UNEQUAL else constant(0)
            symbols = mixed.where(lambda value: value is not None)
            presence = both(
                f"{name}: both are defined", number.presence, symbols if mixed.partial or None in mixed.values else None
            )
            return self._boolean(name, true.known(BIT), presence)
        raise ConstructionError("it compares an unbounded number with a value that may be a number or a symbol")

    def _constant(self, value: ir.Value) -> Number | Ratio:
        return numeric(Category((value,), self.letter, partial=False))

    def choose(self, name: str, then: Value, condition: Value, otherwise: Value) -> Value:
        """``then`` where the condition is true, else ``otherwise``; only the chosen one must be defined."""
        decided = self.truth(f"{name}: condition", condition)
        yes, no = decided.bit(True), decided.bit(False)
        if decided.constant:
            return then if decided.values[0] is True else otherwise
        return self.cases(name, [(yes, then), (no, otherwise)], partial=decided.partial)

    def cases(self, name: str, options: Sequence[tuple[Signal, Value]], *, partial: bool) -> Value:
        """The value whose bit is 1; undefined where no bit is, which occurs at input positions only if ``partial``."""
        if all(isinstance(value, Category) for _, value in options):
            return self.chosen_category(
                name, [(bit, value) for bit, value in options if isinstance(value, Category)], partial
            )
        numbers = [(bit, numeric(value)) for bit, value in options]
        presence = self._taken(name, numbers, partial)
        if all(isinstance(number, Number) for _, number in numbers):
            chosen = self.finder.choose(name, [(bit, number) for bit, number in numbers if isinstance(number, Number)])
            return replace(chosen, presence=presence)
        return self._fraction(name, [(bit, as_ratio(number)) for bit, number in numbers], presence)

    def _taken(self, name: str, options: Sequence[tuple[Signal, Number | Ratio]], partial: bool) -> Signal | None:
        """A bit: whether the chosen value is defined."""
        if not partial and all(number.presence is None for _, number in options):
            return None
        total = constant(0)
        for k, (bit, number) in enumerate(options):
            here = bit if number.presence is None else all_of(f"{name}: {k} is defined", bit, number.presence)
            total = total + here
        return named(f"{name} is defined", total.known(BIT))

    def _fraction(self, name: str, options: Sequence[tuple[Signal, Ratio]], presence: Signal | None) -> Ratio:
        if all(ratio.power == 0 and ratio.value is not None for _, ratio in options):
            return self._over_constant(name, options, presence)
        total, factor, power = constant(0), 1, 0
        low, high = Bound.of(0), Bound.of(0)
        for k, (bit, ratio) in enumerate(options):
            value = self.finder.real(ratio)
            if value.kinds[0].grows:
                raise ConstructionError("it chooses between unbounded fractions, which no layer can do")
            low, high = low.meet(value.kinds[0].low), high.join(value.kinds[0].high)
            total = total + select(f"{name}: {k}", bit, value, constant(0))
            factor, power = lcm(factor, ratio.factor), max(power, ratio.power)
        return Ratio(named(name, total.known(Kind(low, high, None))), factor, power, presence=presence)

    def _over_constant(self, name: str, options: Sequence[tuple[Signal, Ratio]], presence: Signal | None) -> Ratio:
        """A choice between fractions with constant denominators, as integers over a common denominator."""
        factor, numbers = lcm(*(ratio.factor for _, ratio in options)), []
        for bit, ratio in options:
            scaled = self.finder.real(ratio) * factor
            kind = scaled.kinds[0]
            low, high = kind.low.meet(Bound.of(0)), kind.high.join(Bound.of(0))
            whole = Kind(low, high, "1")
            numbers.append((bit, Number(low, high, scaled.known(whole))))
        chosen = self.finder.choose(name, numbers)
        return Ratio(chosen.value * Fraction(1, factor), factor, 0, presence=presence)
