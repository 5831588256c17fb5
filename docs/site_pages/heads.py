"""What the heads of a run look at, in exact arithmetic: the scores that pictures are drawn of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp

import softmachine as sm
from softmachine.signals import Signal, evaluate
from softmachine.signals.primitives import Attention
from softmachine.signals.signal import Affine, inputs_first
from softmachine.transformer.features import Feature


@dataclass(frozen=True)
class Look:
    """What one head sees in a run.

    Args:
        tokens: The whole sequence, prompt and run.
        scores: For each position, the score of every key that it sees.
        gaps: By how much the theorem promises the best score to exceed the next, at each position; 0 if it does not.
    """

    tokens: tuple[str, ...]
    scores: tuple[tuple[Fraction, ...], ...]
    gaps: tuple[Fraction, ...]

    def hard(self, i: int) -> list[float]:
        """How much average-hard attention gives to each key: the best ones share it."""
        best = [score == max(self.scores[i]) for score in self.scores[i]]
        return [chosen / sum(best) for chosen in best]

    def soft(self, i: int, sharpness: float) -> list[float]:
        """How much softmax gives to each key, if scores are multiplied by sharpness / gap."""
        scale, best = sharpness / float(self.gaps[i] or 1), max(self.scores[i])
        shares = [exp(scale * float(score - best)) for score in self.scores[i]]
        return [share / sum(shares) for share in shares]


def look(source: str, word: str, head: str) -> Look:
    """What a head of a decoder sees while a word is being worked on."""
    model = sm.compile(source)
    run = sm.run(model, word)
    tokens = (*run.prompt.tokens, *run.tokens)
    logits = model.theorem.signals(model.codec, "hard").logits
    (node,) = (item for item in inputs_first(logits.forms) if isinstance(item, Attention) and item.name == head)
    queries, keys = _values(node.query, tokens), _values(node.key, tokens)
    scores = tuple(
        tuple(sum((a * b for a, b in zip(query, key, strict=True)), Fraction(0)) for key in keys[: i + 1])
        for i, query in enumerate(queries)
    )
    gap = node.gap
    gaps = [gap.at(i, None) if isinstance(gap, Feature) else gap or Fraction(0) for i in range(len(tokens))]
    return Look(tokens, scores, tuple(gaps))


def _values(forms: tuple[Affine, ...], tokens: tuple[str, ...]) -> list[tuple[Fraction, ...]]:
    return evaluate(Signal(forms, tuple(form.kind for form in forms)), tokens)
