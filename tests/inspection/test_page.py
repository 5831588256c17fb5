"""docs/inspect.md says what is so."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, cli

__all__ = ["cli"]

PAGE = (Path(__file__).parents[2] / "docs" / "inspect.md").read_text(encoding="utf-8")
DIALOGUES = re.findall(r"^    \$ softmachine (.*)\n((?:    .*\n|\n(?=    ))*)", PAGE, flags=re.MULTILINE)
COMMANDS = re.findall(r"^    softmachine (.*)$", PAGE, flags=re.MULTILINE)
SPEED = re.compile(r"[\d,]+ tokens/s")


def test_the_commands_of_the_page_print_what_it_says(cli: Cli) -> None:
    assert len(DIALOGUES) == 3
    for command, said in DIALOGUES:
        wanted = re.sub("^    ", "", said, flags=re.MULTILINE).rstrip()
        assert SPEED.sub("", cli(*shlex.split(command)).out.rstrip()) == SPEED.sub("", wanted)


def test_the_pictures_of_the_page_are_drawn(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) == 4
    for command in COMMANDS:
        assert cli(*shlex.split(command)).status == 0
    assert len(list(tmp_path.glob("*.svg"))) == 4


def test_the_python_of_the_page_prints_what_it_says() -> None:
    code, said = (re.search(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL) for language in ("python", "text"))
    assert code
    assert said
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code[1], "docs/inspect.md", "exec"), {})
    assert output.getvalue() == said[1]
