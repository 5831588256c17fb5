"""A formal language given by a Python predicate: the source, and the reference, of a theorem about one language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from softmachine.languages.source import OfWords

Word = tuple[str, ...]


@dataclass(frozen=True)
class FormalLanguage(OfWords):
    """A set of words.

    Args:
        name: What people call it.
        alphabet: The letters of its words.
        accepts: Whether a word is in it: written to be obviously right, since models are held to it.
    """

    name: str
    alphabet: tuple[str, ...]
    accepts: Callable[[Word], bool]

    language: ClassVar[str] = "predicate"
    default_input: ClassVar[Word] = ()

    def __str__(self) -> str:
        return f"Language {self.name}: words over {' '.join(self.alphabet)}"
