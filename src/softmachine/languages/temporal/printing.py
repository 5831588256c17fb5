"""Formulas as text, with no more parentheses than needed."""

from __future__ import annotations

import re
from enum import IntEnum

from softmachine.errors import UsageError
from softmachine.languages.linear import linear_text
from softmachine.languages.temporal import formula as tl
from softmachine.languages.temporal.counting import Comparison, LeftCount, Position, Predicate, RightCount
from softmachine.languages.temporal.formula import Formula
from softmachine.languages.temporal.structure import subformulas

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


def formula_text(formula: Formula, *, unicode: bool = False) -> str:
    """The text of a formula, which `parse_formula` reads back as the same formula.

    Args:
        formula: The formula.
        unicode: With ¬ ∧ ∨ → ↔ ⊖ ⊕ and ←# →# instead of words and #< #>.

    Raises:
        UsageError: If the text would be longer than 16 MiB.
    """
    writer = Writer(UNICODE if unicode else ASCII)
    for part in subformulas(formula):
        writer.write(part)
    return writer.written[formula][0]


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
        text, level = self._text(formula)
        if len(text) > LONGEST:
            raise UsageError(f"the text of this formula would be longer than {LONGEST >> 20} MiB")
        self.written[formula] = text, level

    def _text(self, formula: Formula) -> tuple[str, Level]:
        word = self.words.get(type(formula).__name__, "")
        match formula:
            case tl.Symbol(symbol):
                return symbol_text(symbol), Level.ATOM
            case tl.Constant(value):
                return "true" if value else "false", Level.ATOM
            case tl.First():
                return "first", Level.ATOM
            case tl.Last():
                return "last", Level.ATOM
            case tl.Unary(of):
                return word + self.inside(of, Level.UNARY), Level.UNARY
            case tl.And(operands):
                return word.join(self.inside(operand, Level.SINCE) for operand in operands), Level.AND
            case tl.Or(operands):
                return word.join(self.inside(operand, Level.AND) for operand in operands), Level.OR
            case tl.Implies(left, right):
                return self.inside(left, Level.OR) + word + self.inside(right, Level.IMPLIES), Level.IMPLIES
            case tl.Iff(left, right):
                return self.inside(left, Level.IMPLIES) + word + self.inside(right, Level.IFF), Level.IFF
            case tl.Since(left, right, reading) | tl.Until(left, right, reading):
                name = type(formula).__name__.lower() + ("!" if reading is tl.Reading.PAPER else "")
                return f"{self.inside(left, Level.UNARY)} {name} {self.inside(right, Level.SINCE)}", Level.SINCE
            case Comparison(left, relation, right):
                relation_text = self.words.get(relation, relation)
                return (
                    f"{linear_text(left, self._number)} {relation_text} {linear_text(right, self._number)}",
                    Level.ATOM,
                )
            case Predicate(name, number, parameters):
                arguments = [self._number(number), *(str(parameter) for parameter in parameters)]
                return f"{name}({','.join(arguments)})", Level.ATOM
            case _:
                return formula.write(self)

    def inside(self, formula: Formula, loosest: Level) -> str:
        """The text of a formula, in parentheses if it is looser than this."""
        text, level = self.written[formula]
        return text if level >= loosest else f"({text})"

    def _number(self, number: Position | LeftCount | RightCount) -> str:
        if isinstance(number, Position):
            return "i"
        return f"{self.words[type(number).__name__]}[{self.written[number.of][0]}]"
