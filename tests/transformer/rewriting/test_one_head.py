"""One head per layer: the same outputs and logits at every position."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import softmachine as sm
from softmachine.compiler.rewrites.one_head import to_one_head
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import find_arithmetic
from softmachine.transformer.weights import Transformer
from tests.sources.transformers import VOCABULARY, RandomTransformer


def logits(transformer: Transformer, tokens: list[str]) -> list[list[object]]:
    engine = DenseEngine(transformer, find_arithmetic("exact"))
    stream = engine.residual_stream([tokens], len(tokens))
    return np.asarray(engine.unembedding(stream).value).tolist()  # type: ignore[no-any-return]


def check_costs(before: Transformer, after: Transformer) -> None:
    assert all(len(layer.heads) <= 1 for layer in after.layers)
    assert len(after.layers) == sum(max(1, len(layer.heads)) for layer in before.layers)
    several = [layer for layer in before.layers if len(layer.heads) > 1]
    assert after.width - before.width == max(
        (sum(len(head.value.bias) for head in layer.heads) for layer in several), default=0
    )


@pytest.mark.parametrize("seed", range(12))
def test_random_transformers_keep_their_logits(seed: int) -> None:
    given = RandomTransformer(seed, denominators=(1, 2)).transformer()
    single = to_one_head(given)
    check_costs(given, single)
    for word in (["a"], ["b", "a"], list(VOCABULARY[:2]) * 2):
        assert logits(single, word) == logits(given, word)


@pytest.mark.parametrize(
    ("source", "word"), [("palindrome", "abba"), ("one-way-streets", "home station"), ("Q_a since Q_b", "babaa")]
)
def test_compiled_models_of_one_head_run(source: str, word: str) -> None:
    """A decoder, a loop over layers with two heads, and a formula."""
    model = sm.compile(source)
    single = replace(model, weights=to_one_head(model.weights))
    check_costs(model.weights, single.weights)
    before, after = sm.run(model, word), sm.run(single, word)
    assert (before.verdict, before.tokens) == (after.verdict, after.tokens)


def test_some_of_these_have_several_heads() -> None:
    drawn = [RandomTransformer(seed, denominators=(1, 2)).transformer() for seed in range(12)]
    assert sum(any(len(layer.heads) > 1 for layer in each.layers) for each in drawn) >= 3
    assert any(len(layer.heads) > 1 for layer in sm.compile("palindrome").weights.layers)
