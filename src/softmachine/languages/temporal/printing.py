"""Formulas as text, with no more parentheses than needed."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

from softmachine.support.errors import UsageError

if TYPE_CHECKING:
    from softmachine.languages.temporal.formula import Formula

LONGEST = 1 << 24
"""Characters. A formula that shares its parts can be far longer in writing than in memory."""


class Level(IntEnum):
    """How tightly a formula holds together; looser ones need parentheses inside tighter ones."""

    IFF = 1
    IMPLIES = 2
    OR = 3
    AND = 4
    SINCE = 5
    UNARY = 6
    ATOM = 7


ASCII: dict[str, str] = {
    "Not": "not ", "Previous": "prev ", "Next": "next ", "Once": "once ", "Historically": "historically ",
    "Eventually": "eventually ", "Always": "always ",
    "And": " and ", "Or": " or ", "Implies": " -> ", "Iff": " <-> ",
    "LeftCount": "#<", "RightCount": "#>",
}  # fmt: skip
UNICODE = ASCII | {
    "Not": "¬", "Previous": "⊖", "Next": "⊕", "And": " ∧ ", "Or": " ∨ ", "Implies": " → ", "Iff": " ↔ ",
    "LeftCount": "←#", "RightCount": "→#", "<=": "≤", ">=": "≥", "!=": "≠",
}  # fmt: skip


def symbol_text(symbol: str) -> str:
    """A symbol as a formula: ``Q_a``, or in quotes if it has other characters than letters, digits and underscores."""
    return f"Q_{symbol}" if re.fullmatch(r"\w+", symbol) else quoted(symbol)


def quoted(symbol: str) -> str:
    """A symbol in quotes."""
    escaped = symbol.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


class Writer:
    """Texts of formulas, written from the smallest to the largest."""

    def __init__(self, words: dict[str, str]) -> None:
        self.words = words
        self.written: dict[Formula, tuple[str, Level]] = {}

    def write(self, formula: Formula) -> None:
        """Write a formula whose parts are written."""
        text, level = formula.write(self)
        if len(text) > LONGEST:
            raise UsageError(f"the text of this formula would be longer than {LONGEST >> 20} MiB")
        self.written[formula] = text, level

    def word(self, of: object) -> str:
        """The word or sign of an operator or a count, by its type."""
        return self.words[type(of).__name__]

    def inside(self, formula: Formula, loosest: Level) -> str:
        """The text of a formula, in parentheses if it is looser than this."""
        text, level = self.written[formula]
        return text if level >= loosest else f"({text})"
