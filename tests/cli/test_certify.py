"""``softmachine certify`` of weights alone; of sources, ``tests/net`` has what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import softmachine as sm
from softmachine.transformer.attention import LEFTMOST_HARD
from tests.certify.test_from_weights import picking
from tests.cli.conftest import Cli


def test_a_folder_of_weights_without_a_source_is_certified(tmp_path: Path, cli: Cli) -> None:
    sm.save(picking(LEFTMOST_HARD), tmp_path / "bare")
    said = cli("certify", str(tmp_path / "bare"), "--length", "3")
    assert said.status == 0
    assert "leftmost-hard" in said.out
    assert "Theorem 26 asks for" in said.out
    warm = cli("certify", str(tmp_path / "bare"), "--length", "30", "--sharpness", "2", "--json")
    assert warm.status == 1
    assert json.loads(warm.out)["holds"] is False


def test_what_only_signals_have_is_refused(tmp_path: Path, cli: Cli) -> None:
    sm.save(picking(LEFTMOST_HARD), tmp_path / "bare")
    refused = cli("certify", str(tmp_path / "bare"), "--length", "3", "--csv", str(tmp_path / "x.csv"))
    assert refused.status == 2
    assert "--csv is for certificates from signals" in refused.err


def test_a_source_is_certified_from_its_weights(cli: Cli) -> None:
    said = cli("certify", "Q_a since Q_b", "--length", "4", "--from-weights", "--theorem", "unique-hard")
    assert said.status == 0
    assert "31 inputs, all run" in said.out
    assert "rightmost-hard  1/10" in said.out
