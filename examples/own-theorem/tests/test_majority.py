"""The model agrees with the predicate, in every arithmetic and with softmax, and has the stated size."""

from __future__ import annotations

import pytest
from own_theorem.majority import LANGUAGE, MAJORITY

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.check import check_words


@pytest.fixture(scope="module")
def model() -> Model:
    return sm.compile(LANGUAGE, theorem=MAJORITY)


@pytest.mark.parametrize("arithmetic", ["exact", "float64", "float32"])
def test_all_short_words(model: Model, arithmetic: str) -> None:
    assert sm.check(model, up_to=7, arithmetic=arithmetic)


def test_long_words_that_are_nearly_ties(model: Model) -> None:
    words = [("a",) * count + ("b",) * (1001 - count) for count in (500, 501)]
    assert check_words(model, words)
    assert [sm.run(model, word).accepted for word in words] == [False, True]


def test_softmax_is_certified(model: Model) -> None:
    soft, certificate = sm.soften(model, length=100)
    assert certificate.holds
    assert sm.check(soft, up_to=6)


def test_the_cost_is_as_stated(model: Model) -> None:
    weights = model.weights
    sizes = (len(weights.layers), len(weights.heads), weights.width, len(weights.layers[0].feed_forward.units))
    assert sizes == (1, 1, 5, 1)
    assert not weights.features
