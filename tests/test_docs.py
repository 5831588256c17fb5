"""docs/own-theorem.md says what is so: its Python is run from top to bottom, and its commands in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import softmachine
from tests.pages import Page, tidy

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "own-theorem"
PAGE = Page("own-theorem.md")
BLOCKS = PAGE.blocks
ELSEWHERE = ("pip ", "softmachine export ")
"""Commands that need the network, or torch."""

BETWEEN = "<<<>>>"
CARRY_OUT = f"""
import contextlib, io, sys
from softmachine.cli import main
for command in sys.argv[1:]:
    print({BETWEEN!r})
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        main(command.split()[1:])
    print(errors.getvalue())
"""


def dialogues() -> list[list[tuple[str, str]]]:
    """The commands of each console block, with what they print."""
    consoles = (text.split("$ ")[1:] for language, text in BLOCKS if language == "console")
    return [[(command, said) for command, _, said in (item.partition("\n") for item in items)] for items in consoles]


def installed(folder: Path, module: str) -> Path:
    """A folder with what installing the example would add to the path, with the entry point that is given."""
    info = folder / "own_theorem-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-theorem\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[softmachine.theorems]\nmajority = {module}\n", encoding="utf-8")
    return folder


def printed(commands: list[str], place: Path) -> list[str]:
    """What each command prints, errors last, in one process that sees the example."""
    path = [str(place), str(EXAMPLE / "src"), str(Path(softmachine.__file__).parent.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "COLUMNS": "140"}
    words = [sys.executable, "-c", CARRY_OUT, *commands]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
    return [tidy(item) for item in done.stdout.split(BETWEEN)[1:]]


def test_the_python_of_the_page_prints_what_the_page_says() -> None:
    for printed_by_it, said in PAGE.printed():
        assert printed_by_it == said


def test_the_commands_of_the_page_print_what_the_page_says(tmp_path: Path) -> None:
    entry = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    place = installed(tmp_path, entry["softmachine.theorems"]["majority"])
    commands = [pair for pair in dialogues()[0] if not pair[0].startswith(ELSEWHERE)]
    assert [command.split()[1] for command, _ in commands] == ["run", "check", "certify", "show", "theorems"]
    for (_, said), found in zip(commands, printed([command for command, _ in commands], place), strict=True):
        whole = tidy(said)
        assert found.startswith(whole.removesuffix("\n…")) if whole.endswith("…") else found == whole


def test_a_broken_package_is_named(tmp_path: Path) -> None:
    (command, said) = dialogues()[-1][0]
    assert printed([command], installed(tmp_path, "own_theorem.majorty:MAJORITY")) == [tidy(said)]


@pytest.mark.parametrize("part", ["signals", "theorem", "entry"])
def test_the_example_is_what_the_page_builds(part: str) -> None:
    if part == "entry":
        page = next(text for language, text in BLOCKS if language == "toml")
        assert page in (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")
        return
    module = (EXAMPLE / "src" / "own_theorem" / "majority.py").read_text(encoding="utf-8")
    begins = {"signals": "    # Step 1.", "theorem": "MAJORITY = "}[part]
    page = next(text[text.index(begins) :] for language, text in BLOCKS if language == "python" and begins in text)
    assert page in module
