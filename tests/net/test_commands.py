"""Every command of the table does what is recorded; :mod:`tests.net.record` records anew."""

from __future__ import annotations

import difflib
import importlib.util
from pathlib import Path

import pytest

from tests.net.commands import RECORDED, Line, carried_out, lines, recorded, shown

LINES = lines()
WITHOUT_TORCH = "export-without-torch"
"""The section of what is said where torch is missing."""


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.section}: {line.text}")
def test_command(line: Line, tmp_path: Path) -> None:
    if line.section == WITHOUT_TORCH and importlib.util.find_spec("torch"):
        pytest.skip("torch is installed")
    expected = recorded(line.section).get(line.text)
    assert expected is not None, "no record: python -m tests.net.record --missing"
    before, now = shown(expected), shown(carried_out(line, tmp_path.resolve()))
    if now != before:
        difference = difflib.unified_diff(before, now, "recorded", "now", lineterm="", n=2)
        pytest.fail("\n".join(["it does something else now:", *difference]), pytrace=False)


def test_the_table_and_the_record_have_the_same_lines() -> None:
    there = {(line.section, line.text) for line in LINES}
    kept = {(file.stem, text) for file in RECORDED.glob("*.json") for text in recorded(file.stem)}
    assert there == kept
    assert len(there) == len(LINES), "a line is there twice"


def test_no_record_has_a_traceback_or_a_colour() -> None:
    for file in RECORDED.glob("*.json"):
        text = file.read_text(encoding="utf-8")
        assert "Traceback" not in text
        assert "\\u001b" not in text
