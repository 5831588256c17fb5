"""Parser of S-RASP programs, in ``.srasp`` files.

Example::

    alphabet ( ) [ ]
    open(i)  = in(i) in {'(', '['}                      # a comment
    depth(i) = psum j : (1 if open(j) else -1)
    match(i) = rightmost j < i where depth(j) = depth(i) + 1 and open(j) : in(j) else '?'
    output match

``program NAME`` sets the name. A statement is a line with the more deeply indented lines after it; but a header (a line
that begins with program, alphabet or output) is not continued by a definition or by ``output``. A comment begins with
``#``; in the alphabet line, where ``#`` may be a letter, only at the start of a line or after two spaces.
"""

from __future__ import annotations

import re
from functools import partial

from softmachine.languages.source import check_size, name_of
from softmachine.languages.srasp.building import Builder
from softmachine.languages.srasp.mistakes import explain
from softmachine.languages.srasp.printing import to_text
from softmachine.languages.srasp.program import Definition, Program
from softmachine.languages.text.grammar import parser
from softmachine.languages.text.layout import QUOTED_OR_HASH, WORD, Statement, split_lines, statements, up_to_comment
from softmachine.languages.text.problems import refuse
from softmachine.languages.text.reader import StatementReader
from softmachine.support.errors import Place

__all__ = ["parse", "to_text"]

HEADERS = ("program", "alphabet", "output")
HEADER_AS_NAME = re.compile(r"\s*\w+\(\s*i\s*\)\s*=")
OUTPUT = re.compile(r"[ \t]*output[ \t]")
DEFINITION = re.compile(r"^[ \t]*[^\W\d]\w*[ \t]*\([ \t]*i[ \t]*\)[ \t]*=", re.MULTILINE)


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Program:
    """Parse a program; all errors are reported at once."""
    check_size(text, source, "a program may have")
    lines = split_lines(text)
    reader = _Reader(source)
    found = statements(lines, keyword=_keyword, without_comment=_without_comment, separate=_follows_header)
    for statement in found:
        reader.read(statement)
    refuse(reader.problems, lines)
    return Program(
        name=name or reader.name or name_of(source) or "program",
        alphabet=tuple(reader.alphabet),
        definitions=tuple(reader.definitions),
        output=reader.output,
        place=Place(source),
        output_place=reader.output_place,
        lines=lines,
    )


def _keyword(line: str) -> str:
    return Statement(line, 1).keyword


def _follows_header(line: str, keyword: str) -> bool:
    return keyword in HEADERS and bool(DEFINITION.match(line) or OUTPUT.match(line))


def _without_comment(line: str, keyword: str) -> str:
    of_alphabet = keyword == "alphabet"
    return up_to_comment(line, WORD if of_alphabet else QUOTED_OR_HASH, apart=of_alphabet)


class _Reader(StatementReader):
    """Parser state: the parts of the program."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.name: str | None = None
        self.alphabet: list[str] = []
        self.definitions: list[Definition] = []
        self.output = ""
        self.output_place: Place | None = None

    def read(self, statement: Statement) -> None:
        keyword = statement.keyword
        if keyword not in HEADERS or HEADER_AS_NAME.match(statement.text):
            self._definition(statement)
            return
        found = self.header(statement)
        if not found:
            return
        first, *words = found
        if keyword == "alphabet":
            self.alphabet = [self.plain(word) for word in words]
        elif len(words) != 1:
            what = "the output vector" if keyword == "output" else "the name of the program"
            self.report(f"expected one name after {keyword!r}: {what}", first.line, first.column)
        elif keyword == "program":
            self.name = self.plain(words[0])
        else:
            self.output, self.output_place = words[0].text, Place(self.source, words[0].line, words[0].column)

    def _definition(self, statement: Statement) -> None:
        from lark.exceptions import UnexpectedInput

        try:
            tree = parser("srasp").parse(statement.text)
        except UnexpectedInput as error:
            self.unreadable(statement, partial(explain, error, statement.text))
            return
        builder = Builder(self.source, statement.line)
        self.definitions.append(builder.build(tree))
        self.problems += builder.problems
