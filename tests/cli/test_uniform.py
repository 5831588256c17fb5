from __future__ import annotations

from tests.cli.conftest import Cli


def test_families_are_listed(cli: Cli) -> None:
    shown = cli("uniform")
    assert shown.status == 0
    assert "and-or-tree" in shown.out
    assert {each["name"] for each in cli("uniform", "--json").json["families"]} >= {"connectivity", "majority"}


def test_the_space_is_printed_against_the_logarithm(cli: Cli) -> None:
    shown = cli("uniform", "and-or-tree", "--up-to", "16")
    assert shown.status == 0
    assert "⌈log₂ n⌉" in shown.out
    assert "runs equals the output of compile" in shown.out
    answer = cli("uniform", "and-or-tree", "--up-to", "16", "--json").json
    assert [each["n"] for each in answer["sizes"]] == [2, 3, 4, 6, 8, 12, 16]
    assert all(each["differences"] == [] for each in answer["sizes"])
    assert answer["sizes"][-1]["weights"]["cells"] < 2 * answer["sizes"][0]["weights"]["cells"]
    assert set(answer["per_doubling"]) == {"weights", "features", "connections"}


def test_programs_are_printed(cli: Cli) -> None:
    shown = cli("uniform", "connectivity", "--program")
    assert "def print_weights(tape: TapeIO" in shown.out
    assert "class AndOrTree" in cli("uniform", "and-or-tree", "--program").out


def test_an_unknown_family_is_refused(cli: Cli) -> None:
    shown = cli("uniform", "nothing")
    assert shown.status == 2
    assert "choose one of" in shown.err
