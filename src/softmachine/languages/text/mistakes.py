"""Mistakes in a text at the place where a grammar's parser found them, and what all languages say of them alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lark import Token

CLOSING = {"LPAR": ")", "LSQB": "]"}
"""Brackets that open, by the names that lark gives them, and what closes them."""


@dataclass
class Mistake(Exception):  # noqa: N818 - no reader lets it out
    """Something wrong at a place of a text: line and column, counted from 1."""

    message: str
    line: int
    column: int
    hint: str | None = None

    @property
    def sentence(self) -> str:
        """What is wrong and, if it is known, what would be right."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


def clipped(text: str, longest: int = 40) -> str:
    """The beginning of a text that may be long."""
    return str(text) if len(text) <= longest else text[: longest - 1] + "…"


def place_of(token: Token) -> tuple[int, int]:
    """The line and column of a token."""
    return token.line or 1, token.column or 1


def end_of(text: str) -> tuple[int, int]:
    """The line and column of the last character of a text that is no blank."""
    end = text.rstrip()
    return end.count("\n") + 1, len(end) - end.rfind("\n")


def open_brackets(stack: Sequence[Any]) -> list[Token]:
    """The brackets that are open where the parser has this stack of values."""
    return [entry for entry in stack if getattr(entry, "type", None) in CLOSING]


def never_closed(bracket: Token) -> Mistake:
    """What to say of a bracket that is still open where the text ends."""
    return Mistake("this bracket is never closed", *place_of(bracket), f"write {CLOSING[bracket.type]} where it ends")


def alternatives(first: list[str], spelled: Mapping[str, str], terminals: set[str]) -> str:
    """What may come, in words.

    Args:
        first: What is named first.
        spelled: The words for terminals, in the order in which they are named; a bracket only if nothing is before it.
        terminals: Those that may come.
    """
    words = list(first)
    for terminal, word in spelled.items():
        if terminal in terminals and not (terminal == "LPAR" and words):
            words.append(word)
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
