"""Base class of parsers of line-oriented sources. They continue after an error, so that all errors are reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from softmachine.languages.text.layout import Statement, Word, unquote
from softmachine.languages.text.mistakes import Mistake
from softmachine.languages.text.problems import MOST_REPORTED, Problem
from softmachine.support.errors import Place


class StatementReader:
    """Parses statement by statement and collects the errors.

    Args:
        source: Origin of the text.
    """

    quoted: ClassVar[str] = "a symbol"
    """Description of a quoted word, for messages."""
    quoted_may_be_empty: ClassVar[bool] = True

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self._keywords: set[str] = set()

    def header(self, statement: Statement) -> list[Word]:
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

    def plain(self, word: Word) -> str:
        """A word without its quotes, if it has any."""
        if word.text[0] not in "'\"":
            return word.text
        inner = unquote(word.text)
        if inner is None or not (inner or self.quoted_may_be_empty):
            advice = r"write '\'' for a quote and '\\' for a backslash"
            self.report(f"invalid quotes: expected {self.quoted}; {advice}", word.line, word.column)
        return inner or ""

    def report(self, message: str, line: int, column: int) -> None:
        """Report an error at a line and column."""
        self.problems.append(Problem(message, Place(self.source, line, column)))

    def mistake(self, statement: Statement, found: Mistake) -> None:
        """Report a syntax error, whose line is relative to the statement."""
        self.report(found.sentence, statement.line + found.line - 1, found.column)

    def unreadable(self, statement: Statement, explain: Callable[[], Mistake]) -> None:
        """Report a parser error. Errors beyond the reported number get no diagnostic, which is slow to compute."""
        shown = len(self.problems) < MOST_REPORTED
        self.mistake(statement, explain() if shown else Mistake("", 1, 1))
