"""Heads without masks, and padding: they say what masked heads say, with the logits of before."""

from __future__ import annotations

import pytest

from softmachine.transformer.rewriting.unmasked import padding, unmasked
from tests.sources.transformers import VOCABULARY, RandomTransformer
from tests.transformer.rewriting.running import logits


@pytest.mark.parametrize("seed", range(40))
def test_random_transformers_keep_their_logits(seed: int) -> None:
    given = RandomTransformer(seed, denominators=(1, 2)).transformer()
    for word in (["a"], ["b", "a"], list(VOCABULARY[:2]) * 2):
        free = unmasked(given, len(word), len(word))
        padded = [*word, *padding(len(word))]
        assert logits(free, padded, len(word))[: len(word)] == logits(given, word)
