"""The layer norm of one number as two Heaviside units: the same numbers, in rationals, on every short word."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import softmachine as sm
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.compiler.rewrites.sign_norm import replace_sign_norm
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import Program, named, norm, recogniser, relu
from softmachine.ir.primitives import token
from softmachine.support.errors import ConstructionError
from tests.models import model_of

MODELS = [
    ("#<[Q_a] >= #<[Q_b]", "temporal-layer-norm"),
    ("once (#<[Q_a] > 2 and not Q_b)", "temporal-layer-norm"),
    ("dyck-1-crasp", "crasp-layer-norm"),
]


def signs() -> Program:
    """Of a number that is negative, 0 or positive."""
    number = token("number", {"-": (-3,), "0": (0,), "+": (2,)})
    return recogniser("signs", ("-", "0", "+"), relu("positive", named("sign", norm("its sign", number))))


@pytest.mark.parametrize(("source", "theorem"), MODELS)
def test_every_short_word_has_the_same_logits(source: str, theorem: str) -> None:
    model: Model = model_of(source, theorem, "hard")
    stepped = replace_sign_norm(model.weights, "")
    assert model.weights.first_normalised_unit
    assert stepped.first_normalised_unit is None
    for word in product(model.codec.alphabet, repeat=4):
        prompt = model.codec.prompt(word)
        one, other = (
            DenseEngine(weights, "exact").residual_stream([prompt.tokens], prompt.length).value
            for weights in (model.weights, stepped)
        )
        assert np.array_equal(one, other)


def test_of_zero_it_is_zero() -> None:
    weights = compile_program(signs())
    one, other = (
        DenseEngine(some, "exact").residual_stream([("-", "0", "+")]).value
        for some in (weights, replace_sign_norm(weights, ""))
    )
    assert np.array_equal(one, other)


def test_weights_without_layer_norm_are_left_as_they_are() -> None:
    weights = model_of("Q_a since Q_b").weights
    assert replace_sign_norm(weights, "") is weights


def test_a_root_is_refused_by_name() -> None:
    hashed = sm.compile("odd(#<[Q_a])", "temporal-layer-norm").weights
    with pytest.raises(ConstructionError, match="is a layer norm of several numbers, and that is too much"):
        replace_sign_norm(hashed, "that is too much")
