"""Every command of the table behaves as recorded; :mod:`tests.command_output.record` records anew."""

from __future__ import annotations

import difflib
import importlib.util
from pathlib import Path

import pytest

from tests.command_output.commands import RECORDED, Line, execute, format_results, lines, load_record, summarise

LINES = lines()
SECTIONS = list(dict.fromkeys(line.section for line in LINES))
WITHOUT_TORCH = "export-without-torch"
"""The section of the messages that are printed where torch is missing."""


@pytest.mark.parametrize("section", SECTIONS)
def test_commands_of_a_section(section: str, tmp_path: Path) -> None:
    if section == WITHOUT_TORCH and importlib.util.find_spec("torch"):
        pytest.skip("torch is installed")
    record = load_record(section)
    members = [line for line in LINES if line.section == section]
    assert [line.text for line in members] == list(record), "python -m tests.command_output.record --missing"
    differences = [text for number, line in enumerate(members) for text in _differences(line, tmp_path / str(number))]
    if differences:
        pytest.fail("\n".join(differences), pytrace=False)


def _differences(line: Line, folder: Path) -> list[str]:
    folder.mkdir()
    before = format_results(load_record(line.section)[line.text])
    now = format_results(summarise(execute(line, folder.resolve())))
    return [f"== {line.text}", *difflib.unified_diff(before, now, "recorded", "now", lineterm="", n=2)] * (
        now != before
    )


def test_the_table_and_the_records_have_the_same_sections_and_no_line_twice() -> None:
    assert sorted(SECTIONS) == sorted(file.stem for file in RECORDED.glob("*.json"))
    assert len({(line.section, line.text) for line in LINES}) == len(LINES)


def test_no_record_has_a_traceback_or_a_colour() -> None:
    for file in RECORDED.glob("*.json"):
        text = file.read_text(encoding="utf-8")
        assert "Traceback" not in text
        assert "\\u001b" not in text
