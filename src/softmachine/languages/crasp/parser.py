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
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

from softmachine.languages.crasp.program import CraspProgram, Definition, NamedFormula, Rule, TermComparison, to_text
from softmachine.languages.crasp.relations import RELATIONS
from softmachine.languages.crasp.terms import (
    AtomicTerm,
    Conditional,
    Count,
    Maximum,
    Minimum,
    NamedTerm,
    Term,
    as_term,
    nesting_depth,
)
from softmachine.languages.linear import LinearExpression
from softmachine.languages.temporal.formula import Formula
from softmachine.languages.temporal.parser import (
    SYMBOL_HINT,
    UNTERMINATED_QUOTE,
    SymbolAstBuilder,
)
from softmachine.languages.temporal.parser import explain_syntax_error as explain_temporal
from softmachine.languages.text import QUOTED
from softmachine.languages.text.diagnostics import (
    DiagnosticRule,
    DiagnosticRules,
    SyntaxDiagnostic,
    line_and_column,
)
from softmachine.languages.text.grammar import load_parser
from softmachine.languages.text.statements import (
    LocatedWord,
    Statement,
    StatementParser,
    strip_comment,
    unquote,
)
from softmachine.support.errors import SourceLocation
from softmachine.support.text import truncate

if TYPE_CHECKING:
    from collections.abc import Collection

    from lark import Token
    from lark.parsers.lalr_interactive_parser import InteractiveParser

__all__ = ["parse", "to_text"]


class CraspAstBuilder(SymbolAstBuilder[AtomicTerm]):
    """AST builder of formulas and terms; symbols, connectives and sums are those of temporal logic."""

    comparison_class = TermComparison
    nonlinear_message = ("a product of two counts is not linear", "multiply a count by a number only, as in 2*#[Q_a]")

    def named_formula(self, name: Token) -> Formula:
        """The name of a formula."""
        return NamedFormula(str(name))

    def conditional(self, condition: Formula, sign: Token, then: Term, otherwise: Term) -> Term:
        """``p ? s : t``."""
        return self._check_nesting(sign, as_term(Conditional(condition, then, otherwise)))

    def counting(self, token: Token, of: Formula) -> Term:
        """``#[p]`` or ``#R[p]``."""
        relation = str(token[1:]) or None
        if relation is not None and relation not in RELATIONS:
            hint = f"the relations are {', '.join(RELATIONS)}; a comment begins with # and a space"
            raise SyntaxDiagnostic(f"unknown relation {relation!r} in a count", *line_and_column(token), hint)
        return as_term(Count(of, relation))

    def extreme(self, word: Token, *of: Term) -> Term:
        """``min(s, t)`` or ``max(s, t)``."""
        return self._check_nesting(word, as_term((Minimum if word.type == "MIN" else Maximum)(of)))

    def named_term(self, name: Token) -> Term:
        """The name of a term."""
        return as_term(NamedTerm(str(name)))

    def _check_nesting(self, token: Token, term: Term) -> Term:
        """Check the nesting depth of a term that begins at a token."""
        if nesting_depth(term) > self.max_depth:
            message = f"conditional terms are nested more than {self.max_depth} deep"
            raise SyntaxDiagnostic(message, *line_and_column(token), "define parts of it by name")
        return term


COUNT_HINT = "write a count as #[Q_a]; a comment begins at the start of a line or after two spaces"
COMPARISON_HINT = "compare counts and numbers, as in #[Q_a] <= 3; join two comparisons with and"


def unknown_name_diagnostic(token: Token, known: Collection[str], tokens: Collection[str]) -> SyntaxDiagnostic:
    """The diagnostic of an undefined name."""
    name = truncate(token)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    if name in tokens:
        hint = f"write Q_{name} for the symbol {name}"
    elif close:
        hint = f"did you mean {close[0]}?"
    else:
        hint = f"define it in an earlier line, as in {name} := #[Q_a]; write Q_{name} for a symbol"
    return SyntaxDiagnostic(f"undefined name {name!r}", *line_and_column(token), hint)


explain_syntax_error = DiagnosticRules(
    construct="the statement",
    unterminated_quote=(UNTERMINATED_QUOTE, SYMBOL_HINT),
    unknown_character="unexpected character {}",
    character_hints={"#": COUNT_HINT, "←": COUNT_HINT, "": SYMBOL_HINT},
    categories={"NOT": "a formula or a term", "INTEGER": "a count or a number"},
    subsumed={"a formula or a term": "PLUS", "a count or a number": "PLUS"},
    terminal_names={
        "AND": "an operator such as 'and'", "PLUS": "a sign such as '+'", "RELATION": "a comparison such as '<='",
        "LPAR": "'('", "LSQB": "'['", "COMMA": "','", "COLON": "':'", "RPAR": "')'", "RSQB": "']'", "$END": "the end",
    },
    format_expected=explain_temporal.format_expected,
    rules=(
        DiagnosticRule("RELATION", "", COMPARISON_HINT),
        DiagnosticRule("IMPLIES", "RELATION", "write >= for 'at least'"),
        DiagnosticRule("COUNT TERM_NAME", "TIMES", "write a product with *, as in 2*#[Q_a]"),
        DiagnosticRule("TERM_NAME", "", "{token} is a term; compare it, as in {token} = 0"),
        DiagnosticRule("FORMULA_NAME", "", "{token} is a formula; write ({token} ? 1 : 0) for a number"),
        DiagnosticRule("$END AND OR IFF", "RELATION", COMPARISON_HINT),
    ),
    rules_are_hints=True,
    ending_tokens="$END",
    closing_tokens="RPAR RSQB",
)  # fmt: skip


HEADERS: Mapping[str, tuple[int | None, str]] = {
    "program": (1, "the name of the program"),
    "alphabet": (None, "the letters of inputs"),
    "accept": (None, "a formula"),
}
STATEMENT = re.compile(rf"\s*(?P<head>{QUOTED}|[^\s<:]+)\s*(?P<sign>:=|<-)")
QUOTED_OR_COMMENT = re.compile(rf"{QUOTED}|#(?!\w*\[)")


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> CraspProgram:
    """Parse a program; all errors are reported at once."""
    parser = _Parser(text, source, "a program may have").parse()
    return CraspProgram(
        name=parser.choose_name(name, "program", "program"),
        alphabet=parser.words.get("alphabet", ()),
        definitions=tuple(parser.definitions),
        rules=tuple(parser.rules),
        accept=parser.accept,
        place=SourceLocation(source),
        accept_place=parser.accept_place,
        lines=parser.lines,
    )


class _Parser(StatementParser):
    """Parser state: the parts of the program."""

    headers = HEADERS
    quoted_may_be_empty = False

    def __init__(self, text: str, source: str, sentence_start: str) -> None:
        super().__init__(text, source, sentence_start)
        self.definitions: list[Definition] = []
        self.rules: list[Rule] = []
        self.accept: Formula | None = None
        self.accept_place: SourceLocation | None = None
        heads = [STATEMENT.match(statement.text) for statement in self.statements]
        self._rule_tokens = {unquote(line["head"]) or line["head"] for line in heads if line and line["sign"] == "<-"}
        self._known: dict[str, Formula | Term | None] = {}

    @staticmethod
    def keyword_of(line: str) -> str:  # noqa: ARG004
        return ""

    @staticmethod
    def strip_comment(line: str, keyword: str) -> str:  # noqa: ARG004
        return strip_comment(line, QUOTED_OR_COMMENT, needs_gap=True)

    def parse_statement(self, statement: Statement) -> None:
        line = STATEMENT.match(statement.text)
        if line:
            self._line(statement, line)
        elif statement.keyword == "accept":
            self._accept(statement)
        elif statement.keyword in HEADERS:
            self.parse_header(statement)
        else:
            first, *_ = statement.words()
            message = "unknown statement; write, for example, P := #[Q_a], ACC <- P = 0, alphabet a b, or accept P = 0"
            self.report(message, first.line, first.column)

    def _line(self, statement: Statement, line: re.Match[str]) -> None:
        head, column = line["head"], line.start("head") + 1
        place = SourceLocation(self.source, statement.line, column)
        body = self._body(statement, line.end())
        if line["sign"] == ":=":
            if body is not None:
                self.definitions.append(Definition(head, body, place))
            self._known.setdefault(head, body)
            return
        token = self.unquote_word(LocatedWord(head, statement.line, column))
        if isinstance(body, LinearExpression):
            message = f"the body of the rule for {token!r} is a term; compare it, as in … = 0"
            self.report(message, statement.line, column)
        elif body is not None:
            self.rules.append(Rule(token, body, place))

    def _accept(self, statement: Statement) -> None:
        found = self.header_words(statement)
        if not found:
            return
        self.accept_place = SourceLocation(self.source, found[0].line, found[0].column)
        body = self._body(statement, statement.text.index("accept") + len("accept"))
        if isinstance(body, LinearExpression):
            self.report("expected a formula after 'accept', not a term", found[0].line, found[0].column)
        else:
            self.accept = body

    def _body(self, statement: Statement, start: int) -> Formula | Term | None:
        """Parse the body of a statement from an offset; None if it, or a definition that it uses, has an error."""
        text = re.sub(r"[^\n]", " ", statement.text[:start]) + statement.text[start:]
        reading = load_parser("crasp", CraspAstBuilder).parse_interactive(text)
        return self.parse_body(
            statement, lambda: self._parsed(reading), lambda error: explain_syntax_error(error, text, reading)
        )

    def _parsed(self, reading: InteractiveParser) -> Formula | Term | None:
        token = None
        for token in reading.iter_parse():
            if token.type == "NAME":
                if token not in self._known:
                    letters = self.words.get("alphabet", ())
                    raise unknown_name_diagnostic(token, self._known, {*letters, *self._rule_tokens})
                body = self._known[token]
                if body is None:  # its error has been reported
                    return None
                token.type = "TERM_NAME" if isinstance(body, LinearExpression) else "FORMULA_NAME"
        return cast("Formula | Term", reading.feed_eof(token))  # type: ignore[no-untyped-call]
