"""Uniform families (Definition A.5): machines print what ``compile`` makes, in logarithmic space."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import cast

import pytest

from softmachine.languages.circuit import Basis, Circuit, equivalent, evaluate, generators, simplified
from softmachine.studies.uniformity import (
    FAMILIES,
    Measured,
    UniformFamily,
    circuit_binary_printer,
    family_named,
    measured,
    per_doubling,
)
from softmachine.studies.uniformity.circuit_families import AndOrTree, CircuitFamily
from softmachine.studies.uniformity.families import OUTPUT, connection_language, connections
from softmachine.studies.uniformity.stdlib import Tapes, run
from softmachine.studies.uniformity.transducer import unary
from softmachine.studies.uniformity.weight_printer import description, features
from softmachine.support.errors import UsageError
from softmachine.transformer.features import ceil_log2

NAMES = [family.name for family in FAMILIES]
LARGEST = {"majority": 6, "tree-of-majorities": 7, "connectivity": 12}
"""The machines for unit vectors compare all pairs of addresses: larger n are slow tests."""
OF_CIRCUITS = [name for name in NAMES if family_named(name).circuit]


@cache
def found_at(name: str, n: int) -> Measured:
    return measured(family_named(name), n)


def circuit_of(family: UniformFamily, n: int) -> Circuit:
    assert family.circuit is not None
    return family.circuit(n)


def some_sizes(family: UniformFamily, most: int) -> list[int]:
    return [n for n in range(family.least, most + 1) if n % 2 or not family.odd]


@pytest.mark.parametrize("name", NAMES)
def test_programs_print_the_weights_for_every_small_size(name: str) -> None:
    """Run as Python, which is fast; another test compares the machines."""
    family = family_named(name)
    for n in some_sizes(family, LARGEST.get(name, 40)):
        transformer, positions = family.transformer(n)
        assert run(family.weights, family.given, n).splitlines() == list(description(transformer))
        for i in range(0, positions, 1 + positions // 60):
            assert run(family.features, family.given, n, i).splitlines() == list(features(transformer, i)), (n, i)


@pytest.mark.parametrize("name", NAMES)
def test_machines_print_what_compile_makes(name: str) -> None:
    family = family_named(name)
    for n in family.sizes(min(family.usual, LARGEST.get(name, 64))):
        assert found_at(name, n).differences == ()


@pytest.mark.parametrize("name", ["adjacent-ones", "and-or-tree", "connectivity"])
def test_the_space_of_the_machines_is_logarithmic(name: str) -> None:
    """Definition 2.4, at six sizes or more: at most 11 cells per bit of n for each machine, plus a constant."""
    family = family_named(name)
    found = [found_at(name, n) for n in family.sizes(family.usual)]
    assert len(found) >= 6
    for each in found:
        assert each.uses["weights"].cells <= 8 * each.logarithm + 112
        assert each.uses["features"].cells <= 20 * each.logarithm + 52
        assert "connections" not in each.uses or each.uses["connections"].cells <= 9 * each.logarithm + 40
    for machine in found[0].uses:
        assert (per_doubling(found, machine) or 0) <= 22


@pytest.mark.parametrize("name", ["circuit-evaluator", "circuit-evaluator-threshold"])
def test_the_evaluators_are_printed_in_logarithmic_space(name: str) -> None:
    """Lemma C.3 and Corollary 5.1, from 4 tokens up to 4,096: six sizes, each four times the one before."""
    found = [found_at(name, 4**k) for k in range(1, 7)]
    for each in found:
        assert each.differences == ()
        assert each.uses["weights"].cells <= 16 * each.logarithm + 130
        assert each.uses["features"].cells <= 9 * each.logarithm + 40
    growth = [b.uses["weights"].cells - a.uses["weights"].cells for a, b in pairwise(found)]
    assert max(growth) <= 40


@pytest.mark.parametrize("name", ["circuit-evaluator", "circuit-evaluator-threshold"])
def test_the_turns_of_the_evaluators_are_a_power_of_the_logarithm(name: str) -> None:
    """Corollary 5.1: ⌈log₂ n⌉^d iterations; the machine for d = 2 prints the same layers, more iterations."""
    family = family_named(name)
    for n in (8, 20, 100):
        once, again = (run(family.weights, (d,), n).splitlines() for d in (1, 2))
        blocks = [[int(line.split()[1], 2) for line in lines if line.startswith("block")] for lines in (once, again)]
        p = ceil_log2(n)
        assert blocks == [[1, p, 1, p], [1, p, 1, p**2]]
        assert [line for line in once if "block" not in line] == [line for line in again if "block" not in line]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["majority", "tree-of-majorities"])
def test_the_space_of_the_machines_of_unit_vectors_is_logarithmic(name: str) -> None:
    """The precision b is O(log n) bits, and numbers of 2b bits are multiplied: more cells per bit, still a constant."""
    family = family_named(name)
    found = [measured(family, n) for n in family.sizes(33)]
    assert len(found) >= 6
    for each in found:
        assert each.differences == ()
        assert each.uses["weights"].cells <= 110 * each.logarithm + 240
        assert each.uses["features"].cells <= 140 * each.logarithm + 320
    growth = [
        later.uses["weights"].cells - earlier.uses["weights"].cells
        for earlier, later in zip(found, found[2:], strict=False)
    ]
    assert growth[-1] <= growth[0]


@pytest.mark.parametrize("name", OF_CIRCUITS)
def test_connection_languages_are_decided(name: str) -> None:
    """Section A.2: every tuple of small circuits, also with nonexistent wires."""
    family = family_named(name)
    machine = family.machines["connections"]
    for n in some_sizes(family, 5):
        circuit = circuit_of(family, n)
        language = connection_language(circuit)
        assert len(language) == 1 + sum(len(gate.inputs) for gate in circuit.gates)
        every = range(len(circuit.wires) + 1)
        for asked in ((i, j, t) for i in every for j in every for t in range(OUTPUT + 2)):
            output = run(connections, family.given, n, *asked)
            assert output == f"{int(asked in language)}\n", asked
            if sum(asked) % 7 == 0:
                assert machine.run(unary(n, *asked)).text() == output


@pytest.mark.parametrize("name", OF_CIRCUITS)
def test_circuits_of_families_are_what_the_theorem_lays_out(name: str) -> None:
    """They have only gates of the basis, so nothing is simplified, and the depth of the family."""
    family = family_named(name)
    basis = Basis.AC if family.theorem == "circuit-and-or-not" else Basis.TC
    for n in some_sizes(family, 12):
        circuit, circuits = circuit_of(family, n), cast("CircuitFamily", family.given[0])
        assert simplified(circuit, basis).gates == circuit.gates
        assert circuits.depth(n) == circuit.depth
        assert circuits.wires(n) == len(circuit.wires)
        assert circuits.most_arguments(n) == max(len(gate.inputs) for gate in circuit.gates)


def test_circuits_of_families_compute_what_they_are_called() -> None:
    for n in range(3, 9):
        for word in (f"{number:0{n}b}" for number in range(1 << n)):
            assert evaluate(generators.adjacent_ones(n), word) == str(int("11" in word))
    assert generators.and_or_tree(8).depth == ceil_log2(8)
    assert evaluate(generators.and_or_tree(4), "1100") == evaluate(generators.and_or_tree(4), "0011") == "1"
    assert evaluate(generators.and_or_tree(4), "0110") == "0"
    assert equivalent(generators.majority_tree(3), generators.majority(3))
    assert evaluate(generators.majority_tree(9), "110000001") == "0"
    assert evaluate(generators.majority_tree(9), "110011000") == "1"
    with pytest.raises(UsageError, match="odd number of inputs"):
        generators.majority_tree(4)


def slightly_wrong(tape: Tapes, family: object) -> None:
    """The correct number of lines, one of them wrong: it prints the width of the transformer for n + 1 inputs."""
    n = tape.unary()
    tape.line("width", 3 * circuit_binary_printer.address_bits(AndOrTree.wires(n + 1)) + 11)


def test_what_is_printed_wrong_is_noticed() -> None:
    family = replace(family_named("and-or-tree"), weights=slightly_wrong)
    assert "expected 'tokens 11'" in measured(family, 5).differences[0]
    assert "line 1 is 'width 10111'; expected 'width 10100'" in measured(family, 4).differences[0]


def test_sizes_are_within_what_a_family_has() -> None:
    assert family_named("tree-of-majorities").sizes(17) == [3, 5, 7, 9, 13, 17]
    assert family_named("connectivity").sizes(20) == [2, 3, 4, 6, 8, 12, 16, 20]
    with pytest.raises(UsageError, match="measured from n = 2 up to 20"):
        family_named("connectivity").sizes(21)
    with pytest.raises(UsageError, match="choose one of"):
        family_named("none")
