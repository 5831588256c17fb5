"""Unrolling: the program that the fast engine plans on has the logits of the weights, and no loops."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast import FastEngine, audit
from softmachine.engines.fast.analysis import unrolled_program
from softmachine.engines.fast.analysis.unrolled_program import UnrolledHead, unroll
from softmachine.ir import Signal, evaluate
from softmachine.ir.primitives import Loop, Named, Unit
from softmachine.ir.ranges import REALS
from softmachine.ir.signal import topological_order
from softmachine.support.errors import AmbiguousTokenError, ConstructionError, PrecisionError, UsageError
from softmachine.transformer.weights import AffineMap, FeedForward, Matrix, Transformer
from tests.sources.transformers import CAUSAL, RandomTransformer, random_word


def random_decoder(seed: int) -> Transformer:
    return RandomTransformer(seed, masks=CAUSAL).transformer()


@pytest.mark.parametrize("seed", range(60))
def test_the_program_has_the_logits_of_the_weights(seed: int) -> None:
    weights, word = random_decoder(seed), random_word(seed, 6)
    logits, dense = unroll(weights).logits, DenseEngine(weights, "exact")
    expected = dense.unembedding(dense.residual_stream([word], len(word))).value[0]
    found = evaluate(Signal(logits, (REALS,) * len(logits)), word)
    assert [list(map(str, row)) for row in found] == [list(map(str, row)) for row in expected]


def test_loops_are_unrolled_and_functions_of_the_token_are_tables() -> None:
    loops = heads = folded = 0
    for seed in range(60):
        weights = random_decoder(seed)
        program = unroll(weights)
        nodes = set(topological_order(program.logits))
        assert not any(isinstance(node, Loop | Named) for node in nodes)
        assert all(form.other_terms for node in nodes if isinstance(node, Unit) for form in node.forms)
        assert nodes >= {item for item in program.order if isinstance(item, UnrolledHead)}
        assert len(program.heads) == sum(len(layer.heads) for layer in weights.iterate_layers(None))
        loops += weights.depth(None) > len(weights.layers)
        heads += bool(program.heads)
        units = sum(len(layer.feed_forward.units) for layer in weights.iterate_layers(None))
        folded += units > sum(isinstance(node, Unit) for node, _ in program.atoms)
    assert min(loops, heads, folded) > 5


def test_a_head_comes_before_its_components_and_after_its_inputs() -> None:
    for seed in range(60):
        program = unroll(random_decoder(seed))
        known: set[object] = set()
        for item in program.order:
            node = item if isinstance(item, UnrolledHead) else item[0]
            if isinstance(item, UnrolledHead):
                read = [*item.query, *item.key, *(item.value[c] for c in program.components_read(item))]
            else:
                read = [] if isinstance(node, UnrolledHead) else list(node.inputs())
                assert not isinstance(node, UnrolledHead) or node in known
            assert all(atom in known for form in read for atom in form.other_terms)
            known.add(item)
        assert all(atom in known for form in program.logits for atom in form.other_terms)


def test_sums_that_logits_share_are_nodes_computed_once_and_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolled_program, "MAX_INLINED_TERMS", 0)
    shared = audited = 0
    for seed in range(60):
        weights, word = random_decoder(seed), random_word(seed, 9)
        weights = replace(weights, outputs=("a", "b", "c", "d")[: len(weights.outputs)])
        engine = FastEngine(weights, plain=True)
        try:
            outputs = engine.argmax_outputs(word)
            run = engine.start(word, lambda token: token == "d")
            run.run_until(20)
        except (AmbiguousTokenError, PrecisionError):
            continue
        assert outputs == DenseEngine(weights, "exact").predict([word])[0]
        assert audit(run, 20, seed=seed).holds
        audited += 1
        shared += any(isinstance(node, Named) for node, _ in engine.program.computed)
    assert min(shared, audited) > 5


def test_a_model_that_looks_ahead_is_refused() -> None:
    weights = next(model for seed in range(20) if not (model := RandomTransformer(seed).transformer()).is_causal)
    with pytest.raises(UsageError, match="looks ahead"):
        unroll(weights)


def test_a_layer_norm_is_refused() -> None:
    weights = next(model for seed in range(60) if (model := random_decoder(seed)).layers)
    block = weights.blocks[0]
    forward = FeedForward(
        AffineMap(Matrix.of([{0: Fraction(1)}], weights.width), (Fraction(0),)),
        ("norm",),
        AffineMap(Matrix.of([{}] * weights.width, 1), (Fraction(0),) * weights.width),
        ("sign",),
        ((0,),),
    )
    layers = tuple(replace(layer, feed_forward=forward) for layer in block.layers)
    with pytest.raises(ConstructionError, match="'sign' is a layer norm"):
        unroll(replace(weights, blocks=(replace(block, layers=layers), *weights.blocks[1:])))
