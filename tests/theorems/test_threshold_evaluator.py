"""The evaluator of circuits with thresholds: one and the same layers of constant width for every circuit."""

from __future__ import annotations

from functools import partial

import pytest

from softmachine import api
from softmachine.ir import evaluate as evaluate_signal
from softmachine.languages.circuit import Basis, Circuit, Gate, GateKind, majority
from softmachine.support.errors import ContextTooShortError
from softmachine.testing.circuit import random_circuit
from softmachine.theorems.circuits.evaluator import ThresholdEvaluatorCodec, fitting_length, pointer_width, serialise
from softmachine.theorems.circuits.evaluator_threshold import signals
from tests.theorems import evaluators

TWO_OF_THREE = Circuit(
    name="two of three",
    inputs=("a", "b", "c"),
    gates=(Gate("two", GateKind.THR, ("a", "b", "c"), 2), Gate("y", GateKind.NOT, ("two",))),
    outputs=("y",),
)


def fitting(length: int, count: int, depth: int = 2) -> list[Circuit]:
    """Random circuits with thresholds of one depth, whose description fits into a length."""

    def circuit(seed: int) -> Circuit:
        return random_circuit(
            seed, inputs=1 + seed % 4, gates=1 + seed % 6, outputs=1, fan_in=2 + seed % 4, kinds=tuple(GateKind)
        )

    return evaluators.fitting(ThresholdEvaluatorCodec, circuit, length, count, depth)


wrong = partial(evaluators.wrong, "circuit-evaluator-threshold", ThresholdEvaluatorCodec)
"""The circuits that one model gets wrong, on some input."""


def test_every_gate_says_what_it_asks_for() -> None:
    tokens, _ = serialise(TWO_OF_THREE, "011", 3, basis=Basis.TC)
    assert "".join(tokens) == "x=0x=1x=1THR≥010&000#011&001#011&010#011NOT≥001&011#100"


@pytest.mark.parametrize("attention", ["hard", "soft"])
def test_one_model_evaluates_many_circuits(attention: str) -> None:
    bits = 2 * pointer_width(160) + 1
    assert wrong(fitting(160, 3), 160, attention, f"fixed:{bits}") == []
    assert wrong(fitting(160, 3), 160, attention, "float64") == []


@pytest.mark.parametrize("inputs", [3, 7, 15, 31, 63, 127])
def test_turns_are_the_depth_the_width_is_constant_and_precision_logarithmic(inputs: int) -> None:
    circuit = majority(inputs)
    length = fitting_length(circuit, inputs, Basis.TC)
    bits = pointer_width(length)
    model = api.compile(circuit, "circuit-evaluator-threshold", length=length)
    weights = model.weights
    assert weights.width == 33
    assert [block.repeats for block in weights.blocks if block.name] == [bits, 1]
    assert sum(len(block.layers) * block.iterations(None) for block in weights.blocks) == 3 + bits + 2
    for ones in (inputs // 2, inputs // 2 + 1):
        if inputs <= 15:
            run = api.run(model, "1" * ones + "0" * (inputs - ones), arithmetic=f"fixed:{2 * bits + 1}")
            assert run.accepted is (ones > inputs // 2)


def test_signals_keep_their_promises() -> None:
    """The exact evaluator checks gaps, ties and kinds at every position."""
    source = Circuit(name="n", inputs=("a",), gates=(Gate("y", GateKind.NOT, ("a",)),), outputs=("y",))
    codec = ThresholdEvaluatorCodec(source, 20)
    for word in ("0", "1"):
        logits = evaluate_signal(signals(20, 1, soft=False).logits, codec.prompt(word).tokens, 20)
        assert (logits[codec.wire_positions["y"]][1] > 0) is (word == "0")


def test_too_short_a_length_is_refused_with_the_smallest_that_serves() -> None:
    with pytest.raises(ContextTooShortError, match="--context"):
        api.compile(TWO_OF_THREE, "circuit-evaluator-threshold", length=20)


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["hard", "soft"])
def test_hundreds_of_serialised_circuits(attention: str) -> None:
    for depth in (1, 3):
        sources = fitting(256, 60, depth)
        assert wrong(sources[:30], 256, attention, "fixed:17") == []
        assert wrong(sources[30:], 256, attention, "float64") == []
