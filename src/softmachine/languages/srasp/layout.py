"""The lines of an S-RASP text: statements without their comments, and the words in them.

A statement is a line together with the lines after it that are indented deeper, but no definition goes on with a header
(a line that begins with program, alphabet or output). A comment begins with ``#``; in the lines of the alphabet, where
it may be a letter, only at the start of a line or after two blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

QUOTED = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
_QUOTED_OR_COMMENT = re.compile(rf"{QUOTED}|#")
_WORD = re.compile(rf"(?:{QUOTED})(?=\s|$)|\S+")
DEFINITION = re.compile(r"^[ \t]*[^\W\d]\w*[ \t]*\([ \t]*i[ \t]*\)[ \t]*=", re.MULTILINE)
HEADER_AS_NAME = re.compile(r"\s*\w+\(\s*i\s*\)\s*=")
OUTPUT = re.compile(r"[ \t]*output[ \t]")
HEADERS = ("program", "alphabet", "output")
_FIRST_WORD = re.compile(r"\s*(\w+)")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})|(.))", re.DOTALL
)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
TAB = 8


@dataclass(frozen=True)
class Word:
    """A word of a statement and where it stands, counted from 1."""

    text: str
    line: int
    column: int


@dataclass(frozen=True)
class Statement:
    """A statement: its text, where comments are left out and columns are kept, and its first line, counted from 1."""

    text: str
    line: int

    @property
    def keyword(self) -> str:
        """Its first word."""
        found = _FIRST_WORD.match(self.text)
        return found[1] if found else ""

    def words(self) -> list[Word]:
        """Its words, which blanks separate; a quoted one counts as one."""
        return [
            Word(found[0], self.line + offset, found.start() + 1)
            for offset, line in enumerate(self.text.split("\n"))
            for found in _WORD.finditer(line)
        ]


def split_lines(text: str) -> list[str]:
    """The lines of a text, whatever ends them."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def statements(lines: list[str]) -> Iterator[Statement]:
    """The statements of a text."""
    collected: list[str] = []
    first = indent = 0
    keyword = ""
    for number, line in enumerate(lines, start=1):
        here = _indent(line)
        begins = not collected or here <= indent or (keyword in HEADERS and _is_no_letters(line))
        beginning = Statement(line, number).keyword if begins else keyword
        bare = without_comment(line, of_alphabet=beginning == "alphabet")
        if not bare.strip():
            if collected:
                collected.append("")
            continue
        if begins:
            if collected:
                yield Statement("\n".join(collected), first)
            collected, first, indent, keyword = [], number, here, beginning
        collected.append(bare)
    if collected:
        yield Statement("\n".join(collected), first)


def _is_no_letters(line: str) -> bool:
    return bool(DEFINITION.match(line) or OUTPUT.match(line))


def without_comment(line: str, *, of_alphabet: bool) -> str:
    """A line up to its comment."""
    beginning = len(line) - len(line.lstrip())
    for found in (_WORD if of_alphabet else _QUOTED_OR_COMMENT).finditer(line):
        start = found.start()
        apart = start == beginning or line.endswith(("  ", "\t"), 0, start)
        if found[0].startswith("#") and (apart or not of_alphabet):
            return line[:start].rstrip()
    return line.rstrip()


def unquote(quoted: str) -> str | None:
    r"""The symbol in quotes, or None if the quotes do not match or there is an unknown escape in it.

    The escapes are ``\\``, ``\'``, ``\"``, ``\n``, ``\r``, ``\t``, ``\x41``, ``\u0041`` and ``\U00000041``.
    """
    if not re.fullmatch(QUOTED, quoted):
        return None
    inner = quoted[1:-1]
    unknown = [found[0] for found in _ESCAPE.finditer(inner) if found[4] and found[4] not in _ESCAPED]
    return None if unknown else _ESCAPE.sub(_unescape, inner)


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    return chr(int(code, 16)) if code else _ESCAPED[found[4]]


def _indent(line: str) -> int:
    expanded = line.expandtabs(TAB)
    return len(expanded) - len(expanded.lstrip())
