"""``softmachine certify`` of weights alone; of sources, see ``tests/command_output``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.support.argument_validation import MAX_INTEGER
from softmachine.transformer.attention import LEFTMOST_HARD
from tests.certify.test_from_weights import picking
from tests.cli.conftest import Cli


def test_a_folder_of_weights_without_a_source_is_certified(tmp_path: Path, cli: Cli) -> None:
    sm.save(picking(LEFTMOST_HARD), tmp_path / "bare")
    said = cli("certify", str(tmp_path / "bare"), "--length", "3")
    assert said.status == 0
    assert "grid and 1/(j+1)" in said.out
    assert "about every sequence over a, b, c" in said.out
    assert "Theorem 26 asks for" in said.out
    warm = cli("certify", str(tmp_path / "bare"), "--length", "30", "--sharpness", "1", "--json")
    assert warm.status == 1
    assert json.loads(warm.out)["holds"] is False


def test_what_only_signals_have_is_refused(tmp_path: Path, cli: Cli) -> None:
    sm.save(picking(LEFTMOST_HARD), tmp_path / "bare")
    refused = cli("certify", str(tmp_path / "bare"), "--length", "3", "--csv", str(tmp_path / "x.csv"))
    assert refused.status == 2
    assert "--csv requires a source" in refused.err


def test_a_source_is_certified_from_its_weights(cli: Cli) -> None:
    said = cli("certify", "Q_a since Q_b", "--length", "4", "--from-weights", "--theorem", "temporal-unique-hard")
    assert said.status == 0
    assert "grid and 1/(j+1)" in said.out
    assert "about every sequence: first <s>; later a, b" in said.out


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("certify", "palindrome", "--length", 10**155), "--length"),
        (("certify", "palindrome", "--length", 10**400), "--length"),
        (("certify", "palindrome", "--length", 9, "--sharpness", 10**400), "--sharpness"),
        (("certify", "palindrome", "--length", 9, "--sharpness", 10**400, "--from-weights"), "--sharpness"),
        (("run", "palindrome", "ab", "--attention", "soft", "--length", 10**155), "--length"),
        (("run", "increment", "1", "--theorem", "turing-ternary", "--context", 10**400), "--context"),
        (("run", "palindrome", "ab", "--max-steps", 10**400), "--max-steps"),
    ],
)
def test_an_integer_that_no_saved_model_can_store_is_refused(
    arguments: tuple[str | int, ...], option: str, cli: Cli
) -> None:
    refused = cli(*arguments)
    assert refused.status == 2
    assert f"invalid value for '{option}': 1000" in refused.err
    assert "is more than 9,223,372,036,854,775,807" in refused.err


def test_the_largest_length_and_sharpness_are_certified(cli: Cli) -> None:
    found = cli("certify", "palindrome", "--length", MAX_INTEGER, "--sharpness", MAX_INTEGER, "--json")
    assert (found.status, json.loads(found.out)["holds"]) == (0, True)
