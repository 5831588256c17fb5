"""docs/datasets.md says what is so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, cli

__all__ = ["cli"]

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^    \$ softmachine (.*)\n((?:    .*\n)*)", PAGE, flags=re.MULTILINE)


def test_the_commands_of_the_page_print_what_it_says(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) == 2
    for command, said in BLOCKS:
        called = cli(*shlex.split(command))
        assert (called.out + called.err).rstrip() == re.sub("^    ", "", said, flags=re.MULTILINE).rstrip()


def test_the_command_without_output_runs(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = re.search(r"^    softmachine (.*?)\\\n(.*)$", PAGE, flags=re.MULTILINE)
    assert command
    smaller = shlex.split(command[1] + command[2].replace(".parquet", ".jsonl").replace("500", "20"))
    smaller[smaller.index("--sample") + 1] = "20"
    assert cli(*smaller).status == 0


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert code
    exec(compile(code[1].replace("500", "20"), "docs/datasets.md", "exec"), {})
    assert (tmp_path / "division.jsonl").exists()
