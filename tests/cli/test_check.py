"""``softmachine check``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import softmachine as sm
from softmachine.engines import check as checking
from softmachine.engines.check import Disagreement, _describe_position, check_inputs
from softmachine.languages.source import Source
from softmachine.testing import words as all_words
from softmachine.theorems.codec import Codec
from tests.cli.conftest import Cli
from tests.models import rewrite


@pytest.fixture
def wrong(saved: Path) -> Path:
    """A saved model of parity that claims to be one of its complement."""

    def claim(data: dict[str, Any]) -> None:
        machine = json.loads(data["source"]["text"])
        machine["accept"], machine["reject"] = machine["reject"], machine["accept"]
        data["source"]["text"] = json.dumps(machine)

    rewrite(saved, claim)
    return saved


def test_every_input_up_to_a_length(cli: Cli) -> None:
    called = cli("check", "parity", "--up-to", 3)
    assert called.status == 0
    assert called.out.startswith("15 inputs, ")
    assert "no disagreement" in called.out


def test_a_random_sample(cli: Cli) -> None:
    called = cli("check", "parity", "--sample", 4, "--length", 12, "--seed", 1, "--json")
    assert called.status == 0
    assert (called.json["inputs"], called.json["tokens"]) == (4, 4 * 15)


@pytest.mark.parametrize(
    ("source", "said"),
    [("full-adder", "all 8 inputs, 280 tokens, no disagreement"), ("koenigsberg", "all 16 inputs, 1,280 tokens")],
)
def test_all_inputs_of_one_length_need_no_option(cli: Cli, source: str, said: str) -> None:
    called = cli("check", source)
    assert called.status == 0
    assert called.out.startswith(said)


@pytest.mark.parametrize(
    ("source", "said"),
    [("adder-8", "there are 65,536 inputs, all of length 16"), ("interrupt-controller", "68,719,476,736 inputs")],
)
def test_where_they_are_many_it_says_how_many(cli: Cli, source: str, said: str) -> None:
    called = cli("check", source)
    assert called.status == 2
    assert said in called.err
    assert "--sample 100 for random inputs, --up-to" in called.err


def test_so_many_inputs_that_their_number_is_not_written_out(cli: Cli, tmp_path: Path) -> None:
    names = [f"x{k}" for k in range(60)]
    lines = [*(f"INPUT({name})" for name in names), "OUTPUT(y)", f"y = AND({', '.join(names)})"]
    (tmp_path / "wide.bench").write_text("\n".join(lines))
    assert "there are 2^60 inputs, all of length 60" in cli("check", tmp_path / "wide.bench").err


def test_a_sample_of_inputs_of_one_length_needs_no_length(cli: Cli) -> None:
    assert cli("check", "adder-8", "--sample", 2).out.startswith("2 inputs, ")
    assert cli("check", "koenigsberg", "--sample", 3, "--length", 2).out.startswith("3 inputs, ")
    wrong = cli("check", "koenigsberg", "--sample", 2, "--length", 3)
    assert wrong.status == 2
    assert "all inputs have length 2; there are none of length 3" in wrong.err


def test_json_is_one_object_with_all_keys(cli: Cli) -> None:
    answer = cli("check", "two-tape-copy", "--up-to", 2, "--arithmetic", "exact", "--json").json
    assert answer["holds"] is True
    assert (answer["inputs"], answer["disagreements"], answer["disagreement_count"]) == (7, [], 0)
    assert answer["seconds"] > 0


def test_long_runs_are_compared_up_to_the_step_limit(cli: Cli) -> None:
    answer = cli("check", "binary-counter", "--up-to", 0, "--max-steps", 20, "--json").json
    assert (answer["inputs"], answer["tokens"], answer["holds"]) == (1, 21, True)


def test_disagreements_are_shown_with_both_traces(cli: Cli, wrong: Path) -> None:
    called = cli("check", wrong, "--up-to", 2)
    assert called.status == 1
    assert "7 disagreements" in called.out
    assert called.out.count("interpreter") == called.out.count("model") == 3
    assert "… and 4 more" in called.out
    interpreter, model = (line.split() for line in called.out.splitlines()[3:5])
    assert interpreter[1:-1] == model[1:-1]
    assert (interpreter[-1], model[-1]) == ("ACC", "REJ")


def test_disagreements_in_json_are_the_first_ten(cli: Cli, wrong: Path) -> None:
    called = cli("check", wrong, "--up-to", 3, "--json")
    assert called.status == 1
    assert (called.json["holds"], called.json["disagreement_count"]) == (False, 15)
    assert len(called.json["disagreements"]) == 10
    assert called.json["disagreements"][2] == {
        "word": "1",
        "step": 3,
        "expected": "REJ",
        "found": "ACC",
        "reason": None,
    }


def test_quiet_is_one_line_even_if_it_does_not_hold(cli: Cli, wrong: Path) -> None:
    called = cli("check", wrong, "--up-to", 1, "--quiet")
    assert called.status == 1
    assert len(called.out.splitlines()) == 1


def test_interrupted_reports_what_was_tried(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def words(codec: Codec[Source], *_: object) -> Iterator[tuple[str, ...]]:
        yield from all_words(codec.alphabet, 1)
        raise KeyboardInterrupt

    monkeypatch.setattr("softmachine.engines.check.iterate_words", words)
    called = cli("check", "parity", "--up-to", 9, "--json")
    assert called.status == 130
    assert (called.json["interrupted"], called.json["inputs"], called.json["holds"]) == (True, 3, None)
    assert "3 of 1,023 inputs" in called.err


def test_more_inputs_than_anyone_can_count(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "check_inputs", interrupt)
    called = cli("check", "parity", "--up-to", 10**9, "--yes")
    assert called.status == 130
    assert "0 inputs were tried" in called.err


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--sample", "3"],
        ["--length", "3"],
        ["--up-to", "2", "--sample", "3", "--length", "3"],
        ["--up-to", "2", "--length", "3"],
        ["--up-to", "-1"],
        ["--sample", "0", "--length", "2"],
        ["--sample", "2", "--length", "-2"],
        ["--up-to", "2", "--max-steps", "-2"],
        ["--up-to", "2", "--arithmetic", "decimal"],
    ],
)
def test_inputs_that_do_not_make_sense_are_mistakes(cli: Cli, options: list[str]) -> None:
    called = cli("check", "parity", *options)
    assert called.status == 2
    assert called.err.startswith("error: ")


def test_only_words_that_the_theorem_takes_are_tried(cli: Cli) -> None:
    """Letters in order: 1 + 2 + 3 of the 7 words up to length 2, and random ones too."""
    arguments = ("check", "palindrome", "--theorem", "turing-counter", "--max-steps", 60)
    assert cli(*arguments, "--up-to", 2, "--json").json["inputs"] == 6
    sampled = cli(*arguments, "--sample", 5, "--length", 9, "--json")
    assert (sampled.status, sampled.json["inputs"]) == (0, 5)


def test_an_encoder_that_cannot_answer_is_told_with_its_input(cli: Cli) -> None:
    called = cli("check", "reverse-program", "--up-to", "3", "--arithmetic", "float8_e5m2")
    assert called.status == 1
    assert "input a a a: the model cannot answer: head 'reverse' at position 2 cannot choose" in called.out
    assert "should be anything" not in called.out


def test_a_wrong_answer_is_told_with_the_symbol_that_it_is_about(cli: Cli) -> None:
    called = cli("check", "#<[Q_a] > #<[Q_b]", "--up-to", "2", "--arithmetic", "fixed:2")
    assert called.status == 1
    assert "input b b: the answer at position 2 (b) should be false, but is true\n" in called.out


def test_the_inputs_and_outputs_of_a_circuit_are_told_by_name() -> None:
    model = sm.compile("full-adder")
    outputs = model.weights.outputs
    swapped = replace(model, weights=replace(model.weights, outputs=(outputs[1], outputs[0], *outputs[2:])))
    first = check_inputs(swapped, [("1", "1", "0")]).disagreements[0]
    assert str(first).startswith("input a=1 b=1 carry=0: ")
    told = [
        str(each)
        for each in (replace(first, position_text=_describe_position(model.codec, place, "□")) for place in (0, 31))
    ]
    assert "the answer at position 0 (□) should be" in told[0]
    assert "output carry_out (the answer at position 31) should be" in told[1]


def test_a_run_that_goes_on_too_long_is_told_so() -> None:
    assert str(Disagreement(("a",), 3, None, "x", ())) == (
        "input a: the run should end before token 3, but continues with x"
    )
