"""What the help says: names as they are written. That its examples run is in ``tests/test_docs.py``."""

from __future__ import annotations

import re

import pytest

from softmachine.cli.app import COMMANDS
from tests.cli.conftest import Cli


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_shows_what_is_written_and_no_emoji(
    command: str | None, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    said = cli(*([command] if command else []), "--help").out
    assert not re.findall("[\U0001f000-\U0001faff\u2600-\u27bf]", said)
    if command in ("run", "check"):
        assert "fixed:B:C with C inside attention" in re.sub(r"[\s│]+", " ", said)
