"""Aggregates of categorical values: the value common to all selected keys, or the largest or smallest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Signal, constant, named, relu, stack
from softmachine.ir.gadgets import all_of
from softmachine.ir.kinds import BIT, integer
from softmachine.ir.signal import Affine
from softmachine.languages.rasp import core
from softmachine.languages.rasp.core import UNDEFINED, Undefined
from softmachine.languages.rasp.values import Result, identity, is_number, plain, same
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.heads import Addend, Heads
from softmachine.theorems.rasp.pointwise import Pointwise
from softmachine.theorems.rasp.selectors import Product, Selector
from softmachine.theorems.rasp.values import Category, Value, one_hot
from softmachine.transformer.attention import Mask


@dataclass(frozen=True)
class Categories:
    """Builds the signals of aggregates of categorical values."""

    heads: Heads
    pointwise: Pointwise

    @property
    def letter(self) -> Signal:
        """The bit that is 1 at input positions."""
        return self.pointwise.letter

    def category_of(
        self, name: str, selector: Selector, values: Category, default: Value, *, alike: bool = False
    ) -> Value:
        """The common value of all selected keys; undefined where they differ."""
        product, end = selector.single, _constant_of(default)
        if product is None:
            return self._counted_category(name, selector, values, default)
        found, none = self._agreed(name, product, values, end, alike=alike)
        return self._or_default(name, found, none, default) if isinstance(end, Undefined) else found

    def _agreed(
        self, name: str, product: Product, values: Category, end: Result, *, alike: bool
    ) -> tuple[Category, Signal]:
        """The common value of all selected keys, and a bit: no key is selected. The sink holds ``end``, if defined."""
        codes, forms = self._coded(values, end)
        bits = Signal(tuple(forms), (BIT,) * len(forms))
        places = range(len(codes))
        alike = (alike and not values.partial) or product.unique or len(values.values) + values.partial <= 1
        if alike:
            head, none = self.heads.fetched(name, product, bits, single=True)
            agreed = [head[k] for k in places]
        else:
            # Retrieve the highest and the lowest code among the selected keys: they are equal iff all are.
            most = _power_of_two(len(codes) + 1)
            scale = constant(Fraction(1, 2 * most))
            gap = min(Fraction(1, 4), Fraction(1, 2 * most))
            rank = _ranked([(form, k) for k, form in enumerate(self._own(values))], most)
            back = _ranked([(form, len(values.values) - k) for k, form in enumerate(self._own(values))], most)
            head, none = self.heads.extreme(f"{name}: highest", product, rank, scale, gap, bits)
            other, _ = self.heads.extreme(f"{name}: lowest", product, back, scale, gap, bits)
            agreed = [all_of(f"{name}: all are {k}", head[k].known(BIT), other[k].known(BIT)) for k in places]
        if self.heads.visible(product) is not Mask.PAST and not isinstance(end, Undefined):
            # The start token finds the sink, whose value must not count there.
            place = next(k for k, code in enumerate(codes) if same(code, end))
            agreed[place] = agreed[place] - self.heads.finder.frame.sink
        result = named(name, one_hot(codes, [bit.forms[0] for bit in agreed]))
        return Category(tuple(codes), result, values.partial or not alike), none

    def _own(self, values: Category) -> list[Affine]:
        """The bits of the values, then a bit for undefined."""
        undefined = (self.letter - values.defined).forms[0]
        return [*values.bits.forms, *([undefined] if values.partial else [])]

    def _coded(self, values: Category, end: Result) -> tuple[list[core.Value], list[Affine]]:
        """The values that may be retrieved, and the bits of each at a key; the sink has the default's."""
        codes, forms = list(values.values), list(values.bits.forms)
        if isinstance(end, Undefined):
            return codes, forms
        place = next((k for k, code in enumerate(codes) if same(code, end)), len(codes))
        if place == len(codes):
            codes.append(end)
            forms.append(Affine({}))
        forms[place] = Affine.sum([forms[place], self.heads.finder.frame.sink.forms[0]])
        return codes, forms

    def _or_default(self, name: str, found: Category, none: Signal, default: Value) -> Value:
        if not isinstance(default, Category):
            some = (self.letter - none).known(BIT)
            return self.pointwise.cases(f"{name} or default", [(some, found), (none, default)], partial=False)
        values = list({identity(value): value for value in (*found.values, *default.values)}.values())
        forms = []
        for value in values:
            own = [found.bit(value).forms[0]]
            if any(identity(value) == identity(item) for item in default.values):
                own.append(all_of(f"{name}: default", none, default.bit(value)).forms[0])
            forms.append(Affine.sum(own))
        single = found.partial
        return Category(tuple(values), named(f"{name} or default", one_hot(values, forms)), single or default.partial)

    def _counted_category(self, name: str, selector: Selector, values: Category, default: Value) -> Value:
        """The same for any selector: the value whose number of selected keys is the width, which is not 0."""
        addends = [Addend(Signal((form,), (BIT,)), 0, 1) for form in values.bits.forms]
        count, sums = self.heads.counted(name, selector, addends)
        finder = self.heads.finder
        none = finder.compare(f"{name}: none", count, "=")
        bits = []
        for k, total in enumerate(sums):
            missing = finder.minus(count, total, None)
            same = finder.compare(f"{name}: all are {k}", missing, "=")
            bits.append(all_of(f"{name}: some and all are {k}", same, (self.letter - none).known(BIT)).forms[0])
        found = Category(values.values, named(name, one_hot(values.values, bits)), partial=True)
        return self._or_default(name, found, none, default)

    def extreme_category(self, name: str, selector: Selector, values: Category, default: Value, sign: int) -> Value:
        """The largest of the numbers, or the smallest if the sign is -1."""
        if not all(map(is_number, values.values)):
            raise ConstructionError("it takes the largest or smallest of values that are not numbers")
        if len({isinstance(value, bool) for value in values.values}) > 1:
            return self._mixed_extreme(name, selector, values, default, sign)
        order = sorted(values.values, key=lambda value: sign * Fraction(value))  # type: ignore[arg-type]
        forms = [values.bit(value).forms[0] for value in order]
        undefined = [(self.letter - values.defined).forms[0]] if values.partial else []
        if selector.single is None:
            bits, none = self._counted_extreme(name, selector, [*forms, *undefined])
        else:
            most = _power_of_two(len(order) + 1)
            rank = _ranked([(form, k) for k, form in enumerate([*forms, *undefined])], most)
            read = Signal(tuple(forms), (BIT,) * len(forms))
            gap = min(Fraction(1, 4), Fraction(1, 2 * most))
            bits, none = self.heads.extreme(name, selector.single, rank, constant(Fraction(1, 2 * most)), gap, read)
        found = Category(tuple(order), named(name, one_hot(order, bits.forms[: len(order)])), values.partial)
        return self._or_default(name, found, none, default)

    def _counted_extreme(self, name: str, selector: Selector, forms: Sequence[Affine]) -> tuple[Signal, Signal]:
        """For any selector: the last of the bits that is 1 at a selected key; and a bit: no key is selected."""
        finder = self.heads.finder
        addends = [Addend(Signal((form,), (BIT,)), 0, 1) for form in forms]
        count, sums = self.heads.counted(name, selector, addends)
        there = [finder.compare(f"{name}: {k} occurs", total, ">") for k, total in enumerate(sums)]
        bits = []
        for k, bit in enumerate(there):
            higher = constant(0)
            for other in there[k + 1 :]:
                higher = higher + other
            bits.append(relu(f"{name} is {k}", bit - higher).known(BIT))
        return stack(*bits), finder.compare(f"{name}: none", count, "=")

    def _mixed_extreme(self, name: str, selector: Selector, values: Category, default: Value, sign: int) -> Value:
        """For Booleans and numbers: the common value if all agree; a Boolean if all are Booleans; else a number."""
        if not isinstance(default, Category):
            raise ConstructionError(
                "it takes the largest or smallest of both Booleans and numbers, and has an unbounded default"
            )
        agreed = self.category_of(f"{name}: same", selector, values, default)
        whole = self.pointwise.tabulated(f"{name}: number", [values], _plainly)
        is_bool = self.pointwise.tabulated(f"{name}: Boolean", [values], lambda value: isinstance(value, bool))
        nothing = Category((0,), self.letter.labelled(("0",), exclusive=True), partial=False)
        best = self.extreme_category(f"{name}: best", selector, whole, nothing, sign)
        yes = Category((True,), self.letter.labelled(("true",), exclusive=True), partial=False)
        only = self.extreme_category(f"{name}: only Booleans", selector, is_bool, yes, -1)
        assert isinstance(agreed, Category)
        assert isinstance(best, Category)
        assert isinstance(only, Category)
        several = self.pointwise.tabulated(
            f"{name}: several", [best, only], lambda number, boolean: bool(number) if boolean else number
        )
        missing = (self.letter - agreed.defined).known(BIT)
        return self.pointwise.cases(name, [(agreed.defined, agreed), (missing, several)], partial=values.partial)


def _constant_of(value: Value) -> Result:
    """The value, if it is the same at every input position; otherwise undefined."""
    return value.values[0] if isinstance(value, Category) and value.constant else UNDEFINED


def _power_of_two(number: int) -> int:
    """The smallest power of two ≥ number, so that floats add ranks to scores without rounding."""
    return 1 << (number - 1).bit_length()


def _ranked(parts: Sequence[tuple[Affine, int]], most: int) -> Signal:
    form = Affine.sum(form * Fraction(rank) for form, rank in parts)
    return Signal((form,), (integer(0, most),))


def _plainly(value: core.Value) -> Result:
    assert is_number(value)
    return plain(value)
