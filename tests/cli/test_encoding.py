"""Lone surrogates, which UTF-8 cannot encode: refused in names and symbols of every language, escaped in file names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import softmachine as sm
from softmachine import rasp
from softmachine.languages.formats import deserialise_source, serialise_source
from softmachine.languages.graph import Graph
from softmachine.languages.source import default_name
from softmachine.support.errors import SoftmachineError
from tests.cli.conftest import Cli

LONE = "\ud800"
YAML = """input: "a"
blank: " "
start state: "{state}"
table:
  "{state}":
    "{symbol}": R
"""


def machine(state: str = "q", symbol: str = "a", name: str = "machine") -> sm.TuringMachine:
    rule = sm.Rule(state, (symbol,), (symbol,), ("R",), state)
    symbols = (symbol, "_")
    return sm.TuringMachine(
        name=name, states=(state,), alphabet=(symbol,), symbols=symbols, blank="_", rules=(rule,), start=state
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: machine(state=LONE),
        lambda: machine(symbol=LONE),
        lambda: machine(name=LONE),
        lambda: sm.load(YAML.format(state=r"\ud800", symbol="a"), "turingmachine.io"),
        lambda: sm.load(YAML.format(state="q", symbol=r"\ud800"), "turingmachine.io"),
        lambda: sm.load("Q_a since Q_b", alphabet=["a", LONE]),
        lambda: sm.load("Q_a since '\udce9'"),
        lambda: sm.load(f"# alphabet: a\noutput = 'a' if tokens == '{chr(92)}ud800' else 'b';", "rasp"),
        lambda: sm.load("alphabet 'a' '\\ud800'\naccept #[Q_a] = 1", "crasp"),
        lambda: rasp.program(rasp.tokens, ["a", LONE]),
        lambda: Graph(name="graph", vertices=("a", LONE), edges=(("a", LONE),)),
        lambda: deserialise_source("turing", LONE, serialise_source(machine())),
    ],
)
def test_a_lone_surrogate_is_refused_where_a_source_is_made(make: Callable[[], object]) -> None:
    with pytest.raises(SoftmachineError, match="lone surrogate"):
        make()


def test_an_input_and_an_option_with_a_lone_surrogate_are_refused(cli: Cli) -> None:
    for arguments in (("run", "palindrome", "a\udce9"), ("check", "Q_a", "--up-to", "2", "--alphabet", "\udce9b")):
        refused = cli(*arguments)
        assert refused.status == 2
        assert r"contains the lone surrogate '\udce9', which UTF-8 cannot encode" in refused.err


def test_a_machine_with_a_lone_surrogate_is_refused_by_every_command_that_writes(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "lone.yaml").write_text(YAML.format(state=r"\ud800", symbol="a"), encoding="utf-8")
    for command, *options in (
        ("run", "a", "--html", tmp_path / "page.html"),
        ("certify", "--length", 3, "--csv", tmp_path / "table.csv", "--latex", tmp_path / "table.tex"),
        ("dataset", "--up-to", 2, "-o", tmp_path / "rows.jsonl"),
    ):
        refused = cli(command, tmp_path / "lone.yaml", *options)
        assert refused.status == 2
        assert "contains a lone surrogate" in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lone.yaml"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere, names of files are text")
def test_a_file_whose_name_is_not_utf8_gives_pages_tables_and_data_sets(tmp_path: Path, cli: Cli) -> None:
    """Bytes of a file name that are not UTF-8 are lone surrogates in Python; the name of the source escapes them."""
    source = tmp_path / "caf\udce9.yaml"
    try:
        source.write_text(YAML.format(state="q", symbol="a"), encoding="utf-8")
    except OSError:
        pytest.skip("this file system has no such names")
    assert default_name(str(source)) == r"caf\udce9"
    assert cli("run", source, "a", "--html", tmp_path / "page.html").status == 0
    assert cli("certify", source, "--length", 3, "--csv", tmp_path / "a.csv", "--latex", tmp_path / "a.tex").status == 0
    assert cli("dataset", source, "--up-to", 2, "-o", tmp_path / "rows.jsonl").status == 0
    assert r"caf\udce9" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("names", [{"name": 3}, {"state": 3}, {"symbol": 3}])
def test_a_name_that_is_no_string_is_refused(names: dict[str, str]) -> None:
    with pytest.raises(SoftmachineError, match="3 is not a string"):
        machine(**names)
