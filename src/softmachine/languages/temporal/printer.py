"""Printer of formulas, with a minimum of parentheses."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

from softmachine.support.errors import UsageError

if TYPE_CHECKING:
    from softmachine.languages.temporal.formula import Formula

MAX_TEXT_LENGTH = 1 << 24
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


def format_symbol(symbol: str) -> str:
    """A symbol as a formula: ``Q_a``, or quoted if it has characters other than letters, digits and underscores."""
    return f"Q_{symbol}" if re.fullmatch(r"\w+", symbol) else quote_symbol(symbol)


def quote_symbol(symbol: str) -> str:
    """Quote a symbol."""
    escaped = symbol.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


class FormulaWriter:
    """Texts of formulas, built bottom-up."""

    def __init__(self, words: dict[str, str]) -> None:
        self.keywords = words
        self.written: dict[Formula, tuple[str, Level]] = {}

    def write(self, formula: Formula) -> None:
        """Compute the text of a formula whose parts have been written."""
        text, level = formula.write(self)
        if len(text) > MAX_TEXT_LENGTH:
            raise UsageError(f"the text of this formula would be longer than {MAX_TEXT_LENGTH >> 20} MiB")
        self.written[formula] = text, level

    def keyword_of(self, node: object) -> str:
        """The keyword or sign of an operator or a count, by its type."""
        return self.keywords[type(node).__name__]

    def parenthesise(self, formula: Formula, min_level: Level) -> str:
        """The text of a formula, in parentheses if it binds more loosely than ``min_level``."""
        text, level = self.written[formula]
        return text if level >= min_level else f"({text})"
