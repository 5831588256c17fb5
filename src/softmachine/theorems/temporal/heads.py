"""The attention of the theorems on temporal logic: nearest positions, neighbours, and lookups of counts.

Each head retrieves a truth value or a number that is within 1/4 of the right one under softmax at the stated scale
(Lemmas 6 to 8), and is rounded (Lemma 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from softmachine.ir import Signal, attend, constant, named, position, stack
from softmachine.ir.gadgets import any_of, gate, rounded
from softmachine.ir.gadgets.integers import compared
from softmachine.ir.kinds import BIT
from softmachine.ir.primitives import Fall
from softmachine.languages import temporal as logic
from softmachine.languages.linear import Linear, Relation
from softmachine.languages.temporal import Formula
from softmachine.theorems.temporal.marks import DerivedMarks, Marks
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax
from softmachine.transformer.features import I_SQUARED, INVERSE, LENGTH, NEXT, REST, Alternating, Feature, I, Monomial

GAMMA = 3
"""The scaled gap: 4e^-3 < 1/4."""


class Vision(StrEnum):
    """What a position sees."""

    ENCODER = "encoder"
    """All positions, and the length."""
    MASKED = "masked"
    """The positions up to its own, and nothing of the length."""


@dataclass(frozen=True)
class Variant:
    """Which theorem to use.

    Args:
        vision: What a position sees.
        soft: Whether attention is softmax, or hard.
        unbounded: The theorems' variant (b): temperature 1 and position features that grow, in place of (a), a low
            temperature and bounded ones.
        literal: Whether position features are no more than those of Corollaries 17, 18, 22 and 23, and one temperature
            serves all heads.
    """

    vision: Vision
    soft: bool
    unbounded: bool = False
    literal: bool = False

    @property
    def uniform(self) -> Weighting:
        """How uniform attention weighs, which is the same hard and soft."""
        return softmax() if self.soft else AVERAGE_HARD

    @property
    def marks(self) -> Marks:
        """What is known of positions."""
        return DerivedMarks(self.uniform) if self.literal else Marks()

    def sharp(self, factor: int, scale: Monomial, gap: Monomial) -> Sharp:
        """How the scores of a head are made sharp enough: ``factor · scale · gap`` is a number, the scaled gap.

        Args:
            factor: The number in front of the scale.
            scale: The scale (inverse temperature) that undoes the gap.
            gap: The gap of the scores.
        """
        if self.unbounded:
            return Sharp(self._weighting(1), (factor * scale * gap).factor, Fraction(factor if self.literal else 1))
        if self.literal:
            one = LENGTH if self.vision is Vision.ENCODER else NEXT**2
            return Sharp(self._weighting(one), factor * gap, Fraction(factor))
        return Sharp(self._weighting(factor * scale), gap, Fraction(1))

    def grown(self, factor: int, feature: Monomial) -> Monomial:
        """The feature of variant (b) that stands where a scale does otherwise; a literal one has no factor."""
        return feature if self.literal else factor * feature

    def _weighting(self, scale: Feature | int) -> Weighting:
        return softmax(scale) if self.soft else AVERAGE_HARD


class Sharp(NamedTuple):
    """How the scores of a head are made sharp.

    Args:
        weighting: Softmax at a scale, or hard attention.
        gap: The gap of the scores as the head computes them.
        factor: What the weights multiply the scores by.
    """

    weighting: Weighting
    gap: Fraction | Feature
    factor: Fraction


@dataclass(frozen=True)
class Heads:
    """The attention of Theorems 12, 13, 15, 16, 20 and 21.

    Args:
        variant: Which of them.
        start: A bit: whether this is the start token.
    """

    variant: Variant
    start: Signal

    @property
    def first(self) -> Signal:
        """Whether this is position 1."""
        return self.variant.marks.first

    @property
    def last(self) -> Signal:
        """Whether this is position n."""
        return self.variant.marks.last

    def nearest(self, name: str, prefer: Signal, read: Signal, mask: Mask) -> Signal:
        """What ``read`` is at the nearest position that is preferred most (Lemma 8), rounded.

        ``prefer`` has values that differ by at least 1, of which the term for nearness takes at most a half.
        """
        variant = self.variant
        if variant.vision is Vision.MASKED:
            near, factor, scale, gap = -variant.marks.inverse, GAMMA, NEXT**2, 1 / NEXT**2
        else:
            ramp = variant.marks.ramp * Fraction(1, 2)
            near = ramp if mask is Mask.CAUSAL else -ramp
            factor, scale, gap = 2 * GAMMA, LENGTH, Fraction(1, 2) / LENGTH
        sharp = variant.sharp(factor, scale, gap)
        found = attend(
            name,
            query=sharp.factor * (position(variant.grown(factor, scale)) if variant.unbounded else constant(1)),
            key=prefer + near,
            value=read,
            mask=mask,
            weighting=sharp.weighting,
            gap=sharp.gap,
            single=True,
            fall=Fall.LINEAR,
        )
        # Step 5. Rounding.
        return rounded(f"{name} rounded", found)

    def witness(self, name: str, holding: Signal, reached: Signal, mask: Mask) -> Signal:
        """Since and until (Theorems 15, 16): the nearest position with ¬φ or ψ decides: it holds iff ψ does there."""
        decider = any_of(f"decides {name}", ~holding, reached)
        return self.nearest(name, decider - 2 * self.start, reached, mask)

    def neighbour(self, name: str, of: Signal, mask: Mask) -> Signal:
        """Previous and next (Theorems 12, 13): the nearest even and the nearest odd position; of these, the other."""
        sign, beyond = position(Alternating()), self.first if mask is Mask.CAUSAL else self.last
        even = self.nearest(f"{name}: nearest even", sign * Fraction(1, 2), of, mask)
        odd = self.nearest(f"{name}: nearest odd", sign * Fraction(-1, 2), of, mask)
        here_even = ((1 + sign) * Fraction(1, 2)).known(BIT)
        from_even = gate(f"{name} from even", even, off=stack(here_even, beyond))
        from_odd = gate(f"{name} from odd", odd, off=stack(~here_even, beyond))
        return named(name, (from_even + from_odd).known(BIT))

    def comparison(
        self, name: str, difference: Linear[logic.Count], relation: Relation, known: Mapping[Formula, Signal]
    ) -> Signal:
        """Whether a sum of counts compares so with 0: each is looked up, as the number of a position."""
        total = constant(difference.constant)
        weight = sum(abs(factor) for factor, _ in difference.terms)
        for factor, count in difference.terms:
            label = f"#{'<' if isinstance(count, logic.LeftCount) else '>'}[{count.of}]"
            total = total + factor * self.at_count(label, count, known[count.of], position(I), weight)
        return compared(name, total, relation, constant(1))

    def at_count(self, name: str, count: logic.Count, of: Signal, read: Signal, weight: int = 1) -> Signal:
        """What ``read`` is at the position whose number is a count (Theorems 20 and 21, Lemma 7).

        Uniform attention gives the count's share of the positions seen; a lookup undoes the share. The start token
        makes position 0 there to be found. ``weight`` is how much an error of the result will be amplified.
        """
        variant, factor = self.variant, GAMMA * weight
        if isinstance(count, logic.LeftCount):
            mask, seen, counted = Mask.CAUSAL, Mask.CAUSAL, gate(f"counted in {name}", of, off=self.start)
            per, sharp = variant.marks.inverse, variant.sharp(factor, NEXT, INVERSE)
        else:
            mask, seen, counted = Mask.ANTICAUSAL, Mask.ALL, of
            per, sharp = variant.marks.rest, variant.sharp(factor, REST, 1 / REST)
        share = attend(f"share of {name}", value=counted, mask=mask, weighting=variant.uniform)
        # The table of all j and j²; in variant (b) what is a scale otherwise is a factor here.
        table = [I, I_SQUARED]
        if variant.unbounded:
            table = [variant.grown(factor, number * LENGTH) for number in table]
        return attend(
            name,
            query=sharp.factor * stack(2 * share, -per),
            key=stack(*map(position, table)),
            value=read,
            mask=seen,
            weighting=sharp.weighting,
            gap=sharp.gap,
            single=True,
            fall=Fall.QUADRATIC,
        )
