"""Sequences with the same scores need them only once, in every arithmetic."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from softmachine.engines.numerics import find_arithmetic
from softmachine.engines.numerics.base import Array, Tensor
from softmachine.transformer.attention import AttentionKind

BATCH, QUERIES, KEYS = 3, 11, 13
VISIBLE = np.tri(QUERIES, KEYS, 1, dtype=bool)


def drawn(name: str, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Queries and keys of one sequence, values of several, and scales."""
    chooser, numbers = random.Random(seed), find_arithmetic(name)

    def part(rows: int, width: int) -> Tensor:
        return numbers.convert([[Fraction(chooser.randrange(-3, 4)) for _ in range(width)] for _ in range(rows)])

    query, key = part(QUERIES, 2)[None], part(KEYS, 2)[None]
    values = part(BATCH * KEYS, 2)
    shape = (BATCH, KEYS, 2)
    value = Tensor(values.value.reshape(shape), None if values.error is None else values.error.reshape(shape))
    return query, key, value, numbers.convert_scales([Fraction(2)] * QUERIES, feature=False)


def repeated(x: Tensor) -> Tensor:
    return x[np.zeros(BATCH, dtype=np.intp)]


def same(x: Array | None, y: Array | None) -> bool:
    if x is None or y is None:
        return x is y
    if x.dtype != object:
        return np.array_equal(x, y) if x.dtype.kind in "ib" else np.allclose(x, y, rtol=1e-9, atol=1e-300)
    return x.shape == y.shape and all(str(a) == str(b) for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True))


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "float32:plain", "fixed:4", "fixed:4:9", "ball:80"])
@pytest.mark.parametrize("seed", range(4))
def test_softmax(name: str, seed: int) -> None:
    numbers = find_arithmetic(name)
    query, key, value, scale = drawn(name, seed)
    once = numbers.softmax_attention(query, key, None, VISIBLE, scale)(value)
    each = numbers.softmax_attention(repeated(query), repeated(key), None, VISIBLE, scale)(value)
    assert once.shape == (BATCH, QUERIES, 2)
    assert same(once.value, each.value)
    assert same(once.error, each.error)


@pytest.mark.parametrize(
    "name", ["exact", "float64", "float32", "bfloat16", "float32:plain", "fixed:4", "fixed:4:9", "ball:80", "int8"]
)
@pytest.mark.parametrize("choice", AttentionKind)
@pytest.mark.parametrize("seed", range(4))
def test_hard_attention(name: str, choice: AttentionKind, seed: int) -> None:
    numbers = find_arithmetic(name)
    query, key, value, _ = drawn(name, seed)
    if name == "int8":  # which has no means of different numbers
        value = Tensor(np.repeat(value.value[:, :1], KEYS, axis=1))
    once = numbers.select_keys(query, key, None, VISIBLE, choice)
    each = numbers.select_keys(repeated(query), repeated(key), None, VISIBLE, choice)
    assert (once == each).all()
    found, expected = numbers.average(once, value), numbers.average(each, value)
    assert found.shape == (BATCH, QUERIES, 2)
    assert same(found.value, expected.value)
    assert same(found.error, expected.error)
