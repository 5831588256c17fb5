"""Theorems of other packages: usable ones are registered; the others are reported and break nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OWN = ROOT / "examples" / "own-theorem" / "src"
"""The package that the page on theorems of one's own shows."""
CHANGED = "from dataclasses import replace\nfrom own_theorem.majority import MAJORITY\n"
MODULES = {
    "broken.py": "raise RuntimeError('no\\npower')\n",
    "clashing.py": f"{CHANGED}THEOREM = replace(MAJORITY, name='turing-average-hard')\n",
    "older.py": f"{CHANGED}THEOREM = replace(MAJORITY, name='older', api=0)\n",
    "nothing.py": "THEOREM = 'no theorem'\n",
    "theirs-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n",
    "theirs-1.0.dist-info/entry_points.txt": (
        "[softmachine.theorems]\nmajority = own_theorem.majority:MAJORITY\nbroken = broken:THEOREM\n"
        "clashing = clashing:THEOREM\nolder = older:THEOREM\nnothing = nothing:THEOREM\ncrasp = clashing:THEOREM\n"
    ),
}
PROGRAM = """
import json, os, sys
from pathlib import Path
import softmachine as sm
from softmachine.support.plugins import Registry
from softmachine.theorems import all_theorems, find_theorem, get_theorem

names = [theorem.name for theorem in all_theorems()]
majority = get_theorem("majority")
os.chdir(sys.argv[1])
Path("majority").mkdir()
inside = sm.load("majority") == majority.source
Path("majority").rmdir()
Path("majority").write_text("no source")
model = sm.compile(majority.source, majority)
sm.save(model, Path(sys.argv[1]) / "model")
again = sm.load(Path(sys.argv[1]) / "model")
print(json.dumps({
    "names": names,
    "right": sm.check(again, up_to=6).holds,
    "same": again == model,
    "named": [inside, sm.load("majority") == majority.source],
    "accepted": [word for word in ("", "a", "ab", "aab", "abb") if sm.run(again, word).accepted],
    "unknown": [get_theorem(name) is None for name in ("older", "nothing", "broken")],
    "ours": find_theorem(sm.load("palindrome"), "turing-average-hard").statement,
    "run": sm.run("palindrome", "abba").verdict,
    "problems": Registry.problems,
}))
"""


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, (folder, OWN, ROOT / "src")))
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths}
    )


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("theirs")
    for name, text in MODULES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def found(theirs: Path) -> dict[str, Any]:
    done = run(theirs, "-c", PROGRAM, str(theirs))
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_theorem_of_another_package_is_compiled_checked_saved_and_loaded(found: dict[str, Any]) -> None:
    assert found["names"][-1] == "majority"
    assert found["right"]
    assert found["same"]
    assert found["accepted"] == ["a", "aab"]


def test_its_name_takes_precedence_over_a_folder_or_a_file(found: dict[str, Any]) -> None:
    assert found["named"] == [True, True]


def test_ours_are_as_they_were(found: dict[str, Any]) -> None:
    assert found["names"].count("turing-average-hard") == 1
    assert found["names"][0] == "turing-average-hard"
    assert "Theorem 8.2" in found["ours"]
    assert found["run"] == "accept"
    assert all(found["unknown"])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("broken", "RuntimeError: no power"),
        ("turing-average-hard", "the name is taken"),
        ("older", "it was written for version 0 of the interface; this is version 1"),
        ("nothing", "it is not of type Theorem"),
        ("crasp", "the name is taken"),
    ],
)
def test_what_cannot_be_used_is_named_in_one_line(found: dict[str, Any], name: str, reason: str) -> None:
    (line,) = (line for line in found["problems"] if line.startswith(f"{name!r} of softmachine.theorems"))
    assert "cannot be used" in line
    assert line.endswith(reason)
    assert "\n" not in line


def test_every_problem_is_told_once(found: dict[str, Any]) -> None:
    assert len(found["problems"]) == len(set(found["problems"])) == 5
