"""Heads without masks, with padding, simulate masked ones, with the same logits."""

from __future__ import annotations

from itertools import product

import pytest

import softmachine as sm
from softmachine.compiler.rewrites.no_masks import to_no_masks, unmasked_padding
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import ceil_log2
from tests.sources.transformers import VOCABULARY, RandomTransformer
from tests.transformer.rewriting.running import logits


@pytest.mark.parametrize("seed", range(40))
def test_random_transformers_keep_their_logits(seed: int) -> None:
    given = RandomTransformer(seed, denominators=(1, 2)).transformer()
    for word in (["a"], ["b", "a"], list(VOCABULARY[:2]) * 2):
        free = to_no_masks(given, len(word), len(word))
        padded = [*word, *unmasked_padding(len(word))]
        assert logits(free, padded, len(word))[: len(word)] == logits(given, word)
        assert all(head.mask is Mask.ALL for head in free.heads)


@pytest.mark.parametrize("source", ["Q_a since Q_b", "prev Q_a", "Q_a until Q_b"])
def test_formulas_without_masks_hold_where_they_held_on_every_short_word(source: str) -> None:
    """Causal and anticausal masks, also strict ones, with which the first position sees no key."""
    model = sm.compile(source, alphabet="ab")
    for length in range(4):
        for word in product("ab", repeat=length):
            tokens = model.codec.prompt(word).tokens
            free = to_no_masks(model.weights, len(tokens), length)
            found = logits(free, [*tokens, *unmasked_padding(len(tokens))], length)
            assert found[: len(tokens)] == logits(model.weights, tokens, length)


def test_it_costs_two_layers_a_layer_and_a_square_of_padding() -> None:
    """At seven sizes: P(P + 1) positions, twice the layers, 2D + 3 log P + O(1) coordinates."""
    given = sm.compile("Q_a since Q_b").weights
    for positions in (2, 4, 8, 16, 32, 64, 128):
        free = to_no_masks(given, positions, positions - 1)
        masks = {head.mask for head in given.heads}
        assert len(unmasked_padding(positions)) == positions * (positions + 1)
        assert len(free.layers) == 2 * len(given.layers)
        assert free.width == 2 * given.width + 3 * max(2, ceil_log2(positions)) + 2 + len(masks)


def test_soft_heads_are_refused() -> None:
    model = sm.compile("Q_a since Q_b", attention="soft", length=3)
    with pytest.raises(ConstructionError, match="is soft, and masked positions"):
        to_no_masks(model.weights, 4, 3)
