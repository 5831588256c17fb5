"""Header comments of a RASP text (``# alphabet: a b``), which other tools ignore as comments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from softmachine.languages.rasp.names import NAME
from softmachine.languages.text.layout import WORD, quote, unquote
from softmachine.languages.text.mistakes import Mistake

WITH_WORDS: Final = ("program", "alphabet", "tokens", "input", "stop", "output")
ALONE: Final = ("causal", "exact")
HEADER: Final = re.compile(rf"\s*#\s*(?:({'|'.join(WITH_WORDS)}):[ \t]*(.*?)|({'|'.join(ALONE)}))\s*")
COMMENT: Final = re.compile(r"\s*(#.*)?")


@dataclass(frozen=True)
class Word:
    """A word of a header, and its column, counted from 1."""

    text: str
    column: int


@dataclass(frozen=True)
class Header:
    """One header line: its words, its line number, and the text after the colon."""

    words: tuple[Word, ...] = ()
    line: int = 1
    text: str = ""


@dataclass(frozen=True)
class Headers:
    """The headers of a text, by keyword."""

    found: Mapping[str, Header] = field(default_factory=dict)

    def __contains__(self, keyword: str) -> bool:
        return keyword in self.found

    def words(self, keyword: str) -> tuple[str, ...]:
        """The unquoted words of a header; empty if the header is missing."""
        header = self.found.get(keyword, Header())
        return tuple(_plain(word, header.line) for word in header.words)

    def one(self, keyword: str) -> str | None:
        """The only word of a header, or None if the header is missing."""
        words = self.words(keyword)
        if keyword in self.found and len(words) != 1:
            header = self.found[keyword]
            message = f"header {keyword!r} takes one word, not {len(words)}"
            raise Mistake(message, header.line, 1, f"write for example: # {keyword}: x")
        return words[0] if words else None


def read_headers(lines: Sequence[str]) -> Headers:
    """Parse the headers of a text: the comments before the first statement.

    Raises:
        Mistake: If a header occurs twice.
    """
    found: dict[str, Header] = {}
    for number, line in enumerate(lines, start=1):
        if not COMMENT.fullmatch(line):
            break
        match = HEADER.fullmatch(line)
        if match is None:
            continue
        keyword = match[1] or match[3]
        words = tuple(Word(word[0], match.start(2) + word.start() + 1) for word in WORD.finditer(match[2] or ""))
        if keyword == "output" and not (len(words) == 1 and NAME.fullmatch(words[0].text)):
            continue  # an ordinary comment, not an identifier
        if keyword in found:
            raise Mistake(f"duplicate header '# {keyword}'", number, 1, "remove one of them")
        found[keyword] = Header(words, number, match[2] or "")
    return Headers(found)


def header_line(keyword: str, words: Sequence[str]) -> str:
    """A header as text."""
    shown = [word if _is_plain(word) else quote(word, '"') for word in words]
    return f"# {keyword}: {' '.join(shown)}"


def _plain(word: Word, line: int) -> str:
    if word.text[0] not in "'\"" or len(word.text) == 1:
        return word.text
    inner = unquote(word.text)
    if inner is None:
        raise Mistake("invalid quoted symbol", line, word.column, r"write a quote as \" and a backslash as \\")
    return inner


def _is_plain(word: str) -> bool:
    """Whether a word can be written in a header without quotes."""
    return bool(word) and word.isprintable() and " " not in word and (word[0] not in "'\"" or len(word) == 1)
