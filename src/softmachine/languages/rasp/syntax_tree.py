"""Abstract syntax tree of the RASP text form: statements and expressions before elaboration.

The builder consists of callbacks of the grammar, called bottom-up during parsing, without recursion.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from softmachine.languages.rasp.ir import Operator, Value
from softmachine.languages.rasp.values import normalise_number
from softmachine.languages.text.diagnostics import SyntaxDiagnostic, line_and_column
from softmachine.languages.text.statements import unquote

if TYPE_CHECKING:
    from lark import Token


@dataclass(frozen=True)
class SourcePosition:
    """A source position: line and column, counted from 1."""

    line: int
    column: int

    @property
    def line_and_column(self) -> tuple[int, int]:
        """The pair (line, column)."""
        return self.line, self.column


@dataclass(frozen=True)
class SyntaxNode:
    """Base class of syntax nodes: source position, and nesting depth of the subexpressions or blocks inside."""

    position: SourcePosition = field(kw_only=True)
    depth: int = field(default=0, kw_only=True)


@dataclass(frozen=True)
class Name(SyntaxNode):
    """``x``."""

    name: str


@dataclass(frozen=True)
class Literal(SyntaxNode):
    """``"a"``, ``1`` or ``0.5``."""

    value: Value


@dataclass(frozen=True)
class OperatorArgument(SyntaxNode):
    """``==`` as an argument."""

    operator: Operator


@dataclass(frozen=True)
class Operation(SyntaxNode):
    """An operator with its operands; ``and`` and ``or`` take two or more."""

    operator: Operator
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Member(SyntaxNode):
    """``x in [a, b]``, or ``x not in …``."""

    operand: Expression
    container: Expression
    negated: bool


@dataclass(frozen=True)
class Call(SyntaxNode):
    """``f(x, y)``."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Index(SyntaxNode):
    """``x[0]``, or ``d[x, y]`` for a dictionary with tuples as keys."""

    operand: Expression
    indices: tuple[Expression, ...]


@dataclass(frozen=True)
class Collection(SyntaxNode):
    """``[a, b]``, or the tuple ``(a, b)``."""

    parts: tuple[Expression, ...]
    is_list: bool


@dataclass(frozen=True)
class Dictionary(SyntaxNode):
    """``{a: b}``."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class Comprehension(SyntaxNode):
    """``[x + 1 for x in l]``, or, with a key, a dictionary comprehension."""

    key: Expression | None
    value: Expression
    names: tuple[str, ...]
    iterable: Expression


Expression: TypeAlias = (
    Name | Literal | OperatorArgument | Operation | Member | Call | Index | Collection | Dictionary | Comprehension
)


@dataclass(frozen=True)
class ExpressionStatement(SyntaxNode):
    """Expression statement ``x;``, which an interactive shell prints."""

    expression: Expression


@dataclass(frozen=True)
class Assignment(SyntaxNode):
    """``x, y = a, b;``."""

    names: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class Function(SyntaxNode):
    """``def f(x) { … }``."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Return(SyntaxNode):
    """``return x;``."""

    values: tuple[Expression, ...]


@dataclass(frozen=True)
class For(SyntaxNode):
    """``for x in l { … }``."""

    names: tuple[str, ...]
    iterable: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Loop(SyntaxNode):
    """``repeat x = tokens { … } until unchanged;``."""

    starts: tuple[tuple[str, Expression], ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Load(SyntaxNode):
    """``load "file";``."""

    file: str


Statement: TypeAlias = ExpressionStatement | Assignment | Function | Return | For | Loop | Load


MAX_DEPTH: Final = 64
"""Maximal nesting depth of expressions; redundant parentheses do not count."""
MAX_BLOCK_DEPTH: Final = 16
MAX_DIGITS: Final = 30
UNCHANGED: Final = "unchanged"


class RaspAstBuilder:
    """Builds syntax trees. Its methods are named after the rules in grammar.lark."""

    def start(self, *statements: Statement) -> tuple[Statement, ...]:
        """A whole program text."""
        return statements

    # Statements

    def shown(self, expression: Expression) -> Statement:
        """``x;``."""
        return ExpressionStatement(expression, position=expression.position)

    def assignment(self, names: tuple[Token, ...], values: tuple[Expression, ...]) -> Statement:
        """``x, y = a, b;``."""
        return Assignment(_strings(names), values, position=_position(names[0]))

    def function(self, _def: Token, name: Token, *rest: tuple[Token, ...] | tuple[Statement, ...]) -> Statement:
        """``def f(x) { … }``."""
        parameters, body = rest if len(rest) == 2 else ((), rest[0])
        names = _strings(cast("tuple[Token, ...]", parameters))
        statements = cast("tuple[Statement, ...]", body)
        return Function(
            str(name), names, statements, position=_position(name), depth=self._block_depth(name, statements)
        )

    def returned(self, word: Token, values: tuple[Expression, ...]) -> Statement:
        """``return x, y;``."""
        return Return(values, position=_position(word))

    def for_(
        self, word: Token, names: tuple[Token, ...], iterable: Expression, body: tuple[Statement, ...]
    ) -> Statement:
        """``for x in l { … }``."""
        return For(_strings(names), iterable, body, position=_position(word), depth=self._block_depth(word, body))

    def repeat(self, word: Token, *parts: object) -> Statement:
        """``repeat x = tokens { … } until unchanged;``."""
        *starts, body, until = parts
        until = cast("Token", until)
        if until != UNCHANGED:
            hint = "a loop runs to a fixpoint: write until unchanged"
            raise SyntaxDiagnostic(f"unexpected {str(until)!r}", *line_and_column(until), hint)
        statements = cast("tuple[Statement, ...]", body)
        variables = tuple(cast("list[tuple[str, Expression]]", starts))
        return Loop(variables, statements, position=_position(word), depth=self._block_depth(word, statements))

    def starting(self, name: Token, value: Expression) -> tuple[str, Expression]:
        """``x = tokens`` in the head of a loop."""
        return str(name), value

    def load(self, word: Token, file: Token) -> Statement:
        """``load "file";``."""
        return Load(self._unquoted(file), position=_position(word))

    def block(self, *statements: Statement) -> tuple[Statement, ...]:
        """``{ … }``."""
        return statements

    def names(self, *names: Token) -> tuple[Token, ...]:
        """``x, y``."""
        return names

    def expressions(self, *expressions: Expression) -> tuple[Expression, ...]:
        """``x, y``."""
        return expressions

    # Expressions

    def conditional(self, then: Expression, condition: Expression, otherwise: Expression) -> Expression:
        """``x if p else y``."""
        return self._operation(Operator.CHOOSE, (then, condition, otherwise), then.position)

    def member(self, operand: Expression, word: Token, container: Expression) -> Expression:
        """``x in l``."""
        return Member(
            operand, container, False, position=operand.position, depth=self._depth_from_token(word, operand, container)
        )

    def not_member(self, operand: Expression, word: Token, _in: Token, container: Expression) -> Expression:
        """``x not in l``."""
        return Member(
            operand, container, True, position=operand.position, depth=self._depth_from_token(word, operand, container)
        )

    def and_(self, *parts: Expression) -> Expression:
        """``p and q and …``."""
        return self._operation(Operator.AND, parts, parts[0].position)

    def or_(self, *parts: Expression) -> Expression:
        """``p or q or …``."""
        return self._operation(Operator.OR, parts, parts[0].position)

    def not_(self, word: Token, operand: Expression) -> Expression:
        """``not p``."""
        return self._operation(Operator.NOT, (operand,), _position(word))

    def relation(self, sign: Token) -> Token:
        """A comparison operator such as ``==``."""
        return sign

    def relation_argument(self, sign: Token) -> Expression:
        """``==`` as an argument."""
        return OperatorArgument(Operator(str(sign)), position=_position(sign))

    def compare(self, left: Expression, sign: Token, right: Expression) -> Expression:
        """``x <= y``."""
        return self._operation(Operator(str(sign)), (left, right), left.position)

    def arithmetic(self, left: Expression, sign: Token, right: Expression) -> Expression:
        """Binary arithmetic such as ``x + y``. A long sum is not deeper than its terms."""
        depth = max(left.depth, self._depth_from_token(sign, right))
        return Operation(Operator(str(sign)), (left, right), position=left.position, depth=depth)

    def negative(self, sign: Token, operand: Expression) -> Expression:
        """``-x`` or ``+x``."""
        return self._operation(Operator.NEGATE, (operand,), _position(sign)) if sign == "-" else operand

    def name(self, name: Token) -> Expression:
        """``x``."""
        return Name(str(name), position=_position(name))

    def integer(self, digits: Token) -> Expression:
        """``3``."""
        if len(digits) > MAX_DIGITS:
            raise SyntaxDiagnostic(
                f"this number has {len(digits):,} digits", *line_and_column(digits), f"at most {MAX_DIGITS} are allowed"
            )
        return Literal(int(digits), position=_position(digits))

    def decimal(self, digits: Token) -> Expression:
        """``0.5``, as an exact fraction."""
        if len(digits) > MAX_DIGITS:
            raise SyntaxDiagnostic(
                f"this number has {len(digits):,} digits", *line_and_column(digits), f"at most {MAX_DIGITS} are allowed"
            )
        return Literal(normalise_number(Fraction(str(digits))), position=_position(digits))

    def symbol(self, quoted: Token) -> Expression:
        """``"a"``."""
        return Literal(self._unquoted(quoted), position=_position(quoted))

    def pack(self, bracket: Token, *parts: Expression | tuple[Expression, ...]) -> Expression:
        """The tuple ``(x, y)``, ``(x,)`` or ``()``."""
        first, others = parts[:1], parts[1:]
        entries = cast(
            "tuple[Expression, ...]",
            (*first, *(entry for rest in others for entry in cast("tuple[Expression, ...]", rest))),
        )
        return Collection(entries, False, position=_position(bracket), depth=self._depth_from_token(bracket, *entries))

    def listing(self, bracket: Token, parts: tuple[Expression, ...] = ()) -> Expression:
        """``[x, y]``."""
        return Collection(parts, True, position=_position(bracket), depth=self._depth_from_token(bracket, *parts))

    def listing_of(
        self, bracket: Token, value: Expression, names: tuple[Token, ...], iterable: Expression
    ) -> Expression:
        """``[x + 1 for x in l]``."""
        depth = self._depth_from_token(bracket, value, iterable)
        return Comprehension(None, value, _strings(names), iterable, position=_position(bracket), depth=depth)

    def dictionary(self, bracket: Token, entries: tuple[tuple[Expression, Expression], ...] = ()) -> Expression:
        """``{x: y}``."""
        depth = self._depth_from_token(bracket, *(part for entry in entries for part in entry))
        return Dictionary(entries, position=_position(bracket), depth=depth)

    def dictionary_of(
        self, bracket: Token, entry: tuple[Expression, Expression], names: tuple[Token, ...], iterable: Expression
    ) -> Expression:
        """``{x: x + 1 for x in l}``."""
        key, value = entry
        depth = self._depth_from_token(bracket, key, value, iterable)
        return Comprehension(key, value, _strings(names), iterable, position=_position(bracket), depth=depth)

    def entries(self, *entries: tuple[Expression, Expression]) -> tuple[tuple[Expression, Expression], ...]:
        """The entries of a dictionary."""
        return entries

    def entry(self, key: Expression, value: Expression) -> tuple[Expression, Expression]:
        """``x: y``."""
        return key, value

    def call(self, function: Expression, arguments: tuple[Expression, ...] = ()) -> Expression:
        """``f(x, y)``."""
        return Call(
            function,
            arguments,
            position=function.position,
            depth=self._depth_above(function.position, function, *arguments),
        )

    def arguments(self, *arguments: Expression) -> tuple[Expression, ...]:
        """The arguments of a call."""
        return arguments

    def index(self, operand: Expression, indices: tuple[Expression, ...]) -> Expression:
        """``x[0]``."""
        return Index(
            operand, indices, position=operand.position, depth=self._depth_above(operand.position, operand, *indices)
        )

    def _operation(self, operator: Operator, operands: tuple[Expression, ...], at: SourcePosition) -> Expression:
        return Operation(operator, operands, position=at, depth=self._depth_above(at, *operands))

    def _depth_from_token(self, token: Token, *parts: Expression) -> int:
        return self._depth_above(_position(token), *parts)

    def _depth_above(self, at: SourcePosition, *parts: Expression) -> int:
        depth = 1 + max((part.depth for part in parts), default=0)
        if depth > MAX_DEPTH:
            hint = "assign subexpressions to names"
            raise SyntaxDiagnostic(
                f"the expression is nested more than {MAX_DEPTH} levels deep", at.line, at.column, hint
            )
        return depth

    def _block_depth(self, token: Token, body: tuple[Statement, ...]) -> int:
        depth = 1 + max((statement.depth for statement in body), default=0)
        if depth > MAX_BLOCK_DEPTH:
            message = f"blocks are nested more than {MAX_BLOCK_DEPTH} levels deep"
            raise SyntaxDiagnostic(message, *line_and_column(token), "move inner blocks into functions")
        return depth

    def _unquoted(self, quoted: Token) -> str:
        symbol = unquote(quoted)
        if symbol is None:
            raise SyntaxDiagnostic(
                "unknown escape sequence in this symbol", *line_and_column(quoted), r'write a backslash as "\\"'
            )
        return symbol


def _position(token: Token) -> SourcePosition:
    return SourcePosition(*line_and_column(token))


def _strings(names: tuple[Token, ...]) -> tuple[str, ...]:
    return tuple(map(str, names))
