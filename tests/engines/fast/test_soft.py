"""Softmax: the fast engine agrees with dense softmax, and stops where its proof ends."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast import FastEngine, UnsupportedModel
from softmachine.support.errors import PrecisionError
from softmachine.theorems.codec import DecoderCodec
from softmachine.transformer.attention import softmax_weighting
from softmachine.transformer.features import Feature, Logarithm, Monomial


@pytest.fixture(scope="module")
def soft() -> Model:
    return sm.soften("busy-beaver-4", length=200)[0]


def with_scale(model: Model, factor: Fraction) -> Model:
    """The same model with all temperatures changed."""

    def changed(scale: Fraction | Feature) -> Fraction | Feature:
        if isinstance(scale, Fraction):
            return scale * factor
        if isinstance(scale, Logarithm):
            return replace(scale, factor=int(scale.factor * factor))
        assert isinstance(scale, Monomial)
        return replace(scale, factor=Fraction(int(scale.factor * factor)))

    blocks = tuple(
        replace(
            block,
            layers=tuple(
                replace(
                    layer,
                    heads=tuple(
                        head
                        if not head.query.bias
                        else replace(head, weighting=softmax_weighting(changed(head.weighting.scale)))
                        for head in layer.heads
                    ),
                )
                for layer in block.layers
            ),
        )
        for block in model.weights.blocks
    )
    return replace(model, weights=replace(model.weights, blocks=blocks))


def test_soft_runs_agree_with_dense_softmax(soft: Model) -> None:
    run = sm.run(soft, engine="fast")
    assert (run.verdict, run.steps) == ("halt", 107)
    tokens = soft.codec.prompt("").tokens + tuple(run.tokens)
    enclosed = DenseEngine(soft.weights, "ball").predict([tokens[:40]])[0]
    assert enclosed == list(tokens[1:41])


def test_the_proof_covers_what_the_certificate_covers(soft: Model) -> None:
    code = FastEngine(soft.weights).code
    assert code.proof is not None
    assert code.proof.holds
    assert code.max_positions >= 200


def test_errors_bound_what_dense_softmax_measures(soft: Model) -> None:
    engine = FastEngine(soft.weights, plain=True)
    proof = engine.code.proof
    assert proof is not None
    hard = sm.compile("busy-beaver-4")
    tokens = (*hard.codec.prompt("").tokens, *sm.run(hard).tokens[:30])
    streams = [DenseEngine(model.weights, "float64").residual_stream([tokens]).value for model in (hard, soft)]
    assert abs(streams[0] - streams[1]).max() <= sum(proof.errors.values()) + 1e-9


def test_a_warm_softmax_is_declined(soft: Model) -> None:
    with pytest.raises(UnsupportedModel, match="softmax"):
        FastEngine(with_scale(soft, Fraction(1, 20)).weights)


def test_a_colder_softmax_is_proved_for_longer_runs(soft: Model) -> None:
    horizons = [FastEngine(with_scale(soft, Fraction(k)).weights).code.max_positions for k in (1, 2, 3)]
    assert horizons == sorted(horizons)
    assert horizons[2] > 100 * horizons[0]


def test_a_run_stops_where_the_proof_ends() -> None:
    model = sm.soften("binary-counter", length=20)[0]
    horizon = FastEngine(model.weights).code.max_positions
    with pytest.raises(PrecisionError, match="proved"):
        sm.run(model, engine="fast", max_steps=2 * horizon)
    within = sm.run(model, engine="fast", max_steps=min(horizon // 2, 3000))
    assert list(within.tokens) == list(model.codec.expected("", within.steps))


def test_softmax_over_groups_of_keys_is_proved() -> None:
    """Summaries have heads that search their keys, by queries that are inexact themselves."""
    model = sm.soften(sm.compile("increment", "turing-average-hard-summary"), length=60, sharpness=64)[0]
    engine = FastEngine(model.weights, plain=True)
    assert engine.code.max_positions > 100_000
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    prompt = codec.prompt("11").tokens
    run = engine.start(prompt, codec.is_stop_token)
    run.run_until(len(prompt) + 12)
    output = list(run.output(12))
    assert len(output) > 5
    assert output == list(codec.expected("11", 12))[: len(output)]


def test_the_refusal_names_the_head(soft: Model) -> None:
    with pytest.raises(UnsupportedModel, match=r"head 'recover head position', a softmax: the temperature is too high"):
        FastEngine(with_scale(soft, Fraction(1, 20)).weights)
