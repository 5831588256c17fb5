"""Small pieces of Markdown."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what would end a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


def section(title: str, text: str) -> str:
    """A part of a page under its title; nothing if there is nothing to say."""
    return f"## {title}\n\n{text}" if text else ""


def fenced(text: str, language: str = "text") -> str:
    """A block of code, whatever is in it."""
    fence = "```" if "```" not in text else "````"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def joined(parts: Iterable[str]) -> str:
    """Parts of a page, a blank line between them; empty ones are left out."""
    return "\n\n".join(part for part in parts if part) + "\n"


def said(arguments: Sequence[str]) -> str | None:
    """A command and what it prints, as on a console; None if it fails."""
    from softmachine.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        status = main(arguments)
    return f"$ {shlex.join(['softmachine', *arguments])}\n{printed.getvalue()}" if status == 0 else None
