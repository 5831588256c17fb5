"""Signals of the position: first, last, 1/(i+1) and 1/(n-i+1), from position features or derived from (-1)^i alone.

Proposition 11 of Yang et al. 2024: uniform attention over (-1)^j gives ±1 at a position that sees only itself, and at
most 1/3 in absolute value elsewhere, so that a feed-forward layer marks the first and the last position; uniform
attention over the mark gives 1/i and 1/(n-i+1). The paper's position 1 is the start token here, at position 0, and its
n is n+1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Signal, attend, named, position, relu
from softmachine.ir.kinds import BIT
from softmachine.transformer.attention import Mask, Weighting
from softmachine.transformer.features import INVERSE, LENGTH, NEXT, REST, Alternating, I


@dataclass(frozen=True)
class Marks:
    """The signals that Theorems 12, 13, 15 and 16 of Yang et al. 2024 use, directly from position features."""

    @property
    def inverse(self) -> Signal:
        """1/(i+1)."""
        return position(INVERSE)

    @property
    def rest(self) -> Signal:
        """1/(n-i+1)."""
        return position(1 / REST)

    @property
    def ramp(self) -> Signal:
        """i/(n+1): increases by 1/(n+1) per position and stays below 1."""
        return position(I * LENGTH**-1)

    @property
    def first(self) -> Signal:
        """A bit: 1 at position 1, where 1/(i+1) is 1/2; later it is at most 1/3."""
        six = 6 * self.inverse
        return named("first", (relu("first: above 1/3", six - 2) - relu("first: above 1/2", six - 3)).known(BIT))

    @property
    def last(self) -> Signal:
        """A bit: 1 at position n, where 1/(n-i+1) is 1; earlier it is at most 1/2."""
        return relu("last", 2 * self.rest - 1).known(BIT)


@dataclass(frozen=True)
class DerivedMarks(Marks):
    """The same signals derived from (-1)^i by Proposition 11 of Yang et al. 2024; the ramp is the paper's i/n.

    Costs: two uniform heads in two layers for each of 1/(i+1) and 1/(n-i+1).

    Args:
        uniform: The weighting of uniform attention; hard and soft coincide.
    """

    uniform: Weighting

    @property
    def inverse(self) -> Signal:
        """1/(i+1): the mean of the mark of position 0, where the mean of (-1)^j is 1."""
        sign = self._mean("parity mean (past)", position(Alternating()), Mask.CAUSAL)
        start = relu("start from (-1)^i", Fraction(3, 2) * sign - Fraction(1, 2)).known(BIT)
        return self._mean("1/(i+1)", start, Mask.CAUSAL)

    @property
    def rest(self) -> Signal:
        """1/(n-i+1): the mean of the mark of position n."""
        return self._mean("1/(n-i+1)", self.last, Mask.ANTICAUSAL)

    @property
    def ramp(self) -> Signal:
        """The paper's i/n."""
        return position(NEXT * LENGTH**-1)

    @property
    def last(self) -> Signal:
        """A bit: 1 at position n, where the mean of (-1)^j over j ≥ i is ±1."""
        sign = Fraction(3, 2) * self._mean("parity mean (future)", position(Alternating()), Mask.ANTICAUSAL)
        even = relu("last, even", sign - Fraction(1, 2))
        odd = relu("last, odd", -sign - Fraction(1, 2))
        return named("last", (even + odd).known(BIT))

    def _mean(self, name: str, value: Signal, mask: Mask) -> Signal:
        return attend(name, value=value, mask=mask, weighting=self.uniform)
