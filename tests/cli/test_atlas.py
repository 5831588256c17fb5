from __future__ import annotations

import shlex

import pytest

from softmachine import zoo
from softmachine.measure.atlas import ATLAS, Witness
from softmachine.theorems import all_theorems, theorem_for
from tests.cli.conftest import Cli

WITNESSES = list(dict.fromkeys(witness for cell in ATLAS for witness in cell.lower))


def test_every_regime_is_there_once() -> None:
    regimes = {(cell.depth, cell.precision, cell.width, cell.uniformity) for cell in ATLAS}
    assert len(regimes) == len(ATLAS) == 2 * 3 * 4


def test_every_class_has_a_witness_or_is_cited() -> None:
    for cell in ATLAS:
        assert bool(cell.languages) == (bool(cell.lower) or bool(cell.cited)) == bool(cell.upper)
        assert "AC" in cell.languages or cell.precision != "1" or not cell.languages


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda witness: witness.command)
def test_every_command_runs_the_construction_that_it_is_said_to_run(witness: Witness) -> None:
    assert witness.construction in {item.name for item in all_theorems()}
    program, verb, name, word, *options = shlex.split(witness.command)
    assert (program, verb) == ("softmachine", "run")
    entry = zoo.find(name)
    assert entry is not None
    named = options[options.index("--theorem") + 1] if "--theorem" in options else None
    assert theorem_for(entry.load(), named).name == witness.construction
    assert entry.load().word(word)


@pytest.mark.slow
@pytest.mark.parametrize("witness", WITNESSES, ids=lambda witness: witness.command)
def test_every_command_ends_well(witness: Witness, cli: Cli) -> None:
    assert cli(*shlex.split(witness.command)[1:]).status == 0


def test_the_map_is_printed(cli: Cli) -> None:
    shown = cli("atlas")
    assert shown.status == 0
    for part in ("L AC⁰ [1]", "FO TC^d †", "circuit-evaluator", "softmachine run one-way-streets"):
        assert part in shown.out
    cells = cli("atlas", "--json").json["cells"]
    assert len(cells) == 24
