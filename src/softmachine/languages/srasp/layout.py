"""The lines of an S-RASP text: statements without their comments.

A statement is a line together with the lines after it that are indented deeper; but a header (a line that begins with
program, alphabet or output) does not go on with a definition or with ``output``. A comment begins with ``#``; in the
lines of the alphabet, where it may be a letter, only at the start of a line or after two blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from softmachine.languages.text import layout
from softmachine.languages.text.layout import QUOTED_OR_HASH, WORD, Statement

DEFINITION = re.compile(r"^[ \t]*[^\W\d]\w*[ \t]*\([ \t]*i[ \t]*\)[ \t]*=", re.MULTILINE)
HEADER_AS_NAME = re.compile(r"\s*\w+\(\s*i\s*\)\s*=")
OUTPUT = re.compile(r"[ \t]*output[ \t]")
HEADERS = ("program", "alphabet", "output")


def statements(lines: list[str]) -> Iterator[Statement]:
    """The statements of a text."""
    return layout.statements(lines, keyword=_keyword, without_comment=_without_comment, separate=_follows_header)


def _keyword(line: str) -> str:
    return Statement(line, 1).keyword


def _follows_header(line: str, keyword: str) -> bool:
    return keyword in HEADERS and bool(DEFINITION.match(line) or OUTPUT.match(line))


def _without_comment(line: str, keyword: str) -> str:
    of_alphabet = keyword == "alphabet"
    return layout.up_to_comment(line, WORD if of_alphabet else QUOTED_OR_HASH, apart=of_alphabet)
