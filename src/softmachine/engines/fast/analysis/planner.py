"""Choosing: what is known of each number, in order, and from that an index for each head."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from softmachine.engines.fast.analysis.flow import Flow, FlowHead, Position, Unit
from softmachine.engines.fast.analysis.forms import Form, combination
from softmachine.engines.fast.analysis.grids import (
    BITS,
    FRACTION,
    HORIZON,
    Grid,
    Linear,
    Number,
    Numbers,
    feature_number,
)
from softmachine.engines.fast.analysis.plans import ByPosition, Dense, Forest, Groups, Parabola, Plan, Uniform
from softmachine.engines.fast.indexes.forest import MANY
from softmachine.engines.fast.indexes.gated import gated
from softmachine.engines.fast.indexes.records import Record, score_for_good
from softmachine.text import many
from softmachine.transformer.attention import Choice, Mask
from softmachine.transformer.features import I_SQUARED, Distance, I, Relation

ONE = Fraction(1)


@dataclass(frozen=True)
class _Split:
    """A score: Σ query · key + slope · j + curve · j²."""

    pairs: tuple[tuple[Form, Form], ...]
    slope: Form
    curve: Form


class Planner:
    """Goes through a flow in order, proving what is known of each number and choosing an index for each head.

    Args:
        flow: The flow.
        general: The names of heads that only the general index may serve.
        horizon: What is proved holds for runs of so many positions.
    """

    def __init__(self, flow: Flow, general: Iterable[str] = (), horizon: int = HORIZON) -> None:
        self.flow = flow
        self.general = frozenset(general)
        self.numbers = Numbers(flow, horizon)
        self.plans: dict[FlowHead, Plan] = {}
        self._places = {item.feature: n for n, item in enumerate(flow.atoms) if isinstance(item, Position)}
        for item in flow.order:
            self._visit(item)

    def _visit(self, item: int | FlowHead) -> None:
        if isinstance(item, FlowHead):
            plan = self._plan(item)
            self.plans[item] = plan
            for (number, _), known in zip(plan.results, plan.numbers, strict=True):
                self.numbers.atoms[number] = known
            return
        match self.flow.atoms[item]:
            case Position(feature=feature):
                self.numbers.atoms[item] = feature_number(feature, self.numbers.horizon)
            case Unit(form=form, step=step):
                known = self.numbers.of(form)
                if step:
                    self.numbers.atoms[item] = BITS
                elif known.grid is None:
                    self.numbers.atoms[item] = FRACTION
                else:
                    self.numbers.atoms[item] = Number(known.grid, max(known.low, 0), max(known.high, 0))

    def _plan(self, head: FlowHead) -> Plan:
        split = self._split(head)
        results = tuple(self.flow.retrieved(head))
        values = tuple(self.numbers.of(head.value[component]) for _, component in results)
        if head.bias not in (None, Distance()):
            return self._dense(head, results, values, split, head.bias)
        uniform = not split.pairs and split.slope.is_zero and split.curve.is_zero
        if uniform:
            return self._uniform(head, results, values)
        if not split.pairs:
            return self._by_position(head, results, values, split)
        plan = None
        score = score_for_good(head, values, self.numbers)
        if score is not None:
            numbers = self._chosen(head, values, head.weighting.choice in (Choice.LEFTMOST, Choice.RIGHTMOST))
            return Record(head, results, values, numbers, "the query is constant: a key's score never changes", score)
        if head.name not in self.general:
            plan = self._parabola(head, results, values, split)
        if plan is None and head.name not in self.general and head.weighting.hard:
            plan = gated(self, head, results, values, split.pairs, split.slope)
        return plan or self._groups(head, results, values, split)

    def _split(self, head: FlowHead) -> _Split:
        plain, square = (self._places.get(feature, -2) for feature in (I, I_SQUARED))
        both = list(zip(head.query, head.key, strict=True))
        slope = combination((key.terms.get(plain, Fraction(0)), query) for query, key in both)
        curve = combination((key.terms.get(square, Fraction(0)), query) for query, key in both)
        if head.bias == Distance():
            slope = combination([(ONE, slope)], -ONE)
        pairs: dict[tuple[object, ...], tuple[Form, Form]] = {}
        for query, key in zip(head.query, head.key, strict=True):
            rest = combination([(ONE, key.without([plain, square]))], -key.constant)
            if rest.is_zero:
                continue
            leading = next(iter([*rest.terms.values(), *rest.tokens.values()]))
            direction = rest.scaled(1 / leading)
            before = pairs.get(direction.key, (Form(), direction))[0]
            pairs[direction.key] = (combination([(ONE, before), (leading, query)]), direction)
        kept = tuple((query, key) for query, key in pairs.values() if not query.is_zero)
        if kept and not curve.is_zero:
            kept = (*kept, (curve, Form(terms={square: ONE})))
            curve = Form()
        return _Split(kept, slope, curve)

    def _uniform(self, head: FlowHead, results: tuple[tuple[int, int], ...], values: tuple[Number, ...]) -> Plan:
        choice = head.weighting.choice
        if choice in (Choice.LEFTMOST, Choice.RIGHTMOST):
            numbers = tuple(_with_nothing(value) if value.steady else FRACTION for value in values)
            which = "first" if choice is Choice.LEFTMOST else "last"
            return Uniform(head, results, values, numbers, f"all keys score the same, so the {which} is chosen")
        numbers = tuple(self._mean(head, value) for value in values)
        return Uniform(head, results, values, numbers, "all keys score the same: the mean of what was seen")

    def _mean(self, head: FlowHead, value: Number) -> Number:
        if not value.steady or head.mask is not Mask.CAUSAL:
            return FRACTION
        assert value.grid is not None
        most = self.numbers.horizon
        return Number(Grid(value.grid.over, 1), min(value.low * most, value.low), max(value.high * most, value.high))

    def _by_position(
        self, head: FlowHead, results: tuple[tuple[int, int], ...], values: tuple[Number, ...], split: _Split
    ) -> Plan:
        pair = self.numbers.linear([split.slope, split.curve])
        slope, curve = pair or (None, None)
        vertex = None
        if slope and curve and (fixed := curve.fixed) is not None and fixed < 0:
            vertex = slope.divided(-2 * fixed)
        single = vertex is not None or head.weighting.choice in (Choice.LEFTMOST, Choice.RIGHTMOST)
        numbers = self._chosen(head, values, single)
        what = "the score is a parabola of the position"
        if vertex is not None:
            what += " with an integer vertex, so one key is best"
        return ByPosition(head, results, values, numbers, what, (split.slope, split.curve), slope, curve, vertex)

    def _parabola(
        self, head: FlowHead, results: tuple[tuple[int, int], ...], values: tuple[Number, ...], split: _Split
    ) -> Plan | None:
        """A table for -(k-q)² with a smaller part for recency; None if that cannot be proved."""
        if len(split.pairs) != 2 or not all(value.steady for value in values):
            return None
        for first, second in (split.pairs, split.pairs[::-1]):
            plan = self._parabola_in(head, results, values, split.slope, first, second)
            if plan:
                return plan
        return None

    def _parabola_in(
        self,
        head: FlowHead,
        results: tuple[tuple[int, int], ...],
        values: tuple[Number, ...],
        slope: Form,
        first: tuple[Form, Form],
        second: tuple[Form, Form],
    ) -> Plan | None:
        keys = [self.numbers.linear([key]) for key in (first[1], second[1])]
        queries = self.numbers.linear([first[0], second[0]])
        recency = self.numbers.linear([slope])
        if not (keys[0] and keys[1] and queries and recency):
            return None
        x, square = keys[0][0], keys[1][0]
        if x.grid != Grid() or square.grid != Grid() or not x.terms or not square.terms:
            return None
        curve = queries[1].fixed
        if curve is None or curve >= 0:
            return None
        vertex = queries[0].divided(-2 * curve)
        later = self.breaks_ties(head, recency[0], queries[0].grid)
        if vertex is None or later is None:
            return None
        numbers = tuple(_with_nothing(value) for value in values)
        why = (
            f"the score is {curve}·(x - q)² for integers x, and of equal keys the {'later' if later else 'earlier'} is "
            "better by less than a step; checked for every key: its second component is x²"
        )
        forms = (first[0], second[0]), (first[1], second[1])
        return Parabola(
            head, results, values, numbers, why, x, square, vertex, later, *forms, recency[0], queries[0].grid
        )

    def breaks_ties(self, head: FlowHead, recency: Linear, scores: Grid) -> bool | None:
        """Whether the later of two equal keys is better (or the earlier); None unless the position only breaks ties."""
        if recency.low > 0 or recency.high < 0:
            # slope · j < 1 / (over · s^power), the least difference of two scores of different keys.
            size = max(abs(recency.low), abs(recency.high))
            small = size * scores.over <= recency.grid.over and recency.grid.power > scores.power
            return recency.low > 0 if small else None
        if recency.low == recency.high == 0 and head.weighting.choice in (Choice.LEFTMOST, Choice.RIGHTMOST):
            return head.weighting.choice is Choice.RIGHTMOST
        return None

    def _groups(
        self, head: FlowHead, results: tuple[tuple[int, int], ...], values: tuple[Number, ...], split: _Split
    ) -> Plan:
        queries, keys = zip(*split.pairs, strict=True)
        fractional = not all(self.numbers.of(key).steady for key in keys)
        single = head.weighting.choice in (Choice.LEFTMOST, Choice.RIGHTMOST)
        numbers = self._chosen(head, values, single)
        what = f"{many(len(keys), 'component')} of the key, {'fractions' if fractional else 'integers'}"
        different = self._different(keys)
        if different is not None and different <= MANY:
            why = f"{what}; no more than {many(different, 'different key')}, looked at one by one"
            return Groups(head, results, values, numbers, why, queries, keys, split.slope, fractional)
        why = f"{what} of which nothing more is known: searched by branch and bound, from {MANY} different keys on"
        return Forest(head, results, values, numbers, why, queries, keys, split.slope, fractional)

    def _dense(
        self,
        head: FlowHead,
        results: tuple[tuple[int, int], ...],
        values: tuple[Number, ...],
        split: _Split,
        bias: Relation,
    ) -> Plan:
        pairs = split.pairs
        if not split.curve.is_zero:
            pairs = (*pairs, (split.curve, Form(terms={self._places[I_SQUARED]: ONE})))
        queries, keys = tuple(query for query, _ in pairs), tuple(key for _, key in pairs)
        fractional = not all(self.numbers.of(key).steady for key in keys)
        single = head.weighting.choice in (Choice.LEFTMOST, Choice.RIGHTMOST)
        numbers = tuple(_with_nothing(value) if single and value.steady else FRACTION for value in values)
        why = f"the bias {bias} is any function of two positions, so every key is compared; the time grows with the run"
        return Dense(head, results, values, numbers, why, queries, keys, split.slope, fractional, bias)

    def _different(self, keys: tuple[Form, ...]) -> int | None:
        """No more than so many different keys there are; None if that is not known."""
        count = self.flow.vocabulary if any(key.tokens for key in keys) else 1
        for number in {number for key in keys for number in key.terms}:
            known = self.numbers.atoms[number]
            if known.grid is None or known.grid.power:
                return None
            count *= known.high - known.low + 1
        return count

    def _chosen(self, head: FlowHead, values: tuple[Number, ...], single: bool) -> tuple[Number, ...]:
        """What is known of values, of one key or as means of several.

        Of integers, means are taken to be integers, too, until one is not: then the head is among the general ones.
        """
        whole = all(value.steady for value in values) and head.name not in self.general
        return tuple(_with_nothing(value) if value.steady and (single or whole) else FRACTION for value in values)


def _with_nothing(value: Number) -> Number:
    """A value, or the 0 that a query gets that sees nothing."""
    return Number(value.grid, min(value.low, 0), max(value.high, 0))
