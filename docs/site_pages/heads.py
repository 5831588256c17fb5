"""What the heads of a run look at, in exact numbers: the scores that pictures are drawn of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp

import softmachine as sm
from softmachine.transformer.sight import Enclosure, Number


@dataclass(frozen=True)
class Look:
    """What one head sees in a run.

    Args:
        tokens: The whole sequence, prompt and run.
        scores: For each position, the score of every key that it sees.
    """

    tokens: tuple[str, ...]
    scores: tuple[tuple[Fraction, ...], ...]

    def below(self, i: int) -> list[Fraction]:
        """How far each score is below the best."""
        return [max(self.scores[i]) - score for score in self.scores[i]]

    def gap(self, i: int) -> Fraction:
        """How far the next best score is below the best; 0 if there is none."""
        return min((distance for distance in self.below(i) if distance), default=Fraction(0))

    def hard(self, i: int) -> list[float]:
        """How much average-hard attention gives to each key: the best ones share it."""
        best = [not distance for distance in self.below(i)]
        return [chosen / sum(best) for chosen in best]

    def soft(self, i: int, sharpness: float) -> list[float]:
        """How much softmax gives to each key, if scores are multiplied by sharpness / gap."""
        shares = [exp(-sharpness * distance / (self.gap(i) or 1)) for distance in self.below(i)]
        return [share / sum(shares) for share in shares]


def look(source: str, word: str, head: str) -> Look:
    """What a head of a decoder sees while a word is being worked on."""
    inside = sm.inspect(sm.run(source, word))
    moments = [*inside.moments(range(len(inside)))]
    scores = (moment.head(head).scores.values() for moment in moments)
    return Look(tuple(moment.token for moment in moments), tuple(tuple(map(_exactly, row)) for row in scores))


def _exactly(number: Number) -> Fraction:
    if isinstance(number, Enclosure):
        raise TypeError("pictures are drawn of hard attention, whose scores are rational")
    return number
