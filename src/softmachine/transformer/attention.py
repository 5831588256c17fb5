"""Kinds of attention: masks (visible positions) and weightings (from scores to attention weights)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from operator import ge, gt, le, lt

from softmachine.transformer.features import Feature


class Mask(StrEnum):
    """The keys j visible from a query at position i. A query without visible keys gets the zero vector."""

    ALL = "all j"
    CAUSAL = "j ≤ i"
    PAST = "j < i"
    ANTICAUSAL = "j ≥ i"
    FUTURE = "j > i"

    def is_visible(self, key: int, query: int) -> bool:
        """Whether the key's position is visible from the query's."""
        return self is Mask.ALL or bool(KEY_COMPARISONS[self](key, query))

    @property
    def is_causal(self) -> bool:
        """Whether no key after the query is visible, as decoders require."""
        return self in (Mask.CAUSAL, Mask.PAST)


KEY_COMPARISONS = {Mask.CAUSAL: le, Mask.PAST: lt, Mask.ANTICAUSAL: ge, Mask.FUTURE: gt}
"""Comparison of the position of a visible key with the query's; `Mask.ALL` has none."""


class AttentionKind(StrEnum):
    """Attention weights as a function of the scores of the visible keys."""

    AVERAGE = "average-hard"
    """Equal weight on all keys of maximal score."""
    LEFTMOST = "leftmost-hard"
    """All weight on the first key of maximal score."""
    RIGHTMOST = "rightmost-hard"
    """All weight on the last key of maximal score."""
    SOFTMAX = "softmax"
    """Weights proportional to exp(scale · score)."""


@dataclass(frozen=True)
class Weighting:
    """Kind of attention weights; for softmax also the inverse temperature, which may depend on the position."""

    kind: AttentionKind
    scale: Fraction | Feature = Fraction(1)

    @property
    def is_hard(self) -> bool:
        """Whether the weights depend only on the order of the scores."""
        return self.kind is not AttentionKind.SOFTMAX

    @property
    def is_unique_hard(self) -> bool:
        """Whether ties are broken: one key has all the weight."""
        return self.kind in (AttentionKind.LEFTMOST, AttentionKind.RIGHTMOST)

    def __str__(self) -> str:
        return str(self.kind) if self.is_hard or self.scale == 1 else f"{self.kind}, scale {self.scale}"


AVERAGE_HARD = Weighting(AttentionKind.AVERAGE)
LEFTMOST_HARD = Weighting(AttentionKind.LEFTMOST)
RIGHTMOST_HARD = Weighting(AttentionKind.RIGHTMOST)


def softmax_weighting(scale: Fraction | Feature | int = 1) -> Weighting:
    """Softmax attention at inverse temperature ``scale``."""
    return Weighting(AttentionKind.SOFTMAX, scale if isinstance(scale, Feature) else Fraction(scale))
