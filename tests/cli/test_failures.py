"""What goes wrong at the command line is said in one clear message, with status 2, and never as a traceback."""

from __future__ import annotations

import errno
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from softmachine import api
from softmachine import api as compiling
from softmachine.engines.dense import cost_estimate
from softmachine.engines.dense.forward_pass import Pass
from softmachine.languages import zoo
from softmachine.support import resources
from tests.cli.conftest import Cli

HEADER = "blank: _\nstart state: a\n"
BAD_FILES = {
    "syntax.yaml": (b"a: [1, 2\n", "syntax.yaml:2:1: cannot read this as YAML"),
    "syntax.jff": (b"<structure><type>turing</type>", "syntax.jff:1:31: cannot read this as XML"),
    "syntax.bb": (b"1RB1LB_1LA1RQ7", "syntax.bb:1"),
    "conflict.yaml": (
        f"{HEADER}table:\n  a:\n    _: R\n    [_, 1]: L\n".encode(),
        "two rules for state 'a' reading '_' (",
    ),
    "start.yaml": (b"blank: _\nstart state: z\ntable:\n  a:\n    _: R\n", "state 'z' is not in the table"),
    "target.yaml": (f"{HEADER}table:\n  a:\n    _: {{R: b}}\n".encode(), "state 'b' is not in the table"),
    "binary.yaml": (bytes(range(256)), "is not UTF-8 text"),
    "nothing.yaml": (b"", "the document is empty"),
    "unknown.txt": (b"Dear sir or madam,\nplease halt.\n", "unknown source format"),
    "long.yaml": (b"# " + b"x" * (1 << 20), "long"),
}


@pytest.mark.parametrize("name", BAD_FILES)
@pytest.mark.parametrize("command", [["run"], ["check", "--up-to", "1"], ["show"], ["compile", "-o", "never"]])
def test_a_bad_file_is_a_mistake_that_is_pointed_at(cli: Cli, tmp_path: Path, name: str, command: list[str]) -> None:
    data, said = BAD_FILES[name]
    (tmp_path / name).write_bytes(data)
    called = cli(*command, tmp_path / name)
    assert called.status == 2
    assert called.out == ""
    assert called.err.startswith("error: ")
    assert said in called.err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nosuch.yaml", "is not in the zoo, not a file"),
        ("palindrom", "did you mean palindrome"),
        ("1RB1LX_1LA", "a code is like"),
        ("1RB1LB_" * 300 + "1RB1LB", "26 letters"),
        ("", "the source is empty"),
        (" ", "the source is empty"),
        (".", "is a folder, but not a model"),
        ("a\x1b[31mred", r"a\x1b[31mred"),
    ],
)
def test_a_source_that_is_not_there_is_a_mistake(cli: Cli, source: str, said: str) -> None:
    called = cli("run", source)
    assert called.status == 2
    assert said in called.err.replace("\\\\", "\\")


def test_standard_input_that_is_not_text(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\x00")))
    called = cli("run", "-")
    assert called.status == 2
    assert "<stdin>:1" in called.err


def test_an_input_outside_of_the_alphabet(cli: Cli) -> None:
    called = cli("run", "palindrome", "abc")
    assert called.status == 2
    assert "symbol 'c' at position 3" in called.err
    assert "the alphabet is a b" in called.err


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("model.safetensors", lambda data: data[: len(data) // 2]),
        ("model.safetensors", lambda data: b""),
        ("softmachine.json", lambda data: data[: len(data) // 2]),
        ("softmachine.json", lambda data: b"[]"),
        ("softmachine.json", lambda data: data.replace(b'"version": 2', b'"version": 7')),
        ("softmachine.json", lambda data: data.replace(b'"vocabulary"', b'"vocables"')),
        ("softmachine.json", lambda data: data.replace(b'"language": "turing"', b'"language": "lathe"')),
    ],
)
def test_a_damaged_model_is_a_mistake(cli: Cli, saved: Path, file: str, damage: object) -> None:
    assert callable(damage)
    (saved / file).write_bytes(damage((saved / file).read_bytes()))
    called = cli("run", saved, "1")
    assert called.status == 2
    assert str(saved) in called.err
    assert "internal error" not in called.err


def test_a_model_without_its_weights_is_a_mistake(cli: Cli, saved: Path) -> None:
    (saved / "model.safetensors").unlink()
    assert cli("run", saved, "1").status == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu", "palindrome"], "did you mean 'run'"),
        (["run"], "missing argument 'SOURCE'"),
        (["run", "parity", "1", "2"], "unexpected extra argument"),
        (["run", "parity", "--fast"], "no such option: --fast"),
        (["run", "parity", "--max-steps"], "--max-steps"),
        (["show", "full-adder", "--growth"], "option '--growth' requires an argument"),
        (["--fast"], "no such option: --fast"),
    ],
)
def test_a_command_line_that_makes_no_sense(cli: Cli, arguments: list[str], said: str) -> None:
    called = cli(*arguments)
    asked = f"`softmachine {arguments[0]} --help`" if arguments[0] in ("run", "show") else "`softmachine --help`"
    assert asked in called.err
    assert called.status == 2
    assert called.out == ""
    assert called.err.startswith("error: ")
    assert said in called.err.replace("Did", "did")
    assert "--help" in called.err


def test_with_json_a_mistake_is_an_object_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [1, 2\n")
    called = cli("run", tmp_path / "bad.yaml", "--json")
    assert called.status == 2
    error = called.json["error"]
    assert error["message"].startswith("cannot read this as YAML")
    assert error["place"] == {"source": str(tmp_path / "bad.yaml"), "line": 2, "column": 1}
    assert called.err.startswith("error: ")


def test_with_json_all_problems_are_listed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(BAD_FILES["conflict.yaml"][0])
    assert len(cli("show", tmp_path / "bad.yaml", "--json").json["error"]["problems"]) == 1


def test_with_json_a_bad_command_line_is_an_object_too(cli: Cli) -> None:
    called = cli("run", "parity", "--json", "--fast")
    assert called.status == 2
    assert "--fast" in called.json["error"]["message"]


def test_only_an_unknown_letter_may_be_meant_as_an_input(cli: Cli) -> None:
    assert "goes after --" in cli("run", "parity", "-1").err
    assert "goes after --" not in cli("export", "parity", "-o").err


@pytest.mark.parametrize("source", ["full-adder", "koenigsberg", "bigram-formula", "parity-counter"])
@pytest.mark.parametrize(("ending", "mark"), [("\r\n", ""), ("\r", ""), ("\n", "\ufeff")])
def test_files_of_other_systems_are_read(cli: Cli, tmp_path: Path, source: str, ending: str, mark: str) -> None:
    entry = zoo.find_entry(source)
    assert entry is not None
    file = tmp_path / Path(entry.file).name
    file.write_bytes((mark + entry.read_text().replace("\n", ending)).encode())
    assert cli("show", file, "--quiet").status == 0


def test_an_empty_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    assert "standard input is empty" in cli("run", "-").err


def test_an_operation_that_the_system_refuses_is_no_internal_error(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(api, "load", full)
    called = cli("show", "parity", "--json")
    assert called.status == 2
    assert called.err == "error: input or output failed: No space left on device\n"
    assert called.json["error"]["kind"] == "OSError"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "parity", "1", "--resume", "."], "is a directory"),
        (["run", "parity", "1", "--checkpoint", "."], "is a directory"),
        (["circuit", "prev Q_a", "--length", "2", "-o", "nowhere/x.bench"], "there is no folder nowhere"),
        (["compile", "parity", "-o", "pyproject.toml/x"], "cannot write pyproject.toml/x: Not a directory"),
        (["export", "--set", "interp", "--context", "12", "-o", "x"], "a set defines its own sources and contexts"),
        (["export", "--set", "interp", "--to", "native", "-o", "x"], "a set cannot be written in the native format"),
        (["export", "parity", "--dtype", "float8", "-o", "x"], "choose float32 or bfloat16 or float16 or float64\n"),
        (["run", "parity", "1", "--audit", "3", "--engine", "dense"], "--audit requires the fast engine"),
        (["run", "parity", "1", "--arithmetic", "fixed:99999999999"], "choose a precision from 1 to 4,096"),
        (["slices", "koenigsberg"], "does not accept or reject words of every length"),
    ],
)
def test_requests_that_cannot_be_met_say_why(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    called = cli(*arguments)
    assert called.status == 2
    assert said in called.err
    assert [file.name for file in tmp_path.iterdir()] == ["pyproject.toml"]


def _fail(*_: object, **__: object) -> None:
    raise RuntimeError("the tape is torn")


def test_what_nobody_expected_is_no_traceback_either(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "load", _fail)
    called = cli("run", "parity")
    assert called.status == 2
    assert called.err == (
        "error: internal error: RuntimeError: the tape is torn\n  run again with --debug and report it\n"
    )
    assert "the tape is torn" in cli("run", "parity", "--json").json["error"]["message"]


def test_debug_shows_the_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "load", _fail)
    called = cli("run", "parity", "--debug")
    assert called.status == 2
    assert "Traceback" in called.err
    assert "in _fail" in called.err


def test_interrupted_before_there_is_anything_to_show(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "load", interrupt)
    called = cli("show", "parity", "--json")
    assert called.status == 130
    assert called.json["error"]["message"] == "interrupted"


def test_memory_that_runs_out_is_no_internal_error(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "compile_item", lambda *_, **__: np.empty(1 << 59))
    called = cli("run", "palindrome", "abba", "--json")
    assert called.status == 2
    assert called.err.startswith("error: there is not enough memory while compiling: Unable to allocate 4.00 EiB")
    assert "internal" not in called.err
    assert called.json["error"]["kind"] == "MemoryError"


def test_it_is_said_what_was_done_when_memory_ran_out(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Pass, "predict", full)
    called = cli("run", "palindrome", "abba")
    assert called.status == 2
    assert called.err.startswith("error: there is not enough memory while running 'palindrome', after 0 tokens\n")


def test_long_work_is_refused_with_an_estimate(cli: Cli) -> None:
    for arguments, said in (
        (("run", "Q_a since Q_b", "ab" * 500_000), "a pass over 1,000,001 tokens in float64 would take about"),
        (("check", "palindrome", "--up-to", 60), "checking 2,305,843,009,213,693,951 inputs would take about"),
        (("check", "parity", "--sample", 10**12, "--length", 9), "checking 1,000,000,000,000 inputs would take about"),
        (("circuit", "Q_a since Q_b", "--length", 10_000), "a circuit for words of 10,000 symbols would take about"),
        (("slices", "palindrome", "--up-to", 10**9), "there are 2,097,152 words of length 21, too many to enumerate"),
    ):
        called = cli(*arguments)
        assert called.status == 2
        assert said in called.err
        assert "--yes" in called.err or arguments[0] == "slices"
        assert called.out == ""


def test_a_saved_model_whose_loop_does_not_end_is_refused(cli: Cli, tmp_path: Path) -> None:
    model = api.compile("Q_a since Q_b")
    blocks = tuple(replace(block, repeats=10**12) for block in model.weights.blocks)
    api.save(replace(model, weights=replace(model.weights, blocks=blocks)), tmp_path / "loop")
    for command in (["run", "ab"], ["check", "--up-to", "2"], ["circuit", "--length", "3"]):
        called = cli(command[0], tmp_path / "loop", *command[1:])
        assert called.status == 2
        assert "years" in called.err
        assert "--yes" in called.err


def test_yes_goes_on(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(cost_estimate, "MAX_UNTIMED_SECONDS", 0.0)
    refused = cli("run", "palindrome", "abba", "--json")
    assert refused.status == 2
    assert refused.json["error"]["kind"] == "TooExpensiveError"
    assert cli("run", "palindrome", "abba", "--yes").status == 0


def test_a_name_of_any_length_does_not_fill_the_screen(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text(f"blank: _\nstart state: {'q' * 100_000}\ntable:\n", encoding="utf-8")
    called = cli("run", file, "--json")
    assert called.status == 2
    assert len(called.err) < 10_000
    assert f"{file}:2:14: state 'qqq" in called.err
    assert len(called.json["error"]["message"]) > 100_000
