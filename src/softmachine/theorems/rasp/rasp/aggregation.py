"""Aggregates: reduce the values of the selected keys to one, with a default where no key is selected.

Aggregates of categorical values: the value common to all selected keys, or the largest or smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from softmachine.ir import Signal, constant, named, position, relu, stack
from softmachine.ir.gadgets import all_of
from softmachine.ir.ranges import BIT, Kind, integer
from softmachine.ir.signal import Affine
from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import UNDEFINED, Reduction, Undefined
from softmachine.languages.rasp.values import Result, identity, is_number, plain, same
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Bound
from softmachine.theorems.rasp.arithmetic import as_ratio
from softmachine.theorems.rasp.elementwise import Pointwise
from softmachine.theorems.rasp.integers import both
from softmachine.theorems.rasp.rasp.attention import HALF, Addend, Heads
from softmachine.theorems.rasp.rasp.selection import Grid, Product, Selector
from softmachine.theorems.rasp.values import Category, Number, Ratio, Value, numeric, one_hot
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

    def _coded(self, values: Category, end: Result) -> tuple[list[ir.Value], list[Affine]]:
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


def _plainly(value: ir.Value) -> Result:
    assert is_number(value)
    return plain(value)


MOST_ADDEND = 16
"""Integers up to this absolute value are summed exactly, with one head per multiple of the length."""


@dataclass(frozen=True)
class Aggregates(Categories):
    """Builds the signals of aggregates."""

    def width(self, name: str, selector: Selector) -> Number:
        """The number of selected keys."""
        count, _ = self.heads.counted(name, selector)
        return replace(count, presence=selector.presence)

    def of(
        self, name: str, selector: Selector, values: Value, default: Value, reduction: Reduction, *, alike: bool
    ) -> Value:
        """The reduction of the values of the selected keys.

        Args:
            name: The name of the result.
            selector: The selector.
            values: The values.
            default: The result where no key is selected.
            reduction: The mean, the largest or the smallest.
            alike: Whether all selected keys are known to have the same value.
        """
        if not selector.products:  # it never selects a key
            return self.guarded(name, default, selector.presence)
        product = selector.single
        if self._never_empty(product):
            default = Category((0,), self.letter.labelled(("0",), exclusive=True), partial=False)
            if isinstance(values, Category):
                default = replace(default, values=values.values[:1])
        if isinstance(values, Category):
            if reduction is not Reduction.MEAN:
                sign = 1 if reduction is Reduction.LARGEST else -1
                result = self.extreme_category(name, selector, values, default, sign)
            elif alike or (product is not None and product.unique) or not all(map(is_number, values.values)):
                result = self.category_of(name, selector, values, default, alike=alike)
            else:
                result = self._mean(name, selector, numeric(values), default)
        elif reduction is not Reduction.MEAN:
            result = self._extreme_number(name, self._one(product), values, default, reduction)
        elif (alike and values.presence is None) or (product is not None and product.unique):
            result = self._fetched_number(name, self._one(product), values, default)
        else:
            result = self._mean(name, selector, values, default)
        return self.guarded(name, result, selector.presence)

    def _one(self, product: Product | None) -> Product:
        """The only product.

        Raises:
            ConstructionError: If there are several.
        """
        if product is None:
            raise ConstructionError(
                "its selector takes several heads, but an unbounded value must be read by one",
                hint="a selector without 'not', 'or' and '<' of integers takes one head",
            )
        return product

    def guarded(self, name: str, value: Value, presence: Signal | None) -> Value:
        """The value, made undefined where a bit is 0."""
        if presence is None:
            return value
        if isinstance(value, Category):
            return self.pointwise.cases(f"{name}, if defined", [(presence, value)], partial=True)
        return replace(value, presence=both(f"{name} is defined", value.presence, presence))

    # Integers

    def _fetched_number(self, name: str, product: Product, values: Number | Ratio, default: Value) -> Value:
        """The number at the only selected key."""
        return self._read(name, values, default, lambda read: self.heads.fetched(name, product, read, single=True))

    def _extreme_number(
        self, name: str, product: Product, values: Number | Ratio, default: Value, reduction: Reduction
    ) -> Value:
        """The largest or smallest of unbounded integers. Gap: a constant fraction of 1/(n+1)."""
        if not isinstance(values, Number):
            raise ConstructionError("it takes the largest or smallest of unbounded fractions")
        if values.presence is not None:
            raise ConstructionError("it takes the largest or smallest of integers that may be undefined")
        reach = 4 * max(*values.pieces, 1)
        sign = 1 if reduction is Reduction.LARGEST else -1
        gap = self.heads.finder.frame.unit * Fraction(1, reach)
        scale = position(gap)
        centre = values.value * sign
        rank = centre.known(integer(values.low.meet(values.high * -1), values.high.join(values.low * -1)))

        # Ranks lie between -1/4 and 1/4, so that the sink is 1/2 below the selected keys.
        return self._read(
            name, values, default, lambda read: self.heads.extreme(name, product, rank, scale, gap, read, HALF)
        )

    def _read(
        self, name: str, values: Number | Ratio, default: Value, read: Callable[[Signal], tuple[Signal, Signal]]
    ) -> Value:
        """A number that a head retrieves, with its presence, square and inverse as far as known."""
        number = isinstance(values, Number)
        value = values.value if isinstance(values, Number) else self.heads.finder.real(values)
        square = values.square if isinstance(values, Number) else None
        inverse = values.inverse if isinstance(values, Number) else None
        parts = [value, values.presence, square, inverse]
        head, none = read(stack(*(part for part in parts if part is not None)))
        taken = iter(range(len(head)))
        found = [None if part is None else head[next(taken)].known(part.kinds[0]) for part in parts]
        some = (self.letter - none).known(BIT)
        here, presence = found[0], found[1]
        assert here is not None
        result: Number | Ratio
        if isinstance(values, Number):
            result = Number(values.low, values.high, named(name, here), square=found[2], inverse=found[3])
        else:
            result = replace(values, value=named(name, here), over=None)
        presence = None if values.presence is None else presence
        result = replace(result, presence=presence)
        plain = numeric(default)
        if (
            number
            and isinstance(plain, Number)
            and plain.line is not None
            and plain.line.a == 0 == plain.line.b == plain.line.c
        ):
            missing = presence if presence is None else named(f"{name} is defined", (presence + none).known(BIT))
            return replace(result, presence=missing)
        if isinstance(plain, Ratio) or isinstance(result, Ratio):
            return self._fraction_or_default(name, as_ratio(result), none, as_ratio(plain), some)
        if not plain.grows and isinstance(result, Number):
            # The head retrieves 0 where no key is selected; a bounded default can be added there.
            chosen = self.heads.finder.choose(f"{name}: default", [(none, plain)])
            total = self.heads.finder.plus(result, chosen, None)
            low, high = result.low.meet(plain.low), result.high.join(plain.high)
            bounded = Number(low, high, total.value.known(integer(low, high)))
            return replace(bounded, presence=self._either(name, presence, plain.presence, some, none))
        return self.pointwise.cases(f"{name} or default", [(some, result), (none, plain)], partial=False)

    def _either(
        self, name: str, found: Signal | None, default: Signal | None, some: Signal, none: Signal
    ) -> Signal | None:
        """A bit: whether the chosen value is defined."""
        if found is None and default is None:
            return None
        first = some if found is None else found  # 0 at the sink
        second = none if default is None else all_of(f"{name}: default is defined", none, default)
        return named(f"{name} is defined", (first + second).known(BIT))

    # Means

    def _mean(self, name: str, selector: Selector, values: Number | Ratio, default: Value) -> Value:
        """The mean of numbers: a real number if one head computes it; for integers also numerator and denominator."""
        plain, lacking = self._default(default)
        addend = self._addend(values)
        over, value, none = None, None, None
        product = selector.single
        if product is not None:
            real = values.value if isinstance(values, Number) else self.heads.finder.real(values)
            head, none = self.heads.fetched(f"mean of {name}", product, real, single=False)
            value = head[0].known(Kind(real.kinds[0].low, real.kinds[0].high, None))
        if addend is not None:
            count, (total,) = self.heads.counted(name, selector, [addend])
            if none is None:
                none = self.heads.finder.compare(f"{name}: none", count, "=")
            filled = self.heads.finder.plus(count, self._bit(none), None) if not self._never_empty(product) else count
            over = (total, filled)
        if value is None and over is None:
            raise ConstructionError(
                "it is a mean of unbounded numbers over a selector that takes several heads, and no head computes that",
                hint="aggregate with each selector separately",
            )
        assert none is not None
        ratio = as_ratio(values)
        result = Ratio(value, ratio.factor, ratio.power + 1, over, self._undefined_free(name, selector, values))
        if self._never_empty(product) or _is_zero(plain):
            return result
        some = (self.letter - none).known(BIT)
        if lacking:
            return replace(result, presence=both(f"{name}: a key is selected", result.presence, some))
        if result.presence is not None:  # where no key is selected, no selected value is undefined
            result = replace(result, presence=both(f"{name}: mean is defined", result.presence, some))
        return self._fraction_or_default(name, result, none, as_ratio(plain), some)

    def _default(self, default: Value) -> tuple[Number | Ratio, bool]:
        """The default as a number and False; 0 and True if it is not a number."""
        if isinstance(default, Category) and not all(map(is_number, default.values)):
            zero = Category((0,), self.letter.labelled(("0",)), partial=False)
            return numeric(zero), True
        return numeric(default), False

    def _addend(self, values: Number | Ratio) -> Addend | None:
        """The summand, if it is a small integer."""
        if not isinstance(values, Number) or values.grows:
            return None
        low, high = int(values.low.at(0)), int(values.high.at(0))
        return Addend(values.value, low, high) if max(-low, high) <= MOST_ADDEND else None

    def _never_empty(self, product: Product | None) -> bool:
        return product is not None and product.reflexive and self.heads.visible(product) is not Mask.PAST

    def _bit(self, bit: Signal) -> Number:
        return Number(Bound.of(0), Bound.of(1), bit.known(BIT))

    def _undefined_free(self, name: str, selector: Selector, values: Number | Ratio) -> Signal | None:
        """A bit: whether no selected value is undefined."""
        if values.presence is None:
            return None
        undefined = (self.letter - values.presence).known(BIT)
        grid = Grid((f"{name}: undefined", ""), None, self.letter, undefined, 1, "key")
        if selector.single is None:
            raise ConstructionError(
                "it is a mean of numbers that may be undefined, over a selector that takes several heads"
            )
        product = selector.single
        some = self.heads.some(f"{name}: undefined", replace(product, grids=(*product.grids, grid)))
        return (self.letter - some).known(BIT)

    def _fraction_or_default(self, name: str, found: Ratio, none: Signal, default: Ratio, some: Signal) -> Ratio:
        """A fraction, which is 0 where no key is selected, plus the default there."""
        presence = (
            self._either(name, found.presence, default.presence, some, none)
            if found.presence or default.presence
            else None
        )
        value, over = None, None
        extra = (
            None
            if default.value is None
            else self.pointwise.cases(f"{name}: default", [(none, replace(default, presence=None))], partial=False)
        )
        if found.value is not None and isinstance(extra, Ratio) and extra.value is not None:
            kinds = found.value.kinds[0], extra.value.kinds[0]
            kind = Kind(kinds[0].low.meet(kinds[1].low), kinds[0].high.join(kinds[1].high), None)
            value = named(f"{name} or default", (found.value + extra.value).known(kind))
        if found.over is not None and default.factor == 1 and default.power == 0 and isinstance(extra, Ratio):
            assert extra.value is not None
            kind = Kind(extra.value.kinds[0].low, extra.value.kinds[0].high, "1")
            more = Number(kind.low, kind.high, extra.value.known(kind))
            over = (self.heads.finder.plus(found.over[0], more, None), found.over[1])
        return Ratio(value, found.factor * default.factor, max(found.power, default.power), over, presence)


def _is_zero(number: Number | Ratio) -> bool:
    return isinstance(number, Number) and number.line is not None and not any(vars(number.line).values())
