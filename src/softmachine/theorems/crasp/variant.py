"""Which transformer a C-RASP program becomes: how signs are taken, how heads weigh keys, and for which length."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.languages.crasp.relation import row
from softmachine.theorems.crasp.truth import Sign
from softmachine.transformer.attention import AVERAGE_HARD, Weighting, softmax
from softmachine.transformer.bounds import Bound
from softmachine.transformer.features import Feature, feature, relation

SHARPNESS = 4
"""λ: keys outside of a relation lose this much, times ⌈log₂(i+1)⌉."""
_LENGTH = Bound.length()

feature(
    "c⌈log₂(i+1)⌉",
    lambda i, _, c: c * i.bit_length(),
    high=lambda c: c * _LENGTH,
    label=lambda c: f"{c}⌈log₂(i+1)⌉",
)
relation("[[R]]", lambda key, query: int(query > 0 and key in row(query)))


@dataclass(frozen=True)
class Variant:
    """Which transformer.

    Args:
        sign: How signs become truth values.
        soft: Whether attention is softmax, or average-hard: uniform attention is both.
        length: The number of positions it is made for, if signs are bounded.
    """

    sign: Sign = Sign.HEAVISIDE
    soft: bool = True
    length: int | None = None

    def uniform(self) -> Weighting:
        """Equal weights."""
        return softmax() if self.soft else AVERAGE_HARD

    def sharp(self, largest: int) -> Weighting:
        """Nearly all weight on the best keys, for values up to ``largest``: each doubling of them takes 1 more."""
        sharpness = SHARPNESS + (largest - 1).bit_length()
        return softmax(Feature("c⌈log₂(i+1)⌉", (sharpness,))) if self.soft else AVERAGE_HARD
