"""Lift: what comes back from weights is the program that was compiled, and computes the logits of the weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from softmachine.compiler import compile_program
from softmachine.compiler.graph import program_to_graph
from softmachine.engines.dense.engine import DenseEngine
from softmachine.ir import Program, attend, constant, evaluate, lift, position, recogniser, relu
from softmachine.ir.analysis import Analysis
from softmachine.ir.lifter import remove_clearing
from softmachine.ir.ranges import BIT
from softmachine.languages import zoo
from softmachine.support.errors import PrecisionError
from softmachine.testing.canonical_form import StructuralHash
from softmachine.transformer.attention import AVERAGE_HARD, Mask, softmax_weighting
from softmachine.transformer.features import RECIPROCAL
from softmachine.transformer.weights import Head, Layer, Transformer
from tests.cases import Case
from tests.certified.cases import cases
from tests.ir.scores import random_scores
from tests.ir.zoo import SMALL, Compiled, compile_case, small_model
from tests.sources.oracle import letter
from tests.sources.signal_programs import random_program
from tests.sources.transformers import VOCABULARY, RandomTransformer

LENGTH = 10
"""n of the analysis that removes clearing units."""
MAX_EVALUATED = 40
"""Sequences with more positions are not evaluated node by node."""
LARGE = (
    *("circuit-evaluator", "circuit-evaluator-threshold", "uniform-circuits", "uniform-circuits-threshold"),
    *("turing-configuration-graph", "odd-walks", "circuit-and-or-not", "nl-configuration-graph"),
    "nl-configuration-graph-unpruned",
)
"""Theorems whose models have hundreds of positions: a pass in rationals takes seconds."""


def is_same_program(program: Program, weights: Transformer) -> bool:
    """Whether lifted weights are the program that the compiler emits, in canonical form."""
    table = StructuralHash(program.vocabulary)
    return table.of(lift(weights).logits.forms) == table.of(program_to_graph(program).logits)


def is_same_without_clearing(compiled: Compiled) -> bool:
    """Whether lifted weights are the program, once units that read numbers that are never negative are removed in both.

    A narrow program clears such a number by x - ReLU(x), and units of its author may read such numbers, too.
    """
    program, graph = compiled.program, program_to_graph(compiled.program)
    merged = replace(program, logits=replace(program.logits, forms=graph.logits))
    lifted = lift(compiled.weights, position_count=program.position_count)
    table = StructuralHash(program.vocabulary)
    analyses = [Analysis(each, compiled.domain, LENGTH, compiled.hints) for each in (lifted, merged)]
    for analysis in analyses:
        remove_clearing(analysis)
    found, expected = (table.of(analysis.program.logits.forms) for analysis in analyses)
    return found == expected


def is_lifted(compiled: Compiled) -> bool:
    """Whether lifted weights are the program; a narrow one without what clears coordinates."""
    if compiled.program.reuse_coordinates:
        return is_same_without_clearing(compiled)
    return is_same_program(compiled.program, compiled.weights)


def logits(weights: Transformer, sequences: Sequence[Sequence[str]], n: int, arithmetic: str = "") -> NDArray[Any]:
    """The logits of sequences of one length: in rationals, if these suffice, else in floats."""
    arithmetic = arithmetic or ("float64" if weights.first_group_normalised_unit is not None else "exact")
    engine = DenseEngine(weights, arithmetic)
    return engine.unembedding(engine.residual_stream(list(map(list, sequences)), n)).value


def with_hard_attention(weights: Transformer) -> Transformer:
    """The weights with average-hard attention in place of softmax, whose numbers are not rational."""

    def hard(head: Head) -> Head:
        return head if head.weighting.is_hard else replace(head, weighting=AVERAGE_HARD)

    return change_layers(weights, lambda layer: replace(layer, heads=tuple(map(hard, layer.heads))))


def change_layers(weights: Transformer, change: Callable[[Layer], Layer]) -> Transformer:
    """The weights with other layers."""
    blocks = (replace(block, layers=tuple(map(change, block.layers))) for block in weights.blocks)
    return replace(weights, blocks=tuple(blocks))


def same(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Whether numbers are equal, or almost if they are floats."""
    return bool(np.allclose(found, expected) if expected.dtype == float else (found == expected).all())


def lifts_logits(weights: Transformer, sequences: Sequence[tuple[str, ...]], positions: int | None = None) -> None:
    """Assert that lifted weights compute the logits of the weights, evaluated, and compiled again."""
    lifted = lift(weights, position_count=positions)
    again = compile_program(lifted)
    groups: dict[int, list[tuple[str, ...]]] = {}
    for tokens in sequences:
        groups.setdefault(len(tokens), []).append(tokens)
    for size, group in groups.items():
        try:
            expected = logits(weights, group, size - 1)
        except PrecisionError:  # of floats: a step or a head cannot decide
            continue
        assert same(logits(again, group, size - 1), expected)
        if expected.dtype == object and size <= MAX_EVALUATED:
            values = [evaluate(lifted.logits, tokens, size - 1) for tokens in group[:5]]
            assert same(np.vectorize(str)(np.array(values)), np.vectorize(str)(expected[:5]))


# Canonical forms.


def slow_cases(theorems: Sequence[str]) -> list[Any]:
    """The cases, with those of some theorems as slow ones."""
    return [pytest.param(case, marks=[pytest.mark.slow] * (case.theorem in theorems)) for case in SMALL]


@pytest.mark.parametrize("case", slow_cases(["turing-ternary", "turing-ternary-summary"]), ids=str)
def test_lifted_weights_are_the_program(case: Case) -> None:
    assert is_lifted(small_model(case))


@pytest.mark.slow
@pytest.mark.parametrize("entry", zoo.names())
def test_lifted_weights_are_the_program_for_every_entry(entry: str) -> None:
    found = {
        str(case): is_lifted(compiled) for case in cases() if case.entry == entry and (compiled := compile_case(case))
    }
    assert found
    assert [case for case, same in found.items() if not same] == []


def lifts_random_signals(seed: int) -> bool:
    """Whether lifted weights are the random program that was compiled."""
    programs = random_program(seed), random_scores(seed)[0]
    return all(is_same_program(program, compile_program(program)) for program in programs)


@pytest.mark.parametrize("block", range(5))
def test_lifted_weights_are_the_random_program(block: int) -> None:
    assert [seed for seed in range(8 * block, 8 * (block + 1)) if not lifts_random_signals(seed)] == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_lifted_weights_are_one_of_many_random_programs(block: int) -> None:
    assert [seed for seed in range(100 + 100 * block, 200 + 100 * block) if not lifts_random_signals(seed)] == []


def test_canonical_forms_tell_programs_apart() -> None:
    """Every single change of a program changes its canonical form."""

    def program(factor: int = 1, shift: int = 0, mask: Mask = Mask.CAUSAL, value: str = "b", scale: int = 1) -> Program:
        seen = attend("seen", query=constant(1), key=letter("a") * factor, value=letter(value), mask=mask)
        unit = relu("unit", seen * scale - letter("b") + shift)
        return recogniser("p", ("<s>", "a", "b"), (unit + position(RECIPROCAL)).with_range(BIT))

    programs = [
        program(),
        *(program(factor=2), program(shift=1), program(mask=Mask.ALL), program(value="a"), program(scale=-1)),
    ]
    table = StructuralHash(("<s>", "a", "b"))
    forms = [table.of(each.logits.forms) for each in programs]
    assert len(set(forms)) == len(forms)
    assert table.of(program().logits.forms) == forms[0]


# Logits.


@pytest.mark.parametrize("case", slow_cases([*LARGE, "turing-ternary", "turing-ternary-summary"]), ids=str)
def test_lifted_weights_have_the_same_logits(case: Case) -> None:
    compiled = small_model(case)
    positions = compiled.program.position_count
    sequences = compiled.sequences(10, positions=8)[: 10 if positions is None else 1]
    lifts_logits(with_hard_attention(compiled.weights), sequences, positions)


@pytest.mark.slow
@pytest.mark.parametrize("entry", zoo.names())
def test_lifted_weights_have_the_same_logits_for_every_entry(entry: str) -> None:
    for case in cases():
        compiled = compile_case(case) if case.entry == entry and case.theorem not in LARGE else None
        if compiled is not None:
            positions = compiled.program.position_count
            sequences = compiled.sequences(100, positions=7)[: 100 if positions is None else 1]
            lifts_logits(with_hard_attention(compiled.weights), sequences, positions)


class RandomNorms(RandomTransformer):
    """Random transformers in which some units are normalised, alone or in pairs, and some heads have softmax."""

    def layer(self, name: str) -> Layer:
        layer = super().layer(name)
        forward = layer.feed_forward
        hidden = len(forward.units)
        groups = self.chooser.choice(((), ((0,),), ((0,), (1,)), ((0, 1),)))
        if hidden < 2 or not groups:
            return layer
        normed = {unit for group in groups for unit in group}
        activations = tuple("norm" if u in normed else own for u, own in enumerate(forward.activations))
        return replace(layer, feed_forward=replace(forward, activations=activations, norms=groups))


def lifts_random_weights(seed: int, longest: int) -> None:
    """Assert that lifted random weights have the same logits, on all short words."""
    for weights in (RandomTransformer(seed).transformer(), RandomNorms(seed).transformer()):
        lifts_logits(weights, [tokens for size in range(1, longest + 1) for tokens in product(VOCABULARY, repeat=size)])


@pytest.mark.parametrize("block", range(5))
def test_lifted_random_weights_have_the_same_logits(block: int) -> None:
    for seed in range(10 * block, 10 * (block + 1)):
        lifts_random_weights(seed, 2)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_lifted_random_weights_have_the_same_logits(block: int) -> None:
    for seed in range(100 + 50 * block, 150 + 50 * block):
        lifts_random_weights(seed, 4)


@pytest.mark.parametrize("block", range(4))
def test_lifted_softmax_has_the_same_logits(block: int) -> None:
    """In floats: softmax is not rational."""
    for seed in range(10 * block, 10 * (block + 1)):
        drawn = RandomTransformer(seed, weightings=[softmax_weighting(), softmax_weighting(RECIPROCAL)])
        weights = change_layers(drawn.transformer(), with_relu)
        words = list(product(VOCABULARY, repeat=3))
        found, expected = (logits(each, words, 2, "float64") for each in (compile_program(lift(weights)), weights))
        assert np.allclose(found, expected)


def with_relu(layer: Layer) -> Layer:
    """A layer with ReLU in place of steps, which floats may not decide."""
    forward = layer.feed_forward
    return replace(layer, feed_forward=replace(forward, activations=("relu",) * len(forward.units)))
