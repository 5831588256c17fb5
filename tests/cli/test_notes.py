"""The notes of a model are part of every answer from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import softmachine as sm
from tests.cli.conftest import Cli

NOTE = "trained on a Tuesday"
COMMANDS: dict[str, tuple[str | int, ...]] = {
    "run": ("run", "turing", "101"),
    "check": ("check", "turing", "--up-to", 2),
    "show": ("show", "turing"),
    "certify": ("certify", "turing", "--length", 20),
    "circuit": ("circuit", "temporal", "--length", 2, "--arithmetic", "fixed:4"),
    "slices": ("slices", "temporal", "--up-to", 2),
    "compile": ("compile", "turing", "-o", "new"),
    "export": ("export", "turing", "--to", "native", "-o", "new"),
}


@pytest.fixture(autouse=True)
def _models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, source in (("turing", "parity"), ("temporal", "Q_a since Q_b")):
        sm.save(replace(sm.compile(source), notes=(NOTE,)), folder)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("how", [(), ("--quiet",), ("--json",)])
def test_every_answer_has_the_notes_of_the_model(cli: Cli, name: str, how: tuple[str, ...]) -> None:
    called = cli(*COMMANDS[name], *how)
    assert called.status == 0, called.err
    if how == ("--json",):
        assert called.json["notes"] == [NOTE]
    else:
        assert NOTE in called.out


def test_a_model_that_is_compiled_anew_keeps_its_notes(cli: Cli) -> None:
    assert cli("compile", "turing", "-o", "model").status == 0
    assert cli("run", "model", "101", "--json").json["notes"] == [NOTE]


def test_a_compiled_model_has_no_notes(cli: Cli) -> None:
    assert cli("compile", "parity", "-o", "model").status == 0
    assert "notes" not in cli("run", "model", "101", "--json").json
