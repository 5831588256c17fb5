"""Attention heads for selectors: selected keys tie for the best score, with the sink at or just below it.

The score of a product of T tables and of equalities x = y is Σ A·B + Σ (2 x y - y²); it is T + Σ x² where all hold, and
at least 1 less elsewhere. The score of the sink is T + Σ x² - ``lowered``, and 1 more for the start token's own query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Signal, attend, constant, named, position, stack
from softmachine.ir.gadgets import mean, select
from softmachine.ir.ranges import BIT, integer, real, union
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Polynomial
from softmachine.theorems.rasp.integers import IntegerGadgets
from softmachine.theorems.rasp.layout import LinearInPosition
from softmachine.theorems.rasp.rasp.selection import IntegerCondition, PairTable, SelectorProduct, SignedSelector
from softmachine.theorems.rasp.values import BoundedInteger, linear_integer
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import I_SQUARED, RECIPROCAL, Feature, I

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Summand:
    """A summand over the selected keys: an integer from ``low`` to ``high``."""

    value: Signal
    low: int
    high: int


@dataclass(frozen=True)
class SelectorHeads:
    """Builds the heads of selectors."""

    integers: IntegerGadgets

    def query_and_key(
        self, product: SelectorProduct, lowered: Fraction, more: Sequence[tuple[Signal, Signal]] = ()
    ) -> tuple[Signal, Signal]:
        """Query and key of a product; ``more`` are further (query, key) terms of the score."""
        frame = self.integers.layout
        query: list[Signal] = []
        key: list[Signal] = []
        sink = constant(len(product.tables)) - lowered + frame.sink
        for grid in product.tables:
            query.append(grid.query)
            key.append(grid.key)
        for pair in product.equalities:
            label = " == ".join(pair.operands)
            query += [2 * pair.query.value, constant(-1)]
            key += [pair.key.value, self.integers.with_square(f"key of {label}", pair.key)]
            sink = sink + self.integers.with_square(f"query of {label}", pair.query)
        for ours, theirs in more:
            query.append(ours)
            key.append(theirs)
        return stack(*query, sink), stack(*key, frame.sink)

    def mask_of(self, product: SelectorProduct) -> Mask:
        """The mask of the head of a product."""
        mask = self.integers.layout.mask
        return product.mask if mask is Mask.ALL or product.mask is Mask.PAST else mask

    def mean_over(self, name: str, product: SelectorProduct, values: Signal) -> tuple[Signal, Signal]:
        """U = 1/(c+1) for the number c of selected keys, and U times the sum of their values. Gap: 1."""
        frame, mask = self.integers.layout, self.mask_of(product)
        read = stack(frame.sink, values) if len(values) else frame.sink
        if product.is_mask_only and mask is not Mask.ALL:
            head = mean(name, read, mask)
        else:
            query, key = self.query_and_key(product, Fraction(0))
            head = attend(name, query=query, key=key, value=read, mask=mask, gap=1)
        unit = head[0] + frame.sink if mask is Mask.PAST else head[0]
        return unit.with_range(real(0, 1)), head[1:]

    def fetch(self, name: str, product: SelectorProduct, values: Signal, *, single: bool) -> tuple[Signal, Signal]:
        """The mean of the values of the selected keys, or the sink's values if there is none; and a bit for the latter.

        At the start token the values are those of the sink. The sink scores 1/2 below selected keys. Gap: 1/2.
        """
        frame, mask = self.integers.layout, self.mask_of(product)
        query, key = self.query_and_key(product, HALF)
        head = attend(
            name,
            query=query,
            key=key,
            value=stack(frame.sink, values),
            mask=mask,
            gap=HALF,
            single_key=single,
            explains="the selected key, or the start token if there is none",
        )
        return head[1:], self._is_empty(head[0], mask)

    def fetch_extreme(
        self,
        name: str,
        product: SelectorProduct,
        rank: Signal,
        scale: Signal,
        gap: Feature | Fraction,
        values: Signal,
        lowered: Fraction = Fraction(1, 4),
    ) -> tuple[Signal, Signal]:
        """The same at a selected key of the largest rank.

        Rank times scale is from 0 to less than 1/2, or within 1/4 of 0 if the sink is lowered by 1/2: the sink is 1/4
        below the selected keys, and all other keys another 1/4. Gap: ``scale`` per unit of rank, at most 1/4.
        """
        frame, mask = self.integers.layout, self.mask_of(product)
        query, key = self.query_and_key(product, lowered, [(scale, rank)])
        head = attend(
            name,
            query=query,
            key=key,
            value=stack(frame.sink, values),
            mask=mask,
            gap=gap,
            single_key=True,
            explains="the selected key of the largest rank, or the start token if there is none",
        )
        return head[1:], self._is_empty(head[0], mask)

    def _is_empty(self, at_sink: Signal, mask: Mask) -> Signal:
        """A bit at input positions: whether the head attends to the sink."""
        if mask is Mask.PAST:  # the start token sees no key
            return at_sink.with_range(BIT)
        return (at_sink - self.integers.layout.sink).with_range(BIT)

    def exists(self, name: str, product: SelectorProduct) -> Signal:
        """A bit: whether a key is selected."""
        _, none = self.fetch(name, product, constant(0), single=True)
        return (self.integers.layout.input_bit - none).with_range(BIT)

    # Counting

    def count_and_sum(
        self, name: str, selector: SignedSelector, addends: Sequence[Summand] = ()
    ) -> tuple[BoundedInteger, list[BoundedInteger]]:
        """The number of selected keys, and the sums of integers over them."""
        letter = self.integers.layout.input_bit
        totals = [linear_integer(LinearInPosition(), letter)] * (1 + len(addends))
        for k, (sign, product) in enumerate(selector.products):
            label = name if len(selector.products) == 1 else f"{name}, {k + 1}"
            parts = self._count_product(label, product, addends)
            totals = [
                self.integers.add(total, self.integers.multiply(part, sign), None)
                for total, part in zip(totals, parts, strict=True)
            ]
        if len(selector.products) > 1 and any(total.linear_form is None for total in totals):
            _, length = self.integers.layout.last_visible.bounds
            bounds = [(0, 1), *((addend.low, addend.high) for addend in addends)]
            totals = [
                _with_bounds(total, length * low, length * high)
                for total, (low, high) in zip(totals, bounds, strict=True)
            ]
        return totals[0], totals[1:]

    def _count_product(self, name: str, product: SelectorProduct, addends: Sequence[Summand]) -> list[BoundedInteger]:
        if product.orders:
            return self._prefix_sums_by_integer(name, product, addends)
        values = stack(*(addend.value for addend in addends)) if addends else Signal((), ())
        count = self._trivial_count(product)
        if count is not None and not addends:
            return [count]
        unit, sums = self.mean_over(f"mean of {name}", product, values)
        if count is None:
            count = self.integers.integer_at(f"width of {name}", 1 - unit, unit)
        found = [
            self.integers.recover_scaled(f"sum {k + 1} of {name}", sums[k], unit, addend.low, addend.high)
            for k, addend in enumerate(addends)
        ]
        return [count, *found]

    def _trivial_count(self, product: SelectorProduct) -> BoundedInteger | None:
        """The number of keys, if the product is only a mask."""
        if not product.is_mask_only:
            return None
        lines = {
            Mask.ALL: LinearInPosition(c=1),
            Mask.CAUSAL: LinearInPosition(b=1),
            Mask.PAST: LinearInPosition(-1, 1),
        }
        return linear_integer(lines[self.mask_of(product)], self.integers.layout.input_bit)

    def _prefix_sums_by_integer(
        self, name: str, product: SelectorProduct, addends: Sequence[Summand]
    ) -> list[BoundedInteger]:
        """Sums over keys whose integer is below the query's: prefix sums over integers, looked up."""
        if product.equalities or len(product.tables) > 1:
            raise ConstructionError(
                f"the selector requires {product.orders[0].relation} and a condition that takes a head of its own",
                hint="'<' of integers can be combined with one condition on finitely many values, and with a mask",
            )
        ordered = [pair for pair in product.orders if pair.key.linear_form is None or pair.key.linear_form.b != 1]
        if ordered:
            return self._counting_sort(name, product, ordered, addends)
        return self._prefix_sums_by_position(name, product, addends)

    def _prefix_sums_by_position(
        self, name: str, product: SelectorProduct, addends: Sequence[Summand]
    ) -> list[BoundedInteger]:
        """The keys are positions: prefix means, looked up at the last selected one. Gap: 1, then 1/(n+1)."""
        finder, letter = self.integers, self.integers.layout.input_bit
        last = self._last_position(name, product)
        grid = product.tables[0] if product.tables else None
        masks = [grid.key[k] for k in range(len(grid.key))] if grid else [letter]
        ones = Summand(letter, 0, 1)
        columns = [
            bit
            if item is ones
            else item.value
            if grid is None
            else select(f"{name}: term", bit, item.value, constant(0))
            for item in (ones, *addends)
            for bit in masks
        ]
        means = mean(f"prefix means of {name}", stack(*columns))
        found = finder.lookup_scaled(f"{name}: prefix up to the last", last.value, stack(means, position(RECIPROCAL)))
        unit = found[len(columns)]
        results = []
        for k, item in enumerate((ones, *addends)):
            label = f"sum {k} of {name}" if k else f"width of {name}"
            parts = [found[k * len(masks) + v].with_range(real(item.low, item.high)) for v in range(len(masks))]
            share = parts[0] if grid is None else self._contract(label, grid, parts)
            results.append(finder.recover_scaled(label, share, unit, item.low, item.high))
        return results

    def _contract(self, name: str, grid: PairTable, parts: Sequence[Signal]) -> Signal:
        """Σ_v A_v · x_v, by units."""
        total = constant(0)
        for v, part in enumerate(parts):
            total = total + select(f"{name}: row {v}", grid.query[v].with_range(BIT), part, constant(0))
        return named(f"{name}: row", total.with_range(union([real(0, 0), *(part.ranges[0] for part in parts)])))

    def _last_position(self, name: str, product: SelectorProduct) -> BoundedInteger:
        """The last position whose index is below all bounds, possibly below 1; clipped by the lookup."""
        finder, letter = self.integers, self.integers.layout.input_bit
        bounds = []
        for pair in product.orders:
            assert pair.key.linear_form is not None
            offset = LinearInPosition(-1 - pair.key.linear_form.a + pair.inclusive, 0, -pair.key.linear_form.c)
            bounds.append(finder.add(pair.query, linear_integer(offset, letter), None))
        if product.mask is not Mask.ALL:
            bounds.append(linear_integer(LinearInPosition(0 if product.mask is Mask.CAUSAL else -1, 1), letter))
        least = bounds[0]
        for k, bound in enumerate(bounds[1:], 2):
            excess = finder.relu(f"{name}: minimum of {k}", finder.subtract(least, bound, None))
            least = finder.subtract(least, excess, None)
        return least

    def _counting_sort(
        self, name: str, product: SelectorProduct, ordered: Sequence[IntegerCondition], addends: Sequence[Summand]
    ) -> list[BoundedInteger]:
        """Counting sort: the number of keys with each integer, prefix sums, a lookup at the query's. Gap: 1/(n+1)."""
        finder, frame = self.integers, self.integers.layout
        pair = ordered[0]
        what = pair.relation
        if frame.causal:
            raise ConstructionError(
                f"it selects by {what}, an order of unbounded integers, in a causal program; "
                "counting sort looks at all positions",
                hint="compare with indices, or with finitely many values; or make the program bidirectional",
            )
        if product.tables or len(product.orders) > 1 or product.mask is not Mask.ALL:
            raise ConstructionError(
                f"it selects by {what} combined with another condition, which counting sort does not support"
            )
        if any((addend.low, addend.high) != (0, 1) for addend in addends):
            raise ConstructionError(
                f"it adds integers other than 0 and 1 over {what}, which counting sort does not support"
            )
        odd = pair.query.pieces[0] if pair.inclusive else pair.query.pieces[1] > 1
        if pair.key.pieces[0] or pair.key.pieces[1] > 1 or odd:
            raise ConstructionError(
                f"it selects by {what}, where keys lie between {pair.key.low} and {pair.key.high}, and queries between "
                f"{pair.query.low} and {pair.query.high}: counting sort requires integers from 0 to n"
            )
        # At position p, the keys with integer p, or p - 1 for <: prefix sums up to p are over the keys selected for p.
        key, square = pair.key.value, finder.with_square(f"key of {what}", pair.key)
        if not pair.inclusive:
            key, square = key + frame.input_bit, square + 2 * key + frame.input_bit
        head = attend(
            f"keys of {name}",
            query=stack(2 * position(I), constant(-1), position(I_SQUARED)),
            key=stack(key, square, frame.sink),
            value=stack(frame.sink, *(addend.value for addend in addends)),
            mask=Mask.ALL,
            gap=1,
        )
        unit = head[0].with_range(real(0, 1))
        counts = [finder.integer_at(f"keys of {name}: count", 1 - unit, unit)]
        counts += [finder.integer_at(f"keys of {name}: sum {k + 1}", head[k + 1], unit) for k in range(len(addends))]
        means = mean(f"prefix means of {name}", stack(*(count.value for count in counts)))
        found = finder.lookup_scaled(
            f"{name}: prefix up to the query", pair.query.value, stack(means, position(RECIPROCAL))
        )
        share = found[len(counts)]
        labels = [f"width of {name}", *(f"sum {k + 1} of {name}" for k in range(len(addends)))]
        return [finder.integer_at(label, found[k], share) for k, label in enumerate(labels)]


def _with_bounds(number: BoundedInteger, low: Polynomial, high: Polynomial) -> BoundedInteger:
    """The same number, with bounds that are known to hold."""
    if number.linear_form is not None:
        return number
    return BoundedInteger(number.value.with_range(integer(low, high)), presence=number.presence)
