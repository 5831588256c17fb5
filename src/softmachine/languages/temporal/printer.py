"""Printer of formulas, with a minimum of parentheses."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

from softmachine.support.errors import UsageError

if TYPE_CHECKING:
    from softmachine.languages.temporal.formula import Formula

LONGEST = 1 << 24
"""Maximum length of a text, in characters. The text of a formula with shared parts can be exponentially long."""


class Level(IntEnum):
    """Precedence of the outermost operator, from loosest to tightest."""

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
    """A symbol as a formula: ``Q_a``, or quoted if it has characters other than letters, digits and underscores."""
    return f"Q_{symbol}" if re.fullmatch(r"\w+", symbol) else quoted(symbol)


def quoted(symbol: str) -> str:
    """Quote a symbol."""
    escaped = symbol.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


class Writer:
    """Texts of formulas, built bottom-up."""

    def __init__(self, words: dict[str, str]) -> None:
        self.words = words
        self.written: dict[Formula, tuple[str, Level]] = {}

    def write(self, formula: Formula) -> None:
        """Compute the text of a formula whose parts have been written."""
        text, level = formula.write(self)
        if len(text) > LONGEST:
            raise UsageError(f"the text of this formula would be longer than {LONGEST >> 20} MiB")
        self.written[formula] = text, level

    def word(self, of: object) -> str:
        """The keyword or sign of an operator or a count, by its type."""
        return self.words[type(of).__name__]

    def inside(self, formula: Formula, loosest: Level) -> str:
        """The text of a formula, in parentheses if it binds more loosely than ``loosest``."""
        text, level = self.written[formula]
        return text if level >= loosest else f"({text})"
