"""Readers of texts of one statement a line: they go on after a mistake, so that all of them are reported at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from softmachine.languages.text.layout import Statement, Word, unquote
from softmachine.languages.text.mistakes import Mistake
from softmachine.languages.text.problems import MOST_REPORTED, Problem
from softmachine.support.errors import Place


class StatementReader:
    """Reads statement after statement, and goes on after a mistake.

    Args:
        source: Where the text comes from.
    """

    quoted: ClassVar[str] = "a symbol"
    """What stands in quotes."""
    quoted_may_be_empty: ClassVar[bool] = True

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self._keywords: set[str] = set()

    def header(self, statement: Statement) -> list[Word]:
        """The words of a statement that begins with a keyword; none if it has no blank there, or is there twice."""
        words, keyword = statement.words(), statement.keyword
        first = words[0]
        known = keyword in self._keywords
        self._keywords.add(keyword)
        if first.text != keyword:
            self.report(f"after {keyword!r} there should be a blank", first.line, first.column + len(keyword))
            return []
        if known:
            self.report(f"there is already a line that begins with {keyword!r}", first.line, first.column)
            return []
        return words

    def plain(self, word: Word) -> str:
        """A word as it is, or what is in its quotes."""
        if word.text[0] not in "'\"":
            return word.text
        inner = unquote(word.text)
        if inner is None or not (inner or self.quoted_may_be_empty):
            advice = r"a quote is written '\'' and a backslash '\\'"
            self.report(f"this is not {self.quoted} in quotes; {advice}", word.line, word.column)
        return inner or ""

    def report(self, message: str, line: int, column: int) -> None:
        """Report a problem at a place of the text."""
        self.problems.append(Problem(message, Place(self.source, line, column)))

    def mistake(self, statement: Statement, found: Mistake) -> None:
        """Report a mistake in a statement."""
        self.report(found.sentence, statement.line + found.line - 1, found.column)

    def unreadable(self, statement: Statement, explain: Callable[[], Mistake]) -> None:
        """Report that a statement cannot be read. What will not be shown is not explained, which takes long."""
        shown = len(self.problems) < MOST_REPORTED
        self.mistake(statement, explain() if shown else Mistake("", 1, 1))
