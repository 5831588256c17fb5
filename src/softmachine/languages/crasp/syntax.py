"""Parser of C-RASP programs, in ``.crasp`` files.

Example::

    alphabet a b                    # input letters
    P := #[Q_a] - 2*#[Q_t]          # a named term or formula
    ACC <- P = 0                    # rules: the first body true at the last position determines the token
    REJ <- P = 1
    t   <- P >= 2

or, without a chain of thought::

    alphabet ( )
    accept #[ #[')'] > #['('] ] = 0 and #['('] = #[')']

Formulas consist of ``Q_a``, ``'long symbol'``, ``true``, ``false``, ``not``, ``and``, ``or``, ``->``, ``<->`` (also in
the alternative notation of temporal logic), names, and comparisons of terms. Terms are linear combinations, with
integer coefficients, of ``#[p]`` (the number of positions up to this one that satisfy p), ``#R[p]`` (only those related
to this one by R), names, ``(p ? s : t)``, ``min(s, t)`` and ``max(s, t)``. There is one statement per line; a more
deeply indented line continues the previous one. A ``#`` at the start of a line or after two spaces begins a comment
unless it begins a count, which is written ``#[`` or ``#R[`` without a space. ``program NAME`` sets the name.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, cast

from softmachine.languages.crasp.building import Builder
from softmachine.languages.crasp.mistakes import explain, unknown_name
from softmachine.languages.crasp.printing import to_text
from softmachine.languages.crasp.program import Definition, Program, Rule
from softmachine.languages.crasp.terms import Term
from softmachine.languages.linear import Linear
from softmachine.languages.source import check_size, name_of
from softmachine.languages.temporal.formula import Formula
from softmachine.languages.text.grammar import parser
from softmachine.languages.text.layout import QUOTED, Statement, Word, split_lines, statements, unquote, up_to_comment
from softmachine.languages.text.mistakes import Mistake
from softmachine.languages.text.problems import refuse
from softmachine.languages.text.reader import StatementReader
from softmachine.support.errors import Place

if TYPE_CHECKING:
    from lark.parsers.lalr_interactive_parser import InteractiveParser

__all__ = ["parse", "to_text"]

HEADERS = ("program", "alphabet", "accept")
LINE = re.compile(rf"\s*(?P<head>{QUOTED}|[^\s<:]+)\s*(?P<sign>:=|<-)")
QUOTED_OR_COMMENT = re.compile(rf"{QUOTED}|#(?!\w*\[)")


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> Program:
    """Parse a program; all errors are reported at once."""
    check_size(text, source, "a program may have")
    lines = split_lines(text)
    reader = _Reader(source)
    found = list(statements(lines, keyword=lambda _line: "", without_comment=_without_comment))
    reader.heads = {_head(statement) for statement in found}
    for statement in found:
        reader.read(statement)
    refuse(reader.problems, lines)
    return Program(
        name=name or reader.name or name_of(source) or "program",
        alphabet=tuple(reader.alphabet),
        definitions=tuple(reader.definitions),
        rules=tuple(reader.rules),
        accept=reader.accept,
        place=Place(source),
        accept_place=reader.accept_place,
        lines=lines,
    )


def _without_comment(line: str, _keyword: str) -> str:
    return up_to_comment(line, QUOTED_OR_COMMENT, apart=True)


def _head(statement: Statement) -> str:
    """The token of a rule; empty for other statements."""
    line = LINE.match(statement.text)
    return (unquote(line["head"]) or line["head"]) if line and line["sign"] == "<-" else ""


class _Reader(StatementReader):
    """Parser state: the parts of the program."""

    quoted_may_be_empty = False

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.name: str | None = None
        self.alphabet: list[str] = []
        self.definitions: list[Definition] = []
        self.rules: list[Rule] = []
        self.accept: Formula | None = None
        self.accept_place: Place | None = None
        self.heads: set[str] = set()
        self._known: dict[str, Formula | Term | None] = {}

    def read(self, statement: Statement) -> None:
        line = LINE.match(statement.text)
        if line:
            self._line(statement, line)
        elif statement.keyword in HEADERS:
            self._header(statement)
        else:
            first, *_ = statement.words()
            message = "unknown statement; write, for example, P := #[Q_a], ACC <- P = 0, alphabet a b, or accept P = 0"
            self.report(message, first.line, first.column)

    def _line(self, statement: Statement, line: re.Match[str]) -> None:
        head, column = line["head"], line.start("head") + 1
        place = Place(self.source, statement.line, column)
        body = self._body(statement, line.end())
        if line["sign"] == ":=":
            if body is not None:
                self.definitions.append(Definition(head, body, place))
            self._known.setdefault(head, body)
            return
        token = self.plain(Word(head, statement.line, column))
        if isinstance(body, Linear):
            self.report(
                f"the body of the rule for {token!r} is a term; compare it, as in … = 0", place.line or 1, column
            )
        elif body is not None:
            self.rules.append(Rule(token, body, place))

    def _header(self, statement: Statement) -> None:
        found, keyword = self.header(statement), statement.keyword
        if not found:
            return
        first, *words = found
        if keyword == "alphabet":
            self.alphabet = [self.plain(word) for word in words]
        elif keyword == "accept":
            body = self._body(statement, statement.text.index(keyword) + len(keyword))
            self.accept_place = Place(self.source, first.line, first.column)
            if isinstance(body, Linear):
                self.report("expected a formula after 'accept', not a term", first.line, first.column)
            else:
                self.accept = body
        elif len(words) != 1:
            self.report("expected one name after 'program'", first.line, first.column)
        else:
            self.name = self.plain(words[0])

    def _body(self, statement: Statement, start: int) -> Formula | Term | None:
        """Parse the body of a statement from an offset; None if it, or a definition that it uses, has an error."""
        from lark import UnexpectedInput

        text = re.sub(r"[^\n]", " ", statement.text[:start]) + statement.text[start:]
        reading = parser("crasp", Builder).parse_interactive(text)
        try:
            return self._parsed(reading)
        except UnexpectedInput as error:
            self.unreadable(statement, partial(explain, error, text, reading))
        except Mistake as error:
            self.mistake(statement, error)
        except _Unreadable:
            pass
        return None

    def _parsed(self, reading: InteractiveParser) -> Formula | Term:
        token = None
        for token in reading.iter_parse():
            if token.type == "NAME":
                if token not in self._known:
                    raise unknown_name(token, self._known, {*self.alphabet, *self.heads})
                body = self._known[token]
                if body is None:
                    raise _Unreadable
                token.type = "TERM_NAME" if isinstance(body, Linear) else "FORMULA_NAME"
        return cast("Formula | Term", reading.feed_eof(token))  # type: ignore[no-untyped-call]


class _Unreadable(Exception):  # noqa: N818 - caught in this module
    """The definition of a name has a syntax error, which has been reported already."""
