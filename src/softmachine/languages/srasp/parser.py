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
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from softmachine.languages.linear import Relation
from softmachine.languages.source import MAX_SOURCE_LENGTH
from softmachine.languages.srasp import ast as ex
from softmachine.languages.srasp.ast import Expression
from softmachine.languages.srasp.program import Definition, SraspProgram, to_text
from softmachine.languages.text.diagnostics import (
    DiagnosticRule,
    DiagnosticRules,
    ParserState,
    Problem,
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
    from lark import Token, Tree

__all__ = ["parse", "to_text"]


MAX_DIGITS = 18


class SraspAstBuilder:
    """Converts a parse tree to a definition. The methods are named after the rules in grammar.lark.

    Args:
        source: Origin of the text.
        line: First line of the statement, from 1.
    """

    def __init__(self, source: str, line: int) -> None:
        self.source = source
        self.line = line
        self.problems: list[Problem] = []

    def build(self, tree: Tree[Token]) -> Definition:
        """Build the definition. Problems of constants are collected."""
        made: dict[int, Any] = {}
        for part in tree.iter_subtrees():  # subtrees precede the trees that contain them
            entries = [made.get(id(child), child) for child in part.children]
            made[id(part)] = getattr(self, part.data)(*entries)
        return cast(Definition, made[id(tree)])

    def _place(self, token: Token) -> SourceLocation:
        return SourceLocation(self.source, self.line + (token.line or 1) - 1, token.column)

    def start(self, name: Token, body: Expression) -> Definition:
        """``x(i) = …``."""
        return Definition(str(name), body, self._place(name))

    def conditional(self, then: Expression, condition: Expression, otherwise: Expression) -> Expression:
        """``x if p else y``."""
        return ex.Conditional(condition, then, otherwise, place=then.place)

    def prefix_sum(self, word: Token, *rest: Token | Expression) -> Expression:
        """``psum j : x``, also ``psum j <= i : x``."""
        return ex.PrefixSum(cast(Expression, rest[-1]), place=self._place(word))

    def attention(self, choice: Token, *rest: ex.Mask | Expression) -> Expression:
        """``rightmost j < i where p : x else y``, where the mask and the predicate are optional."""
        mask = rest[0] if isinstance(rest[0], ex.Mask) else ex.Mask.NONE
        parts = [part for part in rest if not isinstance(part, ex.Mask)]
        predicate, value, default = [ex.BooleanLiteral(True), *parts][-3:]
        return ex.Attention(ex.AttentionChoice(str(choice)), mask, predicate, value, default, place=self._place(choice))

    def mask(self, sign: Token) -> ex.Mask:
        """``< i``, ``<= i``, ``> i`` or ``>= i``."""
        return ex.Mask(f"j {Relation.parse(sign)} i")

    def or_(self, *parts: Expression) -> Expression:
        """``p or q or …``."""
        return ex.Or(parts, place=parts[0].place)

    def and_(self, *parts: Expression) -> Expression:
        """``p and q and …``."""
        return ex.And(parts, place=parts[0].place)

    def not_(self, word: Token, operand: Expression) -> Expression:
        """``not p``."""
        return ex.Not(operand, place=self._place(word))

    def compare(self, left: Expression, sign: Token, right: Expression) -> Expression:
        """``x <= y``."""
        return ex.Compare(Relation.parse(sign), left, right, place=left.place)

    def member(self, operand: Expression, symbols: tuple[str, ...]) -> Expression:
        """``x in {'a', 'b'}``."""
        return ex.Member(operand, symbols, place=operand.place)

    def not_member(self, operand: Expression, _not: Token, symbols: tuple[str, ...]) -> Expression:
        """``x not in {'a', 'b'}``."""
        return ex.Not(self.member(operand, symbols), place=operand.place)

    def set(self, *symbols: Token) -> tuple[str, ...]:
        """``{'a', 'b'}``."""
        return tuple(self.symbol(token).value for token in symbols)

    def arithmetic(self, left: Expression, sign: Token, right: Expression) -> Expression:
        """``x + y`` or ``x - y``."""
        return (ex.Add if sign.type == "PLUS" else ex.Subtract)(left, right, place=left.place)

    def negative(self, sign: Token, operand: Expression) -> Expression:
        """``-x``."""
        place = self._place(sign)
        if isinstance(operand, ex.IntegerLiteral) and operand.value > 0:
            return ex.IntegerLiteral(-operand.value, place=place)
        return ex.Subtract(ex.IntegerLiteral(0, place=place), operand, place=place)

    def vector(self, name: Token, at: Token) -> Expression:
        """``x(i)``, ``in(i)`` or ``pos(i)``."""
        return ex.VectorRead(str(name), cast(ex.Index, str(at)), place=self._place(name))

    def symbol(self, quoted: Token) -> ex.SymbolLiteral:
        """``'a'``."""
        symbol = unquote(quoted)
        if symbol is None:
            message = r"unknown escape in this symbol; write '\\' for a backslash"
            self.problems.append(Problem(message, self._place(quoted)))
        return ex.SymbolLiteral("?" if symbol is None else symbol, place=self._place(quoted))

    def integer(self, digits: Token) -> Expression:
        """``3``."""
        if len(digits) > MAX_DIGITS:
            self.problems.append(Problem(f"integer with {len(digits):,} digits is too large", self._place(digits)))
        return ex.IntegerLiteral(int(digits[:MAX_DIGITS]), place=self._place(digits))

    def truth(self, word: Token) -> Expression:
        """``true`` or ``false``."""
        return ex.BooleanLiteral(word.type == "TRUE", place=self._place(word))


VECTOR_READ = re.compile(r"\w\s*\(\s*[ij]\s*$")
INDEX_HINT = "vectors can be read at i or j only; select the position before i by 'rightmost j < i'"


def _keyword_as_name(stuck: ParserState) -> SyntaxDiagnostic | None:
    if stuck.accepted != {"NAME"} or not stuck.token.isalpha():
        return None
    message = f"{str(stuck.token)!r} is a keyword; rename the vector"
    return SyntaxDiagnostic(message, *line_and_column(stuck.token))


explain_syntax_error = DiagnosticRules(
    construct="the definition",
    first_check=_keyword_as_name,
    unterminated_quote=("unterminated quote", "write a symbol as 'a'"),
    unknown_character="unexpected character {}",
    exact_messages={
        "LPAR": "write a vector with its position, as in depth(i)",
        "I J": "expected 'i' or 'j'",
        "NAME": "write a definition as in depth(i) = …",
    },
    categories={
        "NAME INTEGER QUOTED LPAR": "an expression",
        "PLUS MINUS": "an operator",
        "QUOTED": "a symbol such as 'a'",
    },
    subsumed={
        "an expression": "IN",
        "an operator": "AND OR IN EQUAL SAME UNEQUAL LESS AT_MOST GREATER AT_LEAST",
    },
    terminal_names={
        "UNEQUAL": "'!='", "RPAR": "')'", "COMMA": "','", "COLON": "':'", "LESS": "'<'", "AT_MOST": "'<='",
        "EQUAL": "'='", "SAME": "'=='", "GREATER": "'>'", "AT_LEAST": "'>='", "AND": "'and'", "ELSE": "'else'",
        "I": "'i'", "IF": "'if'", "IN": "'in'", "J": "'j'", "OR": "'or'", "WHERE": "'where'", "LBRACE": "'{'",
        "RBRACE": "'}'", "$END": "the end of the definition",
    },
    rules=(
        DiagnosticRule("PLUS MINUS", "RPAR", INDEX_HINT, preceded_by=VECTOR_READ),
        DiagnosticRule(
            "EQUAL SAME UNEQUAL LESS AT_MOST GREATER AT_LEAST",
            "AND",
            "a comparison has two sides; join comparisons with 'and'",
        ),
    ),
    max_token_length=MAX_SOURCE_LENGTH,
    continuation_note=" (a more deeply indented line continues the previous one)",
)  # fmt: skip


HEADERS: Mapping[str, tuple[int | None, str]] = {
    "program": (1, "the name of the program"),
    "alphabet": (None, "the letters of inputs"),
    "output": (1, "the output vector"),
}
HEADER_AS_NAME = re.compile(r"\s*\w+\(\s*i\s*\)\s*=")
OUTPUT = re.compile(r"[ \t]*output[ \t]")
DEFINITION = re.compile(r"^[ \t]*[^\W\d]\w*[ \t]*\([ \t]*i[ \t]*\)[ \t]*=", re.MULTILINE)


def parse(text: str, *, source: str = "<string>", name: str | None = None) -> SraspProgram:
    """Parse a program; all errors are reported at once."""
    parser = _Parser(text, source, "a program may have").parse()
    return SraspProgram(
        name=parser.choose_name(name, "program", "program"),
        alphabet=parser.words.get("alphabet", ()),
        definitions=tuple(parser.definitions),
        output=next(iter(parser.words.get("output", ())), ""),
        place=SourceLocation(source),
        output_place=parser.places.get("output"),
        lines=parser.lines,
    )


class _Parser(StatementParser):
    """Parser state: the parts of the program."""

    headers = HEADERS

    def __init__(self, text: str, source: str, sentence_start: str) -> None:
        super().__init__(text, source, sentence_start)
        self.definitions: list[Definition] = []

    @staticmethod
    def strip_comment(line: str, keyword: str) -> str:
        of_alphabet = keyword == "alphabet"
        return strip_comment(line, WORD if of_alphabet else QUOTED_OR_HASH, needs_gap=of_alphabet)

    @staticmethod
    def ends_header(line: str, keyword: str) -> bool:
        return keyword in HEADERS and bool(DEFINITION.match(line) or OUTPUT.match(line))

    def parse_statement(self, statement: Statement) -> None:
        if statement.keyword in HEADERS and not HEADER_AS_NAME.match(statement.text):
            self.parse_header(statement)
            return
        tree = self.parse_body(
            statement,
            lambda: load_parser("srasp").parse(statement.text),
            lambda error: explain_syntax_error(error, statement.text),
        )
        if tree is not None:
            builder = SraspAstBuilder(self.source, statement.line)
            self.definitions.append(builder.build(tree))
            self.problems += builder.problems
