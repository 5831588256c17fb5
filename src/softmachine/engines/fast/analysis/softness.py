"""Softmax error bounds: how far each number of a softmax model can be from the same model with hard attention.

Generated code computes every softmax as hard attention. This module proves, for runs up to a length, that the softmax
model emits the same tokens: a softmax changes a retrieved value by at most the weight of all other keys times the
distance of their values; errors propagate through sums, maxima and scores; and the error of a logit stays below half
the least difference of two logits. The bounds are floating-point numbers, each rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

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
from softmachine.engines.fast.analysis.unrolled_program import UnrolledHead, UnrolledProgram
from softmachine.ir.primitives import Named, Position, Unit
from softmachine.ir.signal import Affine, Atom
from softmachine.transformer.features import I_PLUS_ONE, I_SQUARED, I, Monomial

_UP = 1 + 1e-9
"""The factor by which every bound is rounded up; it exceeds the relative error of the bound's few operations."""
_TOO_WARM = "the temperature is too high for the gaps of its scores, or these are too inexact"
_MIN_GAP = 1.0
"""The smallest scaled gap for which there is a bound."""


@dataclass(frozen=True)
class SoftmaxErrorProof:
    """A bound of the softmax error.

    Args:
        max_positions: The length up to which it holds.
        errors: The error bound of each atom.
        logit_error: The error bound of a logit.
        margin: The least difference of two different logits.
    """

    max_positions: int
    errors: dict[Atom, float]
    logit_error: float
    margin: float

    @property
    def holds(self) -> bool:
        """Whether softmax cannot change a decision."""
        return 2 * self.logit_error < self.margin


class NoProof(Exception):  # noqa: N818  (not an error: the dense engine does it)
    """There is no bound of the softmax error; the message gives the reason."""


def bound_softmax_error(
    program: UnrolledProgram, numbers: NumberRanges, plans: dict[UnrolledHead, IndexPlan]
) -> SoftmaxErrorProof:
    """Bound the errors of a softmax decoder on runs up to the horizon of its number ranges.

    Raises:
        NoProof: If they are not bounded.
    """
    bounds = _Bounds(numbers)
    try:
        for item in program.order:
            if isinstance(item, UnrolledHead):
                bounds.head(plans[item])
                continue
            match item[0]:
                case Position():
                    bounds.errors[item] = 0.0
                case Unit(forms=(form,)) | Named(forms=(form,)) as node:
                    bounds.errors[item] = bounds.of(form)
                    if isinstance(node, Unit) and node.activation == "step" and bounds.errors[item]:
                        raise NoProof(f"unit {node.name!r} is a step of an inexact number")
        logits = numbers.linear(list(program.logits))
        if logits is None or logits[0].grid.power:
            raise NoProof("the least difference of two logits is unknown")
        error = max(map(bounds.of, program.logits), default=0.0)
    except OverflowError:
        raise NoProof("a bound is beyond all floating-point numbers") from None
    return SoftmaxErrorProof(numbers.horizon, bounds.errors, error, 1 / logits[0].grid.over)


class _Bounds:
    """Error bounds of atoms, in the order of computation."""

    def __init__(self, numbers: NumberRanges) -> None:
        self.numbers = numbers
        self.positions = numbers.horizon
        self.errors: dict[Atom, float] = {}

    def of(self, form: Affine) -> float:
        """The error bound of a form."""
        return _up(sum(float(abs(weight)) * self.errors[atom] for atom, weight in form.other_terms.items()))

    def head(self, plan: IndexPlan) -> None:
        """Bound the errors of the retrieved components."""
        head, mass = plan.head, 0.0
        if not head.weighting.is_hard and not isinstance(plan, UniformPlan):
            try:
                mass = self._mass(plan)
            except NoProof as reason:
                raise NoProof(f"head {head.name!r}, a softmax: {reason}") from None
        elif self._is_inexact(plan):
            raise NoProof(f"head {head.name!r} is hard, and its scores are inexact")
        for component, value in zip(plan.components, plan.values, strict=True):
            form = head.value[component]
            moved = self._moved(form, mass) if mass and isinstance(plan, PositionPlan) else None
            if moved is None:
                if mass and value.grid is None:
                    raise NoProof(f"head {head.name!r}, a softmax: the range of its values is unknown")
                moved = mass * float(value.spread) if mass else 0.0
            self.errors[head, component] = _up(self.of(form) + moved)

    def _is_inexact(self, plan: IndexPlan) -> bool:
        """Whether scores have errors."""
        return not isinstance(plan, UniformPlan) and any(self.of(form) for form in (*plan.head.query, *plan.head.key))

    def _mass(self, plan: IndexPlan) -> float:
        """The weight of all but the best keys; for a PositionPlan, also a bound of Σ weight · d and Σ weight · d²."""
        match plan:
            case PositionPlan(vertex=vertex, curve=curve) if vertex is not None and curve is not None:
                return self._by_position(plan, curve)
            case TablePlan():
                return self._recency(plan)
            case ScoredKeys(score=score) if not score.fractional and not isinstance(plan, LinearScanPlan):
                return self._by_score(plan.head, score)
        raise NoProof(f"there is no bound for the weight of its other keys ({plan.kind})")

    def _by_position(self, plan: PositionPlan, curve: LinearNumerator) -> float:
        scale, power = self._scale(plan.head)
        fixed = curve.fixed
        assert fixed is not None
        gap = scale * abs(fixed) / curve.grid.over * _lowest(self.positions, power - curve.grid.power)
        slope, bend = (self.of(form) for form in plan.forms)
        disturbed = scale * _highest(self.positions, power) * (slope + bend * (2 * self.positions + 1))
        least = gap - _up(disturbed)
        if least < _MIN_GAP:
            raise NoProof(_TOO_WARM)
        # Σ over both sides of d^k e^(-g d²), d ≥ 1, k ≤ 2: the terms fall by e^(-3g) · 4 or faster.
        return _up(2 * math.exp(-least) / (1 - 4 * math.exp(-3 * least)))

    def _moved(self, form: Affine, mass: float) -> float | None:
        """The distance of the mean of a value from the best position's value; None if an atom has no range."""
        moved = 0.0
        if form.token_terms:
            entries = [form.token_terms.get(token, 0) for token in range(self.numbers.program.vocabulary_size)]
            moved += float(max(entries) - min(entries)) * mass
        for atom, weight in form.other_terms.items():
            feature = atom[0].feature if isinstance(atom[0], Position) else None
            if feature == I:
                moved += float(abs(weight)) * mass
            elif feature == I_SQUARED:
                moved += float(abs(weight)) * (2 * self.positions * mass + mass)
            else:
                known = self.numbers.atoms[atom]
                if known.grid is None:
                    return None
                moved += float(abs(weight) * known.spread) * mass
        return _up(moved)

    def _recency(self, plan: TablePlan) -> float:
        """The weight of other keys: it decreases with the distance among equal keys, and is negligible for others."""
        scale, power = self._scale(plan.head)
        slope, grid = plan.slope, plan.lookup.grid
        if slope.low <= 0 <= slope.high:
            raise NoProof("the position does not order equal keys")
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
        if first < _MIN_GAP or others < _MIN_GAP:
            raise NoProof(_TOO_WARM)
        many = 1.0 if power > grid.power else float(n)
        return _up(math.exp(-first) / (1 - math.exp(-later)) + many * math.exp(-others))

    def _disturbance(self, plan: TablePlan) -> float:
        """The error bound of a key's score, before scaling."""
        (query, bend), (key, square) = plan.queries, plan.keys
        if self.of(bend):
            raise NoProof("the curve of its parabola is not exact")
        known, bends = self.numbers.of(query), self.numbers.of(bend)
        largest, curve = float(known.size) / known.over, float(bends.size) / bends.over
        reach = float(plan.lookup.x.number.size)
        off, off_square, wrong = self.of(key), self.of(square), self.of(query)
        return _up(largest * off + wrong * (reach + off) + curve * off_square)

    def _by_score(self, head: UnrolledHead, score: KeyScore) -> float:
        """The weight of other keys: different scores, integers over a common denominator, differ by at least a step.

        Tied keys share the weight: with an error of δ in the scores, evenly up to a factor of exp(2δ).
        """
        scale, power = self._scale(head)
        forms, off = [], self.of(score.slope) * self.positions
        for query, key in zip(score.queries, score.keys, strict=True):
            keys, queries = self.numbers.of(key), self.numbers.of(query)
            forms.append(query * Fraction(1, keys.over))
            wrong, wrong_key = self.of(query), self.of(key)
            if queries.grid is None:
                raise NoProof("the range of its queries is unknown")
            largest, reach = float(queries.size) / queries.over, float(keys.size) / keys.over
            off += largest * wrong_key + wrong * (reach + wrong_key)
        linear = self.numbers.linear([*forms, score.slope])
        if linear is None:
            raise NoProof("the least difference of two scores is unknown")
        disturbed = _up(2 * off * scale * _UP * _highest(self.positions, power))
        step = scale / linear[0].grid.over * _lowest(self.positions, power - linear[0].grid.power) - disturbed
        if step < _MIN_GAP or disturbed > 1:
            raise NoProof(_TOO_WARM)
        return _up(self.positions * math.exp(-step) + math.expm1(disturbed))

    def _scale(self, head: UnrolledHead) -> tuple[float, int]:
        """The scale as a number times a power of i+1, rounded down."""
        scale = head.weighting.scale
        if isinstance(scale, Fraction):
            return float(scale) / _UP, 0
        if not isinstance(scale, Monomial) or scale != scale.factor * I_PLUS_ONE**scale.next or scale.next <= 0:
            raise NoProof(f"its scale {scale.name} is not a power of i+1")
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
