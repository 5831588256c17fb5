"""``softmachine slices``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli


def test_slices_counts_classes_and_says_how_they_grow(cli: Cli) -> None:
    called = cli("slices", "palindrome", "--up-to", 9)
    assert called.status == 0
    assert called.out.startswith("Turing machine palindrome")
    assert "     6          8         25          8\n" in called.out
    assert called.out.splitlines()[-1].startswith("classes: exponential: like 1.4")
    assert "fitted: the largest number of classes up to each length, neighbours averaged;\n" in called.out
    answer = cli("slices", "palindrome", "--up-to", 9, "--json").json
    assert answer["growth"]["fitted"] == "the largest number of classes up to each length, neighbours averaged"


def test_slices_of_a_formula_over_more_letters(cli: Cli) -> None:
    answer = cli("slices", "#<[Q_a] > 2", "--up-to", 3, "--alphabet", "ab", "--json").json
    assert [entry["classes"] for entry in answer["slices"]] == [2, 3, 7]
    assert answer["slices"][2]["by_prefix_length"] == [1, 2, 2, 2]
    assert answer["growth"] is None
    longer = cli("slices", "Q_a", "--up-to", 12, "--alphabet", "ab", "--json").json
    assert longer["growth"]["law"] == "polynomial"


def test_slices_of_a_saved_model_are_those_of_its_source(cli: Cli, saved: Path) -> None:
    assert cli("slices", saved, "--up-to", 4).out == cli("slices", "parity", "--up-to", 4).out


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_slices_are_drawn(cli: Cli, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"picture.{ending}"
    called = cli("slices", "parity", "--up-to", 6, "--plot", file)
    assert called.status == 0
    assert called.out.endswith(f"plot written to {file}\n")
    assert file.read_bytes()[:4] in (b"\x89PNG", b"<?xm")
    again = cli("slices", "parity", "--up-to", 6, "--plot", file)
    assert again.status == 2
    assert "exists already" in again.err


def test_slices_explains_what_it_cannot_do(cli: Cli) -> None:
    called = cli("slices", "parity", "--up-to", 30)
    assert called.status == 2
    assert "use lengths up to 20" in called.err
    assert "words of length 21, too many to enumerate" in called.err


def test_automata_at_the_command_line(cli: Cli) -> None:
    shown = cli("slices", "majority-crasp", "--up-to", 7, "--automata")
    assert shown.status == 0
    assert "n² + n + 1 states: polynomially many" in shown.out
    answer = cli("slices", "majority-crasp", "--up-to", 3, "--automata", "--json").json
    assert answer["automata"] == [{"length": n, "states": n * n + n + 1} for n in (1, 2, 3)]
    refused = cli("slices", "palindrome", "--up-to", 3, "--automata")
    assert refused.status == 2
    assert "requires a C-RASP program" in refused.err


def test_small_formulas_are_tried_against_a_language(cli: Cli) -> None:
    called = cli("slices", "dyck-2-program", "--up-to", 8, "--formulas", 3)
    assert called.status == 0
    assert "200 words of length 8 that are in the language, 200 that are not" in called.out
    assert "no conjunction of formulas of size 3 distinguishes" in called.out
    assert called.out.rstrip().endswith("this proves nothing about larger formulas")
    answer = cli("slices", "dyck-2-program", "--up-to", 6, "--formulas", 2, "--json").json
    assert [entry["size"] for entry in answer["sizes"]] == [1, 2]
    assert all(entry["left"] > 0 for entry in answer["sizes"])
    assert len(answer["example"]) == 6


def test_formulas_that_tell_everything_apart_prove_nothing(cli: Cli) -> None:
    called = cli("slices", "dyck-1-formula", "--up-to", 6, "--formulas", 5)
    assert (
        "formulas of size 4 distinguish all of these words from the language; this proves nothing about larger formulas"
        in called.out
    )


def test_the_volume_of_a_model_is_told_length_by_length(cli: Cli) -> None:
    called = cli("slices", "prev Q_a or Q_b", "--up-to", 3, "--volume")
    assert called.status == 0
    assert "     3        3      36\n" in called.out
    answer = cli("slices", "prev Q_a or Q_b", "--up-to", 2, "--volume", "--json").json
    assert answer["volumes"] == [{"length": n, "precision": 3, "volume": 36} for n in (1, 2)]


@pytest.mark.parametrize(
    "options",
    [
        ("--formulas", "2", "--volume"),
        ("--formulas", "2", "--journal", "kept.jsonl"),
        ("--volume", "--automata"),
        ("--volume", "--plot", "picture.svg"),
        ("--volume", "--workers", "2"),
    ],
)
def test_what_stands_in_place_of_classes_stands_alone(cli: Cli, options: tuple[str, ...]) -> None:
    """Two answers were two JSON objects, and options that are about classes were passed over."""
    found = cli("slices", "parity-crasp", "--up-to", "3", *options, "--json")
    assert found.status == 2
    assert "cannot be combined with" in found.json["error"]["message"]


def test_too_large_a_formula_is_said_in_plain_words(cli: Cli) -> None:
    assert "7 is more than 6" in cli("slices", "parity", "--formulas", "7").err
