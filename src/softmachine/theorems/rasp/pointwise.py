"""What depends on one position: tables by units, arithmetic by affine maps, comparisons and choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import lcm, prod

from softmachine.errors import ConstructionError, Remedy
from softmachine.languages.rasp import core
from softmachine.languages.rasp.core import UNDEFINED, Operator, Undefined
from softmachine.languages.rasp.values import Result, apply, identity, is_number, truth
from softmachine.signals import Signal, constant, named, relu
from softmachine.signals.gadgets import all_of, select
from softmachine.signals.kinds import BIT, Kind
from softmachine.signals.signal import Affine
from softmachine.theorems.rasp.numbers import Finder, both
from softmachine.theorems.rasp.values import Category, Number, Ratio, Value, numeric, one_hot, shown
from softmachine.transformer.bounds import Bound
from softmachine.transformer.features import Residue

MOST_ROWS = 1 << 14
RELATIONS = {
    Operator.EQUAL: "=", Operator.UNEQUAL: "!=", Operator.LESS: "<", Operator.AT_MOST: "<=",
    Operator.GREATER: ">", Operator.AT_LEAST: ">=",
}  # fmt: skip
CASE_BY_CASE = (Operator.MULTIPLY, Operator.DIVIDE, Operator.FLOOR_DIVIDE, Operator.MODULO)
MOST_CASES = 16
"""A number is multiplied or divided by one of so many at most."""
HIGHEST_POWER = 2
"""Fractions whose denominators are products of more than so many counts are refused."""


@dataclass(frozen=True)
class Pointwise:
    """Builds elementwise operations.

    Args:
        finder: What finds integers.
        length: The length of words for which functions of two integers are tables; None if they are refused.
    """

    finder: Finder
    length: int | None = None

    @property
    def letter(self) -> Signal:
        """The bit that is 1 at letters."""
        return self.finder.frame.letter

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
        numbers = [numeric(operand, self.letter) for operand in operands]
        try:
            return self.arithmetic(name, operator, numbers)
        except OpaqueError:
            if self.length is None:
                raise
            bounded = [self._listed(f"{name}: {k}", operand, self.length) for k, operand in enumerate(operands)]
            return self.table_of(name, bounded, lambda *values: apply(operator, values))

    def _by_cases(self, name: str, operator: Operator, operands: Sequence[Value], place: int) -> Value:
        """A product or a quotient of a number and one of few: each by itself, and the choice between them."""
        few = operands[place]
        assert isinstance(few, Category)
        numeric(few, self.letter)
        if len(few.values) > MOST_CASES:
            raise _opaque(operator)
        options: list[tuple[Signal, Value]] = []
        for value in few.values:
            if place == 1 and operator is not Operator.MULTIPLY and not value:
                continue  # nothing is divided by 0
            one = Category((value,), self.letter, partial=False)
            given = [one if k == place else operand for k, operand in enumerate(operands)]
            options.append((few.bit(value), self.apply(f"{name}, {value}", operator, given)))
        return self.cases(name, options, partial=few.partial or len(options) < len(few.values))

    def table_of(self, name: str, operands: Sequence[Category], function: Callable[..., Result]) -> Category:
        """A table, if it is not too large."""
        rows = prod(len(item.values) for item in operands)
        if rows > MOST_ROWS:
            raise ConstructionError(
                f"the table of a function of integers has {rows:,} rows, and {MOST_ROWS:,} are the most that are built",
                hint=Remedy("choose a smaller length, for example {}", context=32),
            )
        return self.tabulated(name, operands, function)

    def _listed(self, name: str, value: Value, length: int) -> Category:
        """Which of all integers that occur up to a length a number is."""
        if isinstance(value, Category):
            return value
        if isinstance(value, Ratio):
            raise OpaqueError("it takes a function of a fraction, for which there is no construction")
        low, high = (int(end.at(length)) for end in (value.low, value.high))
        category = self.sorted_out(name, value, range(low, high + 1))
        return replace(category, partial=value.presence is not None)

    # Finitely many values

    def tabulated(self, name: str, operands: Sequence[Category], function: Callable[..., Result]) -> Category:
        """A function of finitely many values: one unit a row, none if all that varies is a function of one category."""
        varying = [operand for operand in operands if not operand.constant]
        roots = list({id(operand.source): operand.source for operand in varying}.values())
        if len(roots) == 1 and (len(varying) > 1 or varying[0].root is not None):
            (root,) = roots
            return self._of_root(name, root, [self._through(root, operands, k, function) for k in range(len(root.values))])
        if len(varying) == 1:
            (root,) = varying
            place = next(k for k, operand in enumerate(operands) if operand is root)
            results = [
                function(*(value if k == place else operand.values[0] for k, operand in enumerate(operands)))
                for value in root.values
            ]
            return self._of_root(name, root, results)
        rows: dict[tuple[int, ...], Result] = {
            indices: function(*(operand.values[k] for operand, k in zip(operands, indices, strict=True)))
            for indices in product(*(range(len(operand.values)) for operand in operands))
        }
        values = _distinct(rows.values())
        places = [k for k, operand in enumerate(operands) if not operand.constant]
        partial = any(operand.partial for operand in varying) or UNDEFINED in rows.values()
        if not varying:
            bits = [self.letter.forms[0]] * len(values)
        else:
            bits = self._units(name, operands, places, rows, values, partial)
        return Category(tuple(values), named(name, one_hot(values, bits)) if values else Signal((), ()), partial)

    @staticmethod
    def _through(root: Category, operands: Sequence[Category], k: int, function: Callable[..., Result]) -> Result:
        """What a function of functions of a category is at one of its values."""
        given: list[core.Value] = []
        for operand in operands:
            place = 0 if operand.constant else k if operand is root else operand.image[k]
            if place < 0:
                return UNDEFINED
            given.append(operand.values[place])
        return function(*given)

    def _of_root(self, name: str, root: Category, results: Sequence[Result]) -> Category:
        """A function of one category: sums of its bits, no unit."""
        values = _distinct(results)
        places = {identity(value): k for k, value in enumerate(values)}
        image = tuple(-1 if result is UNDEFINED else places[identity(result)] for result in results)
        forms = [
            Affine.sum(form for form, place in zip(root.bits.forms, image, strict=True) if place == k)
            for k in range(len(values))
        ]
        bits = one_hot(values, forms) if values else Signal((), ())
        return Category(tuple(values), bits, root.partial or -1 in image, root, image)

    def _units(
        self,
        name: str,
        operands: Sequence[Category],
        varying: Sequence[int],
        rows: dict[tuple[int, ...], Result],
        values: Sequence[Result],
        partial: bool,
    ) -> list[Affine]:
        """Rows that agree in all but the last operand are one unit for each value; the most frequent value is the rest."""
        *front, last = varying
        cases: dict[tuple[int, ...], dict[object, list[int]]] = {}
        for indices, value in rows.items():
            if value is not UNDEFINED:
                case = cases.setdefault(tuple(indices[k] for k in front), {})
                case.setdefault(identity(value), []).append(indices[last])
        grouped: dict[object, tuple[dict[object, list[int]], list[tuple[int, ...]]]] = {}
        for place, case in cases.items():
            shape = tuple((key, tuple(entries)) for key, entries in case.items())
            grouped.setdefault(shape if len(front) == 1 else place, (case, []))[1].append(place)
        forms: dict[object, list[Affine]] = {identity(value): [] for value in values}
        rest = None
        if not partial:
            sizes = {key: sum(len(case.get(key, ())) > 0 for case, _ in grouped.values()) for key in forms}
            rest = max(sizes, key=lambda key: sizes[key])
        for number, (case, places) in enumerate(grouped.values()):
            conditions = [_among(operands[k], {place[m] for place in places}) for m, k in enumerate(front)]
            for key, entries in case.items():
                if key != rest:
                    bits = [*conditions, _among(operands[last], set(entries))]
                    forms[key].append(all_of(f"{name}: row {number}", *bits).forms[0])
        sums = {key: Affine.sum(parts) for key, parts in forms.items()}
        if rest is not None:
            others = [form * Fraction(-1) for key, form in sums.items() if key != rest]
            sums[rest] = Affine.sum([self.letter.forms[0], *others])
        return list(sums.values())

    def table(self, name: str, operands: Sequence[Value], rows: Sequence[tuple[tuple[core.Value, ...], core.Value]]) -> Category:
        """A function given row by row; integers without bound are compared with what the rows say of them."""
        categories = [
            operand if isinstance(operand, Category) else self.sorted_out(f"{name}: {k}", operand, [row[0][k] for row in rows])
            for k, operand in enumerate(operands)
        ]
        results = {identity(given): result for given, result in rows}
        return self.table_of(name, categories, lambda *given: results.get(identity(given), UNDEFINED))

    def sorted_out(self, name: str, value: Number | Ratio, wanted: Iterable[core.Value]) -> Category:
        """Which of some values a number is; undefined if it is another."""
        each = {identity(v): v for v in wanted}.values()
        values = [v for v in each if is_number(v) and not isinstance(v, bool)]
        bits = []
        for v in values:
            bit = self.finder.compare(f"{name} is {v}", self._difference(value, self._constant(v)), "=")
            bits.append(self._present(f"{name} is {v}", bit, value.presence).forms[0])
        return Category(tuple(values), one_hot(values, bits) if bits else Signal((), ()), partial=True)

    def truth(self, name: str, value: Value) -> Category:
        """Whether a value counts as true."""
        if isinstance(value, Category):
            return self.tabulated(name, [value], truth)
        unequal = self.finder.compare(name, value, "!=")
        return self._boolean(name, unequal, value.presence)

    def _boolean(self, name: str, true: Signal, presence: Signal | None) -> Category:
        """A Boolean from a bit; undefined where a bit is 0."""
        defined = self.letter if presence is None else presence
        true = self._present(name, true, presence)
        bits = one_hot((False, True), ((defined - true).forms[0], true.forms[0]))
        return Category((False, True), bits, partial=presence is not None)

    def _present(self, name: str, bit: Signal, presence: Signal | None) -> Signal:
        return bit if presence is None else all_of(f"{name}, defined", bit.known(BIT), presence)

    # Comparisons

    def compared(self, name: str, operator: Operator, left: Value, right: Value) -> Category:
        """Whether two numbers compare so; a symbol is equal to no number."""
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Category) and not all(map(is_number, one.values)) and not isinstance(other, Category):
                return self._with_symbols(name, operator, one, other, swapped=one is right)
        one, other = numeric(left, self.letter), numeric(right, self.letter)
        presence = both(f"{name}: both are defined", one.presence, other.presence)
        return self._boolean(name, self.finder.compare(name, self._difference(one, other), RELATIONS[operator]), presence)

    def _with_symbols(
        self, name: str, operator: Operator, mixed: Category, number: Number | Ratio, *, swapped: bool
    ) -> Category:
        """Values of which some are no numbers against a number: only equality is defined for these, but not for None."""
        if not any(map(is_number, mixed.values)) and operator in (Operator.EQUAL, Operator.UNEQUAL):
            true = mixed.where(lambda value: value is not None) if operator is Operator.UNEQUAL else constant(0)
            symbols = mixed.where(lambda value: value is not None)
            presence = both(f"{name}: both are defined", number.presence, symbols if mixed.partial or None in mixed.values else None)
            return self._boolean(name, true.known(BIT), presence)
        raise ConstructionError("it compares a number without bound with what may be a number or a symbol")

    def _difference(self, one: Number | Ratio, other: Number | Ratio) -> Number | Ratio:
        return self.plus(one, self.scaled(other, Fraction(-1)))

    def _constant(self, value: core.Value) -> Number | Ratio:
        return numeric(Category((value,), self.letter, partial=False), self.letter)

    # Numbers

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
                "it compares or adds fractions of so many different denominators that nothing can tell them apart"
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
        return Ratio(
            value, number.factor * factor.denominator, number.power, over, number.presence, number.mean_over
        )

    def arithmetic(self, name: str, operator: Operator, numbers: Sequence[Number | Ratio]) -> Value:
        """An operation on numbers of which one at least is without bound, or a fraction."""
        presence = both(f"{name}: all are defined", *(number.presence for number in numbers))
        match operator, *numbers:
            case Operator.ADD, one, other:
                return self.plus(one, other, presence)
            case Operator.SUBTRACT, one, other:
                return self.plus(one, self.scaled(other, Fraction(-1)), presence)
            case Operator.NEGATE, one:
                return self.scaled(one, Fraction(-1))
            case Operator.ABSOLUTE, one:
                negative = self._rectified(f"{name}: below", self.scaled(one, Fraction(-1)))
                return self.plus(one, self.scaled(negative, Fraction(2)), presence)
            case (Operator.MINIMUM | Operator.MAXIMUM), one, other:
                sign = Fraction(1 if operator is Operator.MAXIMUM else -1)
                excess = self._rectified(name, self.scaled(self._difference(one, other), sign))
                return self.plus(other, self.scaled(excess, sign), presence)
            case Operator.MULTIPLY, one, other:
                return self._product(name, one, other, presence)
            case Operator.DIVIDE, one, other:
                return self._quotient(name, one, other, presence)
            case (Operator.FLOOR_DIVIDE | Operator.MODULO), one, other:
                return self._divided(name, operator, one, other, presence)
            case (Operator.ROUND | Operator.TRUNCATE), one:
                return self._rounded(name, operator, one, presence)
        raise _opaque(operator)

    def _rectified(self, name: str, number: Number | Ratio) -> Number | Ratio:
        if isinstance(number, Number):
            return self.finder.rectified(name, number)
        value = relu(name, self.finder.real(number))
        return replace(number, value=value, over=None)

    def _product(self, name: str, one: Number | Ratio, other: Number | Ratio, presence: Signal | None) -> Value:
        for first, second in ((one, other), (other, one)):
            factor = known_constant(first)
            if factor is not None:
                return replace(self.scaled(second, factor), presence=presence)
            if isinstance(first, Ratio) and isinstance(second, Number) and _is_denominator(first, second):
                assert first.over is not None
                return replace(first.over[0], presence=presence)
        raise _opaque(Operator.MULTIPLY)

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
        raise _opaque(Operator.DIVIDE)

    def _divided(
        self, name: str, operator: Operator, one: Number | Ratio, other: Number | Ratio, presence: Signal | None
    ) -> Value:
        divisor = known_constant(other)
        if not divisor:
            raise _opaque(operator)
        modulus = int(divisor)
        small = isinstance(one, Number) and modulus == divisor and 1 < modulus <= MOST_ROWS
        if operator is Operator.MODULO and small and isinstance(one, Number) and one.pieces == (0, 1):
            rest = self.finder.look(f"{name}: residues", one, [Residue(modulus, r) for r in range(modulus)])
            forms = [rest[r].forms[0] for r in range(modulus)]
            forms[0] = (rest[0] - self.finder.frame.sink).forms[0]  # the start token has 0 as well
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

    # Choice

    def choose(self, name: str, then: Value, condition: Value, otherwise: Value) -> Value:
        """``then`` where the condition is true, ``otherwise`` where it is false; only what is taken must be defined."""
        decided = self.truth(f"{name}: condition", condition)
        yes, no = decided.bit(True), decided.bit(False)
        if decided.constant:
            return then if decided.values[0] is True else otherwise
        return self.cases(name, [(yes, then), (no, otherwise)], partial=decided.partial)

    def cases(self, name: str, options: Sequence[tuple[Signal, Value]], *, partial: bool) -> Value:
        """The value whose bit is 1; undefined where none is, which happens at letters only if it is partial."""
        if all(isinstance(value, Category) for _, value in options):
            return self._category(name, [(bit, value) for bit, value in options if isinstance(value, Category)], partial)
        numbers = [(bit, numeric(value, self.letter)) for bit, value in options]
        presence = self._taken(name, numbers, partial)
        if all(isinstance(number, Number) for _, number in numbers):
            chosen = self.finder.choose(name, [(bit, number) for bit, number in numbers if isinstance(number, Number)])
            return replace(chosen, presence=presence)
        return self._fraction(name, [(bit, as_ratio(number)) for bit, number in numbers], presence)

    def _category(self, name: str, options: Sequence[tuple[Signal, Category]], partial: bool) -> Category:
        values = list({identity(value): value for _, item in options for value in item.values}.values())
        sums: dict[object, list[Affine]] = {identity(value): [] for value in values}
        for k, (bit, item) in enumerate(options):
            for value in item.values:
                taken = bit if item.constant else all_of(f"{name}: {shown(value)}, {k}", bit, item.bit(value))
                sums[identity(value)].append(taken.forms[0])
        forms = [Affine.sum(parts) for parts in sums.values()]
        any_partial = partial or any(item.partial for _, item in options)
        return Category(tuple(values), named(name, one_hot(values, forms)), any_partial)

    def _taken(self, name: str, options: Sequence[tuple[Signal, Number | Ratio]], partial: bool) -> Signal | None:
        """A bit: whether what is taken is defined."""
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
                raise ConstructionError("it chooses between fractions without bound, which no layer can do")
            low, high = low.meet(value.kinds[0].low), high.join(value.kinds[0].high)
            total = total + select(f"{name}: {k}", bit, value, constant(0))
            factor, power = lcm(factor, ratio.factor), max(power, ratio.power)
        return Ratio(named(name, total.known(Kind(low, high, None))), factor, power, presence=presence)


    def _over_constant(self, name: str, options: Sequence[tuple[Signal, Ratio]], presence: Signal | None) -> Ratio:
        """A choice between fractions of constant denominators: between integers over a common one."""
        factor, numbers = lcm(*(ratio.factor for _, ratio in options)), []
        for bit, ratio in options:
            scaled = self.finder.real(ratio) * factor
            kind = scaled.kinds[0]
            low, high = kind.low.meet(Bound.of(0)), kind.high.join(Bound.of(0))
            whole = Kind(low, high, "1")
            numbers.append((bit, Number(low, high, scaled.known(whole))))
        chosen = self.finder.choose(name, numbers)
        return Ratio(chosen.value * Fraction(1, factor), factor, 0, presence=presence)


def as_ratio(number: Number | Ratio) -> Ratio:
    """An integer as a fraction."""
    if isinstance(number, Ratio):
        return number
    return Ratio(number.value, 1, 0, presence=number.presence)


def known_constant(number: Number | Ratio) -> Fraction | None:
    """The number, if it is the same at every letter whatever the word."""
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
    """Whether the denominators of two fractions are the width of one selector, and constants."""
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


def _distinct(results: Iterable[Result]) -> list[core.Value]:
    """Each value once; undefined is none."""
    return list({identity(value): value for value in results if not isinstance(value, Undefined)}.values())


def _among(category: Category, indices: set[int]) -> Signal:
    return Signal((Affine.sum(category.bits.forms[k] for k in sorted(indices)),), (BIT,))


class OpaqueError(ConstructionError):
    """A function of numbers without bound for which there is a construction up to a length only, or none."""


def _opaque(operator: Operator) -> OpaqueError:
    return OpaqueError(
        f"it takes {operator.value!r} of two integers without bound, or of a fraction, for which there is no construction "
        "at every length",
        hint=Remedy("of integers, a table serves for words up to a length: {}", context=32),
    )
