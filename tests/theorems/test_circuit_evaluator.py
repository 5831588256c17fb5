"""The circuit evaluator: one and the same weights for every circuit that fits into a length."""

from __future__ import annotations

from functools import partial

import pytest

from softmachine import api
from softmachine.ir import evaluate as evaluate_signal
from softmachine.languages.circuit import Basis, Circuit, Gate, GateKind, simplify
from softmachine.support.errors import ConstructionError, ContextTooShortError
from softmachine.testing.circuit import random_circuit
from softmachine.theorems.circuits.circuit.codec import wire_values
from softmachine.theorems.circuits.evaluator import (
    EvaluatorCodec,
    fitting_length,
    pointer_width,
    serialise,
    signals,
    without_constants,
)
from tests.theorems import evaluators

EXAMPLE = Circuit(
    name="Example C.1",
    inputs=("x1", "x2", "x3"),
    gates=(Gate("both", GateKind.AND, ("x1", "x2")), Gate("y", GateKind.OR, ("both", "x3"))),
    outputs=("y",),
)


def fitting(length: int, count: int, depth: int = 2) -> list[Circuit]:
    """Random circuits of one depth whose description fits into a length."""

    def circuit(seed: int) -> Circuit:
        return random_circuit(seed, inputs=1 + seed % 5, gates=1 + seed % 6, outputs=1, fan_in=2 + seed % 3)

    return evaluators.fitting(EvaluatorCodec, circuit, length, count, depth)


wrong = partial(evaluators.wrong, "circuit-evaluator", EvaluatorCodec)
"""The circuits that one model gets wrong, on some input."""


def test_the_corrected_example_of_the_paper() -> None:
    tokens, _ = serialise(simplify(EXAMPLE, Basis.AC), "010", 3)
    assert "".join(tokens) == "x=0x=1x=0AND&000#011&001#011OR&010#100&011#100"
    for attention, arithmetic in (("soft", "fixed:2"), ("hard", "float64")):
        model = api.compile(EXAMPLE, "circuit-evaluator", attention=attention, length=61)
        assert api.check(model, up_to=3, arithmetic=arithmetic)


def test_one_model_evaluates_many_circuits() -> None:
    assert wrong(fitting(64, 4), 64, "hard", "fixed:2") == []
    assert wrong(fitting(64, 2), 64, "soft", "float64") == []


def test_the_layers_depend_on_the_length_only() -> None:
    one, other = (api.compile(source, "circuit-evaluator", length=128).weights for source in fitting(128, 2))
    assert (one.blocks, one.embedding, one.features) == (other.blocks, other.embedding, other.features)
    (deeper,) = (api.compile(source, "circuit-evaluator", length=128).weights for source in fitting(128, 1, depth=3))
    assert [block.layers for block in one.blocks] == [block.layers for block in deeper.blocks]
    assert [block.repeats for block in one.blocks if block.name] == [pointer_width(128), 2]
    assert [block.repeats for block in deeper.blocks if block.name] == [pointer_width(128), 3]


@pytest.mark.parametrize("inputs", [2, 4, 8, 16, 32, 64])
def test_lemma_c_3_takes_as_many_turns_as_the_circuit_is_deep(inputs: int) -> None:
    """For any number of gates, the iterations of a tree grow with the logarithm of its leaves."""
    kinds = (GateKind.AND, GateKind.OR)
    gates: list[Gate] = []
    wires = [f"x{k}" for k in range(inputs)]
    while len(wires) > 1:
        kind = kinds[len(gates) % 2]
        level = [Gate(f"g{len(gates) + k}", kind, tuple(wires[2 * k : 2 * k + 2])) for k in range(len(wires) // 2)]
        gates, wires = gates + level, [gate.name for gate in level]
    tree = Circuit(name="tree", inputs=tuple(f"x{k}" for k in range(inputs)), gates=tuple(gates), outputs=(wires[0],))
    depth = inputs.bit_length() - 1
    length = fitting_length(tree, inputs, Basis.AC)
    codec, bits = EvaluatorCodec(tree, length), pointer_width(length)
    assert codec.computed_circuit.depth <= depth
    weights = api.compile(tree, "circuit-evaluator", length=length).weights
    assert [block.repeats for block in weights.blocks if block.name] == [bits, codec.computed_circuit.depth]
    assert (
        sum(len(block.layers) * block.iterations(None) for block in weights.blocks)
        == 2 + bits + 2 * codec.computed_circuit.depth
    )
    assert weights.width <= 16 * bits + 16


def test_too_short_a_length_is_refused_with_the_smallest_that_serves() -> None:
    with pytest.raises(ContextTooShortError, match="--context 61"):
        api.compile(EXAMPLE, "circuit-evaluator", length=20)
    assert EvaluatorCodec(EXAMPLE, 61).smallest_length() == 61
    with pytest.raises(ConstructionError, match="depend on a length"):
        api.compile(EXAMPLE, "circuit-evaluator")


def test_constants_are_computed_from_an_input() -> None:
    constant = Circuit(
        name="c", inputs=("a",), gates=(Gate("y", GateKind.ONE), Gate("z", GateKind.ZERO)), outputs=("y", "z", "a")
    )
    written = without_constants(constant)
    assert [wire_values(written, bit)["y"] for bit in "01"] == ["true", "true"]
    model = api.compile(constant, "circuit-evaluator", length=90)
    assert api.run(model, "0", arithmetic="fixed:2").output == "100"
    with pytest.raises(ConstructionError, match="no input"):
        EvaluatorCodec(Circuit(name="c", inputs=(), gates=(Gate("y", GateKind.ONE),), outputs=("y",)), 90)


def test_signals_keep_their_promises() -> None:
    """The exact evaluator checks gaps, ties and kinds at every position."""
    source = Circuit(name="not", inputs=("a",), gates=(Gate("y", GateKind.NOT, ("a",)),), outputs=("y",))
    codec = EvaluatorCodec(source, 12)
    program = signals(12, 1, soft=False)
    for word in ("0", "1"):
        logits = evaluate_signal(program.logits, codec.prompt(word).tokens, 12)
        assert (logits[codec.wire_positions["y"]][1] > 0) is (word == "0")


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["hard", "soft"])
def test_hundreds_of_serialised_circuits(attention: str) -> None:
    sources = fitting(192, 200)
    assert wrong(sources[:100], 192, attention, "fixed:2") == []
    assert wrong(sources[100:], 192, attention, "float64") == []
