"""Pruning of keys with negligible weight: the mean stays within its bound."""

from __future__ import annotations

import random
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from softmachine.engines.numerics import Tensor, find_arithmetic
from softmachine.engines.numerics.float_affine import ROUNDING_SLACK

KEYS, QUERIES = 150, 3


def decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def exact_mean(query: list[Fraction], keys: list[list[Fraction]], values: list[Fraction], scale: Fraction) -> Decimal:
    """Softmax in 80 decimal digits."""
    getcontext().prec = 80
    exponents = [scale * sum((q * k for q, k in zip(query, key, strict=True)), Fraction(0)) for key in keys]
    weights = [decimal(exponent - max(exponents)).exp() for exponent in exponents]
    return sum((w * decimal(v) for w, v in zip(weights, values, strict=True)), Decimal(0)) / sum(weights, Decimal(0))


@pytest.mark.parametrize("name", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(6))
def test_a_mean_over_few_of_many_keys_is_within_its_bound(name: str, seed: int) -> None:
    rng, numbers = random.Random(seed), find_arithmetic(name)
    thirds = [1, 3, 7][seed % 3]

    def draw(size: int) -> Fraction:
        return Fraction(rng.randint(-size, size), thirds)

    queries = [[draw(9), Fraction(-1)] for _ in range(QUERIES)]
    places = [draw(80) for _ in range(KEYS)]
    keys = [[2 * place, place * place] for place in places]
    values = [[draw(50)] for _ in range(KEYS)]
    scale = Fraction(thirds * thirds * rng.choice([1, 2, 8]))

    def batch(rows: list[list[Fraction]]) -> Tensor:
        return numbers.convert(rows)[None, :]

    visible = np.ones((QUERIES, KEYS), dtype=bool)
    scales = numbers.convert_scales([scale] * QUERIES, feature=False)
    shares = numbers._softmax_weights(batch(queries), batch(keys), None, visible, scales)  # type: ignore[attr-defined]
    assert shares.kept is not None
    assert len(shares.kept.keys) < KEYS / 2
    found = numbers.softmax_attention(batch(queries), batch(keys), None, visible, scales)(batch(values))
    assert found.error is not None
    for q, query in enumerate(queries):
        exact = exact_mean(query, keys, [value for (value,) in values], scale)
        off = abs(Decimal(float(found.value[0, q, 0])) - exact)
        assert off <= Decimal(float(found.error[0, q, 0])) * Decimal(ROUNDING_SLACK), (q, shares.kept.keys)


def test_warm_softmax_and_numbers_that_are_hardly_known_take_all_keys() -> None:
    numbers = find_arithmetic("float64")
    places = [[Fraction(place)] for place in range(KEYS)]
    query, key = numbers.convert([[Fraction(1)]])[None, :], numbers.convert(places)[None, :]
    visible = np.ones((1, KEYS), dtype=bool)
    warm, sharp = (numbers.convert_scales([scale], feature=False) for scale in (Fraction(1, 100), Fraction(100)))
    vague = Tensor(key.value, np.full(key.shape, 0.02))

    def few(keys: Tensor, scale: Tensor) -> bool:
        return numbers._softmax_weights(query, keys, None, visible, scale).kept is not None  # type: ignore[attr-defined]

    assert [few(key, warm), few(key, sharp), few(vague, sharp)] == [False, True, False]
