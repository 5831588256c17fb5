"""The command line, called in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import softmachine.api  # noqa: F401 - before a test patches what it imports
from softmachine.cli import main


@dataclass(frozen=True)
class Called:
    """What a call did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output as the one JSON object that it must be."""
        answer = json.loads(self.out)
        assert isinstance(answer, dict)
        return answer


Cli = Callable[..., Called]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Calls ``softmachine`` with these arguments."""
    for name in ("FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str | Path | int) -> Called:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.err or "--debug" in arguments
        assert "\x1b" not in said.out + said.err
        return Called(status, said.out, said.err)

    return call


@pytest.fixture
def saved(cli: Cli, tmp_path: Path) -> Path:
    """A saved model of a small machine."""
    folder = tmp_path / "parity"
    assert cli("compile", "parity", "-o", folder, "--quiet").status == 0
    return folder
