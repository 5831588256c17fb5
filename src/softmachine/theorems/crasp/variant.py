"""Which transformer a C-RASP program becomes: how signs are taken, how heads weigh keys, and for which length."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.languages.crasp.relation import row
from softmachine.theorems.crasp.truth import Sign
from softmachine.transformer.attention import AVERAGE_HARD, Weighting, softmax
from softmachine.transformer.features import Logarithm, Relation

SHARPNESS = 4
"""λ: keys outside of a relation lose this much, times ⌈log₂(i+1)⌉."""


@dataclass(frozen=True)
class InRelation(Relation):
    """[[R]]: 1 where the key is in the query's row of the relative relation R, else 0."""

    @property
    def name(self) -> str:
        """The indicator."""
        return "[[R]]"

    def value(self, key: int, query: int) -> int:
        """1 if it is."""
        return int(query > 0 and key in row(query))


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
        return softmax(Logarithm(sharpness)) if self.soft else AVERAGE_HARD
