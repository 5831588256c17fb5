"""Lexical structure of line-oriented sources: lines, statements, words and quoted symbols."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

QUOTED = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
WORD = re.compile(rf"(?:{QUOTED})(?=\s|$)|\S+")
QUOTED_OR_HASH = re.compile(rf"{QUOTED}|#")
_FIRST_WORD = re.compile(r"\s*(\w+)")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})|(.))", re.DOTALL
)
ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
TAB = 8


@dataclass(frozen=True)
class Word:
    """A word of a statement with its line and column, from 1."""

    text: str
    line: int
    column: int


@dataclass(frozen=True)
class Statement:
    """A statement: its text without comments (columns are preserved), and its first line, from 1."""

    text: str
    line: int

    @property
    def keyword(self) -> str:
        """The first word."""
        found = _FIRST_WORD.match(self.text)
        return found[1] if found else ""

    def words(self) -> list[Word]:
        """The words of the statement, separated by whitespace; a quoted symbol is one word."""
        return [
            Word(found[0], self.line + offset, found.start() + 1)
            for offset, line in enumerate(self.text.split("\n"))
            for found in WORD.finditer(line)
        ]


def statements(
    lines: list[str],
    *,
    keyword: Callable[[str], str],
    without_comment: Callable[[str, str], str],
    separate: Callable[[str, str], bool] = lambda _line, _keyword: False,
) -> Iterator[Statement]:
    """Split a text into statements: a line and the more deeply indented lines after it, without comments.

    Args:
        lines: The lines of the text.
        keyword: The keyword of the statement that a line would begin, passed to the other two functions.
        without_comment: Removes the comment from a line of a statement with this keyword.
        separate: Whether a line begins a statement regardless of its indentation, after a statement with this keyword.
    """
    collected: list[str] = []
    first = outer = 0
    current = ""
    for number, line in enumerate(lines, start=1):
        begins = not collected or indentation(line) <= outer or separate(line, current)
        own = keyword(line) if begins else current
        bare = without_comment(line, own)
        if not bare.strip():
            if collected:
                collected.append("")
            continue
        if begins:
            if collected:
                yield Statement("\n".join(collected), first)
            collected, first, outer, current = [], number, indentation(line), own
        collected.append(bare)
    if collected:
        yield Statement("\n".join(collected), first)


def up_to_comment(line: str, words: re.Pattern[str], *, apart: bool) -> str:
    """Remove the comment from a line; it begins at the first word that begins with ``#``.

    Args:
        line: The line.
        words: Pattern of a word; a ``#`` inside quotes does not begin a comment.
        apart: Whether a comment must be at the start of the line or after two spaces or a tab.
    """
    beginning = len(line) - len(line.lstrip())
    for found in words.finditer(line):
        start = found.start()
        if found[0].startswith("#") and (not apart or start == beginning or line.endswith(("  ", "\t"), 0, start)):
            return line[:start].rstrip()
    return line.rstrip()


def split_lines(text: str) -> list[str]:
    """Split a text into lines, with any line ending; removes a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def quote(symbol: str, mark: str = "'") -> str:
    """Quote a symbol; unprintable characters are escaped."""
    shown = (c if c.isprintable() else repr(c)[1:-1] for c in symbol.replace("\\", r"\\").replace(mark, f"\\{mark}"))
    return f"{mark}{''.join(shown)}{mark}"


def unquote(quoted: str) -> str | None:
    r"""The symbol inside quotes, or None if the quotes do not match or an escape is unknown.

    The escapes are ``\\``, ``\'``, ``\"``, ``\n``, ``\r``, ``\t``, ``\x41``, ``\u0041`` and ``\U00000041``.
    """
    if not re.fullmatch(QUOTED, quoted):
        return None
    inner = quoted[1:-1]
    unknown = [found[0] for found in _ESCAPE.finditer(inner) if found[4] and found[4] not in ESCAPED]
    return None if unknown else _ESCAPE.sub(_unescape, inner)


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    return chr(int(code, 16)) if code else ESCAPED[found[4]]


def indentation(line: str) -> int:
    """The indentation of a line, in columns."""
    expanded = line.expandtabs(TAB)
    return len(expanded) - len(expanded.lstrip())
