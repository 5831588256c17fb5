"""Small formats: stored numbers are in the format, and a run equals the exact run or stops with the position."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.numerics import find_arithmetic
from softmachine.engines.numerics.int8 import Int8
from softmachine.engines.numerics.low_precision import FORMATS, LowPrecisionFloat
from softmachine.support.errors import PrecisionError, UsageError
from softmachine.transformer.attention import AttentionKind


@pytest.mark.parametrize("name", FORMATS)
def test_every_number_that_is_stored_is_one_of_the_format(name: str) -> None:
    numbers, rng = LowPrecisionFloat(name), np.random.default_rng(0)
    rows = [[Fraction(int(x), 97) for x in row] for row in rng.integers(-300, 300, (5, 4))]
    x = numbers.convert(rows)
    weights = [[(c, Fraction(int(w), 7)) for c, w in enumerate(row)] for row in rng.integers(-9, 9, (3, 4))]
    y = numbers.compile_affine(weights, 4, [Fraction(1, 3)] * 3)(x)
    for tensor in (x, y, numbers.add(y, y)):
        assert (tensor.value == tensor.value.astype(FORMATS[name]).astype(np.float64)).all()
    exact = [[sum(w * row[c] for c, w in own) + Fraction(1, 3) for own in weights] for row in rows]
    assert y.error is not None
    for value, error, wanted in zip(y.value.ravel(), y.error.ravel(), [x for row in exact for x in row], strict=True):
        assert abs(Fraction(float(value)) - wanted) <= Fraction(float(error)) * Fraction(1001, 1000)
    assert (y.error > 0).any()


@pytest.mark.parametrize("name", FORMATS)
def test_softmax_weights_are_rounded_and_the_bounds_cover_it(name: str) -> None:
    numbers, wide, rng = LowPrecisionFloat(name), find_arithmetic("float64"), np.random.default_rng(1)
    queries, keys, values = ([[Fraction(int(x)) for x in row] for row in rng.integers(-1, 2, (6, 3))] for _ in range(3))
    visible = np.tril(np.ones((6, 6), dtype=bool))
    found = []
    for each in (numbers, wide):
        query, key, value = (each.convert(rows)[None] for rows in (queries, keys, values))
        scale = each.convert([[Fraction(2)]] * 6)[:, 0]
        found.append(each.softmax_attention(query, key, None, visible, scale)(value))
    low, high = found
    assert low.error is not None
    assert (np.abs(low.value - high.value) <= low.error + 1e-9).all()
    assert (low.value == low.value.astype(FORMATS[name]).astype(np.float64)).all()


def test_chapter_8_is_refused_where_a_format_cannot_decide_and_the_head_is_named() -> None:
    model = sm.compile("binary-counter")
    with pytest.raises(PrecisionError, match=r"head '.*' at position \d+ cannot choose.*bfloat16"):
        sm.run(model, "", arithmetic="bfloat16", max_steps=400)
    with pytest.raises(PrecisionError, match="int8"):
        sm.run(model, "", arithmetic="int8", max_steps=4)
    with pytest.raises(UsageError, match="unknown arithmetic"):
        sm.run(model, "", arithmetic="float4")


def test_int8_holds_integers_and_nothing_else() -> None:
    numbers = Int8()
    with pytest.raises(PrecisionError, match="1/2 is not representable in int8"):
        numbers.convert([[Fraction(1, 2)]])
    with pytest.raises(PrecisionError, match="128 is not representable in int8"):
        numbers.compile_affine([[(0, Fraction(128))]], 1, [Fraction(0)])
    large = numbers.compile_affine([[(0, Fraction(100))]], 1, [Fraction(0)])
    with pytest.raises(PrecisionError, match="is outside the range"):
        large(numbers.convert([[Fraction(2)]])[None])
    values = numbers.convert([[Fraction(0)], [Fraction(1)]])[None]
    both = np.ones((1, 1, 2), dtype=bool)
    with pytest.raises(PrecisionError, match="mean of different numbers"):
        numbers.average(both, values)
    query, key = numbers.convert([[Fraction(1)]])[None], numbers.convert([[Fraction(3)], [Fraction(3)]])[None]
    chosen = numbers.select_keys(query, key, None, np.ones((1, 2), dtype=bool), AttentionKind.RIGHTMOST)
    assert chosen.tolist() == [[[False, True]]]
    with pytest.raises(PrecisionError, match="softmax"):
        numbers.softmax_attention(query, key, None, np.ones((1, 2), dtype=bool), query)(values)


def test_all_low_formats_have_their_names() -> None:
    for name in (*FORMATS, "int8"):
        assert find_arithmetic(name).name == name
    assert ml_dtypes.bfloat16 is FORMATS["bfloat16"]
