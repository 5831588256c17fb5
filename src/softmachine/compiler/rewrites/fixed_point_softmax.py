"""Rewrite of average-hard attention to softmax in fixed point, with bitwise equal results on every input.

Lemma 3.1 of "Revisiting Padded Transformer Expressivity" (Svete et al. 2026). All parameters stay as they are; every
average-hard head becomes a softmax head whose inverse temperature is a power of two s. Activations and scores are
numbers of F_b; the arithmetic inside attention is that of F_b', as in ``fixed:B:C``.

A key that is not maximal scores at least 2⁻ᵇ below the maximum. With b' > b the difference is exact in F_b', and
with s · 2⁻ᵇ > ln 2 · (b' + 1) the exponential of s times it is less than half of 2⁻ᵇ', which rounds to 0. Maximal keys
have exponential 1. So both kinds of attention add and divide the same numbers of F_b', and every residual stream is the
same. If moreover N · (2ᵇ - 2⁻ᵇ) ≤ 2ᵇ' - 2⁻ᵇ', no sum over N positions saturates, and attention is the exact average
rounded once, which the paper calls b-precise.

Three steps of the paper's proof are repaired: softmax subtracts the maximum first (otherwise exponentials saturate),
keys below it have weight 0 (a small error does not "round away" where an average lies between two numbers of F_b), and
the scale is a number of F_b' (no temperature that suffices for a gap of 2⁻ᵇ is in F_b).

Needs: average-hard or softmax heads; softmax heads are unchanged. Costs: no layer, head, coordinate or parameter except
the temperature; b' is the least number with b' ≥ b + ⌈log₂ N⌉ and 2^(b' - b - 1) > ln 2 · (b' + 1), which is
b + max(⌈log₂ N⌉, O(log b)), hence Θ(b) for b = Θ(log N); log₂ s < b'.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import count

from softmachine.support.errors import ConstructionError, UsageError
from softmachine.transformer.attention import softmax_weighting
from softmachine.transformer.features import ceil_log2
from softmachine.transformer.weights import Block, Head, Layer, Transformer

_LN_2 = Fraction(6_931_471_805_599_453_095, 10**19)
"""An upper bound of the natural logarithm of 2."""


def soften_in_fixed_point(transformer: Transformer, bits: int, attention_bits: int) -> Transformer:
    """Replace average-hard attention by softmax, such that both are equal in F_b with F_b' inside attention.

    Args:
        transformer: The model, with average-hard or softmax heads.
        bits: b, the precision of weights and activations.
        attention_bits: b', the precision inside attention; see :func:`min_attention_bits`.

    Raises:
        ConstructionError: If a head is leftmost- or rightmost-hard, or b' is too small.
        UsageError: If b is not positive.
    """
    if bits < 1:
        raise UsageError(f"fixed point cannot have {bits} bits", hint="choose at least 1")
    least = min_attention_bits(bits)
    if attention_bits < least:
        raise ConstructionError(
            f"{attention_bits} bits inside attention do not suffice for softmax to equal average-hard attention in "
            f"F_{bits}: keys below the maximum would have nonzero weight",
            hint=f"the lowest sufficient precision is fixed:{bits}:{least}",
        )
    scale = min_scale(bits, attention_bits)

    def soften(head: Head) -> Head:
        if head.weighting.is_unique_hard:
            raise ConstructionError(
                f"head {head.name!r} is {head.weighting}, and softmax gives equal weight to keys of equal score",
                hint="only average-hard heads can be rewritten",
            )
        return replace(head, weighting=softmax_weighting(scale)) if head.weighting.is_hard else head

    def soften_block(block: Block) -> Block:
        layers = (Layer(tuple(map(soften, layer.heads)), layer.feed_forward) for layer in block.layers)
        return replace(block, layers=tuple(layers))

    return replace(transformer, blocks=tuple(map(soften_block, transformer.blocks)))


def min_scale(bits: int, attention_bits: int) -> int:
    """Return the smallest power of two s with s · 2⁻ᵇ > ln 2 · (b' + 1)."""
    return 1 << bits + int(_LN_2 * (attention_bits + 1)).bit_length()


def min_attention_bits(bits: int, positions: int = 1) -> int:
    """Return a sufficient b': F_b' contains the scale, and sums over ``positions`` numbers do not saturate.

    With b' ≥ b + ⌈log₂ N⌉ the largest sum, N · (2ᵇ - 2⁻ᵇ), is at most 2ᵇ' - 2⁻ᵇ'.
    """
    start = bits + max(1, ceil_log2(positions))
    return next(inner for inner in count(start) if min_scale(bits, inner) < 1 << inner)
