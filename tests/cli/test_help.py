"""The text of the help. ``tests/test_docs.py`` runs its examples."""

from __future__ import annotations

import re

import pytest

from softmachine.cli.app import COMMANDS, GROUPS
from softmachine.cli.app import command as click_command
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


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_examples_fit_in_80_columns(command: str | None, cli: Cli) -> None:
    shown = cli(*([command] if command else []), "--help").out.partition("Examples:")[2]
    whole = click_command()
    written = (whole.commands[command] if command else whole).epilog.partition("\n")[2]
    assert [line.strip() for line in shown.strip().splitlines()] == [line.strip() for line in written.splitlines()]


@pytest.mark.parametrize("command", ["run", "check", "learn"])
def test_the_ten_most_used_options_come_first(command: str) -> None:
    options = [each for each in click_command(command).commands[command].params if each.name != "source"]
    first = [each.name for each in options if each.rich_help_panel == "Options"]
    assert len(first) == 11
    assert first[-1] == "yes"
    panels = [each.rich_help_panel for each in options if each.rich_help_panel]
    assert panels == sorted(panels, key=list(dict.fromkeys(panels)).index)
    assert len(set(panels)) >= 4


def test_help_lists_the_groups_of_commands_in_their_order(cli: Cli) -> None:
    found = [cli("--help").out.index(f"─ {title} ─") for title in GROUPS]
    assert found == sorted(found)
