"""Stream facts contain the residual streams of all inputs, and their convex combinations."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

import softmachine as sm
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir.stream_facts import StreamFacts, iterate_stream_facts, join_stream_facts
from softmachine.languages.graph import Graph
from softmachine.transformer.weights import Block, Transformer
from tests.sources.transformers import VOCABULARY, RandomTransformer


def streams(transformer: Transformer, word: tuple[str, ...], layers: int) -> list[list[Fraction]]:
    """The residual stream at every position after some layers."""
    applied = tuple(transformer.iterate_layers(len(word)))[:layers]
    prefix = replace(transformer, blocks=(Block(applied),))
    found = DenseEngine(prefix, "exact").residual_stream([list(word)]).value.tolist()
    return [[Fraction(int(x.p), int(x.q)) for x in row] for row in found[0]]


@pytest.mark.parametrize("seed", range(25))
def test_random_transformers_stay_within_the_bounds_after_every_layer(seed: int) -> None:
    given = RandomTransformer(seed, denominators=(1, 2)).transformer()
    for n in (1, 2, 3):
        after = list(iterate_stream_facts(given, [(n, n)]))[::2]
        for word, (layers, facts) in product(product(VOCABULARY, repeat=n), enumerate(after)):
            for row in streams(given, word, layers):
                assert all(fact.low <= value <= fact.high for value, fact in zip(row, facts.bounds, strict=True))


@pytest.mark.parametrize("seed", range(25))
def test_the_bounds_hold_for_means_of_streams(seed: int) -> None:
    """What a layer makes of points between the bounds, by feed-forward networks alone, is between its bounds."""
    draw = random.Random(seed)
    given = RandomTransformer(seed, denominators=(1, 2)).transformer()
    facts = StreamFacts.of_embeddings(given, [(3, 3)])
    for layer in given.iterate_layers(3):
        after = facts.after_units(layer)
        network = layer.feed_forward
        for _ in range(20):
            point = [fact.low + (fact.high - fact.low) * Fraction(draw.randrange(9), 8) for fact in facts.bounds]
            reads = zip(network.first.weight.rows, network.first.bias, strict=True)
            pre = [sum((w * point[c] for c, w in row), bias) for row, bias in reads]
            pairs = zip(pre, network.activations, strict=True)
            units = [max(z, Fraction(0)) if activation == "relu" else Fraction(z >= 0) for z, activation in pairs]
            writes = zip(point, network.second.weight.rows, network.second.bias, strict=True)
            result = [x + bias + sum((w * units[u] for u, w in row), Fraction(0)) for x, row, bias in writes]
            assert all(fact.low <= value <= fact.high for value, fact in zip(result, after.bounds, strict=True))
        facts = after


def test_bits_stay_bits_in_loops() -> None:
    """Copying and rounding gadgets are piecewise linear functions of one sum; bounds do not grow with iterations."""
    few, many = (
        join_stream_facts(iterate_stream_facts(replace(weights, blocks=blocks), [(2, 12)])).bounds
        for weights in [sm.compile(Graph(name="g", vertices=("a", "b"), edges=())).weights]
        for blocks in [
            tuple(replace(block, repeats=turns) if block.name else block for block in weights.blocks)
            for turns in (1, 30)
        ]
    )
    assert [(fact.low, fact.high) for fact in few] == [(fact.low, fact.high) for fact in many]
    assert max(fact.size for fact in many) <= 2
