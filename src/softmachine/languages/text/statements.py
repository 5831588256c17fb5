"""Statements of line-oriented sources: lines, words and quoted symbols.

Parsers of such sources have a common base class. They continue after an error, so that all errors are reported.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from softmachine.languages.source import MAX_SOURCE_LENGTH, check_source_length, default_name
from softmachine.languages.text import QUOTED
from softmachine.languages.text.diagnostics import MAX_REPORTED, Problem, SyntaxDiagnostic, syntax_error
from softmachine.support.errors import SourceLocation

if TYPE_CHECKING:
    from lark import UnexpectedInput

WORD = re.compile(rf"(?:{QUOTED})(?=\s|$)|\S+")
QUOTED_OR_HASH = re.compile(rf"{QUOTED}|#")
_FIRST_WORD = re.compile(r"\s*(\w+)")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})|(.))", re.DOTALL
)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
TAB_WIDTH = 8


@dataclass(frozen=True)
class LocatedWord:
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

    def words(self) -> list[LocatedWord]:
        """The words of the statement, separated by whitespace; a quoted symbol is one word."""
        return [
            LocatedWord(found[0], self.line + offset, found.start() + 1)
            for offset, line in enumerate(self.text.split("\n"))
            for found in WORD.finditer(line)
        ]


def split_statements(
    lines: list[str],
    keyword_of: Callable[[str], str],
    strip_comment: Callable[[str, str], str],
    starts_statement: Callable[[str, str], bool],
) -> Iterator[Statement]:
    """Split a text into statements: a line and the more deeply indented lines after it, without comments.

    Args:
        lines: The lines of the text.
        keyword_of: The keyword of the statement that a line would begin, passed to the other two functions.
        strip_comment: Removes the comment from a line of a statement with this keyword.
        starts_statement: Whether a line begins a statement regardless of its indentation, after a statement with this
            keyword.
    """
    collected: list[str] = []
    first = outer = 0
    current = ""
    for number, line in enumerate(lines, start=1):
        begins = not collected or indentation(line) <= outer or starts_statement(line, current)
        own = keyword_of(line) if begins else current
        bare = strip_comment(line, own)
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


def strip_comment(line: str, word_pattern: re.Pattern[str], *, needs_gap: bool) -> str:
    """Remove the comment from a line; it begins at the first word that begins with ``#``.

    Args:
        line: The line.
        word_pattern: Pattern of a word; a ``#`` inside quotes does not begin a comment.
        needs_gap: Whether a comment must be at the start of the line or after two spaces or a tab.
    """
    beginning = len(line) - len(line.lstrip())
    for found in word_pattern.finditer(line):
        start = found.start()
        if found[0].startswith("#") and (not needs_gap or start == beginning or line.endswith(("  ", "\t"), 0, start)):
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
    unknown = [found[0] for found in _ESCAPE.finditer(inner) if found[4] and found[4] not in ESCAPES]
    return None if unknown else _ESCAPE.sub(_unescape, inner)


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    return chr(int(code, 16)) if code else ESCAPES[found[4]]


def indentation(line: str) -> int:
    """The indentation of a line, in columns."""
    expanded = line.expandtabs(TAB_WIDTH)
    return len(expanded) - len(expanded.lstrip())


ResultT = TypeVar("ResultT")


class StatementParser(ABC):
    """Parses a text statement by statement and collects the errors.

    Args:
        text: The text.
        source: Origin of the text.
        sentence_start: Start of the sentence that states the maximum length, as in "a program may have".
    """

    headers: ClassVar[Mapping[str, tuple[int | None, str]]]
    """For each keyword of a header: the number of words after it, or None for any number; and their description."""
    required: ClassVar[Mapping[str, str]] = {}
    """Descriptions of the headers that must be present, by keyword."""
    max_length: ClassVar[int] = MAX_SOURCE_LENGTH
    quoted_description: ClassVar[str] = "a symbol"
    """Description of a quoted word, for messages."""
    quoted_may_be_empty: ClassVar[bool] = True

    def __init__(self, text: str, source: str, sentence_start: str) -> None:
        check_source_length(text, source, sentence_start, max_length=self.max_length)
        self.source = source
        self.lines = split_lines(text)
        self.statements = list(split_statements(self.lines, self.keyword_of, self.strip_comment, self.ends_header))
        self.problems: list[Problem] = []
        self.words: dict[str, tuple[str, ...]] = {}
        """The words after the keyword of each header."""
        self.places: dict[str, SourceLocation] = {}
        """The place of the last word of each header."""
        self._keywords: set[str] = set()

    @staticmethod
    def keyword_of(line: str) -> str:
        """The keyword of the statement that a line would begin."""
        return Statement(line, 1).keyword

    @staticmethod
    @abstractmethod
    def strip_comment(line: str, keyword: str) -> str:
        """Remove the comment from a line of a statement with this keyword."""

    @staticmethod
    def ends_header(line: str, keyword: str) -> bool:  # noqa: ARG004
        """Whether a line begins a statement regardless of its indentation, after a statement with this keyword."""
        return False

    @abstractmethod
    def parse_statement(self, statement: Statement) -> None:
        """Parse a statement."""

    def parse(self) -> Self:
        """Parse all statements and return the parser.

        Raises:
            SourceError: If there is a syntax error; the message lists all of them.
        """
        for statement in self.statements:
            self.parse_statement(statement)
        for keyword, description in self.required.items():
            if keyword not in self._keywords:
                message = f"missing line {keyword!r}; it contains {description}"
                self.problems.append(Problem(message, SourceLocation(self.source)))
        if self.problems:
            raise syntax_error(self.problems, self.lines)
        return self

    def choose_name(self, given: str | None, keyword: str, default: str) -> str:
        """The name of the source: as given, as in its header, its file name, or a default."""
        return given or next(iter(self.words.get(keyword, ())), None) or default_name(self.source) or default

    def parse_header(self, statement: Statement) -> None:
        """Parse a header: the keyword and the words after it."""
        first, *words = self.header_words(statement) or (None,)
        if first is None:
            return
        arity, description = self.headers[first.text]
        if arity is not None and len(words) != arity:
            count = "one name" if arity else "nothing"
            self.report(f"expected {count} after {first.text!r}: {description}", first.line, first.column)
            return
        self.words[first.text] = tuple(map(self.unquote_word, words))
        last = [first, *words][-1]
        self.places[first.text] = SourceLocation(self.source, last.line, last.column)

    def header_words(self, statement: Statement) -> list[LocatedWord]:
        """The words of a header; empty, with an error, if no space follows the keyword or the header is repeated."""
        words, keyword = statement.words(), statement.keyword
        first = words[0]
        known = keyword in self._keywords
        self._keywords.add(keyword)
        if first.text != keyword:
            self.report(f"expected a space after {keyword!r}", first.line, first.column + len(keyword))
            return []
        if known:
            self.report(f"duplicate line {keyword!r}", first.line, first.column)
            return []
        return words

    def unquote_word(self, word: LocatedWord) -> str:
        """A word without its quotes, if it has any."""
        if word.text[0] not in "'\"":
            return word.text
        inner = unquote(word.text)
        if inner is None or not (inner or self.quoted_may_be_empty):
            advice = r"write '\'' for a quote and '\\' for a backslash"
            self.report(f"invalid quotes: expected {self.quoted_description}; {advice}", word.line, word.column)
        return inner or ""

    def report(self, message: str, line: int, column: int) -> None:
        """Report an error at a line and column."""
        self.problems.append(Problem(message, SourceLocation(self.source, line, column)))

    def parse_body(
        self,
        statement: Statement,
        parse: Callable[[], ResultT],
        explain: Callable[[UnexpectedInput], SyntaxDiagnostic],
    ) -> ResultT | None:
        """Call a parser of a statement; None, with an error at the place relative to the statement, if it fails.

        Args:
            statement: The statement.
            parse: Parses it.
            explain: Returns the diagnostic of a parser error. Errors beyond the reported number get none, because it is
                slow to compute.
        """
        from lark import UnexpectedInput

        try:
            return parse()
        except UnexpectedInput as error:
            known = len(self.problems) < MAX_REPORTED
            diagnostic = explain(error) if known else SyntaxDiagnostic("", 1, 1)
        except SyntaxDiagnostic as error:
            diagnostic = error
        self.report(diagnostic.full_message, statement.line + diagnostic.line - 1, diagnostic.column)
        return None
