"""Random transformers in floats: every decision agrees with exact arithmetic, or the run raises."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from softmachine.engines.dense.engine import DenseEngine
from softmachine.support.errors import AmbiguousTokenError, PrecisionError, SoftmachineError
from softmachine.transformer.weights import AffineMap, Block, Layer, Transformer
from tests.sources.transformers import RandomTransformer, random_word


def outcome(transformer: Transformer, word: list[str], arithmetic: str) -> list[str] | type[SoftmachineError]:
    """The outputs at every position, or the error."""
    try:
        return DenseEngine(transformer, arithmetic).predict([word])[0]
    except SoftmachineError as error:
        return type(error)


def compare(seed: int, length: int, found: Counter[str], denominators: tuple[int, ...] = (1, 1, 1, 2, 3)) -> None:
    transformer = RandomTransformer(seed, denominators=denominators).transformer()
    word = random_word(seed, length)
    exact = outcome(transformer, word, "exact")
    for arithmetic in ("float64", "float32"):
        floating = outcome(transformer, word, arithmetic)
        if floating is PrecisionError:
            found[f"{arithmetic} stops"] += 1
            continue
        assert floating == exact, (seed, arithmetic)
        found["ambiguous" if exact is AmbiguousTokenError else "agrees"] += 1


SOME = [0, *(pytest.param(part, marks=pytest.mark.slow) for part in (1, 2, 3))]
"""One part in four; the others with the long sweeps."""


@pytest.mark.parametrize("part", SOME)
def test_floats_answer_as_exact_numbers_do_or_stop(part: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(120 * part, 120 * (part + 1)):
        compare(seed, 1 + seed % 6, found)
    assert found["agrees"] > 100


def test_floats_are_never_at_a_loss_with_small_integers() -> None:
    found: Counter[str] = Counter()
    for seed in range(300):
        transformer = RandomTransformer(seed, denominators=(1,)).transformer()
        if any(feature.denominator != "1" for feature in transformer.features) or len(transformer.layers) > 1:
            continue
        if any(head.weighting.kind.value == "average-hard" for head in transformer.heads):
            continue
        word = random_word(seed, 1 + seed % 6)
        assert outcome(transformer, word, "float32") == outcome(transformer, word, "exact")
        found["compared"] += 1
    assert found["compared"] > 50


@pytest.mark.parametrize("part", SOME)
@pytest.mark.parametrize("denominators", [(3, 7), (2**30, 3 * 2**30), (1, 2**12), (10**9 + 7,)])
def test_floats_answer_as_exact_numbers_do_with_awkward_weights(denominators: tuple[int, ...], part: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(5000 + 15 * part, 5000 + 15 * (part + 1)):
        compare(seed, 1 + seed % 5, found, denominators)
    assert found["agrees"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_thousands_of_random_transformers_answer_in_floats_as_exactly_or_stop(part: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(20_000 + 500 * part, 20_000 + 500 * (part + 1)):
        compare(seed, 1 + seed % 9, found, ((1, 1, 2, 3), (1, 2, 4), (1, 7, 2**25))[seed % 3])
    assert found["agrees"] > 600


@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
def test_the_residual_stream_is_within_its_error_of_the_exact_one(arithmetic: str) -> None:
    checked = 0
    for seed in range(100):
        transformer = RandomTransformer(seed).transformer()
        word = random_word(seed, 1 + seed % 5)
        try:
            found = DenseEngine(transformer, arithmetic).residual_stream([word])
        except PrecisionError:
            continue
        exact = DenseEngine(transformer, "exact").residual_stream([word])
        assert found.error is not None
        for index in np.ndindex(*exact.shape):
            error = Fraction(float(found.error[index])) * (1 + Fraction(1, 2**30))
            distance = abs(Fraction(float(found.value[index])) - Fraction(str(exact.value[index])))
            assert distance <= error, (seed, index)
            checked += 1
    assert checked > 300


def test_float32_stops_where_scores_collide_instead_of_choosing_wrongly() -> None:
    """Scores i + 2²⁴ are the same float32 for every other i, so that "the last one" is a guess."""
    stopped = 0
    for seed in range(120):
        chooser = random.Random(seed)
        transformer = RandomTransformer(seed, denominators=(1,)).transformer()
        word = random_word(seed, chooser.randrange(2, 6))
        large = scaled_keys(transformer, Fraction(2**23 + 1))
        exact, floating = outcome(large, word, "exact"), outcome(large, word, "float32")
        stopped += floating is PrecisionError
        assert floating in (exact, PrecisionError)
    assert stopped > 10


def scaled_keys(transformer: Transformer, by: Fraction) -> Transformer:
    """The same transformer with a large constant added to every key, which does not change hard attention."""

    def layer(old: Layer) -> Layer:
        heads = (
            replace(head, key=AffineMap(head.key.weight, tuple(constant + by for constant in head.key.bias)))
            for head in old.heads
        )
        return replace(old, heads=tuple(heads))

    blocks = (Block(tuple(map(layer, block.layers)), block.repeats, block.name) for block in transformer.blocks)
    return replace(transformer, blocks=tuple(blocks))
