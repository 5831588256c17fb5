"""``run --explain`` and ``--svg``, ``show --svg``, and guides in ``theorems``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli


def test_a_step_is_told_after_the_run(cli: Cli) -> None:
    called = cli("run", "palindrome", "abba", "--explain", "8")
    assert called.status == 0
    lines = called.out.split("\n")
    assert lines[0].startswith("accept")  # the trace is not printed
    assert lines[2] == "step 8, decided at position 12: the token is (back,b,L)"
    decision = "  rule 17: (back, b) → (back, b, L), because state = back (token at step 7) and\n"
    assert f"{decision}    symbol = b (head *last write*, position 7)\n" in called.out
    assert "  last write: cell 1 was last written at step 2 (position 7), with b; the next\n" in called.out
    assert max(map(len, lines)) <= 80


def test_a_trace_that_is_asked_for_is_printed_before_the_step(cli: Cli) -> None:
    assert cli("run", "palindrome", "ab", "--explain", "1", "--trace").out.startswith("     0  first")


def test_json_has_what_was_explained(cli: Cli) -> None:
    answer = cli("run", "palindrome", "ab", "--explain", "@2", "--json").json["explain"]
    assert (answer["position"], answer["token"], answer["step"]) == (2, "BOS", 0)
    assert next(head["head"] for head in answer["heads"]) == "mean of moves"
    assert answer["stream"][-1]["values"]["symbol[a]"] == "1"
    assert answer["logits"]["winner"] == answer["logits"]["emitted"] == "(first,a,S)"
    assert answer["heads"][1]["gap"] == "1/3"
    assert answer["decision"].startswith("start: (BOS, a) → (first, a, S), because BOS = 1 (token at position 2)")
    assert "explain" not in cli("run", "palindrome", "ab", "--json").json


def test_soft_numbers_are_pairs_in_json(cli: Cli) -> None:
    called = cli("run", "Q_a since Q_b", "ab", "--attention", "soft", "--explain", "last", "--json")
    (head,) = called.json["explain"]["heads"]
    assert all(len(weight) == 2 for weight in head["weights"].values())


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("nine", "'nine' is not a step"),
        ("", "'' is not a step"),
        ("1.5", "'1.5' is not a step"),
        ("@", "'@' is not a step"),
        ("9" * 30, "is not a step"),
        ("99", "the run has the steps 0 to 3, not 99"),
        ("@99", "the run has the positions 0 to 6, not 99"),
        ("-99", "the run has the positions 0 to 6, not -99"),
    ],
)
def test_a_step_that_is_none_is_refused(cli: Cli, step: str, message: str) -> None:
    called = cli("run", "palindrome", "aab", "--max-steps", "3", "--explain", step)
    assert called.status == 2
    assert message in called.err.replace("\n", " ")


def test_the_last_position_can_be_asked_for(cli: Cli) -> None:
    for last in ("last", "@-1", "-1"):
        assert "it emits REJ" in cli("run", "palindrome", "ab", "--explain", last).out


def test_encoders_have_positions(cli: Cli) -> None:
    assert "position 2: the token is b" in cli("run", "Q_a since Q_b", "ab", "--explain", "2").out


def test_pictures_are_written_and_nothing_is_overwritten(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "step.svg"
    assert f"wrote {file}" in cli("run", "palindrome", "ab", "--svg", file).out.replace("\n", "")
    before = file.read_bytes()
    called = cli("run", "palindrome", "ab", "--svg", file)
    assert (called.status, file.read_bytes()) == (2, before)
    assert "exists already" in called.err
    for of in ("attention", "attention:last write"):
        other = tmp_path / f"{len(of)}.svg"
        assert cli("run", "palindrome", "ab", "--svg", other, "--svg-of", of, "--json").json["svg"] == str(other)
        assert other.read_text(encoding="utf-8").startswith("<svg ")
    board = tmp_path / "board.svg"
    assert f"wrote {board}" in cli("show", "palindrome", "--svg", board).out.replace("\n", "")
    assert "mean of moves" in board.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--svg-of", "step"), "--svg-of requires --svg"),
        (("--svg", "x.png"), "x.png should end in .svg"),
        (("--svg", "nowhere/x.svg"), "there is no folder nowhere"),
        (("--svg", "x.svg", "--svg-of", "board"), "unknown subject of a picture: 'board'"),
        (("--svg", "x.svg", "--svg-of", "attention:nobody"), "there is no head 'nobody'"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_refused(
    cli: Cli, arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = cli("run", "palindrome", "ab", *arguments)
    assert called.status == 2
    assert message in called.err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


def test_theorems_print_their_guides(cli: Cli) -> None:
    out = cli("theorems", "turing-average-hard").out
    assert "One token of a run" in out
    assert "Where is the head? Step 2." in out
    (answer,) = cli("theorems", "turing-average-hard", "--json").json["theorems"]
    assert answer["guide"][0]["title"] == "What does the token contain?"


def test_a_model_without_a_table_is_refused_before_the_run(cli: Cli) -> None:
    called = cli("run", "Q_a since Q_b", "aba", "--table")
    assert (called.status, called.out) == (2, "")
    assert "temporal-encoder has no table" in called.err


def test_run_prints_the_table_below_the_verdict_and_as_json(cli: Cli) -> None:
    lines = cli("run", "palindrome", "ab", "--table", "--quiet").out.splitlines()
    assert lines[0].startswith("reject")
    assert lines[2].split() == ["i", "x", "q", "b", "m", "h", "a", "y"]
    assert lines[-1] == "7  (reject,b,S)   reject   b  0   1  b  REJ"
    answer = cli("run", "palindrome", "ab", "--table", "--json").json["table"]
    assert answer[4] == {
        "i": "4", "x": "(after a,_,R)", "q": "after a", "b": "_", "m": "1", "h": "1", "a": "b", "y": "(after a,b,R)",
    }  # fmt: skip


def test_a_long_run_has_a_table_of_its_first_positions(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.cli.run_views.MAX_ROWS", 3)
    assert cli("run", "palindrome", "ab", "--table", "--quiet").out.splitlines()[-1] == "… 5 more positions"
