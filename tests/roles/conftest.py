"""A desk: an empty folder, and commands as they are typed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Called, Cli, cli

__all__ = ["Desk", "cli", "desk"]


class Desk:
    """Where somebody works.

    Args:
        folder: The folder that they are in.
        cli: What carries commands out.
    """

    def __init__(self, folder: Path, cli: Cli) -> None:
        self.folder = folder
        self._cli = cli

    def types(self, command: str, *, status: int = 0) -> Called:
        """Carry out a command, which ends with this status."""
        program, *words = shlex.split(command)
        assert program == "softmachine"
        called = self._cli(*words)
        assert called.status == status, f"{command}\nstatus {called.status}\n{called.out}{called.err}"
        assert "internal error" not in called.err
        return called

    def writes(self, name: str, text: str) -> Path:
        """Write a file."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def reads(self, name: str) -> str:
        """What is in a file."""
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture
def desk(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path, cli)
