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
from softmachine.certify import certify_weights, soften_weights
from softmachine.certify.denominators import GapAnalysis, find_step_after_errors, has_constant_scores
from softmachine.certify.exhaustive import iterate_sequences, observe_all_inputs, prompts_by_length
from softmachine.certify.from_weights import max_initial_activation
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
from softmachine.transformer.weights import AffineMap, Block, FeedForward, Head, Layer, Matrix, Transformer
from tests.inspection.reference import expected
from tests.sources.transformers import CAUSAL, RandomTransformer

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
            soft, certificate = soften_weights(hard, N)
        except ConstructionError as error:
            assert "neither uniform nor tieless" in str(error) or "is a step" in str(error)  # noqa: PT017
            continue
        softened += 1
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


def test_denominators_bound_the_gaps_that_inputs_show() -> None:
    bounded = 0
    for seed in range(60):
        hard = relu_only(seed, UNIQUE)
        observed = observe_all_inputs(hard, iterate_sequences(hard), N)
        for n in range(N + 1):
            bounds = GapAnalysis(hard, n)
            for head, seen in observed.heads.items():
                known = bounds.heads.get(head)
                if n == N and seen.gap is not None and known is not None:
                    assert 0 < known <= seen.gap
                    bounded += 1
            assert observed.margin is None or n < N or bounds.margin <= observed.margin
    assert bounded > 20


@pytest.mark.parametrize("block", range(3))
def test_what_denominators_certify_is_so_on_longer_inputs(block: int) -> None:
    chooser, length = random.Random(block), 7
    for seed in range(5 * block, 5 * (block + 1)):
        hard = relu_only(seed, UNIQUE)
        soft, certificate = soften_weights(hard, length)
        assert certificate.inputs is None
        for n in (4, length):
            for _ in range(4):
                assert decides_alike(soft, hard, chooser.choices(hard.vocabulary, k=n + 1)), seed


@pytest.mark.parametrize("weighting", UNIQUE)
def test_a_transformer_that_was_built_by_hand(weighting: Weighting) -> None:
    hard = picking(weighting)
    few, many = sm.certificate(hard, length=4), sm.certificate(hard, length=60)
    assert (few.inputs, few.gap, few.margin) == (363, Fraction(1, 10), Fraction(1, 3))
    assert few.largest_activation == 1
    assert (many.inputs, many.gap, many.holds) == (None, Fraction(1, 122), True)
    assert many.sharpness >= many.sharpness_bound.sharpness > few.sharpness
    soft, _ = sm.soften(hard, length=60)
    word = random.Random(2).choices("abccc", k=61)
    assert decides_alike(soft, hard, word)
    assert soft.features == hard.features or soft.coordinates[:-1] == hard.coordinates


def test_a_temperature_that_is_too_high_is_not_certified() -> None:
    hard = picking(RIGHTMOST_HARD)
    least = certify_weights(hard, 4).sharpness
    warm = certify_weights(hard, 4, least - 1)
    assert least > 1
    assert not warm.holds
    assert "softmax decides otherwise" in str(warm)
    assert not certify_weights(hard, 60, 3).holds
    with pytest.raises(ConstructionError, match="Theorem 26 asks for"):
        soften_weights(hard, 60, 3)


def test_theorem_26_stands_beside_and_asks_for_more() -> None:
    for length in (1, 2, 3, 4):
        found = certify_weights(picking(LEFTMOST_HARD, layers=2), length)
        assert found.sharpness_bound.sharpness > found.sharpness
        assert f"Theorem 26 asks for scale {found.sharpness_bound.sharpness:.1f}" in str(found)


@pytest.mark.parametrize("length", range(1, 8))
def test_the_temperature_falls_as_theorem_26_says(length: int) -> None:
    """1/τ is O(1/γ · log(n x_max / γ)): here γ is 1/(2(n+1)), and the sharpness grows like the logarithm."""
    hard = picking(RIGHTMOST_HARD)
    long = certify_weights(hard, 50 * length)
    assert long.gap == Fraction(1, 2 * (50 * length + 1))
    shorter = certify_weights(hard, 50).sharpness_bound.sharpness
    assert long.sharpness_bound.sharpness <= shorter + 6 * (length - 1) ** 0.5


def test_ties_of_scores_with_errors_are_refused_by_name() -> None:
    hard = picking(AVERAGE_HARD, layers=2)
    assert certify_weights(picking(AVERAGE_HARD), 3).heads[0].kind == "ties, no errors"
    with pytest.raises(ConstructionError, match="head 'pick 1' is neither uniform nor tieless"):
        certify_weights(hard, 3)
    with pytest.raises(ConstructionError, match="head 'pick 1' is average-hard, and scores that it reads with errors"):
        certify_weights(hard, 50)


def test_what_has_a_temperature_or_a_step_is_refused_by_name() -> None:
    with pytest.raises(ConstructionError, match="head 'pick 0' is softmax, scale 3: it has a temperature already"):
        certify_weights(picking(softmax_weighting(3)), 3)
    forward = FeedForward(
        AffineMap(Matrix.of([{0: Fraction(1)}], 2), (Fraction(-1),)),
        ("step",),
        AffineMap(Matrix.of([{}, {0: Fraction(3)}], 1), (Fraction(0),) * 2),
        ("jump",),
    )
    hard = picking(RIGHTMOST_HARD)
    jumping = replace(hard, blocks=(Block((Layer(hard.heads, forward),)),))
    assert find_step_after_errors(jumping, 3) == "jump"
    with pytest.raises(ConstructionError, match="'jump' is a step"):
        certify_weights(jumping, 3)
    with pytest.raises(ConstructionError, match="more than 2,000 inputs of up to 31 positions, and unit 'jump'"):
        certify_weights(jumping, 30)
    with pytest.raises(UsageError, match="length -1"):
        certify_weights(hard, -1)


def test_the_largest_entry_is_that_of_some_input() -> None:
    for seed in range(20):
        transformer = RandomTransformer(seed, masks=CAUSAL).transformer()
        sequences = product(transformer.vocabulary, repeat=N + 1)
        entries = [abs(x) for tokens in sequences for row in expected(transformer, tokens, N).streams[0] for x in row]
        assert max_initial_activation(transformer, N) == max(1, *entries)


def test_a_head_is_flat_if_all_keys_are_alike() -> None:
    (head,) = picking(AVERAGE_HARD).heads
    nothing = AffineMap(Matrix(((),), 2), (Fraction(0),))
    assert not has_constant_scores(head)
    assert has_constant_scores(replace(head, query=nothing))
    assert has_constant_scores(replace(head, key=AffineMap(Matrix(((),), 2), (Fraction(5),))))


@pytest.mark.parametrize("source", ["prev Q_a", "increment"])
def test_models_with_a_source_are_run_on_what_their_codec_says(source: str) -> None:
    model = sm.compile(source)
    assert isinstance(model, Model)
    certificate = certify_weights(model.weights, 4, inputs=prompts_by_length(model))
    assert certificate.holds
    assert certificate.inputs is not None
    assert {row.kind for row in certificate.heads} <= {"uniform", "tieless", "ties, no errors"}


def test_padding_is_refused() -> None:
    model = sm.compile("full-adder")
    with pytest.raises(ConstructionError, match="pads its inputs"):
        certify_weights(model.weights, 3, inputs=prompts_by_length(model))


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
