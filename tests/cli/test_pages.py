from __future__ import annotations

from pathlib import Path

import pytest

import softmachine as sm
from softmachine.cli.run_views import format_command
from softmachine.support.errors import UsageError
from tests.cli.conftest import Cli


def test_run_writes_a_page_and_says_so(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    assert f"wrote {file}" in cli("run", "palindrome", "abba", "--html", str(file)).out.replace("\n", "")
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_json_names_the_page(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    assert cli("run", "response-formula", "rg", "--html", str(file), "--json").json["html"] == str(file)
    assert file.exists()


def test_mistakes_are_said_before_the_run(cli: Cli, tmp_path: Path) -> None:
    there = tmp_path / "there.html"
    there.touch()
    assert "exists already" in cli("run", "palindrome", "--html", str(there)).err
    assert "should end in .html" in cli("run", "palindrome", "--html", str(tmp_path / "run.pdf")).err
    assert "--html run.html" in cli("run", "palindrome", "--html-at", "3").err
    assert "not a step" in cli("run", "palindrome", "--html", str(tmp_path / "x.html"), "--html-at", "soon").err
    assert not (tmp_path / "x.html").exists()


def test_python_refuses_the_files_that_the_command_refuses(tmp_path: Path) -> None:
    run = sm.run("palindrome", "aba")
    with pytest.raises(UsageError, match=r"q.txt should end in .html"):
        sm.page(run, tmp_path / "q.txt")
    with pytest.raises(UsageError, match=r"q.txt should end in .svg"):
        sm.picture(run).save(tmp_path / "q.txt")
    assert not list(tmp_path.iterdir())


def test_a_rounded_run_has_no_page(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    said = cli("run", "full-adder", "101", "--arithmetic", "fixed:4", "--html", str(file))
    assert "fixed:4" in said.err
    assert not file.exists()


def test_the_command_of_a_page_makes_it_again() -> None:
    made = format_command(
        "a b", "x", {"theorem": "turing-ternary", "max_steps": 5, "context": None, "unchecked": False}
    )
    assert made == "softmachine run 'a b' x --theorem=turing-ternary --max-steps=5 --html run.html"
    made = format_command("a", None, {"max_steps": 0, "unchecked": True})
    assert made == "softmachine run a --max-steps=0 --unchecked --html run.html"
