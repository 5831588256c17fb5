"""Formatting of Markdown."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the separators of cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


def section(title: str, text: str) -> str:
    """Return a section with its title; empty if the text is empty."""
    return f"## {title}\n\n{text}" if text else ""


def fenced(text: str, language: str = "text") -> str:
    """Return a block of code, with a fence that does not occur in it."""
    fence = "```" if "```" not in text else "````"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def join_parts(parts: Iterable[str]) -> str:
    """Join the parts of a page that are not empty by blank lines."""
    return "\n\n".join(part for part in parts if part) + "\n"


def run_command(arguments: Sequence[str]) -> str | None:
    """Run a command, and return it with its output, as on a console; None if it fails."""
    from softmachine.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        status = main(arguments)
    return f"$ {shlex.join(['softmachine', *arguments])}\n{printed.getvalue()}" if status == 0 else None
