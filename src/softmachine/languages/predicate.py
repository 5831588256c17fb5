"""Formal languages given by a Python predicate: source and reference of theorems about a single language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from softmachine.languages.source import WordSource

Word = tuple[str, ...]


@dataclass(frozen=True)
class FormalLanguage(WordSource):
    """A formal language.

    Args:
        name: Name of the language.
        alphabet: Its alphabet.
        accepts: The membership predicate. It is the reference for models, so it should be obviously correct.
    """

    name: str
    alphabet: tuple[str, ...]
    accepts: Callable[[Word], bool]

    language: ClassVar[str] = "predicate"
    default_input: ClassVar[Word] = ()

    def __str__(self) -> str:
        return f"Language {self.name}: words over {' '.join(self.alphabet)}"
