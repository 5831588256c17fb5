"""Whole transformers in fixed point, against a run in fractions by the definitions, number by number."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from softmachine import api
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics.fixed_point import FixedPointArithmetic
from softmachine.support.errors import AmbiguousTokenError, PrecisionError
from softmachine.transformer.attention import AVERAGE_HARD, LEFTMOST_HARD, Mask, softmax_weighting
from softmachine.transformer.features import I_PLUS_ONE, RECIPROCAL
from softmachine.transformer.weights import AffineMap, Matrix, Transformer
from tests.arithmetic.fixed_reference import ReferenceRun
from tests.sources.transformers import HARD, RandomTransformer, random_word

SOFT = (
    softmax_weighting(),
    softmax_weighting(2),
    softmax_weighting(Fraction(1, 2)),
    softmax_weighting(RECIPROCAL),
    softmax_weighting(3 * I_PLUS_ONE),
)


def stream(transformer: Transformer, numbers: FixedPointArithmetic, word: list[str]) -> list[list[Fraction]]:
    found = DenseEngine(transformer, numbers).residual_stream([word]).value[0]
    return [[int(number) * numbers.arrays.format.unit for number in row] for row in found.tolist()]


@pytest.mark.parametrize(
    ("bits", "inside"), [(2, 2), (2, 5), (3, 3), (4, 8), (7, 15), (7, 20), (18, 18), (9, 34), (35, 35)]
)
@pytest.mark.parametrize("weightings", [HARD, SOFT], ids=["hard", "soft"])
def test_random_transformers_run_as_defined(bits: int, inside: int, weightings: tuple[object, ...]) -> None:
    for seed in range(6):
        drawn = RandomTransformer(seed + 100 * bits, weightings=weightings, denominators=(1, 1, 2, 4))  # type: ignore[arg-type]
        transformer, word = drawn.transformer(), random_word(seed, 1 + seed % 6)
        numbers = FixedPointArithmetic(bits, inside)
        assert stream(transformer, numbers, word) == ReferenceRun(transformer, bits, inside).stream(word), seed


@pytest.mark.slow
@pytest.mark.parametrize("bits", range(2, 12))
def test_hundreds_of_random_transformers_run_as_defined(bits: int) -> None:
    for seed in range(1000 * bits, 1000 * bits + 100):
        drawn = RandomTransformer(seed, weightings=(*HARD, *SOFT), denominators=(1, 1, 2, 4))
        transformer, word = drawn.transformer(), random_word(seed, 1 + seed % 9)
        inside = bits + seed % 13
        found = stream(transformer, FixedPointArithmetic(bits, inside), word)
        assert found == ReferenceRun(transformer, bits, inside).stream(word), seed


def test_saturation_occurs_in_these_tests_and_changes_what_comes_out() -> None:
    """Otherwise the tests above would hardly cover it."""
    differ = 0
    for seed in range(60):
        transformer = RandomTransformer(seed, denominators=(1, 2)).transformer()
        word = random_word(seed, 5)
        differ += stream(transformer, FixedPointArithmetic(2), word) != stream(
            transformer, FixedPointArithmetic(12), word
        )
    assert differ > 10


def constant(value: Fraction | int) -> AffineMap:
    return AffineMap(Matrix(((),), 1), (Fraction(value),))


def test_heads_add_in_the_order_of_the_layer() -> None:
    """B_F + 1 - B_F depends on the order; two of the three heads have the same keys, and are searched together."""
    largest = Fraction(15, 4)
    drawn = RandomTransformer(1, denominators=(1,))
    drawn.width = 1
    one = Matrix.of([{0: Fraction(1)}], 1)
    plain = replace(drawn.head("first"), query=constant(1), output=one, mask=Mask.ALL, bias=None)
    heads = [
        replace(plain, key=constant(key), value=constant(value), weighting=weighting)
        for key, value, weighting in ((0, largest, AVERAGE_HARD), (0, 1, LEFTMOST_HARD), (0, -largest, AVERAGE_HARD))
    ]
    forward = replace(
        drawn.layer("x").feed_forward,
        first=AffineMap(Matrix((), 1), ()),
        activations=(),
        second=AffineMap(Matrix(((),), 0), (Fraction(0),)),
        units=(),
    )
    layer = replace(drawn.layer("x"), heads=tuple(heads), feed_forward=forward)
    block = replace(drawn.block(0), layers=(layer,), repeats=1)
    transformer = replace(
        drawn.transformer(),
        blocks=(block,),
        embedding=Matrix(((), (), ()), 1),
        features=(),
        position_embedding=Matrix((), 1),
    )
    assert stream(transformer, FixedPointArithmetic(2), ["a"]) == [[Fraction(0)]]
    assert stream(transformer, FixedPointArithmetic(3), ["a"]) == [[Fraction(1)]]


def test_a_weight_that_is_not_there_is_refused_by_name() -> None:
    transformer = RandomTransformer(3, denominators=(1,)).transformer()
    third = replace(
        transformer, unembedding=AffineMap(transformer.unembedding.weight, (Fraction(1, 3),) * len(transformer.outputs))
    )
    with pytest.raises(
        PrecisionError, match=r"the unembedding: the constant of 'y0' is 1/3, which is not .* nor of any other"
    ):
        DenseEngine(third, "fixed:8")
    assert DenseEngine(third, FixedPointArithmetic(8, round_weights=True)).residual_stream([["a"]]).shape == (
        1,
        1,
        third.width,
    )
    large = replace(transformer, embedding=Matrix.of([{0: Fraction(9)}, {}, {}], transformer.width))
    with pytest.raises(
        PrecisionError, match=r"the weight from 'a' to 'x0' is 9, .* smallest precision that has it is 4"
    ):
        DenseEngine(large, "fixed:3")
    DenseEngine(large, "fixed:4")


def test_a_scale_that_is_not_there_is_refused_by_name() -> None:
    drawn = RandomTransformer(5, weightings=(softmax_weighting(100),), denominators=(1,))
    while not drawn.transformer().heads:
        drawn = RandomTransformer(
            drawn.chooser.randrange(10**6), weightings=(softmax_weighting(100),), denominators=(1,)
        )
    transformer = drawn.transformer()
    while not transformer.heads:
        transformer = drawn.transformer()
    with pytest.raises(PrecisionError, match=r"the scale is 100, .* smallest precision that has it is 7"):
        DenseEngine(transformer, "fixed:6")
    DenseEngine(transformer, "fixed:6:7")


def test_equal_logits_are_ambiguous() -> None:
    transformer = RandomTransformer(3, denominators=(1,)).transformer()
    tied = replace(
        transformer, unembedding=AffineMap(Matrix(((),) * 2, transformer.width), (Fraction(1),) * 2), outputs=("0", "1")
    )
    with pytest.raises(AmbiguousTokenError, match="equal"):
        DenseEngine(tied, "fixed:8").predict([["a"]])


FORMULAS = ["Q_a since Q_b", "prev Q_a", "#<[Q_a] = #<[Q_b]", "Q_a until Q_b"]


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("attention", ["hard", "soft"])
def test_formulas_hold_in_fixed_point_with_bits_enough(formula: str, attention: str) -> None:
    report = api.check(formula, up_to=4, attention=attention, arithmetic="fixed:12:24")
    assert report.holds, str(report)


def test_a_run_with_too_few_bits_is_what_it_is() -> None:
    """In F_3 neighbouring positions far from the start have equal features; the run continues with other outputs."""
    assert api.check("prev Q_a or Q_b", up_to=7, arithmetic="fixed:3").holds
    assert not api.check("prev Q_a or Q_b", up_to=8, arithmetic="fixed:3").holds
    assert api.check("prev Q_a or Q_b", up_to=8, arithmetic="fixed:4").holds


def test_decoding_one_by_one_is_reading_at_once() -> None:
    for seed in range(20):
        drawn = RandomTransformer(
            seed, masks=(Mask.CAUSAL, Mask.PAST), weightings=(*HARD, softmax_weighting(2)), denominators=(1, 2)
        )
        engine, word = DenseEngine(drawn.transformer(), "fixed:3:9"), random_word(seed, 6)
        run = engine.start()
        pieces = np.concatenate([run.extend([[token]]).value for token in word], axis=1)
        assert (pieces == engine.residual_stream([word]).value).all()
