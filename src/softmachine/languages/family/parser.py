"""Parser and printer of uniform circuit families: ``.family`` files.

    family parity                                    the name
    depth log^1 <= 2*log(n) + 1                      O(log n), the d of AC^d or TC^d; the bound is optional

    odd(0, i)  = OR x(i)   for i in 0..n-1           a gate for each i; x(0), …, x(n-1) are the inputs
    even(0, i) = NOT x(i)  for i in 0..n-1
    some(l)    = OR [odd(l, i) for i in 0..n-1 if i % 2 = 0]  for l in 0..log(n)
    most       = THR(n/2 + 1) [x(i) for i in 0..n-1]
    output odd(log(n), 0)

Numbers: n, indices, + - * / % ^ and log(x), which is ⌈log₂ x⌉; / rounds down. Ranges include both bounds. A rule may
have several ranges, separated by commas, and after ``if`` conditions, joined by ``and``. Gates are AND, OR, NOT and
THR(k). ``#`` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, cast

from softmachine.languages.circuit import GateKind
from softmachine.languages.family.family import (
    BinaryOperation,
    CircuitFamily,
    Expression,
    ExpressionComparison,
    IndexedWire,
    IndexRange,
    Log,
    Numeral,
    Rule,
    Variable,
)
from softmachine.languages.text.diagnostics import DiagnosticRules, SyntaxDiagnostic, line_and_column
from softmachine.languages.text.grammar import load_parser
from softmachine.languages.text.statements import Statement, StatementParser
from softmachine.support.errors import SourceLocation

if TYPE_CHECKING:
    from lark import Token

MAX_NESTING = 40
"""Maximum nesting of parentheses."""
MAX_DIGITS = 12
RULE_HINT = "a rule is written as in: p(l, i) = AND p(l-1, 2*i) p(l-1, 2*i+1) for l in 1..log(n), i in 0..n-1"


class FamilyAstBuilder:
    """Builds rules, the depth and the output. Its methods are named after the rules in grammar.lark."""

    def rule(self, wire: IndexedWire, _equal: Token, gate: tuple[GateKind, Expression | None], *rest: Any) -> Rule:
        """``p(i) = OR x(i) for i in 0..n-1``."""
        *arguments, (ranges, conditions) = rest
        return Rule(wire, gate[0], tuple(arguments), gate[1], ranges, conditions)

    def depth(self, _word: Token, *parts: Token | Expression) -> tuple[int, Expression | None]:
        """``depth log^2 <= 2*log(n)``: the exponent, and the bound if there is one."""
        exponent, bound = 1, None
        for part in parts:
            if isinstance(part, str):
                exponent = self.numeral(part).value
            else:
                bound = part
        return exponent, bound

    def output(self, _word: Token, wire: IndexedWire) -> IndexedWire:
        """``output y``."""
        return wire

    def gate(self, kind: Token, threshold: Expression | None = None) -> tuple[GateKind, Expression | None]:
        """``AND``, or ``THR(n/2)``."""
        return GateKind(str(kind)), threshold

    def listing(
        self,
        wire: IndexedWire,
        ranges: tuple[IndexRange, ...],
        conditions: tuple[ExpressionComparison, ...] = (),
    ) -> IndexedWire:
        """``[x(i) for i in 0..n-1]``."""
        return replace(wire, ranges=ranges, conditions=conditions)

    def ranges(self, *parts: Any) -> tuple[Any, ...]:
        """``for i in 0..n-1, j in 0..i``."""
        return parts

    conditions = ranges

    def bounds(self, *parts: tuple[Any, ...]) -> tuple[tuple[IndexRange, ...], tuple[ExpressionComparison, ...]]:
        """The ranges and the conditions, either of which may be missing."""
        entries = [entry for part in parts for entry in part]
        ranges = tuple(entry for entry in entries if isinstance(entry, IndexRange))
        return ranges, tuple(entries[len(ranges) :])

    def range(self, index: str, first: Expression, last: Expression) -> IndexRange:
        """``i in 0..n-1``."""
        return IndexRange(index, first, last)

    def condition(self, left: Expression, relation: Token, right: Expression) -> ExpressionComparison:
        """``i < j``."""
        return ExpressionComparison(str(relation), left, right)

    def wire(self, name: str, *indices: Expression) -> IndexedWire:
        """``p(l, i)``."""
        return IndexedWire(name, indices)

    def operation(self, left: Expression, sign: Token, right: Expression) -> Expression:
        """``n + 1``."""
        return BinaryOperation(str(sign), left, right)

    def log(self, argument: Expression) -> Expression:
        """``log(n)``."""
        return Log(argument)

    def numeral(self, digits: Token) -> Numeral:
        """``3``."""
        if len(digits) > MAX_DIGITS:
            raise SyntaxDiagnostic("this number is too long", *line_and_column(digits))
        return Numeral(int(digits))

    def variable(self, name: str) -> Expression:
        """``n`` or an index."""
        return Variable(name)

    def name(self, name: Token) -> str:
        """The name of a wire or an index."""
        return str(name)


explain_syntax_error = DiagnosticRules(
    construct="the line",
    unterminated_quote=("unexpected quote", RULE_HINT),
    unknown_character="unexpected {}",
    character_hints={"": RULE_HINT},
    categories={
        "INTEGER LPAR": "a number, n or an index", "NAME LSQB": "a wire", "NAME": "a name",
        "PLUS LESS": "an operator or a comparison", "PLUS": "an operator",
    },
    subsumed={
        "an operator or a comparison": "EQUAL AT_MOST",
        **dict.fromkeys(("a number, n or an index", "a wire", "a name"), "KIND THR LOG INTEGER"),
    },
    terminal_names={
        "KIND": "AND, OR, NOT", "THR": "THR", "EQUAL": "'='", "AT_MOST": "'<='", "CARET": "'^'",
        "LPAR": "'('", "COMMA": "','", "RPAR": "')'", "RSQB": "']'", "FOR": "'for'", "IN": "'in'", "IF": "'if'",
        "AND": "'and'", "LOG": "'log'", "INTEGER": "an exponent", "__ANON_0": "'..'", "$END": "the end of the line",
    },
    default_hint=RULE_HINT,
    rules=(),
    ending_tokens="$END",
    closing_tokens="RPAR RSQB",
)  # fmt: skip
HEADER = re.compile(r"\s*(family(?=\s|$)|(?:depth|output)\b(?!\s*[=(]))")


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> CircuitFamily:
    """Parse a family; all errors are reported at once.

    Raises:
        SourceError: If there is a syntax error.
        InvalidError: If the family is not valid.
    """
    parser = _Parser(text, source, "a family may have").parse()
    exponent, max_depth = parser.values.get("depth", (1, None))
    return CircuitFamily(
        name=parser.choose_name(name, "family", "family"),
        exponent=exponent,
        rules=tuple(parser.rules),
        output=parser.values["output"],
        max_depth=max_depth,
        place=SourceLocation(source),
    )


def to_text(family: CircuitFamily) -> str:
    """Format a family as source text, which `parse` accepts."""
    at_most = f" <= {family.max_depth}" if family.max_depth is not None else ""
    lines = [f"family {family.name}", f"depth log^{family.exponent}{at_most}", "", *map(str, family.rules)]
    return "\n".join([*lines, f"output {family.output}"]) + "\n"


class _Parser(StatementParser):
    """Parser state: the parts of the family."""

    required: ClassVar[Mapping[str, str]] = {"output": "the wire that is 1 if the word is accepted"}
    max_length = 1 << 16

    def __init__(self, text: str, source: str, sentence_start: str) -> None:
        super().__init__(text, source, sentence_start)
        self.rules: list[Rule] = []
        self.values: dict[str, Any] = {}
        """The values of the headers ``depth`` and ``output``."""

    @staticmethod
    def strip_comment(line: str, keyword: str) -> str:  # noqa: ARG004
        return line.partition("#")[0].rstrip()

    @staticmethod
    def ends_header(line: str, keyword: str) -> bool:  # noqa: ARG004
        return True

    def parse_statement(self, statement: Statement) -> None:
        header = HEADER.match(statement.text)
        if header and not self.header_words(statement):
            return
        if header and header[1] == "family":  # a name may be arbitrary text
            self.words["family"] = (statement.text[header.end() :].strip(),)
            return
        found = self.parse_body(
            statement, lambda: _parse_line(statement.text), lambda error: explain_syntax_error(error, statement.text)
        )
        if isinstance(found, Rule):
            self.rules.append(replace(found, place=SourceLocation(self.source, statement.line)))
        elif header:
            self.values[header[1]] = found


def _parse_line(text: str) -> object:
    for column, depth in enumerate(accumulate((sign == "(") - (sign == ")") for sign in text), start=1):
        if depth > MAX_NESTING:
            raise SyntaxDiagnostic(f"parentheses are nested more than {MAX_NESTING} deep", 1, column)
    return cast(object, load_parser("family", FamilyAstBuilder).parse(text))
