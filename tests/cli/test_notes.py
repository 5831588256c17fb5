"""What a model has to say is said with every answer from it: here that a folder of version 1 cannot be verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from softmachine.exports.native import UNVERIFIED
from tests.cli.conftest import Cli

VERSION_1 = Path(__file__).parents[1] / "net" / "version1"
COMMANDS = {
    "run": ("run", VERSION_1 / "turing", "101"),
    "check": ("check", VERSION_1 / "turing", "--up-to", 2),
    "show": ("show", VERSION_1 / "turing"),
    "certify": ("certify", VERSION_1 / "turing", "--length", 20),
    "circuit": ("circuit", VERSION_1 / "temporal", "--inputs", 2, "--arithmetic", "fixed:4"),
    "slices": ("slices", VERSION_1 / "temporal", "--up-to", 2),
    "compile": ("compile", VERSION_1 / "turing", "-o", "FOLDER"),
    "export": ("export", VERSION_1 / "turing", "--to", "native", "-o", "FOLDER"),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("how", [(), ("--quiet",), ("--json",)])
def test_every_answer_from_a_folder_of_version_1_says_unverified(
    cli: Cli, tmp_path: Path, name: str, how: tuple[str, ...]
) -> None:
    words = [tmp_path / "model" if word == "FOLDER" else word for word in COMMANDS[name]]
    called = cli(*words, *how)
    assert called.status == 0, called.err
    if how == ("--json",):
        assert called.json["notes"] == [UNVERIFIED]
    else:
        assert UNVERIFIED.split(":")[0] in called.out


def test_a_model_that_was_compiled_anew_from_version_1_goes_on_saying_it(cli: Cli, tmp_path: Path) -> None:
    assert cli("compile", VERSION_1 / "turing", "-o", tmp_path / "model").status == 0
    assert cli("run", tmp_path / "model", "101", "--json").json["notes"] == [UNVERIFIED]


def test_a_model_of_the_present_version_has_nothing_to_say(cli: Cli, tmp_path: Path) -> None:
    assert cli("compile", "parity", "-o", tmp_path / "model").status == 0
    assert "notes" not in cli("run", tmp_path / "model", "101", "--json").json
