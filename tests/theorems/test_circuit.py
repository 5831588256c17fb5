"""Circuits in padded transformers: both layouts, hard and soft, in floats, in rationals and in fixed point."""

from __future__ import annotations

from itertools import product

import pytest

from softmachine import api
from softmachine.engines.numerics.fixed_point_array import min_bits
from softmachine.ir import evaluate as evaluate_signal
from softmachine.ir.gadgets.binary_addresses import find_unit_vector_scale
from softmachine.languages import circuit as circuits
from softmachine.languages.circuit import Basis, Circuit, Gate, GateKind, evaluate
from softmachine.support.errors import PrecisionError
from softmachine.testing.circuit import random_circuit, random_layered
from softmachine.theorems.circuits.circuit.codec import CircuitCodec, CircuitLayout
from softmachine.theorems.circuits.circuit.theorem import binary_signals, unit_signals
from softmachine.theorems.shared.recogniser_codec import PAD_TOKEN
from softmachine.transformer.weights import Transformer
from tests.seed_blocks import choose_blocks

LAYOUTS = ("circuit-and-or-not", "circuit-threshold")
ATTENTIONS = ("hard", "soft")


def smallest_bits(transformer: Transformer) -> int:
    """The smallest b such that all weights are in F_b."""
    numbers = (value for matrix in transformer.matrices for _, _, value in matrix.entries())
    return max(2, *(min_bits(number) or 0 for number in numbers))


def agrees(source: Circuit, layout: str, attention: str, arithmetic: str | None = None, *, sample: int = 0) -> bool:
    model = api.compile(source, layout, attention=attention)
    name = arithmetic or f"fixed:{smallest_bits(model.weights)}"
    if sample:
        return bool(api.check(model, sample=sample, length=source.width, arithmetic=name))
    return bool(api.check(model, up_to=source.width, arithmetic=name))


def small(seed: int) -> Circuit:
    return random_circuit(seed, inputs=1 + seed % 4, gates=2 + seed % 7, outputs=1 + seed % 3, fan_in=2 + seed % 4)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(8))
def test_small_circuits_agree_on_all_inputs(seed: int, layout: str, attention: str) -> None:
    assert agrees(small(seed), layout, attention, "float64")
    assert agrees(small(seed), layout, attention)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_circuits_agree_in_rationals(layout: str) -> None:
    for seed in (4, 9):
        assert agrees(small(seed), layout, "hard", "exact")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_signals_keep_their_promises(layout: str) -> None:
    """The exact evaluator checks gaps, ties and kinds at every position."""
    source = random_circuit(2, inputs=2, gates=4, fan_in=3)
    build, basis = (binary_signals, Basis.AC) if layout == "circuit-and-or-not" else (unit_signals, Basis.TC)
    placed = CircuitLayout.of_circuit(source, basis)
    program = build(placed, soft=False)
    assert placed.circuit.depth > 0
    for word in product("01", repeat=2):
        logits = evaluate_signal(program.logits, (*word, *[PAD_TOKEN] * (len(placed.contents) - 2)), 2)
        found = "".join("01"[logits[placed.wire_position[wire]][1] > 0] for wire in placed.circuit.outputs)
        assert found == evaluate(source, word)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_gate_of_any_fan_in(layout: str) -> None:
    wires = tuple("abcd")
    for kind in GateKind:
        if kind in (GateKind.ZERO, GateKind.ONE):
            gates = (Gate("y", kind),)
        else:
            read = wires[:1] if kind in (GateKind.NOT, GateKind.BUF) else wires
            gates = (Gate("y", kind, read, 3 if kind is GateKind.THR else None),)
        source = Circuit(name=str(kind), inputs=wires, gates=gates, outputs=("y", "a", "y"))
        assert agrees(source, layout, "hard", "float64"), kind
        assert agrees(source, layout, "soft"), kind


def test_the_precision_of_binary_pointers_does_not_depend_on_the_circuit() -> None:
    """Theorem 4.1: constant precision, logarithmic width."""
    widths = []
    for n in range(4, 65):
        model = api.compile(circuits.parity(n), "circuit-and-or-not", attention="soft")
        assert smallest_bits(model.weights) == 2
        widths.append(model.weights.width)
        assert isinstance(model.codec, CircuitCodec)
        wires = len(model.codec.layout.circuit.wires)
        assert model.weights.width == 3 * (wires - 1).bit_length() + 11
    assert widths == sorted(widths)


def test_the_width_of_unit_vectors_does_not_depend_on_the_circuit() -> None:
    """Lemma 4.1: constant width, logarithmic precision."""
    widths, bits = set(), []
    for n in range(4, 65):
        model = api.compile(circuits.parity(n), "circuit-threshold", attention="hard")
        widths.add(model.weights.width)
        bits.append(smallest_bits(model.weights))
    assert widths == {17}
    assert bits == sorted(bits)
    codec = api.compile(circuits.parity(64), "circuit-threshold").codec
    assert isinstance(codec, CircuitCodec)
    wires = len(codec.layout.circuit.wires)
    assert bits[-1] <= 4 * wires.bit_length() + 1


def test_two_attention_layers_a_layer_of_gates() -> None:
    source = circuits.adder(3)
    for layout in LAYOUTS:
        model = api.compile(source, layout)
        assert len(model.weights.layers) == 2
        assert isinstance(model.codec, CircuitCodec)
        assert model.weights.blocks[-1].repeats == model.codec.layout.circuit.depth


@pytest.mark.parametrize(
    ("addresses", "bits"), [(2, 5), (3, 11), (4, 13), (5, 14), (6, 15), (8, 17), (10, 18), (16, 20), (32, 23), (64, 27)]
)
def test_the_smallest_precision_of_softmax_by_unit_vectors(addresses: int, bits: int) -> None:
    """The values for S = 2^(b-1); the paper's S = N^5 fails for 3 to 9 addresses in every precision."""
    found = find_unit_vector_scale(addresses, addresses, True)
    assert found.bits == bits
    assert found.gap > 0.69 * (bits + 1)
    assert find_unit_vector_scale(addresses, addresses, False).bits < bits


def test_too_small_a_precision_is_refused_with_the_smallest_sufficient_one() -> None:
    model = api.compile(circuits.majority(5), "circuit-threshold", attention="soft")
    bits = smallest_bits(model.weights)
    assert api.run(model, "11010", arithmetic=f"fixed:{bits}").output == "1"
    with pytest.raises(PrecisionError, match=f"smallest precision that has it is {bits}"):
        api.run(model, "11010", arithmetic=f"fixed:{bits - 1}")


def test_runs_have_the_outputs_of_the_circuit() -> None:
    run = api.run(circuits.adder(2), "1011")
    assert (run.output, run.verdict) == ("101", "halt")
    assert api.run(circuits.majority(3), "110").verdict == "accept"
    assert api.run(circuits.majority(3), "100").verdict == "reject"


SMALL = [
    circuits.lookahead_adder(2),
    circuits.multiplier(2),
    circuits.comparator(2),
    circuits.majority(5),
    circuits.parity(4),
    circuits.sorting_network(4),
    random_layered(1, inputs=3, layers=2, width=3),
]
GENERATED = [
    circuits.lookahead_adder(3),
    circuits.multiplier(3),
    circuits.comparator(3),
    circuits.majority(7),
    circuits.threshold(7, 3),
    circuits.parity(7),
    circuits.sorting_network(6),
    random_layered(1, inputs=5, layers=3, width=5),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", SMALL, ids=lambda source: source.name)
def test_generated_circuits_agree(source: Circuit, layout: str) -> None:
    assert agrees(source, layout, "hard", "float64")


@pytest.mark.slow
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", GENERATED, ids=lambda source: source.name)
def test_generated_circuits_agree_in_fixed_point(source: Circuit, layout: str, attention: str) -> None:
    assert agrees(source, layout, attention, "float64")
    assert agrees(source, layout, attention)


@pytest.mark.slow
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", [circuits.multiplier(4), circuits.adder(8)], ids=lambda source: source.name)
def test_a_multiplier_and_an_adder_run(source: Circuit, layout: str, attention: str) -> None:
    assert agrees(source, layout, attention, "float64", sample=8)
    assert agrees(source, layout, attention, sample=4)


@pytest.mark.slow
@pytest.mark.parametrize("arithmetic", ["float64", "fixed"])
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block", choose_blocks(30, 8))
def test_hundreds_of_random_circuits_agree(block: int, layout: str, attention: str, arithmetic: str) -> None:
    """Up to 60 gates, all inputs up to 10 bits, in float64 and in the smallest F_b.

    Most of it are circuits with 10 inputs and binary pointers: ``-k "hundreds and unit"`` is a quarter of it.
    """
    for seed in range(10 * block, 10 * (block + 1)):
        source = random_circuit(
            seed, inputs=1 + seed % 10, gates=1 + seed % 60, outputs=1 + seed % 3, fan_in=2 + seed % 5
        )
        assert agrees(source, layout, attention, "float64" if arithmetic == "float64" else None), seed
