"""Attention heads for temporal logic: nearest matching position, adjacent position, and lookup of a count.

Under softmax at the stated scale each head retrieves a truth value or a number within 1/4 of the exact one (Lemmas 6 to
8 of Yang et al. 2024), which is then rounded (Lemma 9).

The signals of the position (first, last, 1/(i+1) and 1/(n-i+1)) come from position features, or are derived from (-1)^i
alone:

Proposition 11 of Yang et al. 2024: uniform attention over (-1)^j gives ±1 at a position that sees only itself, and at
most 1/3 in absolute value elsewhere, so that a feed-forward layer marks the first and the last position; uniform
attention over the mark gives 1/i and 1/(n-i+1). The paper's position 1 is the start token here, at position 0, and its
n is n+1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from softmachine.ir import Signal, attend, constant, named, position, relu, stack
from softmachine.ir.gadgets import any_of, gate, round_unit_bit
from softmachine.ir.gadgets.integers import compare_with_zero
from softmachine.ir.primitives import ScoreDecay
from softmachine.ir.ranges import BIT
from softmachine.languages import temporal as logic
from softmachine.languages.linear import LinearExpression, Relation
from softmachine.languages.temporal import Formula
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax_weighting
from softmachine.transformer.features import (
    I_PLUS_ONE,
    I_SQUARED,
    N_PLUS_ONE,
    RECIPROCAL,
    REMAINING,
    Alternating,
    Feature,
    I,
    Monomial,
)
from softmachine.transformer.head_view import HeadExplanation, explain_sum


@dataclass(frozen=True)
class PositionSignals:
    """The signals that Theorems 12, 13, 15 and 16 of Yang et al. 2024 use, directly from position features."""

    @property
    def inverse_position(self) -> Signal:
        """1/(i+1)."""
        return position(RECIPROCAL)

    @property
    def inverse_rest(self) -> Signal:
        """1/(n-i+1)."""
        return position(1 / REMAINING)

    @property
    def ramp(self) -> Signal:
        """i/(n+1): increases by 1/(n+1) per position and stays below 1."""
        return position(I * N_PLUS_ONE**-1)

    @property
    def first(self) -> Signal:
        """A bit: 1 at position 1, where 1/(i+1) is 1/2; later it is at most 1/3."""
        six = 6 * self.inverse_position
        return named("first", (relu("first: above 1/3", six - 2) - relu("first: above 1/2", six - 3)).with_range(BIT))

    @property
    def last(self) -> Signal:
        """A bit: 1 at position n, where 1/(n-i+1) is 1; earlier it is at most 1/2."""
        return relu("last", 2 * self.inverse_rest - 1).with_range(BIT)


@dataclass(frozen=True)
class DerivedPositionSignals(PositionSignals):
    """The same signals derived from (-1)^i by Proposition 11 of Yang et al. 2024; the ramp is the paper's i/n.

    Costs: two uniform heads in two layers for each of 1/(i+1) and 1/(n-i+1).

    Args:
        uniform: The weighting of uniform attention; hard and soft coincide.
    """

    uniform: Weighting

    @property
    def inverse_position(self) -> Signal:
        """1/(i+1): the mean of the mark of position 0, where the mean of (-1)^j is 1."""
        sign = self._mean("parity mean (past)", position(Alternating()), Mask.CAUSAL)
        start = relu("start from (-1)^i", Fraction(3, 2) * sign - Fraction(1, 2)).with_range(BIT)
        return self._mean("1/(i+1)", start, Mask.CAUSAL)

    @property
    def inverse_rest(self) -> Signal:
        """1/(n-i+1): the mean of the mark of position n."""
        return self._mean("1/(n-i+1)", self.last, Mask.ANTICAUSAL)

    @property
    def ramp(self) -> Signal:
        """The paper's i/n."""
        return position(I_PLUS_ONE * N_PLUS_ONE**-1)

    @property
    def last(self) -> Signal:
        """A bit: 1 at position n, where the mean of (-1)^j over j ≥ i is ±1."""
        sign = Fraction(3, 2) * self._mean("parity mean (future)", position(Alternating()), Mask.ANTICAUSAL)
        even = relu("last, even", sign - Fraction(1, 2))
        odd = relu("last, odd", -sign - Fraction(1, 2))
        return named("last", (even + odd).with_range(BIT))

    def _mean(self, name: str, value: Signal, mask: Mask) -> Signal:
        return attend(name, value=value, mask=mask, weighting=self.uniform)


LEMMA_8_GAMMA = 3
"""Gap times inverse temperature: 4e^-3 < 1/4."""


class Masking(StrEnum):
    """The positions that a position attends to."""

    ENCODER = "encoder"
    """All positions, and the length."""
    MASKED = "masked"
    """The positions up to its own; the length is not available."""


@dataclass(frozen=True)
class Variant:
    """One of the constructions of Yang et al. 2024.

    Args:
        masking: The positions that a position attends to.
        soft: Whether attention is softmax; otherwise it is average-hard.
        unbounded_positions: Variant (b) of the theorems: temperature 1 and growing position features, instead of
            variant (a): low temperature and bounded features.
        paper_positions: Whether to use only the position features of Corollaries 17, 18, 22 and 23, and one temperature
            for all heads.
    """

    masking: Masking
    soft: bool
    unbounded_positions: bool = False
    paper_positions: bool = False

    @property
    def uniform(self) -> Weighting:
        """The weighting of uniform attention; hard and soft coincide."""
        return softmax_weighting() if self.soft else AVERAGE_HARD

    @property
    def position_signals(self) -> PositionSignals:
        """Signals derived from the position."""
        return DerivedPositionSignals(self.uniform) if self.paper_positions else PositionSignals()

    def sharpen(self, factor: int, scale: Monomial, gap: Monomial) -> Sharpness:
        """The weighting, gap and score factor of a head; ``factor · scale · gap`` is a constant, the scaled gap.

        Args:
            factor: The constant factor of the scale.
            scale: The scale (inverse temperature), up to that factor; cancels the gap.
            gap: The gap between the best score and the next.
        """
        if self.unbounded_positions:
            return Sharpness(
                self._weighting(1), (factor * scale * gap).factor, Fraction(factor if self.paper_positions else 1)
            )
        if self.paper_positions:
            one = N_PLUS_ONE if self.masking is Masking.ENCODER else I_PLUS_ONE**2
            return Sharpness(self._weighting(one), factor * gap, Fraction(factor))
        return Sharpness(self._weighting(factor * scale), gap, Fraction(1))

    def growing_scale(self, factor: int, feature: Monomial) -> Monomial:
        """The feature that replaces the scale in variant (b); without the factor if ``paper_positions``."""
        return feature if self.paper_positions else factor * feature

    def _weighting(self, scale: Feature | int) -> Weighting:
        return softmax_weighting(scale) if self.soft else AVERAGE_HARD


class Sharpness(NamedTuple):
    """Weighting and scaling of a head's scores.

    Args:
        weighting: Softmax at a scale, or hard attention.
        gap: The gap of the scores that the head computes.
        factor: The factor of the scores that is part of the weights.
    """

    weighting: Weighting
    gap: Fraction | Feature
    factor: Fraction


@dataclass(frozen=True)
class TemporalHeads:
    """The heads of Theorems 12, 13, 15, 16, 20 and 21 of Yang et al. 2024.

    Args:
        variant: The construction.
        start: A bit: 1 at the start token.
    """

    variant: Variant
    start: Signal

    @property
    def first(self) -> Signal:
        """A bit: 1 at position 1."""
        return self.variant.position_signals.first

    @property
    def last(self) -> Signal:
        """A bit: 1 at position n."""
        return self.variant.position_signals.last

    def fetch_nearest(
        self, name: str, preference: Signal, read: Signal, mask: Mask, explains: HeadExplanation
    ) -> Signal:
        """``read`` at the nearest position where ``preference`` is largest (Lemma 8 of Yang et al. 2024), rounded.

        Different values of ``preference`` differ by at least 1; the tie-breaking term for nearness is at most 1/2.
        """
        variant = self.variant
        if variant.masking is Masking.MASKED:
            near, factor, scale, gap = (
                -variant.position_signals.inverse_position,
                LEMMA_8_GAMMA,
                I_PLUS_ONE**2,
                1 / I_PLUS_ONE**2,
            )
        else:
            ramp = variant.position_signals.ramp * Fraction(1, 2)
            near = ramp if mask is Mask.CAUSAL else -ramp
            factor, scale, gap = 2 * LEMMA_8_GAMMA, N_PLUS_ONE, Fraction(1, 2) / N_PLUS_ONE
        sharp = variant.sharpen(factor, scale, gap)
        found = attend(
            name,
            query=sharp.factor
            * (position(variant.growing_scale(factor, scale)) if variant.unbounded_positions else constant(1)),
            key=preference + near,
            value=read,
            mask=mask,
            weighting=sharp.weighting,
            gap=sharp.gap,
            single_key=True,
            decay=ScoreDecay.LINEAR,
            explains=explains,
        )
        # Step 5. Rounding.
        return round_unit_bit(f"{name} rounded", found)

    def fetch_witness(
        self, name: str, holding: Signal, reached: Signal, mask: Mask, explains: HeadExplanation
    ) -> Signal:
        """Since and until (Theorems 15, 16 of Yang et al. 2024): ψ at the nearest position with ¬φ or ψ."""
        decider = any_of(f"decides {name}", ~holding, reached)
        return self.fetch_nearest(name, decider - 2 * self.start, reached, mask, explains)

    def fetch_neighbour(self, name: str, of: Signal, mask: Mask) -> Signal:
        """Previous and next (Theorems 12, 13 of Yang et al. 2024).

        Two heads find the nearest even and the nearest odd position; the one of the other parity is the neighbour.
        """
        sign, beyond = position(Alternating()), self.first if mask is Mask.CAUSAL else self.last
        even = self.fetch_nearest(f"{name}: nearest even", sign * Fraction(1, 2), of, mask, "the nearest even one")
        odd = self.fetch_nearest(f"{name}: nearest odd", sign * Fraction(-1, 2), of, mask, "the nearest odd one")
        here_even = ((1 + sign) * Fraction(1, 2)).with_range(BIT)
        from_even = gate(f"{name} from even", even, blockers=stack(here_even, beyond))
        from_odd = gate(f"{name} from odd", odd, blockers=stack(~here_even, beyond))
        return named(name, (from_even + from_odd).with_range(BIT))

    def compare_counts(
        self, name: str, difference: LinearExpression[logic.Count], relation: Relation, known: Mapping[Formula, Signal]
    ) -> Signal:
        """Whether a sum of counts is in the relation to 0; each count is looked up as a position number."""
        total = constant(difference.constant)
        weight = sum(abs(factor) for factor, _ in difference.terms)
        for factor, count in difference.terms:
            label = f"#{'<' if isinstance(count, logic.LeftCount) else '>'}[{count.formula}]"
            total = total + factor * self.fetch_at_count(label, count, known[count.formula], position(I), weight)
        return compare_with_zero(name, total, relation, constant(1))

    def fetch_at_count(self, name: str, count: logic.Count, of: Signal, read: Signal, weight: int = 1) -> Signal:
        """``read`` at the position whose number is the count (Theorems 20 and 21, Lemma 7 of Yang et al. 2024).

        Uniform attention gives the count divided by the number of visible positions; a lookup recovers the count.
        Position 0, the start token, stands for the count 0. ``weight`` bounds the factor by which later layers amplify
        an error of the result.
        """
        variant, factor = self.variant, LEMMA_8_GAMMA * weight
        if isinstance(count, logic.LeftCount):
            mask, seen, counted = Mask.CAUSAL, Mask.CAUSAL, gate(f"counted in {name}", of, blockers=self.start)
            per, sharp = variant.position_signals.inverse_position, variant.sharpen(factor, I_PLUS_ONE, RECIPROCAL)
        else:
            mask, seen, counted = Mask.ANTICAUSAL, Mask.ALL, of
            per, sharp = variant.position_signals.inverse_rest, variant.sharpen(factor, REMAINING, 1 / REMAINING)
        share = attend(
            f"mean of {name}",
            value=counted,
            mask=mask,
            weighting=variant.uniform,
            explains=partial(explain_sum, name=name),
        )
        # The keys j and j²; in variant (b) they carry the factor that is the scale in variant (a).
        table = [I, I_SQUARED]
        if variant.unbounded_positions:
            table = [variant.growing_scale(factor, number * N_PLUS_ONE) for number in table]
        return attend(
            name,
            query=sharp.factor * stack(2 * share, -per),
            key=stack(*map(position, table)),
            value=read,
            mask=seen,
            weighting=sharp.weighting,
            gap=sharp.gap,
            single_key=True,
            decay=ScoreDecay.QUADRATIC,
            explains="the position whose number is the count",
        )
