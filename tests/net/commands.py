"""The table of commands, read from ``commands.txt``, and the one way to carry them out.

A line of ``commands.txt`` is what follows ``softmachine`` in a shell. Several commands in a line are separated by a
lone ``;`` and share a folder; a lone ``<`` is followed by the file for standard input. ``## name`` begins a section;
each section is recorded in a file of its own. Commands are carried out in a fresh folder that holds copies of
``files/`` and ``version2/``, if the line mentions them.

Of softmachine only :func:`softmachine.cli.main` is known here: everything else may move.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.rich_utils

from softmachine.cli import main

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
INPUTS = ("files", "version2")
ENVIRONMENT = {"COLUMNS": "100", "LINES": "30", "TERM": "xterm"}
"""What the terminal is like."""
UNSET = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONWARNINGS")
"""Variables that would change what is printed."""
NOISE = (
    (r'"(seconds|tokens_per_second)": [-+.e\d]+', r'"\1": "<noise>"'),
    (r"\b\d[\d.,]* (s|ms|min|seconds?)\b", r"<noise> \1"),
    (r"\b\d[\d,.]* tokens/s", "<noise> tokens/s"),
    (r"\b\d[\d,.]* (kB|MB)\b", r"<noise> \1"),
    (r"(?<=exact arithmetic, )\d[\d,]* scores", "<noise> scores"),
    (r'"bytes": \d+', '"bytes": "<noise>"'),
    (r"^softmachine \d+\.\d+\.\d+$", "softmachine <version>"),
)
"""Durations and speeds, sizes of files and memory, how much random audits look at, and the version of softmachine."""


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    section: str
    text: str


def lines() -> list[Line]:
    """The table."""
    section, found = "", []
    for text in (HERE / "commands.txt").read_text(encoding="utf-8").splitlines():
        if text.startswith("## "):
            section = text[3:].strip()
        elif text.strip():
            found.append(Line(section, text.strip()))
    return found


def normalised(text: str, folder: Path) -> list[str]:
    """What was printed, line by line, without what differs from run to run: :data:`NOISE`, and the folder's name."""
    text = text.replace(str(folder), "<folder>")
    for pattern, replacement in NOISE:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text.split("\n")


def carried_out(line: Line, folder: Path) -> list[dict[str, Any]]:
    """What the commands of a line did, in a folder that is empty: exit status, standard output, standard error."""
    for name in INPUTS:
        if f"{name}/" in line.text:
            shutil.copytree(HERE / name, folder / name)
    return [_called(arguments, standard_input, folder) for arguments, standard_input in _parsed(line.text, folder)]


def recorded(section: str) -> dict[str, Any]:
    """What is recorded of a section: by line, what its commands did."""
    file = RECORDED / f"{section}.json"
    answer = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    assert isinstance(answer, dict)
    return answer


def shown(did: list[dict[str, Any]]) -> list[str]:
    """A record as lines of text, to compare."""
    text: list[str] = []
    for one in did:
        text += [f"$ softmachine {one['command']}", f"exit status {one['status']}", *one["out"]]
        text += [f"stderr: {line}" for line in one["err"]]
    return text


def _parsed(text: str, folder: Path) -> Iterator[tuple[list[str], bytes]]:
    arguments: list[str] = []
    standard_input = b""
    words = iter(shlex.split(text))
    for word in words:
        if word == ";":
            yield arguments, standard_input
            arguments, standard_input = [], b""
        elif word == "<":
            standard_input = (folder / next(words)).read_bytes()
        else:
            arguments.append(word)
    yield arguments, standard_input


def _called(arguments: list[str], standard_input: bytes, folder: Path) -> dict[str, Any]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with _surroundings(folder, standard_input), redirect_stdout(out), redirect_stderr(err):
        status = int(main(arguments))
    texts = []
    for stream in (out, err):
        stream.flush()
        binary = stream.buffer
        assert isinstance(binary, io.BytesIO)
        texts.append(normalised(binary.getvalue().decode("utf-8"), folder))
    return {"command": shlex.join(arguments), "status": status, "out": texts[0], "err": texts[1]}


@contextmanager
def _surroundings(folder: Path, standard_input: bytes) -> Iterator[None]:
    """The folder, the terminal and standard input that every command finds; warnings are errors."""
    before, variables, stdin = Path.cwd(), dict(os.environ), sys.stdin
    looks = {name: getattr(typer.rich_utils, name) for name in ("MAX_WIDTH", "FORCE_TERMINAL")}
    try:
        os.chdir(folder)
        for name in UNSET:
            os.environ.pop(name, None)
        os.environ.update(ENVIRONMENT)
        typer.rich_utils.MAX_WIDTH, typer.rich_utils.FORCE_TERMINAL = int(ENVIRONMENT["COLUMNS"]), None
        sys.stdin = io.TextIOWrapper(io.BytesIO(standard_input), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(variables)
        sys.stdin = stdin
        for name, value in looks.items():
            setattr(typer.rich_utils, name, value)
