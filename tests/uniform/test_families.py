"""Uniform families (Definition A.5): machines print what ``compile`` makes, in logarithmic space."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import cast

import pytest

from softmachine.languages.circuit import Basis, Circuit, are_equivalent, evaluate, generators, simplify
from softmachine.studies.uniformity import (
    FAMILIES,
    SpaceMeasurement,
    UniformFamily,
    circuit_binary_printer,
    find_family,
    growth_per_doubling,
    measure_space,
)
from softmachine.studies.uniformity.circuit_families import AndOrTree, CircuitDescription
from softmachine.studies.uniformity.families import OUTPUT_TYPE, connection_language, decide_connection
from softmachine.studies.uniformity.stdlib import TapeIO, run_in_python
from softmachine.studies.uniformity.transducer import encode_input
from softmachine.studies.uniformity.weight_printer import describe_features, describe_weights
from softmachine.support.errors import UsageError
from softmachine.transformer.features import ceil_log2

NAMES = [family.name for family in FAMILIES]
LARGEST = {"majority": 6, "tree-of-majorities": 7, "connectivity": 12}
"""The machines for unit vectors compare all pairs of addresses: larger n are slow tests."""
OF_CIRCUITS = [name for name in NAMES if find_family(name).circuit]


@cache
def found_at(name: str, n: int) -> SpaceMeasurement:
    return measure_space(find_family(name), n)


def circuit_of(family: UniformFamily, n: int) -> Circuit:
    assert family.circuit is not None
    return family.circuit(n)


def some_sizes(family: UniformFamily, most: int) -> list[int]:
    return [n for n in range(family.min_n, most + 1) if n % 2 or not family.is_odd_only]


@pytest.mark.parametrize("name", NAMES)
def test_programs_print_the_weights_for_every_small_size(name: str) -> None:
    """Run as Python, which is fast; another test compares the machines."""
    family = find_family(name)
    for n in some_sizes(family, LARGEST.get(name, 40)):
        transformer, positions = family.transformer(n)
        assert run_in_python(family.weights, family.arguments, n).splitlines() == list(describe_weights(transformer))
        for i in range(0, positions, 1 + positions // 60):
            assert run_in_python(family.features, family.arguments, n, i).splitlines() == list(
                describe_features(transformer, i)
            ), (n, i)


@pytest.mark.parametrize("name", NAMES)
def test_machines_print_what_compile_makes(name: str) -> None:
    family = find_family(name)
    for n in family.sizes(min(family.default_n, LARGEST.get(name, 64))):
        assert found_at(name, n).differences == ()


@pytest.mark.parametrize("name", ["adjacent-ones", "and-or-tree", "connectivity"])
def test_the_space_of_the_machines_is_logarithmic(name: str) -> None:
    """Definition 2.4, at six sizes or more: at most 11 cells per bit of n for each machine, plus a constant."""
    family = find_family(name)
    found = [found_at(name, n) for n in family.sizes(family.default_n)]
    assert len(found) >= 6
    for each in found:
        assert each.uses["weights"].cells <= 8 * each.ceil_log_n + 112
        assert each.uses["features"].cells <= 20 * each.ceil_log_n + 52
        assert "connections" not in each.uses or each.uses["connections"].cells <= 9 * each.ceil_log_n + 40
    for machine in found[0].uses:
        assert (growth_per_doubling(found, machine) or 0) <= 22


@pytest.mark.parametrize("name", ["circuit-evaluator", "circuit-evaluator-threshold"])
def test_the_evaluators_are_printed_in_logarithmic_space(name: str) -> None:
    """Lemma C.3 and Corollary 5.1, from 4 tokens up to 4,096: six sizes, each four times the one before."""
    found = [found_at(name, 4**k) for k in range(1, 7)]
    for each in found:
        assert each.differences == ()
        assert each.uses["weights"].cells <= 16 * each.ceil_log_n + 130
        assert each.uses["features"].cells <= 9 * each.ceil_log_n + 40
    growth = [b.uses["weights"].cells - a.uses["weights"].cells for a, b in pairwise(found)]
    assert max(growth) <= 40


@pytest.mark.parametrize("name", ["circuit-evaluator", "circuit-evaluator-threshold"])
def test_the_turns_of_the_evaluators_are_a_power_of_the_logarithm(name: str) -> None:
    """Corollary 5.1: ⌈log₂ n⌉^d iterations; the machine for d = 2 prints the same layers, more iterations."""
    family = find_family(name)
    for n in (8, 20, 100):
        once, again = (run_in_python(family.weights, (d,), n).splitlines() for d in (1, 2))
        blocks = [[int(line.split()[1], 2) for line in lines if line.startswith("block")] for lines in (once, again)]
        p = ceil_log2(n)
        assert blocks == [[1, p, 1, p], [1, p, 1, p**2]]
        assert [line for line in once if "block" not in line] == [line for line in again if "block" not in line]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["majority", "tree-of-majorities"])
def test_the_space_of_the_machines_of_unit_vectors_is_logarithmic(name: str) -> None:
    """The precision b is O(log n) bits, and numbers of 2b bits are multiplied: more cells per bit, still a constant."""
    family = find_family(name)
    found = [measure_space(family, n) for n in family.sizes(33)]
    assert len(found) >= 6
    for each in found:
        assert each.differences == ()
        assert each.uses["weights"].cells <= 110 * each.ceil_log_n + 240
        assert each.uses["features"].cells <= 140 * each.ceil_log_n + 320
    growth = [
        later.uses["weights"].cells - earlier.uses["weights"].cells
        for earlier, later in zip(found, found[2:], strict=False)
    ]
    assert growth[-1] <= growth[0]


@pytest.mark.parametrize("name", OF_CIRCUITS)
def test_connection_languages_are_decided(name: str) -> None:
    """Section A.2: every tuple of small circuits, also with nonexistent wires."""
    family = find_family(name)
    machine = family.machines["connections"]
    for n in some_sizes(family, 5):
        circuit = circuit_of(family, n)
        language = connection_language(circuit)
        assert len(language) == 1 + sum(len(gate.inputs) for gate in circuit.gates)
        every = range(len(circuit.wires) + 1)
        for asked in ((i, j, t) for i in every for j in every for t in range(OUTPUT_TYPE + 2)):
            output = run_in_python(decide_connection, family.arguments, n, *asked)
            assert output == f"{int(asked in language)}\n", asked
            if sum(asked) % 7 == 0:
                assert machine.start(encode_input(n, *asked)).read_output() == output


@pytest.mark.parametrize("name", OF_CIRCUITS)
def test_circuits_of_families_are_what_the_theorem_lays_out(name: str) -> None:
    """They have only gates of the basis, so nothing is simplified, and the depth of the family."""
    family = find_family(name)
    basis = Basis.AC if family.theorem == "circuit-and-or-not" else Basis.TC
    for n in some_sizes(family, 12):
        circuit, circuits = circuit_of(family, n), cast("CircuitDescription", family.arguments[0])
        assert simplify(circuit, basis).gates == circuit.gates
        assert circuits.depth(n) == circuit.depth
        assert circuits.wires(n) == len(circuit.wires)
        assert circuits.max_fan_in(n) == max(len(gate.inputs) for gate in circuit.gates)


def test_circuits_of_families_compute_what_they_are_called() -> None:
    for n in range(3, 9):
        for word in (f"{number:0{n}b}" for number in range(1 << n)):
            assert evaluate(generators.adjacent_ones(n), word) == str(int("11" in word))
    assert generators.and_or_tree(8).depth == ceil_log2(8)
    assert evaluate(generators.and_or_tree(4), "1100") == evaluate(generators.and_or_tree(4), "0011") == "1"
    assert evaluate(generators.and_or_tree(4), "0110") == "0"
    assert are_equivalent(generators.majority_tree(3), generators.majority(3))
    assert evaluate(generators.majority_tree(9), "110000001") == "0"
    assert evaluate(generators.majority_tree(9), "110011000") == "1"
    with pytest.raises(UsageError, match="odd number of inputs"):
        generators.majority_tree(4)


def slightly_wrong(tape: TapeIO, family: object) -> None:
    """The correct number of lines, one of them wrong: it prints the width of the transformer for n + 1 inputs."""
    n = tape.unary()
    tape.put(f"width {3 * circuit_binary_printer.address_bits(AndOrTree.wires(n + 1)) + 11:b}\n")


def test_what_is_printed_wrong_is_noticed() -> None:
    family = replace(find_family("and-or-tree"), weights=slightly_wrong)
    assert "expected 'tokens 11'" in measure_space(family, 5).differences[0]
    assert "line 1 is 'width 10111'; expected 'width 10100'" in measure_space(family, 4).differences[0]


def test_sizes_are_within_what_a_family_has() -> None:
    assert find_family("tree-of-majorities").sizes(17) == [3, 5, 7, 9, 13, 17]
    assert find_family("connectivity").sizes(20) == [2, 3, 4, 6, 8, 12, 16, 20]
    with pytest.raises(UsageError, match="measured from n = 2 up to 20"):
        find_family("connectivity").sizes(21)
    with pytest.raises(UsageError, match="choose one of"):
        find_family("none")
