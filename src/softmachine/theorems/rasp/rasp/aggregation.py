"""Aggregates: reduce the values of the selected keys to one, with a default where no key is selected.

Aggregates of categorical values are the value common to all selected keys, or the largest or smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from softmachine.ir import Signal, constant, named, position, relu, stack
from softmachine.ir.gadgets import all_of
from softmachine.ir.ranges import BIT, integer, real, union
from softmachine.ir.signal import Affine
from softmachine.languages.rasp import ir
from softmachine.languages.rasp.ir import UNDEFINED, Reduction, Undefined
from softmachine.languages.rasp.values import PartialValue, identity_key, is_identical, is_number, normalise_number
from softmachine.support.errors import ConstructionError
from softmachine.theorems.rasp.arithmetic import as_fraction
from softmachine.theorems.rasp.elementwise import ElementwiseGadgets
from softmachine.theorems.rasp.integers import conjunction
from softmachine.theorems.rasp.rasp.attention import HALF, SelectorHeads, Summand
from softmachine.theorems.rasp.rasp.selection import PairTable, SelectorProduct, SignedSelector
from softmachine.theorems.rasp.values import BoundedFraction, BoundedInteger, Categorical, Value, as_number, one_hot
from softmachine.transformer.attention import Mask


@dataclass(frozen=True)
class CategoricalAggregates:
    """Builds the signals of aggregates of categorical values."""

    heads: SelectorHeads
    pointwise: ElementwiseGadgets

    @property
    def input_bit(self) -> Signal:
        """The bit that is 1 at input positions."""
        return self.pointwise.input_bit

    def common_category(
        self, name: str, selector: SignedSelector, values: Categorical, default: Value, *, alike: bool = False
    ) -> Value:
        """The common value of all selected keys; undefined where they differ."""
        product, end = selector.single_product, _constant_of(default)
        if product is None:
            return self._common_by_counting(name, selector, values, default)
        found, none = self._find_common_value(name, product, values, end, alike=alike)
        return self._or_default(name, found, none, default) if isinstance(end, Undefined) else found

    def _find_common_value(
        self, name: str, product: SelectorProduct, values: Categorical, end: PartialValue, *, alike: bool
    ) -> tuple[Categorical, Signal]:
        """The common value of all selected keys, and a bit: no key is selected. The sink holds ``end``, if defined."""
        codes, forms = self._retrieval_code(values, end)
        bits = Signal(tuple(forms), (BIT,) * len(forms))
        places = range(len(codes))
        alike = (
            (alike and not values.may_be_undefined)
            or product.is_unique
            or len(values.values) + values.may_be_undefined <= 1
        )
        if alike:
            head, none = self.heads.fetch(name, product, bits, single=True)
            agreed = [head[k] for k in places]
        else:
            # Retrieve the highest and the lowest code among the selected keys: they are equal iff all are.
            most = _power_of_two(len(codes) + 1)
            scale = constant(Fraction(1, 2 * most))
            gap = min(Fraction(1, 4), Fraction(1, 2 * most))
            rank = _rank([(form, k) for k, form in enumerate(self._bits_with_undefined(values))], most)
            back = _rank(
                [(form, len(values.values) - k) for k, form in enumerate(self._bits_with_undefined(values))], most
            )
            head, none = self.heads.fetch_extreme(f"{name}: highest", product, rank, scale, gap, bits)
            other, _ = self.heads.fetch_extreme(f"{name}: lowest", product, back, scale, gap, bits)
            agreed = [all_of(f"{name}: all are {k}", head[k].with_range(BIT), other[k].with_range(BIT)) for k in places]
        if self.heads.mask_of(product) is not Mask.PAST and not isinstance(end, Undefined):
            # The start token finds the sink, whose value must not count there.
            place = next(k for k, code in enumerate(codes) if is_identical(code, end))
            agreed[place] = agreed[place] - self.heads.integers.layout.sink
        result = named(name, one_hot(codes, [bit.forms[0] for bit in agreed]))
        return Categorical(tuple(codes), result, values.may_be_undefined or not alike), none

    def _bits_with_undefined(self, values: Categorical) -> list[Affine]:
        """The bits of the values, then a bit for undefined."""
        undefined = (self.input_bit - values.presence).forms[0]
        return [*values.bits.forms, *([undefined] if values.may_be_undefined else [])]

    def _retrieval_code(self, values: Categorical, end: PartialValue) -> tuple[list[ir.Value], list[Affine]]:
        """The values that may be retrieved, and the bits of each at a key; the sink has the default's."""
        codes, forms = list(values.values), list(values.bits.forms)
        if isinstance(end, Undefined):
            return codes, forms
        place = next((k for k, code in enumerate(codes) if is_identical(code, end)), len(codes))
        if place == len(codes):
            codes.append(end)
            forms.append(Affine({}))
        forms[place] = Affine.sum([forms[place], self.heads.integers.layout.sink.forms[0]])
        return codes, forms

    def _or_default(self, name: str, found: Categorical, none: Signal, default: Value) -> Value:
        if not isinstance(default, Categorical):
            some = (self.input_bit - none).with_range(BIT)
            return self.pointwise.choose_case(f"{name} or default", [(some, found), (none, default)], partial=False)
        values = list({identity_key(value): value for value in (*found.values, *default.values)}.values())
        forms = []
        for value in values:
            own = [found.bit_of(value).forms[0]]
            if any(identity_key(value) == identity_key(item) for item in default.values):
                own.append(all_of(f"{name}: default", none, default.bit_of(value)).forms[0])
            forms.append(Affine.sum(own))
        single = found.may_be_undefined
        return Categorical(
            tuple(values), named(f"{name} or default", one_hot(values, forms)), single or default.may_be_undefined
        )

    def _common_by_counting(self, name: str, selector: SignedSelector, values: Categorical, default: Value) -> Value:
        """The same for any selector: the value whose number of selected keys is the width, which is not 0."""
        addends = [Summand(Signal((form,), (BIT,)), 0, 1) for form in values.bits.forms]
        count, sums = self.heads.count_and_sum(name, selector, addends)
        finder = self.heads.integers
        none = finder.compare(f"{name}: none", count, "=")
        bits = []
        for k, total in enumerate(sums):
            missing = finder.subtract(count, total, None)
            same = finder.compare(f"{name}: all are {k}", missing, "=")
            bits.append(all_of(f"{name}: some and all are {k}", same, (self.input_bit - none).with_range(BIT)).forms[0])
        found = Categorical(values.values, named(name, one_hot(values.values, bits)), may_be_undefined=True)
        return self._or_default(name, found, none, default)

    def find_extreme_category(
        self, name: str, selector: SignedSelector, values: Categorical, default: Value, sign: int
    ) -> Value:
        """The largest of the numbers, or the smallest if the sign is -1."""
        if not all(map(is_number, values.values)):
            raise ConstructionError("it takes the largest or smallest of values that are not numbers")
        if len({isinstance(value, bool) for value in values.values}) > 1:
            return self._mixed_extreme(name, selector, values, default, sign)
        order = sorted(values.values, key=lambda value: sign * Fraction(value))  # type: ignore[arg-type]
        forms = [values.bit_of(value).forms[0] for value in order]
        undefined = [(self.input_bit - values.presence).forms[0]] if values.may_be_undefined else []
        if selector.single_product is None:
            bits, none = self._extreme_by_counting(name, selector, [*forms, *undefined])
        else:
            most = _power_of_two(len(order) + 1)
            rank = _rank([(form, k) for k, form in enumerate([*forms, *undefined])], most)
            read = Signal(tuple(forms), (BIT,) * len(forms))
            gap = min(Fraction(1, 4), Fraction(1, 2 * most))
            bits, none = self.heads.fetch_extreme(
                name, selector.single_product, rank, constant(Fraction(1, 2 * most)), gap, read
            )
        found = Categorical(
            tuple(order), named(name, one_hot(order, bits.forms[: len(order)])), values.may_be_undefined
        )
        return self._or_default(name, found, none, default)

    def _extreme_by_counting(
        self, name: str, selector: SignedSelector, forms: Sequence[Affine]
    ) -> tuple[Signal, Signal]:
        """For any selector: the last of the bits that is 1 at a selected key; and a bit: no key is selected."""
        finder = self.heads.integers
        addends = [Summand(Signal((form,), (BIT,)), 0, 1) for form in forms]
        count, sums = self.heads.count_and_sum(name, selector, addends)
        there = [finder.compare(f"{name}: {k} occurs", total, ">") for k, total in enumerate(sums)]
        bits = []
        for k, bit in enumerate(there):
            higher = constant(0)
            for other in there[k + 1 :]:
                higher = higher + other
            bits.append(relu(f"{name} is {k}", bit - higher).with_range(BIT))
        return stack(*bits), finder.compare(f"{name}: none", count, "=")

    def _mixed_extreme(
        self, name: str, selector: SignedSelector, values: Categorical, default: Value, sign: int
    ) -> Value:
        """For Booleans and numbers: the common value if all agree; a Boolean if all are Booleans; else a number."""
        if not isinstance(default, Categorical):
            raise ConstructionError(
                "it takes the largest or smallest of both Booleans and numbers, and has an unbounded default"
            )
        agreed = self.common_category(f"{name}: same", selector, values, default)
        whole = self.pointwise.tabulate(f"{name}: number", [values], _sort_key)
        is_bool = self.pointwise.tabulate(f"{name}: Boolean", [values], lambda value: isinstance(value, bool))
        nothing = Categorical((0,), self.input_bit.with_labels(("0",), exclusive=True), may_be_undefined=False)
        best = self.find_extreme_category(f"{name}: best", selector, whole, nothing, sign)
        yes = Categorical((True,), self.input_bit.with_labels(("true",), exclusive=True), may_be_undefined=False)
        only = self.find_extreme_category(f"{name}: only Booleans", selector, is_bool, yes, -1)
        assert isinstance(agreed, Categorical)
        assert isinstance(best, Categorical)
        assert isinstance(only, Categorical)
        several = self.pointwise.tabulate(
            f"{name}: several", [best, only], lambda number, boolean: bool(number) if boolean else number
        )
        missing = (self.input_bit - agreed.presence).with_range(BIT)
        return self.pointwise.choose_case(
            name, [(agreed.presence, agreed), (missing, several)], partial=values.may_be_undefined
        )


def _constant_of(value: Value) -> PartialValue:
    """The value, if it is the same at every input position; otherwise undefined."""
    return value.values[0] if isinstance(value, Categorical) and value.is_constant else UNDEFINED


def _power_of_two(number: int) -> int:
    """The smallest power of two ≥ number, so that floats add ranks to scores without rounding."""
    return 1 << (number - 1).bit_length()


def _rank(parts: Sequence[tuple[Affine, int]], most: int) -> Signal:
    form = Affine.sum(form * Fraction(rank) for form, rank in parts)
    return Signal((form,), (integer(0, most),))


def _sort_key(value: ir.Value) -> PartialValue:
    assert is_number(value)
    return normalise_number(value)


MAX_SUMMAND = 16
"""Integers up to this absolute value are summed exactly, with one head per multiple of the length."""


@dataclass(frozen=True)
class Aggregates(CategoricalAggregates):
    """Builds the signals of aggregates."""

    def selector_width(self, name: str, selector: SignedSelector) -> BoundedInteger:
        """The number of selected keys."""
        count, _ = self.heads.count_and_sum(name, selector)
        return replace(count, presence=selector.presence)

    def aggregate(
        self, name: str, selector: SignedSelector, values: Value, default: Value, reduction: Reduction, *, alike: bool
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
            return self.mask_undefined(name, default, selector.presence)
        product = selector.single_product
        if self._is_never_empty(product):
            default = Categorical((0,), self.input_bit.with_labels(("0",), exclusive=True), may_be_undefined=False)
            if isinstance(values, Categorical):
                default = replace(default, values=values.values[:1])
        if isinstance(values, Categorical):
            if reduction is not Reduction.MEAN:
                sign = 1 if reduction is Reduction.MAXIMUM else -1
                result = self.find_extreme_category(name, selector, values, default, sign)
            elif alike or (product is not None and product.is_unique) or not all(map(is_number, values.values)):
                result = self.common_category(name, selector, values, default, alike=alike)
            else:
                result = self._build_mean(name, selector, as_number(values), default)
        elif reduction is not Reduction.MEAN:
            result = self._find_extreme_number(name, self._only_product(product), values, default, reduction)
        elif (alike and values.presence is None) or (product is not None and product.is_unique):
            result = self._fetch_number(name, self._only_product(product), values, default)
        else:
            result = self._build_mean(name, selector, values, default)
        return self.mask_undefined(name, result, selector.presence)

    def _only_product(self, product: SelectorProduct | None) -> SelectorProduct:
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

    def mask_undefined(self, name: str, value: Value, presence: Signal | None) -> Value:
        """The value, made undefined where a bit is 0."""
        if presence is None:
            return value
        if isinstance(value, Categorical):
            return self.pointwise.choose_case(f"{name}, if defined", [(presence, value)], partial=True)
        return replace(value, presence=conjunction(f"{name} is defined", value.presence, presence))

    # Integers

    def _fetch_number(
        self, name: str, product: SelectorProduct, values: BoundedInteger | BoundedFraction, default: Value
    ) -> Value:
        """The number at the only selected key."""
        return self._number_from_head(
            name, values, default, lambda read: self.heads.fetch(name, product, read, single=True)
        )

    def _find_extreme_number(
        self,
        name: str,
        product: SelectorProduct,
        values: BoundedInteger | BoundedFraction,
        default: Value,
        reduction: Reduction,
    ) -> Value:
        """The largest or smallest of unbounded integers. Gap: a constant fraction of 1/(n+1)."""
        if not isinstance(values, BoundedInteger):
            raise ConstructionError("it takes the largest or smallest of unbounded fractions")
        if values.presence is not None:
            raise ConstructionError("it takes the largest or smallest of integers that may be undefined")
        reach = 4 * max(*values.pieces, 1)
        sign = 1 if reduction is Reduction.MAXIMUM else -1
        gap = self.heads.integers.layout.inverse_visible * Fraction(1, reach)
        scale = position(gap)
        centre = values.value * sign
        rank = centre.with_range(integer(values.low.lower_bound(-values.high), values.high.upper_bound(-values.low)))

        # Ranks lie between -1/4 and 1/4, so that the sink is 1/2 below the selected keys.
        return self._number_from_head(
            name, values, default, lambda read: self.heads.fetch_extreme(name, product, rank, scale, gap, read, HALF)
        )

    def _number_from_head(
        self,
        name: str,
        values: BoundedInteger | BoundedFraction,
        default: Value,
        read: Callable[[Signal], tuple[Signal, Signal]],
    ) -> Value:
        """A number that a head retrieves, with its presence, square and inverse as far as known."""
        number = isinstance(values, BoundedInteger)
        value = values.value if isinstance(values, BoundedInteger) else self.heads.integers.to_real(values)
        square = values.square if isinstance(values, BoundedInteger) else None
        inverse = values.inverse if isinstance(values, BoundedInteger) else None
        parts = [value, values.presence, square, inverse]
        head, none = read(stack(*(part for part in parts if part is not None)))
        taken = iter(range(len(head)))
        found = [None if part is None else head[next(taken)].with_range(part.ranges[0]) for part in parts]
        some = (self.input_bit - none).with_range(BIT)
        here, presence = found[0], found[1]
        assert here is not None
        result: BoundedInteger | BoundedFraction
        if isinstance(values, BoundedInteger):
            result = BoundedInteger(named(name, here), square=found[2], inverse=found[3])
        else:
            result = replace(values, value=named(name, here), numerator_and_denominator=None)
        presence = None if values.presence is None else presence
        result = replace(result, presence=presence)
        plain = as_number(default)
        if (
            number
            and isinstance(plain, BoundedInteger)
            and plain.linear_form is not None
            and plain.linear_form.a == 0 == plain.linear_form.b == plain.linear_form.c
        ):
            missing = presence if presence is None else named(f"{name} is defined", (presence + none).with_range(BIT))
            return replace(result, presence=missing)
        if isinstance(plain, BoundedFraction) or isinstance(result, BoundedFraction):
            return self._fraction_or_default(name, as_fraction(result), none, as_fraction(plain), some)
        if not plain.depends_on_length and isinstance(result, BoundedInteger):
            # The head retrieves 0 where no key is selected; a bounded default can be added there.
            chosen = self.heads.integers.choose_integer(f"{name}: default", [(none, plain)])
            total = self.heads.integers.add(result, chosen, None)
            bounded = BoundedInteger(total.value.with_range(union([result.value_range, plain.value_range])))
            return replace(bounded, presence=self._presence_of_choice(name, presence, plain.presence, some, none))
        return self.pointwise.choose_case(f"{name} or default", [(some, result), (none, plain)], partial=False)

    def _presence_of_choice(
        self, name: str, found: Signal | None, default: Signal | None, some: Signal, none: Signal
    ) -> Signal | None:
        """A bit: whether the chosen value is defined."""
        if found is None and default is None:
            return None
        first = some if found is None else found  # 0 at the sink
        second = none if default is None else all_of(f"{name}: default is defined", none, default)
        return named(f"{name} is defined", (first + second).with_range(BIT))

    # Means

    def _build_mean(
        self, name: str, selector: SignedSelector, values: BoundedInteger | BoundedFraction, default: Value
    ) -> Value:
        """The mean of numbers: a real number if one head computes it; for integers also numerator and denominator."""
        plain, lacking = self._default_number(default)
        addend = self._small_summand(values)
        over, value, none = None, None, None
        product = selector.single_product
        if product is not None:
            number = values.value if isinstance(values, BoundedInteger) else self.heads.integers.to_real(values)
            head, none = self.heads.fetch(f"mean of {name}", product, number, single=False)
            value = head[0].with_range(real(number.ranges[0].low, number.ranges[0].high))
        if addend is not None:
            count, (total,) = self.heads.count_and_sum(name, selector, [addend])
            if none is None:
                none = self.heads.integers.compare(f"{name}: none", count, "=")
            filled = (
                self.heads.integers.add(count, self._as_presence(none), None)
                if not self._is_never_empty(product)
                else count
            )
            over = (total, filled)
        if value is None and over is None:
            raise ConstructionError(
                "it is a mean of unbounded numbers over a selector that takes several heads, and no head computes that",
                hint="aggregate with each selector separately",
            )
        assert none is not None
        ratio = as_fraction(values)
        result = BoundedFraction(value, ratio.factor, ratio.power + 1, over, self._all_defined(name, selector, values))
        if self._is_never_empty(product) or _is_zero(plain):
            return result
        some = (self.input_bit - none).with_range(BIT)
        if lacking:
            return replace(result, presence=conjunction(f"{name}: a key is selected", result.presence, some))
        if result.presence is not None:  # where no key is selected, no selected value is undefined
            result = replace(result, presence=conjunction(f"{name}: mean is defined", result.presence, some))
        return self._fraction_or_default(name, result, none, as_fraction(plain), some)

    def _default_number(self, default: Value) -> tuple[BoundedInteger | BoundedFraction, bool]:
        """The default as a number and False; 0 and True if it is not a number."""
        if isinstance(default, Categorical) and not all(map(is_number, default.values)):
            zero = Categorical((0,), self.input_bit.with_labels(("0",)), may_be_undefined=False)
            return as_number(zero), True
        return as_number(default), False

    def _small_summand(self, values: BoundedInteger | BoundedFraction) -> Summand | None:
        """The summand, if it is a small integer."""
        if not isinstance(values, BoundedInteger) or values.depends_on_length:
            return None
        low, high = int(values.low.at(0)), int(values.high.at(0))
        return Summand(values.value, low, high) if max(-low, high) <= MAX_SUMMAND else None

    def _is_never_empty(self, product: SelectorProduct | None) -> bool:
        return product is not None and product.is_reflexive and self.heads.mask_of(product) is not Mask.PAST

    def _as_presence(self, bit: Signal) -> BoundedInteger:
        return BoundedInteger(bit.with_range(BIT))

    def _all_defined(
        self, name: str, selector: SignedSelector, values: BoundedInteger | BoundedFraction
    ) -> Signal | None:
        """A bit: whether no selected value is undefined."""
        if values.presence is None:
            return None
        undefined = (self.input_bit - values.presence).with_range(BIT)
        grid = PairTable((f"{name}: undefined", ""), None, self.input_bit, undefined, 1, "key")
        if selector.single_product is None:
            raise ConstructionError(
                "it is a mean of numbers that may be undefined, over a selector that takes several heads"
            )
        product = selector.single_product
        some = self.heads.exists(f"{name}: undefined", replace(product, tables=(*product.tables, grid)))
        return (self.input_bit - some).with_range(BIT)

    def _fraction_or_default(
        self, name: str, found: BoundedFraction, none: Signal, default: BoundedFraction, some: Signal
    ) -> BoundedFraction:
        """A fraction, which is 0 where no key is selected, plus the default there."""
        presence = (
            self._presence_of_choice(name, found.presence, default.presence, some, none)
            if found.presence or default.presence
            else None
        )
        value, over = None, None
        extra = (
            None
            if default.value is None
            else self.pointwise.choose_case(
                f"{name}: default", [(none, replace(default, presence=None))], partial=False
            )
        )
        if found.value is not None and isinstance(extra, BoundedFraction) and extra.value is not None:
            kinds = found.value.ranges[0], extra.value.ranges[0]
            kind = real(kinds[0].low.lower_bound(kinds[1].low), kinds[0].high.upper_bound(kinds[1].high))
            value = named(f"{name} or default", (found.value + extra.value).with_range(kind))
        if (
            found.numerator_and_denominator is not None
            and default.factor == 1
            and default.power == 0
            and isinstance(extra, BoundedFraction)
        ):
            assert extra.value is not None
            kind = integer(extra.value.ranges[0].low, extra.value.ranges[0].high)
            more = BoundedInteger(extra.value.with_range(kind))
            over = (
                self.heads.integers.add(found.numerator_and_denominator[0], more, None),
                found.numerator_and_denominator[1],
            )
        return BoundedFraction(value, found.factor * default.factor, max(found.power, default.power), over, presence)


def _is_zero(number: BoundedInteger | BoundedFraction) -> bool:
    return (
        isinstance(number, BoundedInteger)
        and number.linear_form is not None
        and not any(vars(number.linear_form).values())
    )
