"""What the help says: names as they are written, and examples that run."""

from __future__ import annotations

import importlib.util
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from softmachine.cli.app import COMMANDS, EXAMPLES
from tests.cli.conftest import Cli

SLOW = (
    "export --set",
    "check increment --sample 20",
    "atlas",
    "bench",
    "--length 256",
    "bb4",
    "increment-bf16",
    "reverse-bert",
)
"""Examples that take more than some seconds, or torch."""
NEEDS_TORCH = importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None


def examples() -> list[object]:
    """Every example of the help, once; those of a command in one go, since the later ones may use what is written."""
    texts = [EXAMPLES, *(import_module(f"softmachine.cli.{name}").EXAMPLES for name in COMMANDS)]
    found: list[object] = []
    for text in texts:
        lines = [line.strip() for line in text.replace("\\\n", " ").split("\n")[1:]]
        groups = [lines] if any(line.startswith("softmachine compile") for line in lines[:1]) else [[x] for x in lines]
        for group in groups:
            marks = [pytest.mark.slow] if any(part in line for line in group for part in SLOW) else []
            if any(line.startswith("softmachine export") for line in group):
                marks += [pytest.mark.skipif(NEEDS_TORCH, reason="exports need torch: pip install 'softmachine[hf]'")]
                marks += [pytest.mark.slow]
            found.append(pytest.param(group, marks=marks, id="; ".join(group)))
    return found


@pytest.mark.parametrize("lines", examples())
def test_the_examples_of_the_help_run(
    lines: list[str], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "softmachine"
        called = cli(*arguments)
        assert (called.status, called.err) == (0, ""), called.out[-500:]
        assert called.out


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_shows_what_is_written_and_no_emoji(
    command: str | None, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    said = cli(*([command] if command else []), "--help").out
    assert not re.findall("[\U0001f000-\U0001faff\u2600-\u27bf]", said)
    if command in ("run", "check"):
        assert "fixed:B:C with C inside attention" in re.sub(r"[\s│]+", " ", said)
