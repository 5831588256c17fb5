"""The model agrees with the predicate, with hard and softmax attention, and has the stated size."""

from __future__ import annotations

import pytest
from own_theorem.same_ends import LANGUAGE, SAME_ENDS

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.testing import assert_agrees, assert_theorem_holds


@pytest.fixture(scope="module")
def model() -> Model:
    return sm.compile(LANGUAGE, theorem=SAME_ENDS)


def test_all_short_words_with_hard_and_certified_softmax_attention() -> None:
    assert_theorem_holds(SAME_ENDS, LANGUAGE, up_to=5, certified=100)


def test_long_words(model: Model) -> None:
    words = ["a" + "bc" * 200 + end for end in "abc"]
    assert_agrees(model, words)
    assert [sm.run(model, word).accepted for word in words] == [True, False, False]


def test_one_scale_is_certified_for_all_lengths_without_assumptions(model: Model) -> None:
    certificates = [sm.certificate(model, length=length) for length in (10, 100, 1000)]
    assert {certificate.sharpness for certificate in certificates} == {4}
    assert not any(row.assumptions for certificate in certificates for row in certificate.rows)


def test_the_cost_is_as_stated(model: Model) -> None:
    weights = model.weights
    sizes = (len(weights.layers), len(weights.heads), len(weights.layers[0].feed_forward.units), weights.width)
    assert sizes == (1, 1, 4, 5)
