"""``softmachine circuit``, ``show --growth``, and what ``show`` says of chains of thought."""

from __future__ import annotations

from pathlib import Path

import pytest

from softmachine.cli import circuit
from softmachine.languages import formats
from softmachine.languages.circuit import Circuit, GateKind
from tests.cli.conftest import Cli


def test_a_formula_becomes_a_circuit_that_says_the_same(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "since.bench"
    called = cli("circuit", "Q_a since Q_b", "--length", "4", "--arithmetic", "fixed:6", "-o", file)
    assert called.status == 0
    assert "compared on all 16 inputs: no disagreement" in called.out
    again = formats.parse(file.read_text(), source=str(file))
    assert len(again.word("0000")) == 4
    refused = cli("circuit", "Q_a since Q_b", "--length", "4", "-o", file)
    assert refused.status == 2
    assert "exists already" in refused.err


def test_the_figures_of_a_circuit_as_json(cli: Cli) -> None:
    answer = cli("circuit", "prev Q_a", "--alphabet", "ab", "--length", "3", "--arithmetic", "fixed:5", "--json").json
    assert answer["words"] == 8
    assert answer["disagreements"] == []
    assert answer["depth"] >= 1


def test_more_words_than_can_be_compared_are_sampled(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuit, "MAX_WORDS", 15)
    monkeypatch.setattr(circuit, "RANDOM_WORDS", 9)
    arguments = ("circuit", "Q_a since Q_b", "--arithmetic", "fixed:6", "--length")
    assert "compared on random 9 inputs: no disagreement" in cli(*arguments, 4).out
    assert "compared on all 8 inputs: no disagreement" in cli(*arguments, 3).out


@pytest.mark.parametrize("gates", ["AC", "TC"])
def test_the_gates_that_were_asked_for_are_counted_compared_and_written(cli: Cli, tmp_path: Path, gates: str) -> None:
    file = tmp_path / "made.bench"
    arguments = ("circuit", "#<[Q_a] = #<[Q_b]", "--length", "4", "--arithmetic", "fixed:6", "--gates", gates)
    called = cli(*arguments, "-o", file, "--json")
    assert called.status == 0
    assert called.json["disagreements"] == []
    again = formats.parse(file.read_text(), source=str(file))
    assert isinstance(again, Circuit)
    assert called.json["gates"] == again.size - len(again.outputs)
    assert again.outputs[0] == "y0_0"
    known = {GateKind.AND, GateKind.OR, GateKind.NOT, GateKind.BUF, GateKind.ONE, GateKind.ZERO}
    assert {gate.kind for gate in again.gates} <= known | ({GateKind.THR} if gates == "TC" else set())


@pytest.mark.parametrize("source", ["palindrome", "parity-counter"])
def test_what_goes_on_token_by_token_is_no_circuit(cli: Cli, source: str) -> None:
    called = cli("circuit", source, "--length", "2")
    assert called.status == 2
    assert "is autoregressive" in called.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--length", "3", "--gates", "NC"], "AC, TC"),
        (["--length", "3", "-o", "since.png"], ".bench"),
        (["--length", "3", "--arithmetic", "float64"], "fixed"),
        (["--length", "0"], "--length"),
    ],
)
def test_bad_requests_for_circuits_are_refused(cli: Cli, arguments: list[str], message: str) -> None:
    called = cli("circuit", "Q_a since Q_b", *arguments)
    assert called.status == 2
    assert message in called.err


def test_growth_is_measured_at_several_lengths(cli: Cli) -> None:
    out = cli("show", "increment", "--theorem", "turing-ternary", "--growth", "16,32,64").out
    assert "depth      14, 17, 19" in out
    assert "measured for n = 16, 32, 64" in out
    fixed = cli("show", "palindrome", "--growth", "16,32", "--json").json
    assert set(fixed["width"].values()) == {52}
    for wrong in ("16;32", "-1,2", ""):
        assert cli("show", "palindrome", "--growth", wrong).status == 2


def test_sizes_that_confirm_no_law_are_shown_as_numbers(cli: Cli) -> None:
    """Depth and width of uniform-circuits are logarithmic; a line through the numbers at 2, 4 and 8 is no law."""
    out = cli("show", "parity-family", "--theorem", "uniform-circuits", "--growth", "2,4,8", "--context", "2").out
    assert "iterations of reading numbers  9, 10, 12\n" in out
    assert "width                          160, 176, 208\n" in out
    assert "depth      5, 5\n" in cli("show", "palindrome", "--growth", "8,16").out


def test_a_source_of_one_size_has_no_growth(cli: Cli) -> None:
    called = cli("show", "parity-8", "--growth", "2,4,8")
    assert called.status == 2
    assert "have length 8" in called.err


def test_show_says_how_long_chains_of_thought_are(cli: Cli) -> None:
    assert "at most" in cli("show", "parity-crasp", "--json").json["chain_of_thought"]
    assert cli("show", "palindrome", "--json").json["chain_of_thought"] is None
