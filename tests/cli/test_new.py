"""``softmachine new theorem``: the package that it writes is complete, and nothing is overwritten."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from softmachine.cli import new
from softmachine.cli.new import TEMPLATES
from tests.cli.conftest import Cli
from tests.shell import in_a_shell, installed

FILES = ["pyproject.toml", "src/ends_in_ab/__init__.py", "tests/test_ends_in_ab.py"]


@pytest.fixture
def package(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package as it is written."""
    monkeypatch.chdir(tmp_path)
    called = cli("new", "theorem", "ends-in-ab")
    assert called.status == 0
    assert "pip install -e ./ends-in-ab" in called.out
    return tmp_path / "ends-in-ab"


@pytest.fixture
def path(package: Path) -> list[Path]:
    """Folders for the path in which it is installed."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((name, value),) = project["entry-points"]["softmachine.theorems"].items()
    assert name == project["name"] == "ends-in-ab"
    site = installed(package.parent / "site", "ends_in_ab", "softmachine.theorems", f"{name} = {value}")
    return [site, package / "src"]


def files(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


def test_the_package_runs_checks_certifies_and_shows(package: Path, path: list[Path]) -> None:
    def said(command: str) -> str:
        done = in_a_shell(command, package.parent, path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert files(package) == FILES
    assert json.loads(said("softmachine run ends-in-ab aab --json"))["values"] == [False, False, True]
    assert "no disagreement" in said("softmachine check ends-in-ab --up-to 5")
    certificate = json.loads(said("softmachine certify ends-in-ab --length 50 --json"))
    assert certificate["holds"]
    assert not any(row.get("assumptions") for row in certificate["error_budget"])
    shown = said("softmachine show ends-in-ab")
    assert "previous is a" in shown
    assert "Steps" in said("softmachine theorems ends-in-ab")


def test_the_package_passes_its_own_tests_and_has_no_lint(package: Path, path: list[Path]) -> None:
    python = shlex.quote(sys.executable)
    commands = [f"cd ends-in-ab && {python} -m pytest -q -p no:cacheprovider"]
    if find_spec("ruff"):
        options = "--isolated --line-length 120 ends-in-ab/src"
        commands += [f"{python} -m ruff check --select E,F,W,I,UP,B,N {options}"]
        commands += [f"{python} -m ruff format --check {options}"]
    for command in commands:
        done = in_a_shell(command, package.parent, path)
        assert done.returncode == 0, done.stdout + done.stderr


def test_another_folder_is_written_and_other_files_in_it_stay(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    answer = cli("new", "theorem", "ends-in-ab", "-o", tmp_path, "--json").json
    assert answer == {"path": str(tmp_path), "name": "ends-in-ab", "files": FILES}
    assert files(tmp_path) == ["README.md", *FILES]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine"
    assert cli("new", "theorem", "other", "-o", tmp_path / "other", "-q").out.strip() == str(tmp_path / "other")


@pytest.mark.parametrize("file", FILES)
def test_no_file_is_overwritten(file: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("mine", encoding="utf-8")
    called = cli("new", "theorem", "ends-in-ab", "-o", tmp_path)
    assert called.status == 2
    assert f"{file} exists already" in called.err
    assert files(tmp_path) == [file]
    assert (tmp_path / file).read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Ends", "invalid name 'Ends'"),
        ("ends_in_ab", "lower-case letters, digits and hyphens"),
        ("1st", "invalid name"),
        ("a--b", "invalid name"),
        ("../ends", "invalid name"),
        ("", "invalid name ''"),
        ("class", "'class' is reserved or in use"),
        ("json", "'json' is reserved or in use"),
        ("softmachine", "'softmachine' is reserved or in use"),
        ("palindrome", "'palindrome' is the name of a theorem or a source"),
        ("turing-average-hard", "is the name of a theorem"),
        ("true", "is the name of a theorem or a source"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(
    name: str, message: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = cli("new", "theorem", name)
    assert called.status == 2
    assert message in called.err
    assert not files(tmp_path)


def test_only_theorems_are_written(cli: Cli) -> None:
    called = cli("new", "format", "mine")
    assert called.status == 2
    assert "unknown kind 'format'" in called.err
    assert "softmachine new theorem mine" in called.err


def test_every_template_is_used() -> None:
    assert files(Path(new.__file__).parent / "templates") == sorted(TEMPLATES.values())
