"""``softmachine dataset``, and the tokens of ``run``."""

from __future__ import annotations

import json
from pathlib import Path

import softmachine as sm
from tests.cli.conftest import Cli


def test_dataset_writes_rows_and_says_what(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    called = cli("dataset", "palindrome", "--up-to", 3, "-o", file)
    assert called.status == 0
    assert called.out.splitlines()[:2] == [f"15 rows in {file}", "  verdicts  9 accept, 6 reject"]
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert rows == [row.to_json() for row in sm.dataset("palindrome", up_to=3)]
    again = cli("dataset", "palindrome", "--up-to", 3, "-o", file)
    assert again.status == 2
    assert "--force" in again.err
    assert cli("dataset", "palindrome", "--up-to", 3, "-o", file, "--force", "--quiet").out == f"{file}\n"


def test_dataset_as_json(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    asked = ("--sample", 10, "--length", "2-4,5-9", "--balance", "--split", "train=1,longer=5-9", "--seed", 4)
    answer = cli("dataset", "palindrome", *asked, "-o", file, "--json").json
    assert (answer["path"], answer["rows"], answer["left_out"]) == (str(file), 20, 0)
    assert answer["verdicts"] == {"accept": 10, "reject": 10}
    assert answer["splits"] == {"train": 10, "longer": 10}


def test_dataset_refuses_in_one_message_and_leaves_nothing(cli: Cli, tmp_path: Path) -> None:
    called = cli("dataset", "Q_a and not Q_a", "--up-to", 4, "--balance", "-o", tmp_path / "rows.jsonl")
    assert called.status == 2
    assert "verdicts cannot be balanced" in called.err
    assert not list(tmp_path.iterdir())


def test_tokens_of_a_run_are_in_its_json(cli: Cli) -> None:
    answer = cli("run", "increment", "11", "--json", "--tokens").json
    assert answer["trace_tokens"] == list(
        next(row for row in sm.dataset("increment", up_to=2) if row.input == "11").trace
    )
    assert answer["tokens"] == len(answer["trace_tokens"])
    assert "trace_tokens" not in cli("run", "increment", "11", "--json").json
    called = cli("run", "increment", "11", "--tokens")
    assert called.status == 2
    assert "--tokens requires --json" in called.err


def test_a_sample_that_takes_too_long_is_refused(cli: Cli, tmp_path: Path) -> None:
    found = cli("dataset", "palindrome", "--sample", 10**11, "--length", 100, "-o", tmp_path / "rows.jsonl")
    assert found.status == 2
    assert "writing 100,000,000,000 rows would take about" in found.err
    assert not list(tmp_path.iterdir())
