"""The table of commands, read from ``commands.txt``, and their execution.

A line of ``commands.txt`` follows ``softmachine`` in a shell. Several commands in a line are separated by a
lone ``;`` and share a folder; a lone ``<`` is followed by the file for standard input. ``## name`` begins a section;
each section is recorded in a file of its own. Commands are executed in a fresh folder that holds copies of
``files/`` and ``version2/``, if the line mentions them.

A record keeps the exit status, the first line of each stream, and all of standard output where it is JSON, so that
prose can change without recording it again.

The only import from softmachine is :func:`softmachine.cli.main`.
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
"""The terminal that commands see."""
UNSET = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONWARNINGS")
"""Environment variables that would change the output."""
NOISE = (
    (r'"(seconds|tokens_per_second)": [-+.e\d]+', r'"\1": "<noise>"'),
    (r"\b\d[\d.,]* (s|ms|min|seconds?)\b", r"<noise> \1"),
    (r"\b\d[\d,.]* tokens/s", "<noise> tokens/s"),
    (r"\b\d[\d,.]* (kB|MB)\b", r"<noise> \1"),
    (r"(?<=exact arithmetic, )\d[\d,]* scores", "<noise> scores"),
    (r'"bytes": \d+', '"bytes": "<noise>"'),
    (r"^softmachine \d+\.\d+\.\d+$", "softmachine <version>"),
)
"""Durations, speeds, sizes of files and memory, counts of random audits, and the version of softmachine."""


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


def normalise(text: str, folder: Path) -> list[str]:
    """The lines of an output with :data:`NOISE` and the name of the folder replaced."""
    text = text.replace(str(folder), "<folder>")
    for pattern, replacement in NOISE:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text.split("\n")


def summarise(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The recorded part of results: of a stream its first line that is not empty, or all of it if it is JSON."""
    return [{**result, "out": _first_line(result["out"]), "err": _first_line(result["err"])} for result in results]


def _first_line(printed: list[str]) -> list[str]:
    try:
        json.loads("\n".join(printed))
    except ValueError:
        return [line for line in printed if line.strip()][:1]
    return printed


def execute(line: Line, folder: Path) -> list[dict[str, Any]]:
    """Execute the commands of a line in an empty folder; return exit status, standard output and error of each."""
    for name in INPUTS:
        if f"{name}/" in line.text:
            shutil.copytree(HERE / name, folder / name)
    return [_call(arguments, standard_input, folder) for arguments, standard_input in _parse(line.text, folder)]


def load_record(section: str) -> dict[str, Any]:
    """The record of a section: line of the table → results of its commands."""
    file = RECORDED / f"{section}.json"
    answer = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    assert isinstance(answer, dict)
    return answer


def format_results(results: list[dict[str, Any]]) -> list[str]:
    """Results as lines of text, for comparison."""
    text: list[str] = []
    for result in results:
        text += [f"$ softmachine {result['command']}", f"exit status {result['status']}", *result["out"]]
        text += [f"stderr: {line}" for line in result["err"]]
    return text


def _parse(text: str, folder: Path) -> Iterator[tuple[list[str], bytes]]:
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


def _call(arguments: list[str], standard_input: bytes, folder: Path) -> dict[str, Any]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with _environment(folder, standard_input), redirect_stdout(out), redirect_stderr(err):
        status = int(main(arguments))
    texts = []
    for stream in (out, err):
        stream.flush()
        binary = stream.buffer
        assert isinstance(binary, io.BytesIO)
        texts.append(normalise(binary.getvalue().decode("utf-8"), folder))
    return {"command": shlex.join(arguments), "status": status, "out": texts[0], "err": texts[1]}


@contextmanager
def _environment(folder: Path, standard_input: bytes) -> Iterator[None]:
    """The folder, terminal and standard input of a command; warnings are errors."""
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
