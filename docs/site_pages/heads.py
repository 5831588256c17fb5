"""Exact attention scores of a head in a run, for pictures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp

import softmachine as sm
from softmachine.transformer.head_view import EnclosedNumber, Enclosure


@dataclass(frozen=True)
class HeadScores:
    """The scores of one head in a run.

    Args:
        tokens: The whole sequence, prompt and run.
        scores: For each position, the score of every visible key.
    """

    tokens: tuple[str, ...]
    scores: tuple[tuple[Fraction, ...], ...]

    def deficits(self, i: int) -> list[Fraction]:
        """Return the distance of each score from the best."""
        return [max(self.scores[i]) - score for score in self.scores[i]]

    def gap(self, i: int) -> Fraction:
        """Return the distance of the next best score from the best; 0 if there is none."""
        return min((distance for distance in self.deficits(i) if distance), default=Fraction(0))

    def hard_weights(self, i: int) -> list[float]:
        """Return the weights of average-hard attention: uniform over the best keys."""
        best = [not distance for distance in self.deficits(i)]
        return [chosen / sum(best) for chosen in best]

    def softmax_weights(self, i: int, sharpness: float) -> list[float]:
        """Return the weights of softmax with the scale sharpness / gap."""
        weights = [exp(-sharpness * distance / (self.gap(i) or 1)) for distance in self.deficits(i)]
        return [weight / sum(weights) for weight in weights]


def compute_scores(source: str, word: str, head: str) -> HeadScores:
    """Compute the scores of a head of a decoder in the run on an input."""
    inside = sm.inspect(sm.run(source, word))
    moments = [*inside.at_positions(range(len(inside)))]
    scores = (moment.head(head).scores.values() for moment in moments)
    return HeadScores(
        tuple(moment.token for moment in moments), tuple(tuple(map(_require_exact, row)) for row in scores)
    )


def _require_exact(number: EnclosedNumber) -> Fraction:
    if isinstance(number, Enclosure):
        raise TypeError("pictures need hard attention, whose scores are rational")
    return number
