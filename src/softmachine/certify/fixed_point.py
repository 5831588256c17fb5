"""Average-hard attention by softmax in fixed point: exactly, number by number.

Lemma 3.1 of "Revisiting Padded Transformer Expressivity". The paper's constants do not do: without subtracting the
maximum, exponentials saturate; and where an average lies in the middle between two numbers of F_b, the smallest error
of a weight rounds it the wrong way. This recipe has no errors.

Scores are numbers of F_b, so that a key which is not maximal is at least 2⁻ᵇ below. Inside attention numbers are those
of F_b', where the difference is exact if b' > b. Times a power of two s with s · 2⁻ᵇ > ln 2 · (b' + 1), its exponential
is less than half of 2⁻ᵇ' and rounds to 0, while that of a maximal key is 1. So softmax with scale s forms the same sums
of the same numbers as average-hard attention does in F_b with F_b' inside, and the residual streams are equal, number
by number, for every input of every length.

If moreover N (2ᵇ - 2⁻ᵇ) ≤ 2ᵇ' - 2⁻ᵇ', sums over N positions do not saturate, and attention is the exact average,
rounded once to F_b; this is what the paper calls b-precise. In F_b alone (b' = b) hard attention gives the same unless
a sum saturates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from softmachine.arithmetic.fixed import Fixed
from softmachine.arithmetic.fixed_point import MOST_BITS, FixedPoint
from softmachine.codec import Prompt
from softmachine.engines.dense.engine import DenseEngine
from softmachine.errors import ConstructionError
from softmachine.transformer.attention import Choice, softmax
from softmachine.transformer.weights import Block, Head, Layer, Transformer

_LN_2 = Fraction(6_931_471_805_599_453_095, 10**19)
"""An upper bound of the natural logarithm of 2."""


@dataclass(frozen=True)
class FixedPointSoftening:
    """A transformer with softmax that is, in F_b with F_b' inside attention, the one with average-hard attention.

    Args:
        transformer: The model with softmax.
        bits: b.
        attention_bits: b'.
        scale: The inverse temperature of all heads that were hard, a power of two.
        positions: For up to so many positions attention is the exact average, rounded once.
    """

    transformer: Transformer
    bits: int
    attention_bits: int
    scale: int
    positions: int

    @property
    def arithmetic(self) -> str:
        """The arithmetic to run the model in."""
        return Fixed(self.bits, self.attention_bits).name

    def __str__(self) -> str:
        return (
            f"softmax with scale {self.scale} in F_{self.bits}, F_{self.attention_bits} inside attention, is "
            f"average-hard attention on every input; up to {self.positions} positions the average is exact"
        )


def soften_in_fixed_point(
    transformer: Transformer, bits: int, positions: int, attention_bits: int | None = None
) -> FixedPointSoftening:
    """The softmax transformer that equals one with average-hard attention in F_b.

    Args:
        transformer: The model; its heads are average-hard (or softmax, and then stay as they are).
        bits: b, the precision that it runs in.
        positions: The most positions, padding included, that a prompt has.
        attention_bits: b'; by default the smallest that is sufficient.

    Raises:
        ConstructionError: If b' is too small, or a head is leftmost- or rightmost-hard.
        PrecisionError: If a weight is not in F_b.
    """
    least = least_attention_bits(bits, positions)
    chosen = least if attention_bits is None else attention_bits
    if chosen < least:
        raise ConstructionError(
            f"{chosen} bits inside attention are too few for average-hard attention by softmax with b = {bits} and "
            f"{positions} positions",
            hint=f"the smallest sufficient number is {least}",
        )
    scale = least_scale(bits, chosen)
    blocks = tuple(_soft_block(block, scale) for block in transformer.blocks)
    found = FixedPointSoftening(replace(transformer, blocks=blocks), bits, chosen, scale, positions)
    DenseEngine(found.transformer, found.arithmetic)  # says so if a weight is not there
    return found


def least_scale(bits: int, attention_bits: int) -> int:
    """The least power of two s with s · 2⁻ᵇ > ln 2 · (b' + 1)."""
    scale = 1
    while not scale * FixedPoint(bits).unit > _LN_2 * (attention_bits + 1):
        scale *= 2
    return scale


def least_attention_bits(bits: int, positions: int) -> int:
    """The smallest b' > b for which F_b' has the scale and sums over so many positions do not saturate."""
    largest = FixedPoint(bits).largest
    for attention_bits in range(bits + 1, MOST_BITS + 1):
        inside = FixedPoint(attention_bits)
        if positions * largest <= inside.largest and inside.holds(Fraction(least_scale(bits, attention_bits))):
            return attention_bits
    raise ConstructionError(f"no precision up to {MOST_BITS} is sufficient for {positions} positions")


def first_difference(hard: Transformer, softening: FixedPointSoftening, prompts: Iterable[Prompt]) -> Prompt | None:
    """The first prompt on which the softmax transformer and the hard one, both in F_b with F_b' inside, part."""
    numbers = softening.arithmetic
    one, other = DenseEngine(hard, numbers), DenseEngine(softening.transformer, numbers)
    for prompt in prompts:
        streams = [engine.residual_stream([prompt.tokens], prompt.length).value for engine in (one, other)]
        if (streams[0] != streams[1]).any():
            return prompt
    return None


def _soft_block(block: Block, scale: int) -> Block:
    layers = (Layer(tuple(_soft(head, scale) for head in layer.heads), layer.feed_forward) for layer in block.layers)
    return replace(block, layers=tuple(layers))


def _soft(head: Head, scale: int) -> Head:
    if head.weighting.choice in (Choice.LEFTMOST, Choice.RIGHTMOST):
        raise ConstructionError(
            f"head {head.name!r} is {head.weighting}; softmax gives tied keys equal weight",
            hint="use average-hard attention, with a term in the score that prefers one of tied keys",
        )
    return replace(head, weighting=softmax(scale)) if head.weighting.hard else head
