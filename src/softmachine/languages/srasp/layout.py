"""The lines of an S-RASP text: statements without their comments, and the words in them.

A statement is a line together with the lines after it that are indented deeper, but no definition goes on with a header
(a line that begins with program, alphabet or output). A comment begins with ``#``; in the lines of the alphabet, where
it may be a letter, only at the start of a line or after two blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from softmachine.languages.layout import QUOTED, WORD, Statement, indentation

_QUOTED_OR_COMMENT = re.compile(rf"{QUOTED}|#")
DEFINITION = re.compile(r"^[ \t]*[^\W\d]\w*[ \t]*\([ \t]*i[ \t]*\)[ \t]*=", re.MULTILINE)
HEADER_AS_NAME = re.compile(r"\s*\w+\(\s*i\s*\)\s*=")
OUTPUT = re.compile(r"[ \t]*output[ \t]")
HEADERS = ("program", "alphabet", "output")


def statements(lines: list[str]) -> Iterator[Statement]:
    """The statements of a text."""
    collected: list[str] = []
    first = indent = 0
    keyword = ""
    for number, line in enumerate(lines, start=1):
        here = indentation(line)
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
    for found in (WORD if of_alphabet else _QUOTED_OR_COMMENT).finditer(line):
        start = found.start()
        apart = start == beginning or line.endswith(("  ", "\t"), 0, start)
        if found[0].startswith("#") and (apart or not of_alphabet):
            return line[:start].rstrip()
    return line.rstrip()
