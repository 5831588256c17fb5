from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softmachine.languages.circuit import (
    Basis,
    Circuit,
    Gate,
    GateKind,
    are_equivalent,
    evaluate,
    evaluate_many,
    simplify,
    truth_table,
)
from softmachine.languages.source import Source
from softmachine.support.errors import InputError, InvalidError, UsageError
from softmachine.testing.circuit import random_circuit


def circuit(*gates: Gate, inputs: str = "a b", outputs: str = "y") -> Circuit:
    return Circuit(name="c", inputs=tuple(inputs.split()), gates=gates, outputs=tuple(outputs.split()))


def by_definition(one: Circuit, bits: tuple[bool, ...]) -> list[bool]:
    values = dict(zip(one.inputs, bits, strict=True))
    for gate in one.sorted_gates:
        values[gate.name] = gate.evaluate(*(values[wire] for wire in gate.inputs))
    return [values[wire] for wire in one.outputs]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("AND", "00000001"),
        ("OR", "01111111"),
        ("XOR", "01101001"),
        ("NAND", "11111110"),
        ("NOR", "10000000"),
        ("XNOR", "10010110"),
        ("MAJ", "00010111"),
    ],
)
def test_gates_have_their_defined_values(kind: str, expected: str) -> None:
    one = circuit(Gate("y", GateKind(kind), ("a", "b", "c")), inputs="a b c")
    assert "".join("1" if row[0] else "0" for row in truth_table(one)) == expected


@pytest.mark.parametrize("at_least", range(-1, 6))
def test_a_threshold_counts_a_wire_as_often_as_it_is_listed(at_least: int) -> None:
    one = circuit(Gate("y", GateKind.THR, ("a", "b", "b", "b"), at_least))
    for a, b in product((0, 1), repeat=2):
        assert evaluate(one, f"{a}{b}") == str(int(a + 3 * b >= at_least))


def test_majority_of_an_even_number_is_strictly_more_than_half() -> None:
    one = circuit(Gate("y", GateKind.MAJ, ("a", "b")))
    assert [evaluate(one, word) for word in ("00", "01", "10", "11")] == ["0", "0", "0", "1"]


@pytest.mark.parametrize("seed", range(60))
def test_the_bit_parallel_evaluator_agrees_with_the_definition(seed: int) -> None:
    one = random_circuit(seed, inputs=seed % 9, gates=1 + seed, outputs=3, fan_in=2 + seed % 20, kinds=tuple(GateKind))
    table = truth_table(one)
    for row, bits in enumerate(product((False, True), repeat=one.width)):
        assert list(table[row]) == by_definition(one, bits)
        if row % 13 == 0:
            word = "".join("01"[bit] for bit in bits)
            assert evaluate(one, word) == "".join("01"[bit] for bit in by_definition(one, bits))


def test_many_inputs_are_evaluated_at_once() -> None:
    one = random_circuit(5, inputs=40, gates=100, outputs=4)
    bits = np.random.default_rng(0).integers(0, 2, (131, 40)).astype(bool)
    for row, expected in zip(evaluate_many(one, bits), bits, strict=True):
        assert list(row) == by_definition(one, tuple(map(bool, expected)))
    assert evaluate_many(one, bits[:0]).shape == (0, 4)
    with pytest.raises(InputError, match="40 inputs"):
        evaluate_many(one, bits[:, :39])
    with pytest.raises(UsageError, match="at most 24"):
        truth_table(one)


def test_a_circuit_is_a_source_of_words_of_one_length() -> None:
    one = circuit(Gate("y", GateKind.AND, ("a", "b")))
    assert isinstance(one, Source)
    assert one.alphabet == ("0", "1")
    assert one.word("1 0") == one.word("1_0") == one.word(["1", "0"]) == ("1", "0")
    for word in ("", "1", "101"):
        with pytest.raises(InputError, match=r"has 2 inputs, but the word has \d bit"):
            one.word(word)
    with pytest.raises(InputError, match="'2'"):
        one.word("12")


def test_gates_may_come_in_any_order_and_have_levels() -> None:
    one = circuit(Gate("y", GateKind.NOT, ("x",)), Gate("x", GateKind.AND, ("a", "b")), Gate("one", GateKind.ONE))
    assert [gate.name for gate in one.sorted_gates] == ["x", "y", "one"]
    assert one.levels == {"a": 0, "b": 0, "x": 1, "y": 2, "one": 0}
    assert one.depth == 2
    assert "3 gates (1 AND, 1 NOT, 1 ONE), depth 2" in str(one)
    assert "<td>y = NOT(x)</td>" in one._repr_html_()


def test_a_cycle_is_named() -> None:
    gates = (
        Gate("y", GateKind.AND, ("a", "p")),
        Gate("p", GateKind.OR, ("q", "b")),
        Gate("q", GateKind.NOT, ("r",)),
        Gate("r", GateKind.BUF, ("p",)),
    )
    with pytest.raises(InvalidError) as caught:
        circuit(*gates)
    assert "r → q → p → r form a cycle" in str(caught.value)
    with pytest.raises(InvalidError, match="y → y form a cycle"):
        circuit(Gate("y", GateKind.AND, ("a", "y")))


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(InvalidError) as caught:
        circuit(
            Gate("y", GateKind.NOT, ("a", "b")),
            Gate("y", GateKind.AND, ("z",)),
            Gate("a", GateKind.OR),
            Gate("k", GateKind.ONE, ("a",)),
            Gate("t", GateKind.THR, ("a",)),
            Gate("u", GateKind.AND, ("a",), 3),
            Gate("", GateKind.BUF, ("a",)),
            inputs="a b b",
            outputs="nowhere",
        )
    assert len(caught.value.problems) == 11
    for text in ("takes 1 argument, not 2", "driven by two gates", "which nothing drives", "is an input and is also"):
        assert text in str(caught.value)
    with pytest.raises(InvalidError, match="no output"):
        circuit(Gate("y", GateKind.BUF, ("a",)), outputs="")


ALLOWED = {
    Basis.AC: {"AND", "OR", "NOT"},
    Basis.AC0: {"AND", "OR", "NOT"},
    Basis.TC: {"AND", "OR", "NOT", "THR"},
    Basis.AIG: {"AND", "NOT"},
    Basis.XAG: {"AND", "NOT", "XOR"},
}


@pytest.mark.parametrize("basis", Basis)
@pytest.mark.parametrize("seed", range(40))
def test_simplification_keeps_the_meaning_and_uses_only_the_basis(seed: int, basis: Basis) -> None:
    one = random_circuit(
        seed, inputs=seed % 9, gates=1 + seed, outputs=1 + seed % 4, fan_in=2 + seed % 12, kinds=tuple(GateKind)
    )
    simple = simplify(one, basis)
    assert are_equivalent(one, simple)
    assert simple.inputs == one.inputs
    constants = {gate.name for gate in simple.gates if not gate.inputs}
    assert {str(gate.kind) for gate in simple.gates} - {"ZERO", "ONE"} <= ALLOWED[basis]
    assert constants <= set(simple.outputs)
    if not basis.supports("wide"):
        assert all(len(gate.inputs) <= 2 for gate in simple.gates)


def test_simplification_merges_and_folds() -> None:
    gates = (
        Gate("one", GateKind.ONE),
        Gate("p", GateKind.AND, ("a", "b", "one", "a")),
        Gate("q", GateKind.NOR, ("na", "nb")),
        Gate("na", GateKind.NOT, ("a",)),
        Gate("nb", GateKind.NOT, ("b",)),
        Gate("pq", GateKind.XOR, ("p", "q")),
        Gate("y", GateKind.THR, ("a", "na", "p", "pq"), 2),
    )
    simple = simplify(circuit(*gates, outputs="y"), Basis.TC)
    assert [str(gate) for gate in simple.gates] == ["p = AND(a, b)"]
    assert are_equivalent(circuit(*gates), simple)
    constant = simplify(circuit(Gate("y", GateKind.XNOR, ("a", "a"))))
    assert [str(gate) for gate in constant.gates] == ["y = ONE()"]


def test_parity_has_constant_depth_with_thresholds() -> None:
    for width in (3, 8, 20, 40):
        names = tuple(f"x{k}" for k in range(width))
        parity = Circuit(name="p", inputs=names, gates=(Gate("y", GateKind.XOR, names),), outputs=("y",))
        assert simplify(parity, Basis.TC).depth <= 4
        assert are_equivalent(parity, simplify(parity, Basis.TC), samples=4096)


def test_circuits_that_differ_are_not_equivalent() -> None:
    one = circuit(Gate("y", GateKind.AND, ("a", "b")))
    assert not are_equivalent(one, circuit(Gate("y", GateKind.OR, ("a", "b"))))
    assert not are_equivalent(one, circuit(Gate("y", GateKind.NAND, ("a", "b"))), samples=2)
    with pytest.raises(UsageError, match="number of inputs"):
        are_equivalent(one, circuit(Gate("y", GateKind.NOT, ("a",)), inputs="a"))
