"""Fixed point: every operation is the one of the definitions, on all numbers of small formats and many of larger."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.engines.numerics import find_arithmetic
from softmachine.engines.numerics.base import Array, Tensor, UndecidedError
from softmachine.engines.numerics.fixed_point import FixedPointArithmetic
from softmachine.engines.numerics.fixed_point_array import FixedPointArrays, FixedPointFormat, min_bits
from softmachine.support.errors import UsageError
from softmachine.transformer.attention import AttentionKind
from tests.arithmetic.fixed_reference import Reference

SMALL = (1, 2, 3)
LARGE = (4, 8, 15, 16, 20, 21, 31, 32, 40)
"""On both sides of every change of the way of computing."""


def units(grid: FixedPointArrays, numbers: list[Fraction]) -> Array:
    return np.array([int(number / grid.format.unit) for number in numbers], dtype=grid.dtype)


def fractions(grid: FixedPointArrays, array: Array) -> list[Fraction]:
    return [int(number) * grid.format.unit for number in array.reshape(-1).tolist()]


def drawn(chooser: random.Random, bits: int, count: int) -> list[Fraction]:
    """Members of F_b of all sizes, with the ends and powers of two more often."""
    limit = 4**bits - 1
    sizes = [
        chooser.choice(
            (
                chooser.randint(0, limit),
                chooser.randint(0, min(40, limit)),
                chooser.randint(max(limit - 40, 0), limit),
                min(limit, 1 << chooser.randint(0, 2 * bits)),
            )
        )
        for _ in range(count)
    ]
    return [Fraction(chooser.choice((1, -1)) * size, 2**bits) for size in sizes]


@pytest.mark.parametrize("bits", SMALL)
def test_all_sums_products_and_quotients_of_small_formats(bits: int) -> None:
    grid, reference = FixedPointArrays(bits), Reference(bits)
    pairs = list(product(reference.all(), repeat=2))
    x, y = (units(grid, list(part)) for part in zip(*pairs, strict=True))
    assert fractions(grid, grid.add(x, y)) == [reference.add(a, b) for a, b in pairs]
    assert fractions(grid, grid.multiply(x, y)) == [reference.multiply(a, b) for a, b in pairs]
    some = y != 0
    found = fractions(grid, grid.quotient(x[some], y[some], grid))
    assert found == [reference.round(a / b) for a, b in pairs if b]


@pytest.mark.parametrize("bits", [*SMALL, 4])
def test_all_exponentials_of_small_formats(bits: int) -> None:
    grid, reference = FixedPointArrays(bits), Reference(bits)
    members = reference.all()
    assert fractions(grid, grid.exponential(units(grid, members))) == [reference.exp(x) for x in members]


@pytest.mark.parametrize("bits", LARGE)
def test_operations_of_larger_formats(bits: int) -> None:
    chooser, grid, reference, into = (
        random.Random(bits),
        FixedPointArrays(bits),
        Reference(bits),
        FixedPointArrays(max(1, bits // 2)),
    )
    pairs = list(zip(drawn(chooser, bits, 300), drawn(chooser, bits, 300), strict=True))
    x, y = (units(grid, list(part)) for part in zip(*pairs, strict=True))
    assert fractions(grid, grid.add(x, y)) == [reference.add(a, b) for a, b in pairs]
    assert fractions(grid, grid.multiply(x, y)) == [reference.multiply(a, b) for a, b in pairs]
    divisor = np.where(y == 0, 1, y)
    quotients = [a / (b or reference.unit) for a, b in pairs]
    assert fractions(grid, grid.quotient(x, divisor, grid)) == list(map(reference.round, quotients))
    assert fractions(into, grid.quotient(x, divisor, into)) == list(map(Reference(into.bits).round, quotients))
    exponents = [reference.round(-abs(a) / 2 ** chooser.randint(0, bits)) for a, _ in pairs[:60]]
    found = fractions(grid, grid.exponential(units(grid, exponents)))
    assert found == [reference.exp(a) if a > -4 * bits else 0 for a in exponents]
    for start in range(0, 300, 6):
        terms = [a for a, _ in pairs[start : start + chooser.randint(1, 8)]]
        assert fractions(grid, grid.saturating_sum(units(grid, terms)[None])) == [reference.sum(terms)]


@pytest.mark.parametrize("compiled_from", [0, 1 << 20])
@pytest.mark.parametrize("bits", [2, 5, 16, 33])
def test_weighted_sums_go_from_left_to_right(bits: int, compiled_from: int) -> None:
    chooser, grid, reference = random.Random(bits), FixedPointArrays(bits, compiled_from), Reference(bits)
    for _ in range(60):
        count = chooser.randint(1, 9)
        weights, values = drawn(chooser, bits, count), drawn(chooser, bits, count)
        flags = np.array([chooser.random() < 0.5 for _ in range(count)])
        column = units(grid, values)[None, :, None]
        found = grid.weighted_sum(units(grid, weights)[None, None], column)
        assert fractions(grid, found) == [reference.inner(weights, values)]
        chosen = [value for value, flag in zip(values, flags, strict=True) if flag]
        assert fractions(grid, grid.masked_sum(flags[None, None], column)) == [reference.sum(chosen)]


@pytest.mark.parametrize("compiled_from", [0, 1 << 20])
@pytest.mark.parametrize("bits", [2, 5, 7, 8, 15, 16, 31, 33])
def test_inner_products_go_from_left_to_right(bits: int, compiled_from: int) -> None:
    """Many cases have only integers, which use the fast path; loops may be compiled."""
    chooser, grid, reference = random.Random(bits), FixedPointArrays(bits, compiled_from), Reference(bits)
    for turn in range(60):
        rows, width = chooser.randint(1, 3), chooser.randint(0, 6)
        integers = [[Fraction(chooser.randint(-3, 3)) for _ in range(width)] for _ in range(2 * rows)]
        vectors = integers if turn % 2 else [drawn(chooser, bits, width) for _ in range(2 * rows)]
        x, y = vectors[:rows], vectors[rows:]
        left, right = (np.array([units(grid, row) for row in part], dtype=grid.dtype) for part in (x, y))
        found = grid.inner_products(left.reshape(1, rows, width), right.reshape(1, rows, width))
        assert fractions(grid, found) == [reference.inner(a, b) for a in x for b in y]


def test_ties_are_rounded_away_from_zero() -> None:
    grid = FixedPointArrays(2)
    half = units(grid, [Fraction(1, 2), Fraction(-1, 2)])
    quarter = units(grid, [Fraction(1, 4), Fraction(1, 4)])
    assert fractions(grid, grid.multiply(half, quarter)) == [Fraction(1, 4), Fraction(-1, 4)]
    assert [FixedPointFormat(2).round(number) for number in (Fraction(3, 8), Fraction(-3, 8))] == [2, -2]


@pytest.mark.parametrize("compiled_from", [0, 1 << 20])
@pytest.mark.parametrize("bits", [1, 3, 16, 40])
def test_a_saturated_number_is_a_number_like_others(bits: int, compiled_from: int) -> None:
    grid = FixedPointArrays(bits, compiled_from)
    largest, one = grid.format.largest, Fraction(1)
    x = units(grid, [largest, largest, -one, -one])
    assert fractions(grid, grid.saturating_sum(x[None])) == [largest - 2]


def test_the_order_of_a_sum_matters() -> None:
    """The example for interleaving: all positive terms first saturate, in turn with the negative ones they do not."""
    grid = FixedPointArrays(3)
    half = Fraction(4)
    first = fractions(grid, grid.saturating_sum(units(grid, [half] * 5 + [-half] * 5)[None]))
    turns = fractions(grid, grid.saturating_sum(units(grid, [half, -half] * 5)[None]))
    assert turns == [0]
    assert first == [Fraction(-63, 8)]


def test_exponentials_saturate_and_vanish_where_the_lemma_says() -> None:
    """Lemma B.2: beyond ln 2 · (b + 1), e^x is the largest number and e^-x is 0; just before, e^-x is not."""
    for bits in range(1, 7):
        grid, reference = FixedPointArrays(bits), Reference(bits)
        beyond = [x for x in reference.all() if x > Fraction(6932, 10000) * (bits + 1)]
        powers = fractions(grid, grid.exponential(units(grid, beyond)))
        assert set(powers) <= {reference.largest}
        assert not any(fractions(grid, grid.exponential(-units(grid, beyond))))
        before = reference.round(Fraction(6931, 10000) * (bits + 1)) - reference.unit
        assert fractions(grid, grid.exponential(units(grid, [-before]))) == [reference.unit]


def averages(numbers: FixedPointArithmetic, ones: int, others: int) -> Fraction:
    """The mean of a number of ones and zeros by hard attention."""
    values = numbers.convert([[Fraction(int(k < ones))] for k in range(ones + others)])
    chosen = np.ones((1, 1, ones + others), dtype=bool)
    return fractions(numbers.arrays, numbers.average(chosen, Tensor(values.value[None])).value)[0]


def test_hard_attention_finds_one_among_thousands_in_constant_precision() -> None:
    """Lemma B.6: with a saturating count, one occurrence never rounds to 0; with an exact count it did from 17 on."""
    for bits in (1, 2, 3, 5):
        for others in (0, 1, 15, 16, 63, 1000):
            assert averages(FixedPointArithmetic(bits), 1, others) >= Fraction(1, 2**bits)
            assert averages(FixedPointArithmetic(bits), 0, others + 1) == 0


def test_an_average_with_more_bits_inside_is_the_rounded_exact_average() -> None:
    for ones, others in product(range(8), range(1, 9)):
        exact = Fraction(ones, ones + others)
        assert averages(FixedPointArithmetic(3, 10), ones, others) == Reference(3).round(exact)
    assert averages(FixedPointArithmetic(3), 64, 64) == 1
    assert averages(FixedPointArithmetic(3, 10), 64, 64) == Fraction(1, 2)


def test_soft_attention_to_equal_scores_is_the_hard_average() -> None:
    numbers = FixedPointArithmetic(4)
    for keys in (1, 2, 5, 40):
        flags = np.ones((1, keys), dtype=bool)
        query, key = Tensor(numbers.arrays.zeros((1, 1, 0))), Tensor(numbers.arrays.zeros((1, keys, 0)))
        value = Tensor(numbers.convert([[Fraction(k % 3)] for k in range(keys)]).value[None])
        soft = numbers.softmax_attention(query, key, None, flags, numbers.convert_scales([Fraction(1)], feature=False))(
            value
        )
        hard = numbers.average(numbers.select_keys(query, key, None, flags, AttentionKind.AVERAGE), value)
        assert (soft.value == hard.value).all()


def test_equal_logits_are_a_tie() -> None:
    numbers = FixedPointArithmetic(2)
    logits = Tensor(numbers.convert([[Fraction(1), Fraction(3), Fraction(7, 2)], [Fraction(1)] * 3]).value[None])
    with pytest.raises(UndecidedError) as caught:
        numbers.argmax(logits)
    assert caught.value.tie
    assert (caught.value.position, caught.value.candidates) == (1, (0, 1, 2))


def test_names() -> None:
    assert find_arithmetic("fixed:8").name == "fixed:8"
    assert find_arithmetic("fixed:8:20").name == "fixed:8:20"
    assert find_arithmetic("fixed:8:8").name == "fixed:8"
    for name in (
        "fixed",
        "fixed:",
        "fixed:x",
        "fixed:-1",
        "fixed:3:",
        "fixed:1:2:3",
        "fixed:0",
        "fixed:99999",
        "fixed:5:4",
    ):
        with pytest.raises(UsageError):
            find_arithmetic(name)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 40), st.fractions(max_denominator=1 << 30))
def test_the_fixed_point_numbers_of_one(bits: int, number: Fraction) -> None:
    members, reference = FixedPointFormat(bits), Reference(bits)
    assert members.round(number) * members.unit == reference.round(number)
    assert members.contains(number) == (reference.round(number) == number)


def test_the_least_precision_that_has_a_number() -> None:
    for number in (Fraction(a, 2**k) for a in range(-40, 41) for k in range(5)):
        least = min_bits(number)
        assert least is not None
        assert FixedPointFormat(least).contains(number)
        assert least == 1 or not FixedPointFormat(least - 1).contains(number)
    assert min_bits(Fraction(1, 3)) is None


@pytest.mark.parametrize("bits", [1, 31, 32, 62, 63, 64, 65, 4096])
def test_steps_are_one_in_every_format(bits: int) -> None:
    """numpy makes an int64 of 2^63, or fails; 1 became -1."""
    fixed = FixedPointArithmetic(bits)
    found = fixed.activate(fixed.convert([[Fraction(1), Fraction(0), Fraction(-1)]] * 2), np.array([True, True, True]))
    assert fractions(fixed.arrays, found.value) == [1, 1, 0] * 2
