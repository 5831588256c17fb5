"""Counting in constant depth: thresholds of AND and OR gates, for any number of arguments."""

from __future__ import annotations

import random

import pytest

from softmachine.languages.circuit import Basis, Circuit, Gate, GateKind, are_equivalent, simplify, threshold


@pytest.mark.parametrize("at_least", [2, 3, 5, 8])
def test_the_depth_of_a_threshold_does_not_depend_on_the_number_of_arguments(at_least: int) -> None:
    """2t - 1 for a threshold t; at most 2tm gates for m arguments."""
    for inputs in (20, 24, 32, 48, 64, 96, 128):
        flat = simplify(threshold(inputs, at_least), Basis.AC0)
        assert flat.depth == 2 * at_least - 1
        assert flat.size <= 2 * at_least * inputs
        assert {gate.kind for gate in flat.gates} <= {GateKind.AND, GateKind.OR, GateKind.NOT}


def test_the_same_is_counted_with_and_without_adders() -> None:
    for inputs in range(2, 11):
        for at_least in range(1, inputs + 1):
            wanted = threshold(inputs, at_least)
            assert are_equivalent(simplify(wanted, Basis.AC0), wanted)


def test_large_thresholds_are_counted_by_their_zeros() -> None:
    for inputs in (20, 40, 80):
        flat = simplify(threshold(inputs, inputs - 2), Basis.AC0)
        assert flat.depth <= 2 * 3 + 1
        assert are_equivalent(flat, threshold(inputs, inputs - 2), samples=1 << 10)


def test_arguments_that_count_twice_and_negated_ones() -> None:
    draw = random.Random(0)
    for _ in range(200):
        names = tuple("abcdef")
        arguments = tuple(draw.choice([*names, "no"]) for _ in range(draw.randrange(3, 14)))
        gates = (
            Gate("no", GateKind.NOT, ("a",)),
            Gate("y", GateKind.THR, arguments, draw.randrange(1, len(arguments))),
        )
        circuit = Circuit(name="weighted", inputs=names, gates=gates, outputs=("y",))
        assert are_equivalent(simplify(circuit, Basis.AC0), circuit)


def test_thresholds_that_share_arguments_share_gates() -> None:
    """Sums with a common suffix: the longest one costs as much as all of them."""
    names = tuple(f"x{k}" for k in range(40))
    last = Gate("y0", GateKind.THR, names, 4)
    nested = tuple(Gate(f"y{k}", GateKind.THR, names[k:], 4) for k in range(30))
    one = simplify(Circuit(name="one", inputs=names, gates=(last,), outputs=("y0",)), Basis.AC0)
    every = Circuit(name="all", inputs=names, gates=nested, outputs=tuple(gate.name for gate in nested))
    assert simplify(every, Basis.AC0).size <= one.size + len(nested)
