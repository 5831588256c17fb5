"""Softmax, by way of hard attention: how far each number can be from what hard attention would give.

The code computes what the model would do if every softmax were hard. Here it is proved, for runs up to a length, that
the softmax model says the same: a softmax moves what it retrieves by no more than the weight of all other keys times
how far their values are away; errors go through sums, maxima and scores; and they stay below half the least difference
of two logits. The numbers are upper bounds in floating point, each rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from softmachine.engines.fast.analysis.flow import LiftedHead, LiftedProgram, PositionAtom, UnitAtom
from softmachine.engines.fast.analysis.forms import AffineForm
from softmachine.engines.fast.analysis.grids import LinearNumerator, NumberRanges
from softmachine.engines.fast.analysis.plans import (
    IndexPlan,
    KeyScore,
    LinearScanPlan,
    PositionPlan,
    ScoredKeys,
    TablePlan,
    UniformPlan,
)
from softmachine.transformer.features import I_PLUS_ONE, I_SQUARED, I, Monomial

_UP = 1 + 1e-9
"""Every bound is multiplied by this, which is more than its few roundings can take away."""
_WARM = "it is not cold enough for its scores, or these are not exact enough"
_LEAST = 1.0
"""Scaled gaps below this are not worth considering."""


@dataclass(frozen=True)
class SoftmaxErrorProof:
    """What is proved.

    Args:
        max_positions: It holds for runs of so many positions.
        errors: For each atom, how far it can be from hard attention's.
        logit_error: How far a logit can be off.
        margin: The least difference of two logits that differ.
    """

    max_positions: int
    errors: dict[int, float]
    logit_error: float
    margin: float

    @property
    def holds(self) -> bool:
        """Whether softmax cannot change a decision."""
        return 2 * self.logit_error < self.margin


class NoProof(Exception):  # noqa: N818  (not an error: the dense engine does it)
    """Nothing can be said of the errors of a softmax decoder, and why."""


def bound_softmax_error(
    flow: LiftedProgram, numbers: NumberRanges, plans: dict[LiftedHead, IndexPlan]
) -> SoftmaxErrorProof:
    """The errors of a softmax decoder on runs up to the horizon of what is known of its numbers.

    Raises:
        NoProof: If they are not bounded.
    """
    bounds = _Bounds(numbers)
    try:
        for item in flow.order:
            if isinstance(item, LiftedHead):
                bounds.head(plans[item])
            elif isinstance(unit := flow.atoms[item], UnitAtom):
                bounds.errors[item] = bounds.of(unit.form)
                if unit.step and bounds.errors[item]:
                    raise NoProof(f"unit {unit.name!r} is a step of a number that is not exact")
            elif isinstance(flow.atoms[item], PositionAtom):
                bounds.errors[item] = 0.0
        logits = numbers.linear(list(flow.logits))
        if logits is None or logits[0].grid.power:
            raise NoProof("nothing is known of the least difference of two logits")
        doubt = max(map(bounds.of, flow.logits), default=0.0)
    except OverflowError:
        raise NoProof("a bound is beyond all floating-point numbers") from None
    return SoftmaxErrorProof(numbers.horizon, bounds.errors, doubt, 1 / logits[0].grid.over)


class _Bounds:
    """Error bounds of atoms, as they become known."""

    def __init__(self, numbers: NumberRanges) -> None:
        self.numbers = numbers
        self.positions = numbers.horizon
        self.errors: dict[int, float] = {}

    def of(self, form: AffineForm) -> float:
        """How far a form can be off."""
        return _up(sum(float(abs(weight)) * self.errors[number] for number, weight in form.terms.items()))

    def head(self, plan: IndexPlan) -> None:
        """Bound what a head retrieves."""
        head, mass = plan.head, 0.0
        if not head.weighting.is_hard and not isinstance(plan, UniformPlan):
            try:
                mass = self._mass(plan)
            except NoProof as reason:
                raise NoProof(f"head {head.name!r}, a softmax: {reason}") from None
        elif self._disturbed(plan):
            raise NoProof(f"head {head.name!r} makes a hard choice by numbers that are not exact")
        for (number, component), value in zip(plan.results, plan.values, strict=True):
            form = head.value[component]
            moved = self._moved(form, mass) if mass and isinstance(plan, PositionPlan) else None
            if moved is None:
                if mass and value.grid is None:
                    raise NoProof(f"head {head.name!r}, a softmax: nothing is known of how far its values are apart")
                moved = mass * float(value.spread) if mass else 0.0
            self.errors[number] = _up(self.of(form) + moved)

    def _disturbed(self, plan: IndexPlan) -> bool:
        return not isinstance(plan, UniformPlan) and any(self.of(form) for form in (*plan.head.query, *plan.head.key))

    def _mass(self, plan: IndexPlan) -> float:
        """The weight on wrong keys; if only positions count, also the sums of weight · d and weight · d²."""
        match plan:
            case PositionPlan(vertex=vertex, curve=curve) if vertex is not None and curve is not None:
                return self._by_position(plan, curve)
            case TablePlan():
                return self._recency(plan)
            case ScoredKeys(score=score) if not score.fractional and not isinstance(plan, LinearScanPlan):
                return self._by_score(plan.head, score)
        raise NoProof(f"there is no bound for what is not its best key ({plan.kind})")

    def _by_position(self, plan: PositionPlan, curve: LinearNumerator) -> float:
        scale, power = self._scale(plan.head)
        fixed = curve.fixed
        assert fixed is not None
        gap = scale * abs(fixed) / curve.grid.over * _lowest(self.positions, power - curve.grid.power)
        slope, bend = (self.of(form) for form in plan.forms)
        disturbed = scale * _highest(self.positions, power) * (slope + bend * (2 * self.positions + 1))
        least = gap - _up(disturbed)
        if least < _LEAST:
            raise NoProof(_WARM)
        # Σ over both sides of d^k e^(-g d²), d ≥ 1, k ≤ 2: the terms fall by e^(-3g) · 4 or faster.
        return _up(2 * math.exp(-least) / (1 - 4 * math.exp(-3 * least)))

    def _moved(self, form: AffineForm, mass: float) -> float | None:
        """How far the mean of a value is from the best position's, if the value follows from position and token."""
        flow, moved = self.numbers.flow, 0.0
        if form.tokens:
            entries = [form.tokens.get(token, Fraction(0)) for token in range(flow.vocabulary)]
            moved += float(max(entries) - min(entries)) * mass
        for number, weight in form.terms.items():
            item = flow.atoms[number]
            if isinstance(item, PositionAtom) and item.feature == I:
                moved += float(abs(weight)) * mass
            elif isinstance(item, PositionAtom) and item.feature == I_SQUARED:
                moved += float(abs(weight)) * (2 * self.positions * mass + mass)
            else:
                known = self.numbers.atoms[number]
                if known.grid is None:
                    return None
                moved += float(abs(weight) * known.spread) * mass
        return _up(moved)

    def _recency(self, plan: TablePlan) -> float:
        """Weights fall by the position among keys of one score, and are negligible for all others."""
        scale, power = self._scale(plan.head)
        slope, grid = plan.slope, plan.lookup.grid
        if slope.low <= 0 <= slope.high:
            raise NoProof("of equal keys none is better")
        n = self.positions
        rate = min(abs(slope.low), abs(slope.high)) / slope.grid.over
        later = scale * rate * _lowest(n, power - slope.grid.power)
        most = max(abs(slope.low), abs(slope.high)) / slope.grid.over
        share = 1 - most * grid.over if slope.grid.power == grid.power + 1 else 1 - most * grid.over / 2
        step = scale * share / grid.over
        disturbed = 2 * self._disturbance(plan) * scale * _highest(n, power)
        first, other = later - _up(disturbed), step * _lowest(n, power - grid.power)
        # The same factor (i+1)^power scales gap and disturbance.
        others = other - _up(2 * self._disturbance(plan) * scale * _highest(n, grid.power))
        if first < _LEAST or others < _LEAST:
            raise NoProof(_WARM)
        many = 1.0 if power > grid.power else float(n)
        return _up(math.exp(-first) / (1 - math.exp(-later)) + many * math.exp(-others))

    def _disturbance(self, plan: TablePlan) -> float:
        """How far the score of a key can be off, before scaling."""
        (query, bend), (key, square) = plan.queries, plan.keys
        if self.of(bend):
            raise NoProof("the curve of its parabola is not exact")
        known, bends = self.numbers.of(query), self.numbers.of(bend)
        largest, curve = float(known.size) / known.over, float(bends.size) / bends.over
        reach = float(plan.lookup.x.number.size)
        off, off_square, wrong = self.of(key), self.of(square), self.of(query)
        return _up(largest * off + wrong * (reach + off) + curve * off_square)

    def _by_score(self, head: LiftedHead, score: KeyScore) -> float:
        """Scores are integers over a common denominator, so that different ones differ by a step at least.

        Keys that tie share the weight; if scores are off by δ, evenly but for a factor of exp(2δ).
        """
        scale, power = self._scale(head)
        forms, off = [], self.of(score.slope) * self.positions
        for query, key in zip(score.queries, score.keys, strict=True):
            known, asked = self.numbers.of(key), self.numbers.of(query)
            forms.append(query.scaled(Fraction(1, known.over)))
            wrong, wrong_key = self.of(query), self.of(key)
            if asked.grid is None:
                raise NoProof("nothing is known of its queries")
            largest, reach = float(asked.size) / asked.over, float(known.size) / known.over
            off += largest * wrong_key + wrong * (reach + wrong_key)
        linear = self.numbers.linear([*forms, score.slope])
        if linear is None:
            raise NoProof("nothing is known of how far different scores are apart")
        disturbed = _up(2 * off * scale * _UP * _highest(self.positions, power))
        step = scale / linear[0].grid.over * _lowest(self.positions, power - linear[0].grid.power) - disturbed
        if step < _LEAST or disturbed > 1:
            raise NoProof(_WARM)
        return _up(self.positions * math.exp(-step) + math.expm1(disturbed))

    def _scale(self, head: LiftedHead) -> tuple[float, int]:
        """The scale as a number times a power of i+1, rounded down."""
        scale = head.weighting.scale
        if isinstance(scale, Fraction):
            return float(scale) / _UP, 0
        if not isinstance(scale, Monomial) or scale != scale.factor * I_PLUS_ONE**scale.next or scale.next <= 0:
            raise NoProof(f"its scale {scale.name} is not known")
        return float(scale.factor) / _UP, scale.next


def _lowest(positions: int, power: int) -> float:
    """The least s^power for 1 ≤ s ≤ positions."""
    return 1.0 if power >= 0 else float(positions) ** power


def _highest(positions: int, power: int) -> float:
    """The largest s^power for 1 ≤ s ≤ positions."""
    return float(positions) ** power if power >= 0 else 1.0


def _up(bound: float) -> float:
    if not math.isfinite(bound):
        raise OverflowError
    return bound * _UP
