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

AST builder of C-RASP. Its methods are named after the rules in grammar.lark.

Syntax diagnostics of C-RASP, derived from those of temporal logic.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, cast

from softmachine.languages.crasp.printer import to_text
from softmachine.languages.crasp.program import Comparison, Definition, NamedFormula, Program, Rule
from softmachine.languages.crasp.relations import RELATIONS
from softmachine.languages.crasp.terms import (
    Conditional,
    Count,
    Maximum,
    Minimum,
    NamedTerm,
    Number,
    Term,
    nesting,
    term,
)
from softmachine.languages.linear import Linear, Relation
from softmachine.languages.source import check_size, name_of
from softmachine.languages.temporal.formula import Formula
from softmachine.languages.temporal.parser import DEEPEST, QUOTE, SYMBOLS, FormulaBuilder, at
from softmachine.languages.temporal.parser import explain as explain_temporal
from softmachine.languages.text.diagnostics import Case, Explainer, Mistake, place_of, refuse
from softmachine.languages.text.grammar import parser
from softmachine.languages.text.statements import (
    QUOTED,
    Statement,
    StatementReader,
    Word,
    split_lines,
    statements,
    unquote,
    up_to_comment,
)
from softmachine.support.errors import Place
from softmachine.support.text import clipped

if TYPE_CHECKING:
    from collections.abc import Collection

    from lark import Token
    from lark.parsers.lalr_interactive_parser import InteractiveParser

__all__ = ["parse", "to_text"]


class Builder(FormulaBuilder[Number]):
    """AST builder of formulas and terms; symbols, connectives and sums are those of temporal logic."""

    not_linear = ("a product of two counts is not linear", "multiply a count by a number only, as in 2*#[Q_a]")

    def named_formula(self, name: Token) -> Formula:
        """The name of a formula."""
        return NamedFormula(str(name))

    def comparison(self, left: Term, relation: Token, right: Term) -> Formula:
        """``term <= term``."""
        return at(relation, Comparison(left, Relation.written(relation), right))

    def conditional(self, condition: Formula, sign: Token, then: Term, otherwise: Term) -> Term:
        """``p ? s : t``."""
        return _at(sign, term(Conditional(condition, then, otherwise)))

    def counting(self, token: Token, of: Formula) -> Term:
        """``#[p]`` or ``#R[p]``."""
        relation = str(token[1:]) or None
        if relation is not None and relation not in RELATIONS:
            hint = f"the relations are {', '.join(RELATIONS)}; a comment begins with # and a space"
            raise Mistake(f"unknown relation {relation!r} in a count", *place_of(token), hint)
        return term(Count(of, relation))

    def extreme(self, word: Token, *of: Term) -> Term:
        """``min(s, t)`` or ``max(s, t)``."""
        return _at(word, term((Minimum if word.type == "MIN" else Maximum)(of)))

    def named_term(self, name: Token) -> Term:
        """The name of a term."""
        return term(NamedTerm(str(name)))


def _at(token: Token, made: Term) -> Term:
    """Check the nesting depth of a term that begins at a token."""
    if nesting(made) > DEEPEST:
        message = f"conditional terms are nested more than {DEEPEST} deep"
        raise Mistake(message, *place_of(token), "define parts of it by name")
    return made


COUNTS = "write a count as #[Q_a]; a comment begins at the start of a line or after two spaces"
COMPARISONS = "compare counts and numbers, as in #[Q_a] <= 3; join two comparisons with and"


def unknown_name(token: Token, known: Collection[str], tokens: Collection[str]) -> Mistake:
    """The diagnostic of an undefined name."""
    name = clipped(token)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    if name in tokens:
        hint = f"write Q_{name} for the symbol {name}"
    elif close:
        hint = f"did you mean {close[0]}?"
    else:
        hint = f"define it in an earlier line, as in {name} := #[Q_a]; write Q_{name} for a symbol"
    return Mistake(f"undefined name {name!r}", *place_of(token), hint)


explain = Explainer(
    whole="the statement",
    quote=(QUOTE, SYMBOLS),
    character="unexpected character {}",
    character_hints={"#": COUNTS, "←": COUNTS, "": SYMBOLS},
    kinds={"NOT": "a formula or a term", "INTEGER": "a count or a number"},
    covered={"a formula or a term": "PLUS", "a count or a number": "PLUS"},
    spelled={
        "AND": "an operator such as 'and'", "PLUS": "a sign such as '+'", "RELATION": "a comparison such as '<='",
        "LPAR": "'('", "LSQB": "'['", "COMMA": "','", "COLON": "':'", "RPAR": "')'", "RSQB": "']'", "$END": "the end",
    },
    expected=explain_temporal.expected,
    cases=(
        Case("RELATION", "", COMPARISONS),
        Case("IMPLIES", "RELATION", "write >= for 'at least'"),
        Case("COUNT TERM_NAME", "TIMES", "write a product with *, as in 2*#[Q_a]"),
        Case("TERM_NAME", "", "{token} is a term; compare it, as in {token} = 0"),
        Case("FORMULA_NAME", "", "{token} is a formula; write ({token} ? 1 : 0) for a number"),
        Case("$END AND OR IFF", "RELATION", COMPARISONS),
    ),
    as_hints=True,
    ending="$END",
    closing="RPAR RSQB",
)  # fmt: skip


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
