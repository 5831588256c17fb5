"""What reductions make of inputs, at the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli


def test_a_word_becomes_a_circuit_with_its_input(cli: Cli) -> None:
    found = cli("reduce", "parity-family", "1", "--theorem", "uniform-circuits")
    assert found.status == 0
    assert found.out == "x=1\nOR &00000#00001\nNOT &00000#00010\n"


def test_a_word_becomes_a_graph_that_run_reads(cli: Cli, tmp_path: Path) -> None:
    found = cli("reduce", "equal-blocks", "1#1")
    (tmp_path / "steps.edges").write_text(found.out, encoding="utf-8")
    run = cli("run", str(tmp_path / "steps.edges"), "begin@0,0:__ accepted")
    assert run.out.startswith("accept")


def test_json(cli: Cli) -> None:
    found = cli("reduce", "one-street", "there back", "--theorem", "odd-walks", "--json")
    answer = found.json
    assert answer["theorem"] == "odd-walks"
    assert "there.even back.odd" in answer["reduced"]


def test_theorems_without_a_reduction_say_so(cli: Cli) -> None:
    found = cli("reduce", "palindrome", "ab")
    assert found.status == 2
    assert "turing-average-hard has no reduction\n  no theorem for this source has one" in found.err
    found = cli("reduce", "one-street", "there back")
    assert "connectivity has no reduction\n  one that has: --theorem odd-walks" in found.err
