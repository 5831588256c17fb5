"""Heads that look back only, and padding: they say what heads say that see all, with the logits of before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from softmachine.transformer.attention import Mask
from softmachine.transformer.rewriting.causal import causal, padding
from softmachine.transformer.weights import Transformer
from tests.sources.transformers import VOCABULARY, RandomTransformer
from tests.transformer.rewriting.running import logits


def drawn(seed: int) -> Transformer:
    """A random transformer whose heads see all positions, and have no bias."""
    given = RandomTransformer(seed, denominators=(1, 2), masks=(Mask.ALL,)).transformer()
    layers = (lambda layer: replace(layer, heads=tuple(replace(head, bias=None) for head in layer.heads)))  # noqa: E731
    return replace(given, blocks=tuple(replace(b, layers=tuple(map(layers, b.layers))) for b in given.blocks))


@pytest.mark.parametrize("seed", range(40))
def test_random_transformers_keep_their_logits(seed: int) -> None:
    given = drawn(seed)
    for word in (["a"], ["b", "a"], list(VOCABULARY[:2]) * 2):
        back = causal(given, len(word), len(word))
        padded = [*word, *padding(given, len(word), len(word))]
        assert logits(back, padded, len(word))[-len(word) :] == logits(given, word)
        assert all(head.mask is Mask.CAUSAL for head in back.heads)
