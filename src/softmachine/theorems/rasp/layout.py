"""Layout of positions for RASP programs: the start token as attention sink, masks, and integers a + b i + c n.

Position 0 holds the start token, the *sink*; the input is at positions 1, …, n. At the sink every value is 0, so that
it contributes nothing to sums; a head whose query selects no key attends to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Signal, position
from softmachine.ir.ranges import BIT
from softmachine.languages.rasp.types import is_at_least
from softmachine.support.polynomial import Polynomial
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import I_SQUARED, N_PLUS_ONE, RECIPROCAL, Feature, I, Monomial, N
from softmachine.transformer.table_features import SparseFeature, TableFeature


@dataclass(frozen=True)
class AtInputPositions(SparseFeature, stored_name="AtLetters"):
    """A position feature, set to 0 at the start token."""

    of: Feature

    @property
    def name(self) -> str:
        """The name, with an Iverson bracket for the condition."""
        return f"[i>0]·{self.of.name}"

    def value(self, i: int, n: int) -> Fraction | int:
        """The value of the feature, or 0 at position 0."""
        return self.of.value(i, n) if i else 0

    @property
    def denominator(self) -> str | None:
        """The common denominator of the feature."""
        return self.of.denominator


FIRST = TableFeature("first", (Fraction(0), Fraction(1)))
"""A bit: 1 at position 1."""


@dataclass(frozen=True)
class LinearInPosition:
    """The integer a + b i + c n at input positions, 0 at the start token. Its square is affine in position features."""

    a: int = 0
    b: int = 0
    c: int = 0

    def __add__(self, other: LinearInPosition) -> LinearInPosition:
        return LinearInPosition(self.a + other.a, self.b + other.b, self.c + other.c)

    def __mul__(self, factor: int) -> LinearInPosition:
        return LinearInPosition(self.a * factor, self.b * factor, self.c * factor)

    def to_signal(self, letter: Signal) -> Signal:
        """The integer, given the bit that is 1 at input positions."""
        parts = [(self.a, letter), (self.b, position(I)), (self.c, position(AtInputPositions(N)))]
        return _weighted_sum(parts, letter)

    def square_signal(self, letter: Signal) -> Signal:
        """Its square."""
        a, b, c = self.a, self.b, self.c
        parts = [(a * a, letter), (b * b, position(I_SQUARED)), (2 * a * b, position(I))]
        if c:
            parts += [(c * c, position(AtInputPositions(N**2))), (2 * a * c, position(AtInputPositions(N)))]
            parts.append((2 * b * c, position(I * N)))
        return _weighted_sum(parts, letter)

    @property
    def bounds(self) -> tuple[Polynomial, Polynomial]:
        """A lower and an upper bound for all 1 ≤ i ≤ n, and of 0."""
        zero = low = high = Polynomial(0)
        for end in (Polynomial(self.a + self.b, self.c), Polynomial(self.a, self.b + self.c)):
            low = low if is_at_least(end, zero) else low.lower_bound(end)
            high = high if is_at_least(zero, end) else high.upper_bound(end)
        return low, high


def _weighted_sum(parts: list[tuple[int, Signal]], letter: Signal) -> Signal:
    total = letter * 0
    for factor, part in parts:
        if factor:
            total = total + part * factor
    return total


@dataclass(frozen=True)
class PositionLayout:
    """The layout of an encoder, which is given the length, or of a decoder.

    Args:
        causal: Whether selectors see only keys up to the query.
        input_bit: The bit that is 1 at input positions, and 0 at the start token.
    """

    causal: bool
    input_bit: Signal

    @property
    def sink(self) -> Signal:
        """The bit that is 1 at the start token."""
        return (1 - self.input_bit).with_range(BIT)

    @property
    def mask(self) -> Mask:
        """The mask of a head."""
        return Mask.CAUSAL if self.causal else Mask.ALL

    @property
    def last_visible(self) -> LinearInPosition:
        """The number of input positions that a head sees: the largest integer that it can look up."""
        return LinearInPosition(b=1) if self.causal else LinearInPosition(c=1)

    @property
    def inverse_visible(self) -> Monomial:
        """One over the number of positions that a head sees."""
        return RECIPROCAL if self.causal else N_PLUS_ONE**-1
