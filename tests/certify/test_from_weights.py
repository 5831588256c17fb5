"""Certificates from weights alone, of any transformer with hard attention, against a pass from the definition."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.certify import Certificate, ExhaustiveCertificate, certify_or_run
from softmachine.certify.exhaustive import iterate_sequences, observe_all_inputs, prompts_by_length
from softmachine.compiler.model import Model
from softmachine.engines.dense.engine import DenseEngine
from softmachine.support.errors import ConstructionError, SourceError, UsageError
from softmachine.transformer.attention import (
    AVERAGE_HARD,
    LEFTMOST_HARD,
    RIGHTMOST_HARD,
    AttentionKind,
    Mask,
    Weighting,
    softmax_weighting,
)
from softmachine.transformer.weights import (
    AffineMap,
    Block,
    FeedForward,
    Head,
    Layer,
    Matrix,
    Transformer,
    compute_digest,
)
from tests.inspection.reference import expected
from tests.sources.transformers import RandomTransformer

UNIQUE = (LEFTMOST_HARD, RIGHTMOST_HARD)
N = 2
"""The length of inputs that are all run, of three letters."""
NOTHING = FeedForward(AffineMap(Matrix((), 2), ()), (), AffineMap(Matrix(((), ()), 0), (Fraction(0),) * 2), ())


def decisions(transformer: Transformer, tokens: Sequence[str]) -> list[int | None]:
    """The largest logit at every position; None where several are."""
    rows = expected(transformer, tokens, len(tokens) - 1).logits
    return [row.index(max(row)) if row.count(max(row)) == 1 else None for row in rows]


def decides_alike(soft: Transformer, hard: Transformer, tokens: Sequence[str]) -> bool:
    """Whether softmax, in balls, certainly decides as the definition says wherever that decides."""
    engine = DenseEngine(soft, "ball")
    logits = engine.unembedding(engine.residual_stream([tokens], len(tokens) - 1)).value[0]
    return all(
        all(row[wanted] > other for k, other in enumerate(row) if k != wanted)
        for wanted, row in zip(decisions(hard, tokens), logits, strict=True)
        if wanted is not None
    )


def relu_only(seed: int, weightings: Sequence[Weighting]) -> Transformer:
    """A random transformer whose units are all ReLU."""
    drawn = RandomTransformer(seed, weightings=weightings).transformer()

    def layer(old: Layer) -> Layer:
        forward = old.feed_forward
        return replace(old, feed_forward=replace(forward, activations=("relu",) * len(forward.units)))

    blocks = (replace(block, layers=tuple(map(layer, block.layers))) for block in drawn.blocks)
    return replace(drawn, blocks=tuple(blocks))


def picking(weighting: Weighting, *, layers: int = 1) -> Transformer:
    """Built by hand: at every position the latest, or the first, a or b; c is passed over."""
    one = Fraction(1)
    head = Head(
        "pick",
        query=AffineMap(Matrix(((),), 2), (one,)),
        key=AffineMap(Matrix.of([{0: one, 1: one}], 2), (Fraction(0),)),
        value=AffineMap(Matrix.of([{0: one}, {1: one}], 2), (Fraction(0),) * 2),
        output=Matrix.of([{0: one}, {1: one}], 2),
        mask=Mask.CAUSAL,
        weighting=weighting,
    )
    heads = [replace(head, name=f"pick {number}") for number in range(layers)]
    return Transformer(
        name="picking",
        vocabulary=("a", "b", "c"),
        coordinates=("is a", "is b"),
        embedding=Matrix.of([{0: one}, {1: one}, {}], 2),
        features=(),
        position_embedding=Matrix((), 2),
        blocks=(Block(tuple(Layer((each,), NOTHING) for each in heads)),),
        outputs=("a", "b"),
        unembedding=AffineMap(Matrix.of([{0: one}, {1: one}], 2), (Fraction(1, 3), Fraction(0))),
    )


@pytest.mark.parametrize("block", range(6))
def test_softened_weights_decide_as_hard_ones_on_every_input(block: int) -> None:
    softened = 0
    for seed in range(6 * block, 6 * (block + 1)):
        hard = RandomTransformer(seed).transformer()
        try:
            certificate = certify_or_run(hard, N)
        except ConstructionError as error:
            assert "no temperature is certified" in str(error)  # noqa: PT017
            continue
        softened += 1
        soft = certificate.soft_transformer
        assert certificate.holds
        assert all(head.weighting.kind is AttentionKind.SOFTMAX for head in soft.heads)
        for n in range(N + 1):
            assert all(decides_alike(soft, hard, tokens) for tokens in product(hard.vocabulary, repeat=n + 1)), seed
    assert softened


def test_gaps_are_those_of_the_definition() -> None:
    """Lemma 24, on every input."""
    for seed in range(6):
        hard = RandomTransformer(seed).transformer()
        observed = observe_all_inputs(hard, iterate_sequences(hard), N)
        gaps: dict[str, Fraction] = {}
        for n in range(N + 1):
            for tokens in product(hard.vocabulary, repeat=n + 1):
                passed = [
                    h for b in hard.blocks for _ in range(b.iterations(n)) for layer in b.layers for h in layer.heads
                ]
                for head, seen in zip(passed, expected(hard, tokens, n).heads, strict=True):
                    for scores in (sorted(set(each.scores.values())) for each in seen):
                        if len(scores) > 1:
                            gap = scores[-1] - scores[-2]
                            gaps[head.name] = min(gaps.get(head.name, gap), gap)
        assert {head.name: seen.gap for head, seen in observed.heads.items() if seen.gap} == gaps


def certify_derived(weights: Transformer, length: int, sharpness: int | None = None) -> Certificate:
    found = certify_or_run(weights, length, sharpness)
    assert isinstance(found, Certificate)
    assert not found.assumptions
    return found


@pytest.mark.parametrize("block", range(3))
def test_what_is_derived_is_so_on_longer_inputs(block: int) -> None:
    chooser, length, derived = random.Random(block), 7, 0
    for seed in range(20 * block, 20 * (block + 1)):
        hard = relu_only(seed, UNIQUE)
        try:
            soft = certify_derived(hard, length).soft_transformer
        except ConstructionError:
            continue
        derived += 1
        for n in (4, length):
            for _ in range(4):
                assert decides_alike(soft, hard, chooser.choices(hard.vocabulary, k=n + 1)), seed
    assert derived


@pytest.mark.parametrize("weighting", UNIQUE)
def test_a_transformer_that_was_built_by_hand(weighting: Weighting) -> None:
    hard = picking(weighting)
    proof = certify_derived(hard, 60)
    assert (proof.rows[0].rule, proof.margin) == ("grid and 1/(j+1)", pytest.approx(0.02, abs=0.01))
    assert proof.theorem.sharpness > proof.sharpness
    soft, _ = sm.soften(hard, length=60)
    word = random.Random(2).choices("abccc", k=61)
    assert decides_alike(soft, hard, word)
    assert proof.hard_digest == compute_digest(hard)


def test_a_temperature_that_is_too_high_is_not_certified() -> None:
    hard = picking(RIGHTMOST_HARD)
    least = certify_derived(hard, 60).sharpness
    assert least > 1
    assert not certify_derived(hard, 60, least - 1).holds
    with pytest.raises(ConstructionError, match="the margin of the logits is"):
        sm.soften(hard, length=60, sharpness=least - 1)


@pytest.mark.parametrize("length", range(1, 8))
def test_the_temperature_falls_as_theorem_26_requires(length: int) -> None:
    """1/τ is O(1/γ · log(n x_max / γ)): the gap γ is a power of n, and the sharpness grows like the logarithm."""
    hard = picking(RIGHTMOST_HARD)
    long = certify_derived(hard, 50 * length)
    shorter = certify_derived(hard, 50).theorem.sharpness
    assert long.theorem.sharpness <= shorter + 12 * (length - 1) ** 0.5


def test_where_nothing_is_derived_all_inputs_are_run_if_they_are_few() -> None:
    hard = with_step(picking(AVERAGE_HARD))
    found = certify_or_run(hard, 3)
    assert isinstance(found, ExhaustiveCertificate)
    assert (found.inputs, found.gap, found.holds) == (120, 1, True)
    assert found.heads[0].kind == "ties"
    assert not certify_or_run(hard, 3, 1).holds or found.sharpness == 1
    for n in range(4):
        assert all(decides_alike(found.soft_transformer, hard, tokens) for tokens in product("abc", repeat=n + 1))
    with pytest.raises(ConstructionError, match="'jump'"):
        certify_or_run(hard, 30)


def with_step(hard: Transformer) -> Transformer:
    """A step after a head that takes means: its pre-activation can be as near to 0 as any number."""
    forward = FeedForward(
        AffineMap(Matrix.of([{0: Fraction(1)}], 2), (Fraction(-3, 5),)),
        ("step",),
        AffineMap(Matrix.of([{}, {0: Fraction(3)}], 1), (Fraction(0),) * 2),
        ("jump",),
    )
    return replace(hard, blocks=(Block((Layer(hard.heads, forward),)),))


def test_what_has_a_temperature_is_refused_by_name() -> None:
    with pytest.raises(ConstructionError, match="head 'pick 0' is softmax, scale 3: it has a temperature already"):
        certify_or_run(picking(softmax_weighting(3)), 3)
    with pytest.raises(UsageError, match="length -1"):
        certify_or_run(picking(RIGHTMOST_HARD), -1)


@pytest.mark.parametrize("source", ["prev Q_a", "increment"])
def test_models_without_their_declarations_are_certified_for_the_domain_of_their_codec(source: str) -> None:
    model = sm.compile(source)
    assert isinstance(model, Model)
    domain = model.codec.domain(model.weights.vocabulary)
    certificate = certify_or_run(model.weights, 20, domain=domain, inputs=prompts_by_length(model))
    assert isinstance(certificate, Certificate)
    assert certificate.holds
    assert (certificate.domain, certificate.assumptions) == (domain, [])


def test_padding_is_refused() -> None:
    model = sm.compile("full-adder")
    with pytest.raises(ConstructionError, match="pads its inputs"):
        list(prompts_by_length(model)(3))


def test_weights_without_a_source_are_saved(tmp_path: Path) -> None:
    hard = picking(LEFTMOST_HARD)
    sm.save(hard, tmp_path / "bare")
    assert sm.load_weights(tmp_path / "bare") == hard
    with pytest.raises(SourceError, match="weights without a source"):
        sm.load(tmp_path / "bare")


def test_a_folder_of_weights_that_was_changed_is_refused(tmp_path: Path) -> None:
    sm.save(picking(LEFTMOST_HARD), tmp_path / "bare")
    mark = tmp_path / "bare" / "softmachine.json"
    mark.write_text(mark.read_text(encoding="utf-8").replace("is a", "is c"), encoding="utf-8")
    with pytest.raises(SourceError, match="digest"):
        sm.load_weights(tmp_path / "bare")
