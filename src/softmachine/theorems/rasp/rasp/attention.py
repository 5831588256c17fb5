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
from softmachine.ir.ranges import BIT, Kind
from softmachine.support.errors import ConstructionError
from softmachine.support.polynomial import Bound
from softmachine.theorems.rasp.integers import Finder
from softmachine.theorems.rasp.layout import Line
from softmachine.theorems.rasp.rasp.selection import Grid, Pairing, Product, Selector
from softmachine.theorems.rasp.values import Number, line_number
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import I_SQUARED, INVERSE, Feature, I

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Addend:
    """A summand over the selected keys: an integer from ``low`` to ``high``."""

    value: Signal
    low: int
    high: int


@dataclass(frozen=True)
class Heads:
    """Builds the heads of selectors."""

    finder: Finder

    def scored(
        self, product: Product, lowered: Fraction, more: Sequence[tuple[Signal, Signal]] = ()
    ) -> tuple[Signal, Signal]:
        """Query and key of a product; ``more`` are further (query, key) terms of the score."""
        frame = self.finder.frame
        query: list[Signal] = []
        key: list[Signal] = []
        sink = constant(len(product.grids)) - lowered + frame.sink
        for grid in product.grids:
            query.append(grid.query)
            key.append(grid.key)
        for pair in product.equal:
            label = " == ".join(pair.operands)
            query += [2 * pair.query.value, constant(-1)]
            key += [pair.key.value, self.finder.squared(f"key of {label}", pair.key)]
            sink = sink + self.finder.squared(f"query of {label}", pair.query)
        for ours, theirs in more:
            query.append(ours)
            key.append(theirs)
        return stack(*query, sink), stack(*key, frame.sink)

    def visible(self, product: Product) -> Mask:
        """The mask of the head of a product."""
        mask = self.finder.frame.mask
        return product.mask if mask is Mask.ALL or product.mask is Mask.PAST else mask

    def averaged(self, name: str, product: Product, values: Signal) -> tuple[Signal, Signal]:
        """U = 1/(c+1) for the number c of selected keys, and U times the sum of their values. Gap: 1."""
        frame, mask = self.finder.frame, self.visible(product)
        read = stack(frame.sink, values) if len(values) else frame.sink
        if product.trivial and mask is not Mask.ALL:
            head = mean(name, read, mask)
        else:
            query, key = self.scored(product, Fraction(0))
            head = attend(name, query=query, key=key, value=read, mask=mask, gap=1)
        unit = head[0] + frame.sink if mask is Mask.PAST else head[0]
        return unit.known(Kind(Bound.of(0), Bound.of(1), None)), head[1:]

    def fetched(self, name: str, product: Product, values: Signal, *, single: bool) -> tuple[Signal, Signal]:
        """The mean of the values of the selected keys, or the sink's values if there is none; and a bit for the latter.

        At the start token the values are those of the sink. The sink scores 1/2 below selected keys. Gap: 1/2.
        """
        frame, mask = self.finder.frame, self.visible(product)
        query, key = self.scored(product, HALF)
        head = attend(name, query=query, key=key, value=stack(frame.sink, values), mask=mask, gap=HALF, single=single)
        return head[1:], self._none(head[0], mask)

    def extreme(
        self,
        name: str,
        product: Product,
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
        frame, mask = self.finder.frame, self.visible(product)
        query, key = self.scored(product, lowered, [(scale, rank)])
        head = attend(name, query=query, key=key, value=stack(frame.sink, values), mask=mask, gap=gap, single=True)
        return head[1:], self._none(head[0], mask)

    def _none(self, at_sink: Signal, mask: Mask) -> Signal:
        """A bit at input positions: whether the head attends to the sink."""
        if mask is Mask.PAST:  # the start token sees no key
            return at_sink.known(BIT)
        return (at_sink - self.finder.frame.sink).known(BIT)

    def some(self, name: str, product: Product) -> Signal:
        """A bit: whether a key is selected."""
        _, none = self.fetched(name, product, constant(0), single=True)
        return (self.finder.frame.letter - none).known(BIT)

    # Counting

    def counted(self, name: str, selector: Selector, addends: Sequence[Addend] = ()) -> tuple[Number, list[Number]]:
        """The number of selected keys, and the sums of integers over them."""
        letter = self.finder.frame.letter
        totals = [line_number(Line(), letter)] * (1 + len(addends))
        for k, (sign, product) in enumerate(selector.products):
            label = name if len(selector.products) == 1 else f"{name}, {k + 1}"
            parts = self._product(label, product, addends)
            totals = [
                self.finder.plus(total, self.finder.times(part, sign), None)
                for total, part in zip(totals, parts, strict=True)
            ]
        if len(selector.products) > 1 and any(total.line is None for total in totals):
            _, length = self.finder.frame.end.bounds
            bounds = [(0, 1), *((addend.low, addend.high) for addend in addends)]
            totals = [
                _within(total, length * low, length * high) for total, (low, high) in zip(totals, bounds, strict=True)
            ]
        return totals[0], totals[1:]

    def _product(self, name: str, product: Product, addends: Sequence[Addend]) -> list[Number]:
        if product.less:
            return self._below(name, product, addends)
        values = stack(*(addend.value for addend in addends)) if addends else Signal((), ())
        count = self._trivial_count(product)
        if count is not None and not addends:
            return [count]
        unit, sums = self.averaged(f"mean of {name}", product, values)
        if count is None:
            count = self.finder.number_at(f"width of {name}", 1 - unit, unit)
        found = [
            self.finder.scaled(f"sum {k + 1} of {name}", sums[k], unit, addend.low, addend.high)
            for k, addend in enumerate(addends)
        ]
        return [count, *found]

    def _trivial_count(self, product: Product) -> Number | None:
        """The number of keys, if the product is only a mask."""
        if not product.trivial:
            return None
        lines = {Mask.ALL: Line(c=1), Mask.CAUSAL: Line(b=1), Mask.PAST: Line(-1, 1)}
        return line_number(lines[self.visible(product)], self.finder.frame.letter)

    def _below(self, name: str, product: Product, addends: Sequence[Addend]) -> list[Number]:
        """Sums over keys whose integer is below the query's: prefix sums over integers, looked up."""
        if product.equal or len(product.grids) > 1:
            raise ConstructionError(
                f"the selector requires {product.less[0].relation} and a condition that takes a head of its own",
                hint="'<' of integers can be combined with one condition on finitely many values, and with a mask",
            )
        ordered = [pair for pair in product.less if pair.key.line is None or pair.key.line.b != 1]
        if ordered:
            return self._sorted(name, product, ordered, addends)
        return self._prefix(name, product, addends)

    def _prefix(self, name: str, product: Product, addends: Sequence[Addend]) -> list[Number]:
        """The keys are positions: prefix means, looked up at the last selected one. Gap: 1, then 1/(n+1)."""
        finder, letter = self.finder, self.finder.frame.letter
        last = self._last(name, product)
        grid = product.grids[0] if product.grids else None
        masks = [grid.key[k] for k in range(len(grid.key))] if grid else [letter]
        ones = Addend(letter, 0, 1)
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
        found = finder.at(f"{name}: prefix up to the last", last.value, stack(means, position(INVERSE)))
        unit = found[len(columns)]
        results = []
        for k, item in enumerate((ones, *addends)):
            label = f"sum {k} of {name}" if k else f"width of {name}"
            parts = [
                found[k * len(masks) + v].known(Kind(Bound.of(item.low), Bound.of(item.high), None))
                for v in range(len(masks))
            ]
            share = parts[0] if grid is None else self._contracted(label, grid, parts)
            results.append(finder.scaled(label, share, unit, item.low, item.high))
        return results

    def _contracted(self, name: str, grid: Grid, parts: Sequence[Signal]) -> Signal:
        """Σ_v A_v · x_v, by units."""
        total = constant(0)
        for v, part in enumerate(parts):
            total = total + select(f"{name}: row {v}", grid.query[v].known(BIT), part, constant(0))
        return named(f"{name}: row", total.known(_hull(parts)))

    def _last(self, name: str, product: Product) -> Number:
        """The last position whose index is below all bounds, possibly below 1; clipped by the lookup."""
        finder, letter = self.finder, self.finder.frame.letter
        bounds = []
        for pair in product.less:
            assert pair.key.line is not None
            offset = Line(-1 - pair.key.line.a + pair.inclusive, 0, -pair.key.line.c)
            bounds.append(finder.plus(pair.query, line_number(offset, letter), None))
        if product.mask is not Mask.ALL:
            bounds.append(line_number(Line(0 if product.mask is Mask.CAUSAL else -1, 1), letter))
        least = bounds[0]
        for k, bound in enumerate(bounds[1:], 2):
            excess = finder.rectified(f"{name}: minimum of {k}", finder.minus(least, bound, None))
            least = finder.minus(least, excess, None)
        return least

    def _sorted(
        self, name: str, product: Product, ordered: Sequence[Pairing], addends: Sequence[Addend]
    ) -> list[Number]:
        """Counting sort: the number of keys with each integer, prefix sums, a lookup at the query's. Gap: 1/(n+1)."""
        finder, frame = self.finder, self.finder.frame
        pair = ordered[0]
        what = pair.relation
        if frame.causal:
            raise ConstructionError(
                f"it selects by {what}, an order of unbounded integers, in a causal program; "
                "counting sort looks at all positions",
                hint="compare with indices, or with finitely many values; or make the program bidirectional",
            )
        if product.grids or len(product.less) > 1 or product.mask is not Mask.ALL:
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
        key, square = pair.key.value, finder.squared(f"key of {what}", pair.key)
        if not pair.inclusive:
            key, square = key + frame.letter, square + 2 * key + frame.letter
        head = attend(
            f"keys of {name}",
            query=stack(2 * position(I), constant(-1), position(I_SQUARED)),
            key=stack(key, square, frame.sink),
            value=stack(frame.sink, *(addend.value for addend in addends)),
            mask=Mask.ALL,
            gap=1,
        )
        unit = head[0].known(Kind(Bound.of(0), Bound.of(1), None))
        counts = [finder.number_at(f"keys of {name}: count", 1 - unit, unit)]
        counts += [finder.number_at(f"keys of {name}: sum {k + 1}", head[k + 1], unit) for k in range(len(addends))]
        means = mean(f"prefix means of {name}", stack(*(count.value for count in counts)))
        found = finder.at(f"{name}: prefix up to the query", pair.query.value, stack(means, position(INVERSE)))
        share = found[len(counts)]
        labels = [f"width of {name}", *(f"sum {k + 1} of {name}" for k in range(len(addends)))]
        return [finder.number_at(label, found[k], share) for k, label in enumerate(labels)]


def _within(number: Number, low: Bound, high: Bound) -> Number:
    """The same number, with bounds that are known to hold."""
    if number.line is not None:
        return number
    kind = Kind(low, high, "1")
    return Number(low, high, number.value.known(kind), presence=number.presence)


def _hull(parts: Sequence[Signal]) -> Kind:
    low = min([Fraction(0), *(part.kinds[0].low.at(0) for part in parts)])
    high = max([Fraction(0), *(part.kinds[0].high.at(0) for part in parts)])
    return Kind(Bound.of(low), Bound.of(high), None)
