from __future__ import annotations

import re
import shlex

import pytest

import softmachine as sm
from softmachine.languages import zoo
from softmachine.languages.family import CircuitFamily
from softmachine.studies.measure.atlas import ATLAS, Claim, Demonstration, Regime, iterate_demonstrations
from softmachine.studies.uniformity import find_family
from softmachine.theorems import all_theorems, find_theorem
from tests.cli.conftest import Cli

WITNESSES = list(iterate_demonstrations(ATLAS))
IDS = [f"{claim}: {witness.command}" for claim, witness in WITNESSES]


def test_every_regime_is_there_once() -> None:
    regimes = {(cell.depth, cell.precision, cell.width, cell.uniformity) for cell in ATLAS}
    assert len(regimes) == len(ATLAS) == 2 * 3 * 4


def test_every_class_has_a_witness_or_is_cited() -> None:
    for cell in ATLAS:
        assert bool(cell.languages) == (bool(cell.lower) or bool(cell.cited)) == bool(cell.upper)
        assert "AC" in cell.languages or cell.precision != "1" or not cell.languages


def test_every_cell_says_how_much_of_it_is_witnessed() -> None:
    for cell in ATLAS:
        if cell.languages and not cell.cited:
            assert cell.witnessed == (Claim.LOWER, Claim.UNIFORM, Claim.UPPER)
        elif cell.languages:
            assert cell.witnessed == (Claim.LOWER,)
            assert all("members of the class" in witness.note and "cited" in witness.note for witness in cell.lower)
        else:
            assert cell.witnessed == ()


@pytest.mark.parametrize(("claim", "witness"), WITNESSES, ids=IDS)
def test_every_command_runs_the_construction_that_it_is_said_to_run(claim: Claim, witness: Demonstration) -> None:
    program, verb, name, *options = shlex.split(witness.command)
    assert (program, verb) == ("softmachine", {"lower": "run", "uniform": "uniform", "upper": "circuit"}[claim])
    if claim is Claim.UNIFORM:
        entry = zoo.find_entry(name)
        written = entry is not None and isinstance(entry.load(), CircuitFamily)
        assert written or find_family(name).name == witness.construction
    if claim is Claim.LOWER:
        assert witness.construction in {item.name for item in all_theorems()}
        entry = zoo.find_entry(name)
        assert entry is not None
        named = options[options.index("--theorem") + 1] if "--theorem" in options else None
        assert find_theorem(entry.load(), named).name == witness.construction
        assert entry.load().word(options[0])


FIXED = re.compile(r"--arithmetic fixed:(\d+)")


@pytest.mark.parametrize(
    "cell",
    [cell for cell in ATLAS if cell.languages],
    ids=lambda cell: f"{cell.depth}, {cell.precision}, {cell.width}, {cell.uniformity}",
)
def test_witnesses_run_in_fixed_point_of_the_precision_of_their_cell(cell: Regime) -> None:
    """Constant precision is F_2; more bits are for precision that grows. Layer-norm hashes say that they cannot."""
    for witness in (*cell.lower, *cell.above):
        found = FIXED.search(witness.command)
        if found is None:
            assert (witness.construction, "in float64" in witness.note) == ("automaton-layer-norm", True)
        else:
            assert (int(found[1]) == 2) == (cell.precision == "1")


def test_a_loop_that_becomes_a_circuit_turns_more_than_once() -> None:
    """The witnesses of Lemma 5.1 are loops: a copy for each turn, and not one copy only."""
    looped = [cell for cell in ATLAS if cell.depth != "1" and cell.languages and not cell.cited]
    for witness in {witness for cell in looped for witness in cell.above}:
        _, _, name, *options = shlex.split(witness.command)
        weights = sm.compile(name, theorem=options[options.index("--theorem") + 1]).weights
        assert max(block.iterations(None) for block in weights.blocks) > 1


def test_every_cell_cites_the_upper_bound_that_covers_its_precision() -> None:
    """Lemma 4.2 has constant and polynomial precision; of Lemma 5.2, (5a) has constant and (5b) logarithmic."""
    looped = {"1": "Lemma 5.2 (5a)", "log N": "Lemma 5.2 (5b)", "poly N": "Lemma 4.2, Lemma 5.1"}
    for cell in ATLAS:
        if cell.cited:
            assert cell.upper == cell.cited == "Merrill & Sabharwal 2025a"
        elif cell.languages:
            assert cell.upper == ("Lemma 4.2" if cell.depth == "1" else looped[cell.precision])


@pytest.mark.slow
@pytest.mark.parametrize("command", [witness.command for _, witness in WITNESSES])
def test_every_command_ends_well(command: str, cli: Cli) -> None:
    assert cli(*shlex.split(command)[1:]).status == 0


def test_the_map_is_printed(cli: Cli) -> None:
    shown = cli("atlas")
    assert shown.status == 0
    parts = ("L AC⁰", "FO TC^d †", "uniform-circuits", "softmachine run one-way-streets", "softmachine uniform")
    for part in parts:
        assert part in shown.out
    for bound in ("⊆ 4.2 ", "⊆ 5.2 (5a)", "⊆ 5.2 (5b)", "⊆ 4.2, 5.1", "⊆ †"):
        assert bound in shown.out
    assert "Hard and soft attention give the same" not in shown.out
    assert "which does not state the converse)" in shown.out
    cells = cli("atlas", "--json").json["cells"]
    assert len(cells) == 24
    assert {"lower", "uniform", "above", "witnessed"} <= set(cells[0])
