"""Lemma 3.1 of "Revisiting Padded Transformer Expressivity": in fixed point, softmax is average-hard attention.

The paper's constants do not suffice; these do. Scores of F_b differ by at least 2⁻ᵇ. For b' > b the difference is
exact, and with a power of two s such that s · 2⁻ᵇ > ln 2 · (b' + 1), the exponential of every key below the maximum is
less than half of 2⁻ᵇ' and rounds to 0. So both kinds of attention add the same numbers, and residual streams are equal.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from softmachine import api
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics.base import Tensor
from softmachine.engines.numerics.fixed_point import FixedPointArithmetic
from softmachine.engines.numerics.fixed_point_array import FixedPointArrays
from softmachine.testing import words as all_words
from softmachine.transformer.attention import AVERAGE_HARD, softmax_weighting
from softmachine.transformer.weights import Block, Layer, Transformer
from tests.arithmetic.fixed_reference import Reference
from tests.sources.transformers import RandomTransformer, random_word

LN_2 = Fraction(6_931_471_805_599_453_095, 10**19)
"""An upper bound of the natural logarithm of 2."""


def least_scale(bits: int, inside: int) -> int:
    """The least power of two that makes the exponential of all lower scores 0."""
    return next(1 << k for k in count() if Fraction(1 << k, 1 << bits) > LN_2 * (inside + 1))


def soft(hard: Transformer, scale: int) -> Transformer:
    """The transformer with softmax in all heads."""

    def layer(old: Layer) -> Layer:
        return replace(old, heads=tuple(replace(head, weighting=softmax_weighting(scale)) for head in old.heads))

    blocks = (Block(tuple(map(layer, block.layers)), block.repeats, block.name) for block in hard.blocks)
    return replace(hard, blocks=tuple(blocks))


def same(hard: Transformer, scale: int, word: list[str], numbers: str, length: int | None = None) -> bool:
    """Whether the residual streams with hard attention and with softmax are equal, number by number."""
    one, other = (
        DenseEngine(model, numbers).residual_stream([word], length).value for model in (hard, soft(hard, scale))
    )
    return bool((one == other).all())


def averaging(seed: int) -> Transformer:
    return RandomTransformer(seed, weightings=(AVERAGE_HARD,), denominators=(1, 1, 2)).transformer()


@pytest.mark.parametrize(("bits", "inside"), [(2, 6), (3, 7), (5, 9), (9, 14)])
def test_softmax_is_average_hard_attention_number_by_number(bits: int, inside: int) -> None:
    compared = 0
    for seed in range(25):
        hard = averaging(seed)
        for length in (3, 8):
            word = random_word(seed + length, length)
            assert same(hard, least_scale(bits, inside), word, f"fixed:{bits}:{inside}")
        compared += bool(hard.heads)
    assert compared > 10


def test_half_the_scale_is_not_enough() -> None:
    """With half of it some key that is not maximal keeps weight."""
    scale = least_scale(3, 7) // 2
    assert not all(same(averaging(seed), scale, random_word(seed, 8), "fixed:3:7") for seed in range(80))


@pytest.mark.parametrize("bits", range(1, 12))
def test_the_exponential_of_the_least_difference_vanishes_and_that_of_half_of_it_does_not(bits: int) -> None:
    for inside in range(bits + 1, bits + 6):
        grid, scale = FixedPointArrays(inside), least_scale(bits, inside)
        if grid.format.contains(Fraction(scale)):
            step = np.array([-(1 << inside - bits)], dtype=grid.dtype)
            below = grid.multiply(step, np.array([scale << inside], dtype=grid.dtype))
            assert grid.exponential(below)[0] == 0
            half = grid.multiply(below, np.array([1 << inside - 1], dtype=grid.dtype))
            assert scale == 1 or grid.exponential(half)[0] > 0


def test_where_sums_do_not_saturate_the_average_is_exact_and_rounded_once() -> None:
    """Six tied keys of 1, 1, 1, 0, 0, 0 units have mean half a unit, which is a unit; weights of 1/6 gave 0."""
    bits = 4
    for inside in range(8, 16):
        numbers = FixedPointArithmetic(bits, inside)
        values = Tensor(np.array([1, 1, 1, 0, 0, 0], dtype=numbers.arrays.dtype)[None, :, None])
        flags = np.ones((1, 6), dtype=bool)
        query, key = Tensor(numbers.arrays.zeros((1, 1, 0))), Tensor(numbers.arrays.zeros((1, 6, 0)))
        scale = numbers.convert_scales([Fraction(least_scale(bits, inside))], feature=False)
        assert numbers.softmax_attention(query, key, None, flags, scale)(values).value.item() == 1
        assert numbers.average(flags[None], values).value.item() == 1
    largest, numbers = Reference(bits).largest, FixedPointArithmetic(bits, 8)
    values = numbers.convert([[largest]] * 5 + [[-largest]])[None]
    exact = Reference(bits).round(largest * 4 / 6)
    assert numbers.average(np.ones((1, 1, 6), dtype=bool), values).value.item() == exact * 2**bits


@pytest.mark.parametrize("formula", ["Q_a since Q_b", "prev Q_a", "#<[Q_a] = #<[Q_b]", "odd(#<[Q_a])"])
def test_formulas_are_right_with_softmax_in_fixed_point(formula: str) -> None:
    hard, scale = api.compile(formula, attention="hard"), least_scale(8, 13)
    assert api.check(replace(hard, weights=soft(hard.weights, scale)), up_to=6, arithmetic="fixed:8:13").holds
    for word in all_words(hard.codec.alphabet, 4):
        prompt = hard.codec.prompt(word)
        assert same(hard.weights, scale, list(prompt.tokens), "fixed:8:13", prompt.length)
