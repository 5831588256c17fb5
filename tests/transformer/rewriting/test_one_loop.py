"""One loop with phase flags: the same outputs and logits as several blocks, at every position."""

from __future__ import annotations

from itertools import product

import pytest

import softmachine as sm
from softmachine.compiler import compile_program
from softmachine.compiler.rewrites.one_loop import count_iterations, to_one_loop
from softmachine.languages.circuit import Basis, Circuit, generators, simplify
from softmachine.languages.graph import Graph
from softmachine.support.errors import ConstructionError
from softmachine.theorems.circuits.evaluator import EvaluatorCodec, fitting_length, pointer_width, signals
from softmachine.transformer.features import ceil_log2
from softmachine.transformer.weights import Transformer
from tests.sources.transformers import VOCABULARY, RandomTransformer
from tests.transformer.rewriting.running import answers, logits


def check_costs(before: Transformer, after: Transformer, length: int | None = None) -> None:
    """The costs: the sum of all iterations, all layers in each; a binary counter, and two flags per block."""
    blocks = [block for block in before.blocks if block.iterations(length)]
    (block,) = after.blocks
    assert block.repeats == count_iterations(before, length)
    assert len(block.layers) == sum(len(each.layers) for each in blocks)
    retrieved = max(sum(len(head.value.bias) for head in layer.heads) for each in blocks for layer in each.layers)
    counter = 2 * ceil_log2(count_iterations(before, length) + 1)
    assert after.width == before.width + retrieved + 2 * len(blocks) + counter


@pytest.mark.parametrize("seed", range(40))
def test_random_transformers_keep_their_logits(seed: int) -> None:
    given = RandomTransformer(seed, denominators=(1, 2)).transformer()
    for word in (["a"], ["b", "a"], list(VOCABULARY[:2]) * 2):
        single = to_one_loop(given, len(word), len(word))
        assert len(single.blocks) <= 1
        assert logits(single, word) == logits(given, word)


def test_some_of_these_have_several_blocks() -> None:
    drawn = [RandomTransformer(seed, denominators=(1, 2)).transformer() for seed in range(40)]
    several = [each for each in drawn if len([block for block in each.blocks if block.iterations(4)]) > 1]
    assert len(several) >= 8
    for each in several:
        check_costs(each, to_one_loop(each, 4, 4), 4)


def test_connectivity_in_one_loop_answers_every_graph_of_three_vertices() -> None:
    """Theorem C.1's two blocks, in constant precision: all 512 graphs."""
    graph = Graph(name="g", vertices=("a", "b", "c"), edges=())
    model = sm.compile(graph)
    padded = model.codec.prompt("a b").tokens
    single = to_one_loop(model.weights, len(padded))
    check_costs(model.weights, single)
    inputs = [[*edges, *padded[9:]] for edges in product("01", repeat=9)]
    assert answers(single, inputs, "fixed:2") == answers(model.weights, inputs, "fixed:2")


@pytest.mark.parametrize("circuit", [generators.parity(2), generators.and_or_tree(3), generators.and_or_tree(4)])
def test_the_circuit_evaluator_in_one_loop_reads_and_evaluates(circuit: Circuit) -> None:
    """Lemma C.3, whose two transformers are run for O(log N) + L iterations in all: every input, in F_2."""
    length = fitting_length(simplify(circuit, Basis.AC), 8, Basis.AC)
    codec = EvaluatorCodec(circuit, length)
    given = compile_program(signals(length, codec.computed_circuit.depth, soft=False))
    single = to_one_loop(given, length)
    check_costs(given, single)
    assert count_iterations(given) == pointer_width(length) + codec.computed_circuit.depth + 2
    inputs = [codec.prompt("".join(word)).tokens for word in product("01", repeat=circuit.width)]
    wires = sorted(codec.wire_positions.values())
    for one, other in zip(answers(single, inputs, "fixed:2"), answers(given, inputs, "fixed:2"), strict=True):
        assert [one[place] for place in wires] == [other[place] for place in wires]


def test_one_loop_of_the_evaluator_stays_in_its_regime() -> None:
    """Corollary 5.1 at eight lengths: 2 log T + 2 iterations of 5 layers, width O(log T), weights in F_2."""
    for length in (16, 32, 64, 128, 256, 512, 1024, 2048):
        p = pointer_width(length)
        given = compile_program(signals(length, p, soft=False))
        single = to_one_loop(given, length)
        check_costs(given, single)
        assert count_iterations(given) == 2 * p + 2
        assert single.width == 16 * p + 16 + max(3 * p, 2 * p - 1) + 8 + 2 * ceil_log2(2 * p + 3)
        assert single.largest_weight <= 15 / 4
        assert all((4 * weight).denominator == 1 for matrix in single.matrices for *_, weight in matrix.entries())


def test_what_is_normalised_cannot_be_switched_off() -> None:
    model = sm.compile("majority-formula", theorem="temporal-layer-norm")
    with pytest.raises(ConstructionError, match="cannot be disabled"):
        to_one_loop(model.weights, 4)
