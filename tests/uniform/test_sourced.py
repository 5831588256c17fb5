"""Families of circuits given by rules: machines print their circuits, in logarithmic space (Lemma C.1)."""

from __future__ import annotations

import pytest

from softmachine.languages import zoo
from softmachine.languages.circuit import Basis
from softmachine.languages.family import CircuitFamily, parse
from softmachine.studies.uniformity import RuleFamily, growth_per_doubling, measure_space
from softmachine.studies.uniformity.circuit_families import compile_printer, describe_circuit, generate_program
from softmachine.studies.uniformity.families import join_lines
from softmachine.studies.uniformity.transducer import encode_input
from softmachine.studies.uniformity.weight_printer import describe_features
from softmachine.studies.uniformity.weight_printer import describe_weights as weights
from softmachine.support.errors import SoftmachineError
from softmachine.testing import load_as
from softmachine.theorems.circuits.evaluator import fitting_length
from softmachine.theorems.circuits.uniform_family import FamilyCodec

NAMES = [entry.name for entry in zoo.list_entries() if entry.file.endswith(".family")]


def test_the_zoo_has_families() -> None:
    assert len(NAMES) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_a_machine_prints_the_circuit_for_every_length(name: str) -> None:
    given = load_as(name, CircuitFamily)
    machine = compile_printer(given)
    for n in range(1, 18):
        assert machine.start(encode_input(n)).read_output() == join_lines(describe_circuit(given.circuit(n)))


@pytest.mark.parametrize("name", NAMES)
def test_the_space_is_logarithmic(name: str) -> None:
    """At nine lengths: every doubling of n adds at most as many cells as the first one."""
    given = RuleFamily(load_as(name, CircuitFamily))
    found = [measure_space(given, n) for n in (1, 2, 4, 6, 8, 12, 16, 24, 32)]
    assert [each.differences for each in found] == [()] * len(found)
    cells = {each.n: each.uses["circuit"].cells for each in found}
    assert cells[32] - cells[16] <= cells[16] - cells[8] + 4 <= cells[8] - cells[4] + 8
    assert (growth_per_doubling(found, "circuit") or 0) <= 25
    assert cells[32] <= 20 * 5 + 40
    for machine, most in (("weights", 30), ("features", 40)):
        for each in found:
            assert each.uses[machine].cells <= most * each.ceil_log_n + 190


@pytest.mark.parametrize("name", NAMES)
def test_machines_print_the_transformer_of_corollary_5_1(name: str) -> None:
    """All its weights and the features of every position: every token of ⟨C_n⟩ is found by counting."""
    given = RuleFamily(load_as(name, CircuitFamily))
    for n in (1, 2, 3):
        transformer, positions = given.transformer(n)
        assert given.machines["weights"].start(encode_input(n)).read_output() == join_lines(weights(transformer))
        for i in range(positions):
            assert given.machines["features"].start(encode_input(n, i)).read_output() == join_lines(
                describe_features(transformer, i)
            ), (n, i)


CHAIN = """family chain
depth log^1 <= 5*log(n) + 5
c(0) = OR x(0)
c(k) = AND c(k-1) x(n-1) for k in 1..5*log(n) + 4
output c(5*log(n) + 4)
"""


def test_padding_makes_turns_enough_for_deep_circuits() -> None:
    """Lemma C.2: a family whose depth exceeds log T gets a longer T, from its bound of the depth."""
    given = RuleFamily(parse(CHAIN))
    for n in (2, 3):
        codec = FamilyCodec(given.source, n)
        assert fitting_length(codec.circuit, n, Basis.AC) < 1 << (given.source.depth(n) - 1) < codec.total_positions
        assert codec.iterations >= codec.circuit.depth
        assert measure_space(given, n).differences == ()


def test_a_family_that_does_not_say_how_deep_it_is_has_a_machine_for_circuits_only() -> None:
    given = RuleFamily(parse(CHAIN.replace(" <= 5*log(n) + 5", "")))
    assert set(given.machines) == {"circuit"}
    assert measure_space(given, 4).differences == ()


def test_ranges_that_end_below_0_are_empty() -> None:
    given = parse(
        "family few\ndepth log^1\nboth(i) = AND x(i) x(i+1) for i in 0..n-2\n"
        "any = OR [both(i) for i in 0..n-2] x(0)\noutput any\n"
    )
    machine = compile_printer(given)
    for n in range(1, 9):
        assert machine.start(encode_input(n)).read_output() == join_lines(describe_circuit(given.circuit(n)))


def test_a_machine_gets_stuck_where_a_number_is_below_0() -> None:
    given = parse("family low\ndepth log^1\na = OR x(0) for i in 0..0 if n - 3 >= 0\noutput a\n")
    with pytest.raises(SoftmachineError, match="got stuck"):
        compile_printer(given).start(encode_input(2)).read_output()


def test_names_of_a_family_are_not_taken_for_words_of_python() -> None:
    given = parse("family odd\ndepth log^1\ntape(lambda) = OR x(lambda) for lambda in 0..n-1\noutput tape(0)\n")
    assert "v_lambda" in generate_program(given)
    assert compile_printer(given).start(encode_input(3)).read_output() == join_lines(describe_circuit(given.circuit(3)))
