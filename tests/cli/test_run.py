"""``softmachine run``."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from softmachine.engines.dense import run as dense_run
from softmachine.engines.dense.decoding import decode
from softmachine.engines.fast import code_cache
from softmachine.languages import zoo
from softmachine.languages.formats import formats
from softmachine.theorems.codec import Prompt
from tests.cli.conftest import Cli

KEYS = (
    *("name", "language", "theorem", "input", "verdict", "halted", "steps", "tokens", "output"),
    *("attention", "arithmetic", "engine", "seconds", "tokens_per_second"),
)
LONG_SYMBOLS = """
blank: nil
start state: go
alphabet: [one, two]
table:
  go:
    one: {write: two, R}
    two: {write: one, R}
"""


def test_tells_how_the_run_went_and_what_came_of_it(cli: Cli) -> None:
    called = cli("run", "palindrome", "abba")
    assert called.status == 0
    first, *_, last = called.out.splitlines()
    assert first.split() == ["0", "first", "[a]", "b", "b", "a"]
    assert last.startswith("accept  after 15 steps, 17 tokens")
    assert called.err == ""


def test_a_rejected_input_is_no_failure(cli: Cli) -> None:
    called = cli("run", "palindrome", "ab")
    assert called.status == 0
    assert "reject" in called.out


def test_json_is_one_object_with_all_keys(cli: Cli) -> None:
    called = cli("run", "increment", "1011", "--json")
    answer = called.json
    assert called.status == 0
    assert answer.keys() >= set(KEYS)
    assert answer["language"] == "turing"
    assert (answer["verdict"], answer["halted"], answer["output"]) == ("halt", True, "1100")
    assert (answer["steps"], answer["tokens"]) == (8, 10)
    assert (answer["attention"], answer["arithmetic"], answer["engine"]) == ("hard", "float64", "dense")


def test_without_an_input_the_suggested_one_is_taken(cli: Cli) -> None:
    assert cli("run", "palindrome", "--json").json["input"] == "abba"


def test_without_a_suggestion_the_input_is_empty(cli: Cli) -> None:
    answer = cli("run", "1RB1LB_1LA1RZ", "--json").json
    assert (answer["input"], answer["output"], answer["steps"]) == ("", "1111", 6)


def test_an_empty_input_can_be_given(cli: Cli) -> None:
    assert cli("run", "palindrome", "", "--json").json["steps"] == 1


@pytest.mark.parametrize("source", ["bigram-formula", "bigram-program", "majority-crasp"])
def test_the_empty_input_leaves_no_empty_lines(cli: Cli, source: str) -> None:
    assert cli("run", source, "").out == "reject  in one pass over 1 position (dense, float64)\n"


@pytest.mark.parametrize("arithmetic", ["exact", "float64", "float32"])
def test_every_arithmetic_gives_the_same_answer(cli: Cli, arithmetic: str) -> None:
    answer = cli("run", "palindrome", "abba", "--arithmetic", arithmetic, "--json").json
    assert (answer["verdict"], answer["steps"], answer["arithmetic"]) == ("accept", 15, arithmetic)


def test_trace_is_one_line_a_step(cli: Cli) -> None:
    lines = cli("run", "increment", "1", "--trace").out.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [
        ["0", "right"],
        ["1", "right"],
        ["2", "carry"],
        ["3", "carry"],
        ["4", "done"],
    ]
    assert lines[3].split()[2:] == ["[_]", "0", "_"]


def test_trace_of_several_tapes_is_one_line_a_step_too(cli: Cli) -> None:
    lines = cli("run", "two-tape-copy", "a", "--trace").out.splitlines()
    assert len(lines) == 6 + 1 + 1
    assert all("│" in line for line in lines[:-1])


def test_trace_goes_into_the_json(cli: Cli) -> None:
    answer = cli("run", "increment", "1", "--trace", "--json").json
    assert len(answer["trace"]) == answer["steps"] + 1


def test_quiet_prints_one_line(cli: Cli) -> None:
    called = cli("run", "palindrome", "abba", "--quiet")
    assert len(called.out.splitlines()) == 1


def test_the_step_limit_has_its_own_status_and_says_how_to_raise_it(cli: Cli) -> None:
    called = cli("run", "binary-counter", "--max-steps", 30)
    assert called.status == 3
    assert "step limit reached" in called.out
    assert "--max-steps 300" in called.err


def test_the_step_limit_in_json_is_no_verdict(cli: Cli) -> None:
    called = cli("run", "binary-counter", "--max-steps", 0, "--json")
    assert called.status == 3
    assert (called.json["verdict"], called.json["halted"], called.json["steps"]) == (None, False, 0)


def test_a_limit_that_is_just_enough_is_enough(cli: Cli) -> None:
    assert cli("run", "palindrome", "abba", "--max-steps", 15).status == 0
    assert cli("run", "palindrome", "abba", "--max-steps", 14).status == 3


def test_long_runs_are_cut_in_the_middle(cli: Cli) -> None:
    called = cli("run", "busy-beaver-4")
    assert "more steps" in called.out
    assert len(called.out.splitlines()) < 50


def test_a_saved_model_is_a_source(cli: Cli, saved: Path) -> None:
    assert cli("run", saved, "10110", "--json").json["verdict"] == "accept"


def test_a_file_is_a_source(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "swap.yaml"
    file.write_text(LONG_SYMBOLS)
    answer = cli("run", file, "one two two", "--json").json
    assert (answer["name"], answer["output"]) == ("swap", "two one one")


def test_standard_input_is_a_source(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LONG_SYMBOLS.encode())))
    assert cli("run", "-", "two", "--json").json["output"] == "one"


def test_a_format_can_be_named(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "beaver.txt"
    file.write_text("1RB1LB_1LA1RZ\n")
    assert cli("run", file, "--format", "bbchallenge", "--json").json["output"] == "1111"


def test_an_input_that_begins_with_a_dash_goes_after_two(cli: Cli) -> None:
    called = cli("run", "unary-subtraction", "-11")
    assert called.status == 2
    assert "goes after --" in called.err
    assert cli("run", "unary-subtraction", "--json", "--", "-11").json["input"] == "-11"


def _interrupted_after(tokens: int) -> Callable[..., Iterator[str]]:
    def interrupted(engine: Any, prompt: Prompt, stops: Any, said: Any) -> Iterator[str]:
        for count, token in enumerate(decode(engine, prompt, stops, said)):
            if count == tokens:
                raise KeyboardInterrupt
            yield token

    return interrupted


def test_interrupted_shows_what_there_is_so_far(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_run, "decode", _interrupted_after(5))
    called = cli("run", "binary-counter")
    assert called.status == 130
    assert "interrupted" in called.out
    assert "after 4 steps" in called.out


def test_interrupted_json_has_no_verdict(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_run, "decode", _interrupted_after(5))
    called = cli("run", "binary-counter", "--json")
    assert called.status == 130
    assert (called.json["verdict"], called.json["interrupted"], called.json["steps"]) == (None, True, 4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--attention", "sharp"], "unknown attention 'sharp'"),
        (["--arithmetic", "decimal"], "exact, float64, float32"),
        (["--engine", "slow"], "auto, dense, fast"),
        (["--theorem", "chapter-80"], "turing-average-hard"),
        (["--format", "cobol"], "turingmachine.io"),
        (["--max-steps", "-1"], "--max-steps"),
        (["--max-steps", "many"], "--max-steps"),
    ],
)
def test_options_that_are_not_there_are_mistakes(cli: Cli, options: list[str], said: str) -> None:
    called = cli("run", "palindrome", *options)
    assert called.status == 2
    assert called.out == ""
    assert called.err.startswith("error: ")
    assert said in called.err


def test_a_counter_below_0_is_no_verdict(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "down.cm"
    file.write_text("input a b\nstart q\naccept yes\nreject no\nq: a >= 1 -> yes: b -= 1\nq: else -> no\n")
    called = cli("run", file, "a")
    assert (called.status, called.out) == (2, "")
    assert "takes counter 'b' to -1, below 0" in called.err
    assert cli("run", file, "ab").status == 0


def test_a_checkpoint_overwrites_nothing_else(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "thesis.tex"
    file.write_text("years of work")
    monkeypatch.setattr(
        "softmachine.cli.run.load_model_for_run", lambda *_: pytest.fail("nothing is compiled for nothing")
    )
    called = cli("run", "parity", "1", "--checkpoint", file)
    assert called.status == 2
    assert "thesis.tex exists already, and is not a checkpoint of this version" in called.err
    assert file.read_text() == "years of work"


@pytest.fixture
def halted(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of busy beaver 4 that halted after 107 steps."""
    monkeypatch.setattr("softmachine.engines.fast.engine.compile_code", code_cache.define_plain)
    file = tmp_path / "run"
    assert cli("run", "busy-beaver-4", "--checkpoint", file).status == 0
    return file


def test_a_saved_run_that_halted_answers_again(cli: Cli, halted: Path) -> None:
    called = cli("run", "busy-beaver-4", "--resume", halted)
    assert called.status == 0
    assert "after 107 steps, 109 tokens, 108 of them from the saved run" in " ".join(called.out.split())
    answer = cli("run", "busy-beaver-4", "--resume", halted, "--json").json
    assert (answer["verdict"], answer["steps"], answer["resumed"]) == ("halt", 107, 108)


def test_a_limit_below_the_saved_step_has_no_speed(cli: Cli, halted: Path) -> None:
    called = cli("run", "busy-beaver-4", "--resume", halted, "--max-steps", "20")
    assert called.status == 3
    assert "step limit reached" in called.out
    assert "after 20 steps" in called.out
    assert "tokens/s" not in called.out
    answer = cli("run", "busy-beaver-4", "--resume", halted, "--max-steps", "20", "--json").json
    assert (answer["steps"], answer["tokens_per_second"]) == (20, None)


def test_the_trace_of_a_resumed_run_goes_on_where_it_was(cli: Cli, halted: Path) -> None:
    whole = cli("run", "busy-beaver-4", "--engine", "dense", "--trace").out.splitlines()
    halted.unlink()
    cli("run", "busy-beaver-4", "--checkpoint", halted, "--max-steps", "100")
    rest = cli("run", "busy-beaver-4", "--resume", halted, "--trace").out.splitlines()
    assert [line.split() for line in rest[:-1]] == [line.split() for line in whole[100:-1]]


def test_an_audit_that_takes_too_long_is_refused_after_the_run_is_told(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("softmachine.support.resources.MAX_SECONDS", 0.1)
    called = cli("run", "busy-beaver-4", "--quiet", "--audit", "1000000")
    assert (called.status, "halt  '10111111111111'" in called.out) == (2, True)
    assert "recomputing 109 steps would take about" in called.err
    assert cli("run", "busy-beaver-4", "--audit", "1000000", "--json").json["error"]["kind"] == "TooExpensiveError"
    assert cli("run", "busy-beaver-4", "--audit", "9", "--yes", "--json").json["audit"]["holds"]


def test_an_audit_says_what_it_drew_from(cli: Cli, halted: Path) -> None:
    del halted
    called = cli("run", "busy-beaver-4", "--audit", "5", "--seed", "7")
    assert "audit: 5 of 109 steps (seed 7) recomputed in exact arithmetic" in called.out
    found = cli("run", "busy-beaver-4", "--audit", "5", "--json").json["audit"]
    assert found == {"steps": 5, "positions": 109, "seed": 0, "holds": True}


IN_EVERY_FORMAT = {
    "turingmachine.io": "increment",
    "jflap": "increment",
    "bbchallenge": "busy-beaver-3",
    "counter": "parity-counter",
    "crasp": "majority-crasp",
    "srasp": "reverse-program",
    "rasp": "histogram-rasp",
    "temporal": "response-formula",
    "bench": "and-or",
    "blif": "and-or",
    "aiger": "and-or",
    "bristol": "comparator-4",
    "edges": "koenigsberg",
    "family": "parity-family",
    "logspace": "equal-blocks",
}


@pytest.mark.parametrize(("form", "name"), IN_EVERY_FORMAT.items())
def test_a_source_may_be_a_pipe_in_every_format(cli: Cli, tmp_path: Path, name: str, form: str) -> None:
    entry = zoo.find_entry(name)
    assert entry is not None
    text, file = formats()[form].to_text(entry.load()), tmp_path / f"file{formats()[form].extensions[0]}"
    file.write_text(text, encoding="utf-8")
    end, start = os.pipe()
    try:
        with os.fdopen(start, "w", encoding="utf-8") as pipe:
            pipe.write(text)
        piped = cli("show", f"/dev/fd/{end}", "--json").json
    finally:
        os.close(end)
    assert {**piped, "name": None} == {**cli("show", file, "--json").json, "name": None}


def test_all_formats_are_tried_in_a_pipe() -> None:
    assert set(IN_EVERY_FORMAT) == set(formats())


def test_verify_compares_every_token(cli: Cli) -> None:
    result = cli("run", "palindrome", "abba", "--verify")
    assert result.status == 0
    assert "verified: all 17 tokens agree with the interpreter" in result.out
    data = cli("run", "full-adder", "110", "--verify", "--json").json
    assert (data["verified"], data["differs"]) == (14, False)


def test_a_run_in_fixed_point_that_differs_says_so(cli: Cli) -> None:
    """It said accept, with status 0."""
    result = cli("run", "palindrome", "ab", "--arithmetic", "fixed:3", "--json")
    assert result.status == 1
    data = result.json
    assert (data["verdict"], data["differs"], data["verified"]) == ("accept", True, 3)
    assert data["difference"] == {"position": 3, "emitted": "(after a,b,R)", "expected": "(want a,_,L)"}
    assert "differs from the interpreter" in cli("run", "palindrome", "ab", "--arithmetic", "fixed:3").out
    assert cli("run", "palindrome", "ab", "--arithmetic", "fixed:4").status == 0


def test_a_run_can_be_drawn(cli: Cli) -> None:
    called = cli("run", "palindrome", "ab", "--sample", "--seed", "3")
    assert called.status == 0
    *tokens, last = called.out.splitlines()
    assert last == (
        "2 tokens, sampled with seed 3; first difference from the interpreter: "
        "token 1 is REJ, but should be (after a,_,R)"
    )
    assert tokens[1].split() == ["1", "REJ", "0.15", "most", "likely:", "(after", "a,_,R)", "0.407"]
    answer = cli("run", "palindrome", "ab", "--sample", "--seed", "3", "--json").json
    assert [each["token"] for each in answer["tokens"]] == ["(first,a,S)", "REJ"]
    assert answer["difference"]["expected"] == "(after a,_,R)"
    assert round(answer["difference"]["probability"], 3) == 0.407


def test_a_drawn_run_that_does_not_end_has_the_status_of_the_step_limit(cli: Cli) -> None:
    calls = [cli("run", "palindrome", "ab", "--sample", "--max-steps", "0", "--seed", seed) for seed in range(4)]
    assert {called.status for called in calls} <= {0, 3}
    stopped = next(called for called in calls if called.status == 3)
    assert "stopped after 0 steps" in stopped.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--verify"], "cannot be combined with --verify"),
        (["--explain", "last"], "cannot be combined with --explain"),
        (["--engine", "fast"], "cannot be combined with --engine"),
        (["--arithmetic", "fixed:8"], "tokens cannot be sampled in fixed:8"),
    ],
)
def test_what_a_drawn_run_cannot_be_is_refused(cli: Cli, options: list[str], said: str) -> None:
    called = cli("run", "palindrome", "ab", "--sample", *options)
    assert called.status == 2
    assert said in called.err


def test_a_seed_that_nothing_is_drawn_by_is_refused(cli: Cli) -> None:
    called = cli("run", "parity", "a", "--seed", "3")
    assert called.status == 2
    assert "--seed requires --sample or --audit" in called.err
