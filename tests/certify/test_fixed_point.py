"""Average-hard attention by softmax in fixed point: equal number by number, and by no smaller constants."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from softmachine import api
from softmachine.arithmetic.base import Tensor
from softmachine.arithmetic.fixed import Fixed
from softmachine.arithmetic.fixed_point import FixedPoint
from softmachine.arithmetic.grid import Grid
from softmachine.certify.fixed_point import first_difference, least_attention_bits, least_scale, soften_in_fixed_point
from softmachine.codec import Prompt
from softmachine.engines.check import all_words
from softmachine.engines.dense.engine import DenseEngine
from softmachine.errors import ConstructionError, PrecisionError
from softmachine.transformer.attention import AVERAGE_HARD, LEFTMOST_HARD, softmax
from softmachine.transformer.weights import Block, Layer, Transformer
from tests.arithmetic.fixed_reference import Reference
from tests.sources.transformers import RandomTransformer, random_word


def with_scale(transformer: Transformer, scale: int) -> Transformer:
    """The transformer with another inverse temperature in all heads."""

    def layer(old: Layer) -> Layer:
        return replace(old, heads=tuple(replace(head, weighting=softmax(scale)) for head in old.heads))

    blocks = (Block(tuple(map(layer, block.layers)), block.repeats, block.name) for block in transformer.blocks)
    return replace(transformer, blocks=tuple(blocks))


def averaging(seed: int) -> Transformer:
    return RandomTransformer(seed, weightings=(AVERAGE_HARD,), denominators=(1, 1, 2)).transformer()


@pytest.mark.parametrize("bits", [2, 3, 5, 9])
def test_softmax_is_average_hard_attention_number_by_number(bits: int) -> None:
    compared = 0
    for seed in range(25):
        hard = averaging(seed)
        softening = soften_in_fixed_point(hard, bits, 8)
        prompts = [Prompt(tuple(random_word(seed + k, 1 + k))) for k in range(2, 8)]
        assert first_difference(hard, softening, prompts) is None
        compared += bool(hard.heads)
    assert compared > 10


def test_half_the_scale_is_not_enough() -> None:
    """The scale is the least one: with half of it some key that is not maximal keeps weight."""
    differ = 0
    for seed in range(80):
        hard = averaging(seed)
        softening = soften_in_fixed_point(hard, 3, 8)
        mild = replace(softening, transformer=with_scale(hard, softening.scale // 2))
        differ += first_difference(hard, mild, [Prompt(tuple(random_word(seed, 8)))]) is not None
    assert differ > 0


@pytest.mark.parametrize("bits", range(1, 12))
@pytest.mark.parametrize("positions", [1, 2, 7, 64, 1000])
def test_the_conditions_hold_and_no_smaller_precision_has_them(bits: int, positions: int) -> None:
    def sufficient(inside_bits: int) -> bool:
        inside = Grid(inside_bits)
        scale = least_scale(bits, inside_bits)
        if not inside.format.holds(Fraction(scale)) or inside_bits <= bits:
            return False
        below = inside.multiply(
            np.array([-(1 << inside_bits - bits)], dtype=inside.dtype),
            np.array([scale << inside_bits], dtype=inside.dtype),
        )
        assert inside.exponential(below)[0] == 0
        if scale > 1:
            half = inside.multiply(below, np.array([1 << inside_bits - 1], dtype=inside.dtype))
            assert inside.exponential(half)[0] > 0
        return positions * FixedPoint(bits).largest <= inside.format.largest

    least = least_attention_bits(bits, positions)
    assert sufficient(least)
    assert not any(map(sufficient, range(bits, least)))
    with pytest.raises(ConstructionError, match=f"the smallest sufficient number is {least}"):
        soften_in_fixed_point(averaging(1), bits, positions, least - 1)


def test_with_so_many_positions_the_average_is_exact_and_rounded_once() -> None:
    """Six tied keys of 1, 1, 1, 0, 0, 0 units have mean half a unit, which is a unit; weights of 1/6 gave 0."""
    bits, positions = 4, 6
    inside = least_attention_bits(bits, positions)
    for more in range(8):
        numbers = Fixed(bits, inside + more)
        values = np.array([1, 1, 1, 0, 0, 0], dtype=numbers.grid.dtype)[None, :, None]
        flags = np.ones((1, 6), dtype=bool)
        nothing = Tensor(numbers.grid.zeros((1, 1, 0))), Tensor(numbers.grid.zeros((1, 6, 0)))
        scale = numbers.scales([Fraction(least_scale(bits, inside + more))], feature=False)
        assert numbers.soft(*nothing, None, flags, scale, Tensor(values)).value.item() == 1
        assert numbers.mean(flags[None], Tensor(values)).value.item() == 1
    largest = Reference(bits).largest
    numbers = Fixed(bits, inside)
    values = numbers.numbers([[largest]] * 5 + [[-largest]]).value[None]
    exact = Reference(bits).round(largest * 4 / 6)
    assert numbers.mean(np.ones((1, 1, 6), dtype=bool), Tensor(values)).value.item() == exact * 2**bits


@pytest.mark.parametrize("formula", ["Q_a since Q_b", "prev Q_a", "#<[Q_a] = #<[Q_b]", "odd(#<[Q_a])"])
def test_formulas_are_right_with_softmax_in_fixed_point(formula: str) -> None:
    hard = api.compile(formula, attention="hard")
    softening = soften_in_fixed_point(hard, 8, 7)
    assert api.check(softening.transformer, up_to=6, arithmetic=softening.arithmetic).holds
    assert hard.codec is not None
    prompts = [hard.codec.prompt(word) for word in all_words(hard.codec.alphabet, 5)]
    assert first_difference(hard, softening, prompts) is None
    plain, soft = DenseEngine(hard, "fixed:8"), DenseEngine(softening.transformer, softening.arithmetic)
    for prompt in prompts:
        streams = [engine.residual_stream([prompt.tokens], prompt.length).value for engine in (plain, soft)]
        assert (streams[0] == streams[1]).all()


def test_a_head_that_prefers_the_leftmost_of_tied_keys_is_refused() -> None:
    drawn = RandomTransformer(7, weightings=(LEFTMOST_HARD,), denominators=(1,))
    transformer = drawn.transformer()
    while not transformer.heads:
        transformer = drawn.transformer()
    with pytest.raises(ConstructionError, match="is leftmost-hard"):
        soften_in_fixed_point(transformer, 4, 8)


def test_too_few_bits_for_a_weight_are_an_error_that_names_it() -> None:
    with pytest.raises(PrecisionError, match="smallest precision that has it is"):
        soften_in_fixed_point(api.compile("prev Q_a", attention="hard"), 1, 8)
