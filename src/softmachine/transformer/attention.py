"""The kinds of attention: which positions are visible (mask), and how scores become weights (weighting)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from operator import ge, gt, le, lt

from softmachine.transformer.features import Feature


class Mask(StrEnum):
    """Which keys j a query at position i sees. A query that sees nothing gets the zero vector."""

    ALL = "all j"
    CAUSAL = "j ≤ i"
    PAST = "j < i"
    ANTICAUSAL = "j ≥ i"
    FUTURE = "j > i"

    def sees(self, key: int, query: int) -> bool:
        """Whether the key's position is visible from the query's."""
        return self is Mask.ALL or bool(COMPARED[self](key, query))

    @property
    def causal(self) -> bool:
        """Whether nothing later than the query is ever visible, as decoders need."""
        return self in (Mask.CAUSAL, Mask.PAST)


COMPARED = {Mask.CAUSAL: le, Mask.PAST: lt, Mask.ANTICAUSAL: ge, Mask.FUTURE: gt}
"""How the position of a key compares with that of a query that sees it; all do where all are seen."""


class Choice(StrEnum):
    """What becomes of the scores of the visible keys."""

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
    """How scores become weights; for softmax also the inverse temperature, which may depend on the position."""

    choice: Choice
    scale: Fraction | Feature = Fraction(1)

    @property
    def hard(self) -> bool:
        """Whether the weights depend only on the order of the scores."""
        return self.choice is not Choice.SOFTMAX

    @property
    def unique(self) -> bool:
        """Whether one of the keys that tie has all weight."""
        return self.choice in (Choice.LEFTMOST, Choice.RIGHTMOST)

    def __str__(self) -> str:
        return str(self.choice) if self.hard or self.scale == 1 else f"{self.choice}, scale {self.scale}"


AVERAGE_HARD = Weighting(Choice.AVERAGE)
LEFTMOST_HARD = Weighting(Choice.LEFTMOST)
RIGHTMOST_HARD = Weighting(Choice.RIGHTMOST)


def softmax(scale: Fraction | Feature | int = 1) -> Weighting:
    """Softmax attention at inverse temperature ``scale``."""
    return Weighting(Choice.SOFTMAX, scale if isinstance(scale, Feature) else Fraction(scale))
