"""``softmachine learn`` and ``softmachine experiments``, on the command line; errors are raised before training."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'softmachine[learn]'")

from softmachine.cli import main
from softmachine.studies.learn import data, metrics
from softmachine.studies.learn import runs as sweep
from softmachine.studies.learn.config import Schedule
from softmachine.studies.learn.experiments import EXPERIMENTS, SCALES, depth_or_precision, softmax_turing_complete

TINY = (
    *("--train", "12", "--test", "16", "--words", "200", "--steps", "40", "--batch", "16"),
    *("--layers", "1", "--width", "32", "--learning-rate", "0.01"),
)


def test_a_table_and_a_plot_and_a_json_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot, probes, runs, saved = (tmp_path / name for name in ("plot.png", "probes.svg", "runs", "model"))
    files = ["-o", str(runs), "--plot", str(plot), "--probes", str(probes), "--save", str(saved)]
    assert main(["learn", "parity-counter", *TINY, *files]) == 0
    output = capsys.readouterr().out
    assert "test0 long" in output
    assert "compiled with counter, on the same words: test0 100 %, test1 100 % of traces exact" in output
    assert "rule 1" in output
    assert plot.stat().st_size > 1000
    assert probes.stat().st_size > 1000
    assert len(list(runs.glob("*.json"))) == 1
    assert (saved / "config.json").is_file()


def test_json_has_all_runs(capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--steps", "3", "--positions", "none,alibi", "--seeds", "0,1"]
    assert main(["learn", "parity-counter", *TINY, *short, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(r["setting"]["shape"]["positions"], r["setting"]["seed"]) for r in found["runs"]] == [
        ("none", 0),
        ("none", 1),
        ("alibi", 0),
        ("alibi", 1),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Q_a since Q_b"], "no traces to learn"),
        (
            ["parity-counter", "--train", "20", "--test", "10"],
            "test lengths 10 do not increase from the training length 20",
        ),
        (
            ["parity-counter", "--train", "8", "--test", "12", "--test-words", "500"],
            "500 test words were requested, but only",
        ),
        (["parity-counter", "--train", "1", "--test", "2"], "none are in the|there are no test words"),
        (["parity-counter", "--positions", "lisp"], "there is no position encoding 'lisp'"),
        (["parity-counter", "--precision", "float3"], "there is no precision 'float3'"),
        (["parity-counter", "--test", "60;90"], "expected numbers separated by commas"),
        (["parity-counter", "--width", "30"], "a width of 30 cannot be divided among 2 heads"),
        (
            ["parity-counter", "--positions", "alibi", "--save", "model"],
            "LLaMA does not support positions 'alibi'",
        ),
        (["parity-counter", "--seeds", "0,1", "--save", "model"], "--save requires a single run"),
        (["parity-counter", "--curriculum", "3"], "from 0 to 1"),
        (["parity-counter", "--plot", "plot.gif"], "should end in .png or .svg"),
        (["palindrome", "--theorem", "turing-ternary"], "depend on a length"),
    ],
)
def test_mistakes_are_told_before_any_training(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "perform_run", None)
    assert main(["learn", *arguments]) == 2
    output = capsys.readouterr()
    assert not output.out
    assert any(part in output.err.replace("\n", " ") for part in message.split("|"))


@pytest.mark.parametrize("command", [["learn", "parity-counter"], ["experiments", "depth-or-precision"]])
def test_without_torch_it_says_what_to_install(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(command) == 2
    assert "pip install 'softmachine[learn]'" in capsys.readouterr().err


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_scale_of_an_experiment_names_runs_that_can_be(name: str) -> None:
    sizes = [len(EXPERIMENTS[name].list_runs(scale, None)) for scale in SCALES]
    assert sizes[0] <= sizes[1]
    assert all(len({one.name for one in EXPERIMENTS[name].list_runs(scale, 1)}) >= 8 for scale in SCALES)


def test_depth_or_precision_prints_a_length_for_every_depth_and_precision(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = replace(
        depth_or_precision.SCALES["small"],
        sizes={"turing-ternary": (4, 128), "turing-ternary-summary": (4, 64)},
        layers=(1, 2),
        precisions=("float32", "bits:3"),
        width=16,
        schedule=Schedule(steps=2, batch=4),
        seeds=1,
    )
    monkeypatch.setitem(depth_or_precision.SCALES, "small", tiny)
    assert main(["experiments", "depth-or-precision", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["runs"]) == 8
    cells = [line.split() for line in found["report"] if line.endswith("%")]
    assert [cell[0] for cell in cells] == ["1", "2", "1", "2"]
    assert all(cell.count("%") == 2 for cell in cells)
    assert any("22 layers for contexts up to 2^7 tokens" in line for line in found["report"])


def _by_tokens(**by_tokens: tuple[int, int]) -> dict[str, object]:
    return {"measures": {"test0": {"by_tokens": {key[1:]: list(pair) for key, pair in by_tokens.items()}}}}


def test_the_longest_length_is_the_last_one_at_which_nine_tenths_are_right() -> None:
    assert depth_or_precision.max_exact_length(_by_tokens(_16=(20, 20), _32=(20, 18), _48=(20, 17))) == 32
    assert depth_or_precision.max_exact_length(_by_tokens(_16=(20, 17), _32=(20, 20))) == 32
    assert depth_or_precision.max_exact_length(_by_tokens(_16=(20, 17))) == 0


def test_lengths_with_few_traces_are_put_together_so_that_none_alone_decides() -> None:
    found = depth_or_precision.count_by_length(_by_tokens(_16=(1, 0), _32=(19, 19), _48=(30, 15), _112=(2, 2)))
    assert found == {32: (20, 19), 112: (32, 17)}


def test_the_machine_of_depth_or_precision_turns_gray_code_into_binary() -> None:
    from softmachine.theorems import find_theorem

    source = depth_or_precision.parse_machine()
    codec = find_theorem(source, "turing-ternary").build_codec(source, 128)
    for number in range(1, 64):
        gray = f"{number ^ number >> 1:b}"
        output = [token or "" for token in codec.expected(gray, 1_000)]
        assert "".join(token[1] for token in output if token.startswith("=")).strip("_") == f"{number:b}"


def test_softmax_turing_complete_prints_ours_beside_theirs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = replace(
        softmax_turing_complete.SCALES["small"],
        lengths={"exponential-counter": 12},
        binary=4,
        positions=("none",),
        binary_positions=("relative+log",),
        width=16,
        schedule=Schedule(steps=1, batch=2),
    )
    monkeypatch.setitem(softmax_turing_complete.SCALES, "small", tiny)
    monkeypatch.setattr(softmax_turing_complete, "PAPER_UNARY_RESULTS", {"exponential-counter": (99.95, 99.96)})
    monkeypatch.setattr(data, "DEFAULT_TEST_WORDS", 4)
    monkeypatch.setattr(metrics, "MAX_DECODED_WORDS", 1)  # the traces of binary words are long
    assert main(["experiments", "softmax-turing-complete"]) == 0
    output = capsys.readouterr().out
    assert "99.95" in output
    assert "last-but-one-b" in output
    assert "The paper states neither layers" in output


def test_the_second_binary_task_is_what_it_says() -> None:
    from softmachine.theorems import find_theorem

    source = softmax_turing_complete.find_source("last-but-one-b")
    codec = find_theorem(source).build_codec(source, None)
    for word in ("a", "b", "ab", "ba", "bb", "aab", "aba", "abb"):
        outcome = codec.parse_output(word, [token or "" for token in codec.expected(word, 10_000)])
        assert outcome.is_accepted == (len(word) > 1 and word[-2] == "b"), word
