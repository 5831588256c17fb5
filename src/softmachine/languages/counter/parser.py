"""Parser of counter machines, in ``.cm`` files.

Example::

    input a b                       # counter a starts with the number of a's, and so on
    order                           # only words of the shape a* b*; others are rejected
    counters x y                    # work counters, starting at 0
    start q0
    accept yes
    reject no
    q0: a >= 2 -> q0: a -= 2, x += 1
    q0: a = 1 and b = 0 -> yes
    q0: else -> no

A test combines comparisons (= != < <= > >=) of sums such as ``2*x + y - 3`` with and, or, not, true, false and
parentheses. ``else`` holds if no other test of the state does. Names with characters other than letters, digits and
underscores are quoted: ``'1' >= 2`` tests the counter of the letter 1. ``machine NAME`` sets the name. A more deeply
indented line continues the previous one. A comment begins with ``#``; in the header lines, where ``#`` may be a letter,
only at the start of a line or after two spaces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from softmachine.languages.counter.condition import MAX_DEPTH, TOO_DEEP_MESSAGE, Condition, CounterComparison
from softmachine.languages.counter.machine import CounterMachine, Transition, to_text
from softmachine.languages.linear import MAX_NUMBER, LinearExpression
from softmachine.languages.temporal.parser import FormulaAstBuilder
from softmachine.languages.text.diagnostics import (
    DiagnosticRule,
    DiagnosticRules,
    SyntaxDiagnostic,
    line_and_column,
)
from softmachine.languages.text.grammar import load_parser
from softmachine.languages.text.statements import (
    QUOTED_OR_HASH,
    WORD,
    Statement,
    StatementParser,
    strip_comment,
    unquote,
)
from softmachine.support.errors import SourceLocation

if TYPE_CHECKING:
    from lark import Token

__all__ = ["parse", "to_text"]


class LocatedName(NamedTuple):
    """A name with its place."""

    name: str
    place: SourceLocation


class CounterAstBuilder(FormulaAstBuilder[str]):
    """AST builder of transitions."""

    too_large_message = (f"numbers are at most {MAX_NUMBER:,}", None)
    comparison_class = CounterComparison
    max_depth = MAX_DEPTH
    too_deep_message = (TOO_DEEP_MESSAGE, None)
    nonlinear_message = ("a product of counters is not linear", "multiply a counter by a number only, as in 2*x")

    def start(
        self,
        source: LocatedName,
        test: Condition | Token,
        _arrow: Token,
        target: LocatedName,
        *updates: tuple[str, int],
    ) -> Transition:
        """``q: x >= 2 -> r: x -= 2, y += 1``."""
        chosen = test if isinstance(test, Condition) else None
        return Transition(source.name, chosen, updates, target.name, source.place)

    def update(self, counter: LocatedName, sign: Token, *number: Token) -> tuple[str, int]:
        """``x += 1``."""
        *minus, digits = number
        return counter.name, self.natural(digits) * (-1 if sign.type == "DECREASE" else 1) * (-1 if minus else 1)

    def name(self, token: Token) -> LocatedName:
        """The name of a state or counter."""
        name = unquote(token) if token.type == "QUOTED" else str(token)
        if name is None:
            message = r"unknown escape in quotes; write '\\' for a backslash"
            raise SyntaxDiagnostic(message, *line_and_column(token))
        return LocatedName(name, SourceLocation("", *line_and_column(token)))

    def counter(self, token: Token) -> LinearExpression[str]:
        """A counter in a linear expression."""
        return LinearExpression(((1, self.name(token).name),))


SUBSUMED = "INTEGER LPAR PLUS MINUS"

explain_syntax_error = DiagnosticRules(
    construct="the transition",
    unterminated_quote=("unterminated quote", "write a quoted name as 'a b'"),
    unknown_character="unexpected character {}",
    categories={"NOT": "a test", "NAME INTEGER LPAR": "a counter or a number", "NAME INTEGER": "a name"},
    subsumed={"a test": SUBSUMED, "a counter or a number": SUBSUMED, "a name": SUBSUMED},
    terminal_names={
        "COLON": "':'", "ARROW": "'->'", "COMMA": "','", "LPAR": "'('", "RPAR": "')'", "INTEGER": "a number",
        "RELATION": "a comparison such as '>='", "AND": "'and'", "OR": "'or'", "INCREASE": "'+='", "DECREASE": "'-='",
        "PLUS": "'+'", "MINUS": "'-'", "TIMES": "'*'", "$END": "the end of the line",
    },
    default_hint="write a transition as in q0: x >= 2 -> q1: x -= 2, y += 1",
    rules=(
        DiagnosticRule("RELATION", "AND", "a comparison has two sides; join comparisons with 'and'"),
        DiagnosticRule("RELATION", "INCREASE", "change a counter with += or -=, by a number"),
        DiagnosticRule("NAME QUOTED", "TIMES PLUS", "write a product with *, as in 2*x"),
    ),
    ending_tokens="$END ARROW",
)  # fmt: skip


HEADERS: Mapping[str, tuple[int | None, str]] = {
    "machine": (1, "the name of the machine"),
    "input": (None, "the letters of inputs, as in: input a b"),
    "order": (0, "the letters of an input must be in the order of the line 'input'"),
    "counters": (None, "the names of the work counters, as in: counters x y"),
    "start": (1, "the initial state"),
    "accept": (None, "the accepting states"),
    "reject": (None, "the rejecting states"),
}
KEYWORD = re.compile(rf"\s*({'|'.join(HEADERS)})(?=\s+[^\s:]|\s*$|\s+#)")


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> CounterMachine:
    """Parse a machine; all errors are reported at once."""
    parser = _Parser(text, source, "a machine may have").parse()
    words = parser.words
    return CounterMachine(
        name=parser.choose_name(name, "machine", "machine"),
        alphabet=words["input"],
        work_counters=words.get("counters", ()),
        has_ordered_letters="order" in words,
        start=words["start"][0],
        accept=words.get("accept", ()),
        reject=words.get("reject", ()),
        transitions=tuple(parser.transitions),
        place=SourceLocation(source),
    )


class _Parser(StatementParser):
    """Parser state: the parts of the machine."""

    headers = HEADERS
    required: ClassVar[Mapping[str, str]] = {keyword: HEADERS[keyword][1] for keyword in ("input", "start")}
    quoted_description = "a name"

    def __init__(self, text: str, source: str, sentence_start: str) -> None:
        super().__init__(text, source, sentence_start)
        self.transitions: list[Transition] = []

    @staticmethod
    def keyword_of(line: str) -> str:
        found = KEYWORD.match(line)
        return found[1] if found else ""

    @staticmethod
    def strip_comment(line: str, keyword: str) -> str:
        return strip_comment(line, WORD if keyword else QUOTED_OR_HASH, needs_gap=bool(keyword))

    def parse_statement(self, statement: Statement) -> None:
        first, *words = statement.words()
        if first.text in HEADERS and not (words and words[0].text.startswith(":")):
            self.parse_header(statement)
            return
        found = self.parse_body(
            statement,
            lambda: cast("Transition", load_parser("counter", CounterAstBuilder).parse(statement.text)),
            lambda error: explain_syntax_error(error, statement.text),
        )
        if found is not None:
            place = found.place or SourceLocation("", 1, 1)
            here = SourceLocation(self.source, statement.line + (place.line or 1) - 1, place.column)
            self.transitions.append(replace(found, place=here))
