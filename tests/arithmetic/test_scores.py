"""Scores in floats: exact where the bound is 0, and within their bounds elsewhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.engines.numerics.base import Array, Tensor
from softmachine.engines.numerics.float_scores import ScoresWithBounds

DIGITS, LEAST = 53, float(np.finfo(np.float64).smallest_normal)
INTEGERS = st.integers(-5, 5).map(float) | st.sampled_from([2.0**30, -(2.0**26) - 1])
ANY = INTEGERS | st.floats(-1e6, 1e6).map(lambda number: round(number, 3))


def tensor(data: st.DataObject, shape: tuple[int, ...], numbers: st.SearchStrategy[float], *, exact: bool) -> Tensor:
    """Numbers and their error bounds."""
    size = int(np.prod(shape))
    values = data.draw(st.lists(numbers, min_size=size, max_size=size))
    error = 0.0 if exact else data.draw(st.sampled_from([0.0, 1e-9, 0.25]))
    return Tensor(np.array(values, dtype=np.float64).reshape(shape), np.full(shape, error))


def moved(x: Tensor, signs: np.random.Generator) -> Array:
    """Fractions as far from the numbers as their errors allow, or at them."""
    assert x.error is not None
    exactly = np.vectorize(Fraction, otypes=[object])
    return np.asarray(exactly(x.value) + exactly(x.error) * signs.choice([-1, 0, 1], x.shape).astype(object))


def exact_scores(query: Array, key: Array, bias: Array | None) -> Array:
    """The scores of fractions."""
    products = np.array([[sum(q * k, Fraction(0)) for k in key] for q in query])
    return products if bias is None else products + bias


@pytest.mark.parametrize("whole", [True, False])
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_scores_are_no_further_off_than_they_say(whole: bool, data: st.DataObject) -> None:
    """Also if the exact numbers are at the ends of the bounds."""
    queries, keys, width = (data.draw(st.integers(1, 4)) for _ in range(3))
    numbers = INTEGERS if whole else ANY
    query = tensor(data, (1, queries, width), numbers, exact=whole)
    key = tensor(data, (1, keys, width), numbers, exact=whole)
    bias = tensor(data, (queries, keys), numbers, exact=whole) if data.draw(st.booleans()) else None
    scores = ScoresWithBounds.of(query, key, bias, DIGITS, LEAST)
    doubt = np.zeros(scores.value.shape) if scores.error_bound is None else scores.error_bound
    signs = np.random.default_rng(data.draw(st.integers(0, 99)))
    truth = exact_scores(moved(query, signs)[0], moved(key, signs)[0], None if bias is None else moved(bias, signs))
    visible = np.ones((queries, keys), dtype=bool)
    visible[0, 1:] = data.draw(st.booleans())
    candidates = scores.candidates(visible)
    for i, row in enumerate(truth):
        seen = [score for j, score in enumerate(row) if visible[i, j]]
        for j, score in enumerate(row):
            assert abs(Fraction(float(scores.value[0, i, j])) - score) <= Fraction(float(doubt[0, i, j]))
            assert abs(score) <= Fraction(scores.largest) + Fraction(float(doubt[0, i, j]))
            assert candidates[0, i, j] or not visible[i, j] or score < max(seen)
            assert scores.error_bound is not None or candidates[0, i, j] == (visible[i, j] and score == max(seen))


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_differences_of_scores_are_no_further_off_than_they_say(data: st.DataObject) -> None:
    """The part of a query's error that two scores share cancels, and nothing else."""
    queries, keys, width = (data.draw(st.integers(1, 4)) for _ in range(3))
    query = tensor(data, (1, queries, width), ANY, exact=False)
    key = tensor(data, (1, keys, width), ANY, exact=data.draw(st.booleans()))
    bias = tensor(data, (queries, keys), ANY, exact=False) if data.draw(st.booleans()) else None
    scores = ScoresWithBounds.of(query, key, bias, DIGITS, LEAST)
    top = scores.value.argmax(axis=-1)
    beside = scores.bound_differences(top, query, key, bias)
    doubt = np.zeros(scores.value.shape) if beside is None else beside
    signs = np.random.default_rng(data.draw(st.integers(0, 99)))
    truth = exact_scores(moved(query, signs)[0], moved(key, signs)[0], None if bias is None else moved(bias, signs))
    for i, row in enumerate(truth):
        for j, score in enumerate(row):
            kept = [Fraction(float(scores.value[0, i, k])) for k in (j, top[0, i])]
            assert abs(kept[0] - kept[1] - (score - row[top[0, i]])) <= Fraction(float(doubt[0, i, j]))


def test_small_integers_are_exact_and_large_ones_are_not() -> None:
    def one(number: float) -> Tensor:
        return Tensor(np.full((1, 1, 1), number), np.zeros((1, 1, 1)))

    assert ScoresWithBounds.of(one(2.0**20), one(2.0**20), None, DIGITS, LEAST).error_bound is None
    assert ScoresWithBounds.of(one(2.0**20), one(2.0**20), one(1.0)[0], DIGITS, LEAST).error_bound is None
    assert ScoresWithBounds.of(one(2.0**20), one(2.0**-4), one(0.5)[0], DIGITS, LEAST).error_bound is None
    assert ScoresWithBounds.of(one(0.1), one(1.0), None, DIGITS, LEAST).error_bound is None
    tiny = 2.0**-600
    for query, key, bias in ((2.0**30 + 1, 2.0**30, 0.5), (0.1, 0.1, 0.0), (tiny, tiny, 0.0), (1.0, 1.0, 2.0**53)):
        doubt = ScoresWithBounds.of(one(query), one(key), one(bias)[0], DIGITS, LEAST).error_bound
        assert doubt is not None
        assert doubt.all()


def test_only_queries_with_inexact_rivals_are_unsure() -> None:
    value = np.array([[[3.0, 3.0, 1.0], [3.0, 3.0, 1.0], [9.0, 3.0, 1.0]]])
    doubt = np.array([[[0.0, 0.0, 0.5], [0.0, 0.5, 0.0], [0.5, 0.5, 0.5]]])
    scores = ScoresWithBounds(value, doubt, 9.0)
    candidates = scores.candidates(np.ones((3, 3), dtype=bool))
    assert candidates.tolist() == [[[True, True, False], [True, True, False], [True, False, False]]]
    assert scores.undecided_queries(candidates).tolist() == [[0, 1]]
    assert ScoresWithBounds(value, None, 9.0).undecided_queries(candidates).tolist() == []
