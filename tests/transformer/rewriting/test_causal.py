"""Causal heads with padding simulate bidirectional ones, with the same logits."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

import softmachine as sm
from softmachine.compiler.rewrites.causal_masks import causal_padding, to_causal_masks
from softmachine.languages.graph import Graph
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import ceil_log2
from softmachine.transformer.weights import Layer, Transformer
from tests.sources.transformers import VOCABULARY, RandomTransformer
from tests.transformer.rewriting.running import logits


def drawn(seed: int) -> Transformer:
    """A random transformer of bidirectional heads without bias."""
    given = RandomTransformer(seed, denominators=(1, 2), masks=(Mask.ALL,)).transformer()

    def unbiased(layer: Layer) -> Layer:
        return replace(layer, heads=tuple(replace(head, bias=None) for head in layer.heads))

    return replace(given, blocks=tuple(replace(b, layers=tuple(map(unbiased, b.layers))) for b in given.blocks))


@pytest.mark.parametrize("seed", range(40))
def test_random_transformers_keep_their_logits(seed: int) -> None:
    given = drawn(seed)
    for word in (["a"], ["b", "a"], list(VOCABULARY[:2]) * 2):
        back = to_causal_masks(given, len(word), len(word))
        padded = [*word, *causal_padding(given, len(word), len(word))]
        assert logits(back, padded, len(word))[-len(word) :] == logits(given, word)
        assert all(head.mask is Mask.CAUSAL for head in back.heads)


def graph(size: int) -> Graph:
    return Graph(name="g", vertices=tuple("abcdefgh"[:size]), edges=())


def test_connectivity_that_looks_back_answers_every_graph_of_two_vertices() -> None:
    """Loops are preserved; the padding holds the stream after each iteration."""
    model = sm.compile(graph(2))
    padded = model.codec.prompt("a b").tokens
    back = to_causal_masks(model.weights, len(padded))
    assert [block.repeats for block in back.blocks] == [block.repeats for block in model.weights.blocks]
    for edges in product("01", repeat=4):
        tokens = [*edges, *padded[4:]]
        found = logits(back, [*tokens, *causal_padding(model.weights, len(tokens))])
        assert found[-len(tokens) :] == logits(model.weights, tokens)


def test_it_costs_two_layers_a_layer_and_padding_for_each_layer_that_is_passed() -> None:
    """At six sizes: P positions per executed layer, twice the width, and four addresses."""
    for size in (2, 3, 4, 5, 6, 7):
        given = sm.compile(graph(size)).weights
        positions = size**2 + size**3
        back = to_causal_masks(given, positions)
        depth = 1 + 2 * ceil_log2(size)
        assert len(causal_padding(given, positions)) == positions * depth
        assert len(back.layers) == 2 * len(given.layers)
        assert back.width == 2 * given.width + 4 * ceil_log2(positions * (depth + 1))


def test_masks_are_refused() -> None:
    with pytest.raises(ConstructionError, match="has a mask or a bias"):
        to_causal_masks(sm.compile("Q_a since Q_b").weights, 3, 2)
