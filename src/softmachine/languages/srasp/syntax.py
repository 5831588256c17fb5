"""S-RASP as text, in files ``.srasp``.

As in::

    alphabet ( ) [ ]
    open(i)  = in(i) in {'(', '['}                      # a comment
    depth(i) = psum j : (1 if open(j) else -1)
    match(i) = rightmost j < i where depth(j) = depth(i) + 1 and open(j) : in(j) else '?'
    output match

One definition a line; a line that is indented deeper goes on with the one before. ``program NAME`` may say what it is
called.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from softmachine.errors import Place, SourceError
from softmachine.languages.layout import Statement, Word, split_lines, unquote
from softmachine.languages.problems import MOST_REPORTED, Problem, invalid, refuse
from softmachine.languages.srasp.builder import Builder
from softmachine.languages.srasp.explain import explain
from softmachine.languages.srasp.grammar import parser
from softmachine.languages.srasp.layout import DEFINITION, HEADER_AS_NAME, HEADERS, statements
from softmachine.languages.srasp.printer import to_text
from softmachine.languages.srasp.program import Definition, Program, check

__all__ = ["looks_like", "parse", "to_text"]

LARGEST_SOURCE = 1 << 20
HEADER = re.compile(r"^[ \t]*(?:alphabet|output)[ \t]+\S", re.MULTILINE)


def looks_like(text: str) -> bool:
    """Whether a text is meant as an S-RASP program, though there may be a mistake in it."""
    return DEFINITION.search(text) is not None and HEADER.search(text) is not None


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Program:
    """The program that a text describes.

    Args:
        text: The program.
        source: Where it comes from, for messages.
        name: What to call it; by default what it says itself, or its file.

    Raises:
        SourceError: If the text is not in this form, with all mistakes of writing.
        InvalidError: If the program breaks the rules of the language, with all problems.
    """
    if len(text) > LARGEST_SOURCE:
        raise SourceError(
            f"this is {len(text):,} characters long; a program may have at most {LARGEST_SOURCE:,}",
            place=Place(source),
        )
    lines = split_lines(text)
    reader = _Reader(source)
    for statement in statements(lines):
        reader.read(statement)
    refuse(reader.problems, lines)
    file = None if source.startswith("<") else PurePath(source).stem
    called = name or reader.name or file or "program"
    alphabet, definitions = tuple(reader.alphabet), tuple(reader.definitions)
    problems, _ = check(alphabet, definitions, reader.output, reader.output_place)
    if problems:
        raise invalid(f"S-RASP program {called!r}", problems, Place(source), lines)
    return Program(name=called, alphabet=alphabet, definitions=definitions, output=reader.output, place=Place(source))


class _Reader:
    """Reads statement after statement, and goes on after a mistake."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.name: str | None = None
        self.alphabet: list[str] = []
        self.definitions: list[Definition] = []
        self.output = ""
        self.output_place: Place | None = None
        self.problems: list[Problem] = []
        self._headers: set[str] = set()

    def read(self, statement: Statement) -> None:
        keyword = statement.keyword
        if keyword not in HEADERS or HEADER_AS_NAME.match(statement.text):
            self._definition(statement)
            return
        first, *words = statement.words()
        if first.text != keyword:
            self._report(f"after {keyword!r} there should be a blank", first.line, first.column + len(keyword))
        elif keyword in self._headers:
            self._report(f"there is already a line that begins with {keyword!r}", first.line, first.column)
        elif keyword == "alphabet":
            self.alphabet = [self._plain(word) for word in words]
        elif len(words) != 1:
            what = "the vector that is the result" if keyword == "output" else "what the program is called, in one word"
            self._report(f"{keyword!r} is followed by one name: {what}", first.line, first.column)
        elif keyword == "program":
            self.name = self._plain(words[0])
        else:
            self.output, self.output_place = words[0].text, Place(self.source, words[0].line, words[0].column)
        self._headers.add(keyword)

    def _plain(self, word: Word) -> str:
        """A word as it is, or what is in its quotes."""
        if word.text[0] not in "'\"":
            return word.text
        inner = unquote(word.text)
        if inner is None:
            self._report(
                r"this is not a symbol in quotes; a quote is written '\'' and a backslash '\\'", word.line, word.column
            )
        return inner or ""

    def _definition(self, statement: Statement) -> None:
        from lark.exceptions import UnexpectedInput

        grammar = parser()
        try:
            tree = grammar.parse(statement.text)
        except UnexpectedInput as error:
            # What is not shown need not be explained, which takes long.
            shown = len(self.problems) < MOST_REPORTED
            message, line, column = explain(error, statement.text) if shown else ("", 1, 1)
            self._report(message, statement.line + line - 1, column)
            return
        builder = Builder(self.source, statement.line)
        self.definitions.append(builder.build(tree))
        self.problems += builder.problems

    def _report(self, message: str, line: int, column: int) -> None:
        self.problems.append(Problem(message, Place(self.source, line, column)))
