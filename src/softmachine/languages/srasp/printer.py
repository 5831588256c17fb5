"""Printer of S-RASP programs: text, and HTML tables for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softmachine.languages.srasp.ast import format_expression
from softmachine.languages.text.statements import quote
from softmachine.support.notebook_html import html_table

if TYPE_CHECKING:
    from softmachine.languages.srasp.program import SraspProgram

MAX_NAME_WIDTH = 16


def to_text(program: SraspProgram) -> str:
    """Format a program. `parse` is the inverse."""
    width = min(MAX_NAME_WIDTH, max(len(definition.name) for definition in program.definitions)) + len("(i)")
    lines = [
        # Outside the alphabet line, # begins a comment.
        f"program {program.name if _is_plain(program.name) and '#' not in program.name else quote(program.name)}",
        f"alphabet {' '.join(letter if _is_plain(letter) else quote(letter) for letter in program.alphabet)}",
        *(f"{f'{entry.name}(i)':{width}} = {format_expression(entry.body)}" for entry in program.definitions),
        f"output {program.output}",
    ]
    return "\n".join(lines) + "\n"


def program_table(program: SraspProgram) -> str:
    """HTML table of the vectors, one per row, with types and definitions."""
    rows = [
        (
            entry.name,
            str(program.types[entry.name]),
            format_expression(entry.body),
            "output" * (entry.name == program.output),
        )
        for entry in program.definitions
    ]
    return html_table(rows, str(program), head=("vector", "type", "definition", ""))


def _is_plain(word: str) -> bool:
    """Whether a word needs no quotes: it has no spaces, and begins neither a quote nor a comment."""
    return bool(word) and word.isprintable() and " " not in word and word[0] not in "'\"#"
