"""A theorem, a feature, an arithmetic, a format, an export and an engine are added by one file each, from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import softmachine

HERE = Path(__file__).parent
GROUPS = {
    "theorems": "even-length = toy_theorem:THEOREM",
    "arithmetics": "toy = toy_arithmetic:ARITHMETIC",
    "formats": "backwards = toy_format:FORMAT",
    "exports": "text = toy_export:EXPORT_FORMAT",
    "engines": "asked = toy_engine:ENGINE",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on the path with a distribution that brings one toy of each kind."""
    folder = tmp_path_factory.mktemp("outside")
    info = folder / "toys-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n", encoding="utf-8")
    lines = (f"[softmachine.{group}]\n{entry}\n" for group, entry in GROUPS.items())
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    for toy in HERE.glob("toy_*.py"):
        (folder / toy.name).write_text(toy.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "machine.sdrawkcab").write_text("ZR1AL1_BL1BR1\n", encoding="utf-8")
    return folder


def command(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a command prints, in a process that sees the toys."""
    path = os.pathsep.join([str(place), str(Path(softmachine.__file__).parent.parent)])
    return subprocess.run(
        [sys.executable, "-m", "softmachine", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        cwd=place,
        check=False,
    )


def test_a_theorem_with_a_feature_runs_is_checked_saved_loaded_and_listed(place: Path) -> None:
    assert "accept" in command(place, "run", "even-length", "abab").stdout
    assert "no disagreement" in command(place, "check", "even-length", "--up-to", "4").stdout
    assert "even-length" in command(place, "theorems", "--quiet").stdout.split()
    assert command(place, "compile", "even-length", "-o", "saved").returncode == 0
    answer = json.loads(command(place, "run", "saved", "aba", "--json").stdout)
    assert (answer["verdict"], answer["language"], answer["values"]) == ("reject", "predicate", [False, True, False])
    assert json.loads(command(place, "show", "saved", "--json").stdout)["position_features"] == ["every 2"]


def test_an_arithmetic_runs_a_model(place: Path) -> None:
    answer = json.loads(command(place, "run", "parity", "101", "--arithmetic", "toy", "--json").stdout)
    assert (answer["verdict"], answer["arithmetic"]) == ("reject", "toy")


def test_a_format_is_read(place: Path) -> None:
    answer = json.loads(command(place, "run", "machine.sdrawkcab", "--json").stdout)
    assert (answer["verdict"], answer["steps"]) == ("halt", 6)


def test_an_engine_runs_a_model(place: Path) -> None:
    answer = json.loads(command(place, "run", "parity", "11", "--engine", "asked", "--json").stdout)
    assert (answer["verdict"], answer["engine"], answer["arithmetic"]) == ("reject", "asked", "none")


def test_a_model_is_exported(place: Path) -> None:
    done = command(place, "export", "parity", "--to", "text", "--context", "16", "-o", "exported")
    assert done.returncode == 0, done.stderr
    assert (place / "exported" / "weights.txt").is_file()


def test_the_toys_are_one_file_each() -> None:
    assert sorted(path.stem for path in HERE.glob("toy_*.py")) == sorted(
        entry.split(" = ")[1].split(":")[0] for entry in GROUPS.values()
    )
