"""Where in the word a position is: first, last, 1/(i+1) and 1/(n-i+1), as position features or from (-1)^i alone.

Proposition 11: uniform attention over (-1)^j gives ±1 where a position sees only itself, and at most 1/3 elsewhere, so
that a feed-forward layer marks the first and the last position; uniform attention over the mark gives 1/i and
1/(n-i+1). The paper's position 1 is the start token here, at position 0, and its n is n+1.
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
    """What Theorems 12, 13, 15 and 16 need to know of positions, from position features: ours where it is shorter."""

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
        """What rises by 1/(n+1) from position to position, and stays below 1 in all."""
        return position(I * LENGTH**-1)

    @property
    def first(self) -> Signal:
        """Whether this is position 1: there 1/(i+1) is 1/2, later at most 1/3."""
        six = 6 * self.inverse
        return named("first", (relu("first: from 1/3", six - 2) - relu("first: from 1/2", six - 3)).known(BIT))

    @property
    def last(self) -> Signal:
        """Whether this is position n: there 1/(n-i+1) is 1, before at most 1/2."""
        return relu("last", 2 * self.rest - 1).known(BIT)


@dataclass(frozen=True)
class DerivedMarks(Marks):
    """The same from (-1)^i alone, by Proposition 11; the ramp is the paper's i/n.

    Costs: two uniform heads in two layers for each of 1/(i+1) and 1/(n-i+1).

    Args:
        uniform: How uniform attention weighs; it is the same hard and soft.
    """

    uniform: Weighting

    @property
    def inverse(self) -> Signal:
        """1/(i+1): the mean of a mark of position 0, where the mean of (-1)^j is 1."""
        sign = self._mean("signs so far", position(Alternating()), Mask.CAUSAL)
        start = relu("start by (-1)^i", Fraction(3, 2) * sign - Fraction(1, 2)).known(BIT)
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
        """Whether this is position n: there the mean of (-1)^j from here on is ±1."""
        sign = Fraction(3, 2) * self._mean("signs from here", position(Alternating()), Mask.ANTICAUSAL)
        even = relu("last, even", sign - Fraction(1, 2))
        odd = relu("last, odd", -sign - Fraction(1, 2))
        return named("last", (even + odd).known(BIT))

    def _mean(self, name: str, value: Signal, mask: Mask) -> Signal:
        return attend(name, value=value, mask=mask, weighting=self.uniform)
