"""Abstract syntax tree of the RASP text form: statements and expressions before elaboration.

AST builder of the RASP text form: callbacks of the grammar, called bottom-up during parsing, without recursion.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from softmachine.languages.rasp.ir import Operator, Value
from softmachine.languages.rasp.values import plain
from softmachine.languages.text.diagnostics import Mistake, place_of
from softmachine.languages.text.statements import unquote

if TYPE_CHECKING:
    from lark import Token


@dataclass(frozen=True)
class At:
    """A source position: line and column, counted from 1."""

    line: int
    column: int

    @property
    def place(self) -> tuple[int, int]:
        """The pair (line, column)."""
        return self.line, self.column


@dataclass(frozen=True)
class Node:
    """Base class of syntax nodes: source position, and nesting depth of the subexpressions or blocks inside."""

    at: At = field(kw_only=True)
    depth: int = field(default=0, kw_only=True)


@dataclass(frozen=True)
class Name(Node):
    """``x``."""

    name: str


@dataclass(frozen=True)
class Literal(Node):
    """``"a"``, ``1`` or ``0.5``."""

    value: Value


@dataclass(frozen=True)
class Relation(Node):
    """``==`` as an argument."""

    operator: Operator


@dataclass(frozen=True)
class Operation(Node):
    """An operator with its operands; ``and`` and ``or`` take two or more."""

    operator: Operator
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Member(Node):
    """``x in [a, b]``, or ``x not in …``."""

    operand: Expression
    container: Expression
    negated: bool


@dataclass(frozen=True)
class Call(Node):
    """``f(x, y)``."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Index(Node):
    """``x[0]``, or ``d[x, y]`` for a dictionary with tuples as keys."""

    operand: Expression
    indices: tuple[Expression, ...]


@dataclass(frozen=True)
class Collection(Node):
    """``[a, b]``, or the tuple ``(a, b)``."""

    parts: tuple[Expression, ...]
    is_list: bool


@dataclass(frozen=True)
class Dictionary(Node):
    """``{a: b}``."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class Comprehension(Node):
    """``[x + 1 for x in l]``, or, with a key, a dictionary comprehension."""

    key: Expression | None
    value: Expression
    names: tuple[str, ...]
    iterable: Expression


Expression: TypeAlias = (
    Name | Literal | Relation | Operation | Member | Call | Index | Collection | Dictionary | Comprehension
)


@dataclass(frozen=True)
class Shown(Node):
    """Expression statement ``x;``, which an interactive shell prints."""

    expression: Expression


@dataclass(frozen=True)
class Assignment(Node):
    """``x, y = a, b;``."""

    names: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class Function(Node):
    """``def f(x) { … }``."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Returned(Node):
    """``return x;``."""

    values: tuple[Expression, ...]


@dataclass(frozen=True)
class For(Node):
    """``for x in l { … }``."""

    names: tuple[str, ...]
    iterable: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Loop(Node):
    """``repeat x = tokens { … } until unchanged;``."""

    starts: tuple[tuple[str, Expression], ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Load(Node):
    """``load "file";``."""

    file: str


Statement: TypeAlias = Shown | Assignment | Function | Returned | For | Loop | Load


DEEPEST: Final = 64
"""Maximal nesting depth of expressions; redundant parentheses do not count."""
DEEPEST_BLOCK: Final = 16
MOST_DIGITS: Final = 30
UNCHANGED: Final = "unchanged"


class TreeBuilder:
    """Builds syntax trees. Its methods are named after the rules in grammar.lark."""

    def start(self, *statements: Statement) -> tuple[Statement, ...]:
        """A whole program text."""
        return statements

    # Statements

    def shown(self, expression: Expression) -> Statement:
        """``x;``."""
        return Shown(expression, at=expression.at)

    def assignment(self, names: tuple[Token, ...], values: tuple[Expression, ...]) -> Statement:
        """``x, y = a, b;``."""
        return Assignment(_texts(names), values, at=_at(names[0]))

    def function(self, _def: Token, name: Token, *rest: tuple[Token, ...] | tuple[Statement, ...]) -> Statement:
        """``def f(x) { … }``."""
        parameters, body = rest if len(rest) == 2 else ((), rest[0])
        names = _texts(cast("tuple[Token, ...]", parameters))
        statements = cast("tuple[Statement, ...]", body)
        return Function(str(name), names, statements, at=_at(name), depth=self._block(name, statements))

    def returned(self, word: Token, values: tuple[Expression, ...]) -> Statement:
        """``return x, y;``."""
        return Returned(values, at=_at(word))

    def for_(
        self, word: Token, names: tuple[Token, ...], iterable: Expression, body: tuple[Statement, ...]
    ) -> Statement:
        """``for x in l { … }``."""
        return For(_texts(names), iterable, body, at=_at(word), depth=self._block(word, body))

    def repeat(self, word: Token, *parts: object) -> Statement:
        """``repeat x = tokens { … } until unchanged;``."""
        *starts, body, until = parts
        until = cast("Token", until)
        if until != UNCHANGED:
            hint = "a loop runs to a fixpoint: write until unchanged"
            raise Mistake(f"unexpected {str(until)!r}", *place_of(until), hint)
        statements = cast("tuple[Statement, ...]", body)
        variables = tuple(cast("list[tuple[str, Expression]]", starts))
        return Loop(variables, statements, at=_at(word), depth=self._block(word, statements))

    def starting(self, name: Token, value: Expression) -> tuple[str, Expression]:
        """``x = tokens`` in the head of a loop."""
        return str(name), value

    def load(self, word: Token, file: Token) -> Statement:
        """``load "file";``."""
        return Load(self._unquoted(file), at=_at(word))

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
        return self._operation(Operator.CHOOSE, (then, condition, otherwise), then.at)

    def member(self, operand: Expression, word: Token, container: Expression) -> Expression:
        """``x in l``."""
        return Member(operand, container, False, at=operand.at, depth=self._deeper(word, operand, container))

    def not_member(self, operand: Expression, word: Token, _in: Token, container: Expression) -> Expression:
        """``x not in l``."""
        return Member(operand, container, True, at=operand.at, depth=self._deeper(word, operand, container))

    def and_(self, *parts: Expression) -> Expression:
        """``p and q and …``."""
        return self._operation(Operator.AND, parts, parts[0].at)

    def or_(self, *parts: Expression) -> Expression:
        """``p or q or …``."""
        return self._operation(Operator.OR, parts, parts[0].at)

    def not_(self, word: Token, operand: Expression) -> Expression:
        """``not p``."""
        return self._operation(Operator.NOT, (operand,), _at(word))

    def relation(self, sign: Token) -> Token:
        """A comparison operator such as ``==``."""
        return sign

    def relation_argument(self, sign: Token) -> Expression:
        """``==`` as an argument."""
        return Relation(Operator(str(sign)), at=_at(sign))

    def compare(self, left: Expression, sign: Token, right: Expression) -> Expression:
        """``x <= y``."""
        return self._operation(Operator(str(sign)), (left, right), left.at)

    def arithmetic(self, left: Expression, sign: Token, right: Expression) -> Expression:
        """Binary arithmetic such as ``x + y``. A long sum is not deeper than its terms."""
        depth = max(left.depth, self._deeper(sign, right))
        return Operation(Operator(str(sign)), (left, right), at=left.at, depth=depth)

    def negative(self, sign: Token, operand: Expression) -> Expression:
        """``-x`` or ``+x``."""
        return self._operation(Operator.NEGATE, (operand,), _at(sign)) if sign == "-" else operand

    def name(self, name: Token) -> Expression:
        """``x``."""
        return Name(str(name), at=_at(name))

    def integer(self, digits: Token) -> Expression:
        """``3``."""
        if len(digits) > MOST_DIGITS:
            raise Mistake(
                f"this number has {len(digits):,} digits", *place_of(digits), f"at most {MOST_DIGITS} are allowed"
            )
        return Literal(int(digits), at=_at(digits))

    def decimal(self, digits: Token) -> Expression:
        """``0.5``, as an exact fraction."""
        if len(digits) > MOST_DIGITS:
            raise Mistake(
                f"this number has {len(digits):,} digits", *place_of(digits), f"at most {MOST_DIGITS} are allowed"
            )
        return Literal(plain(Fraction(str(digits))), at=_at(digits))

    def symbol(self, quoted: Token) -> Expression:
        """``"a"``."""
        return Literal(self._unquoted(quoted), at=_at(quoted))

    def pack(self, bracket: Token, *parts: Expression | tuple[Expression, ...]) -> Expression:
        """The tuple ``(x, y)``, ``(x,)`` or ``()``."""
        first, others = parts[:1], parts[1:]
        entries = cast(
            "tuple[Expression, ...]",
            (*first, *(entry for rest in others for entry in cast("tuple[Expression, ...]", rest))),
        )
        return Collection(entries, False, at=_at(bracket), depth=self._deeper(bracket, *entries))

    def listing(self, bracket: Token, parts: tuple[Expression, ...] = ()) -> Expression:
        """``[x, y]``."""
        return Collection(parts, True, at=_at(bracket), depth=self._deeper(bracket, *parts))

    def listing_of(
        self, bracket: Token, value: Expression, names: tuple[Token, ...], iterable: Expression
    ) -> Expression:
        """``[x + 1 for x in l]``."""
        depth = self._deeper(bracket, value, iterable)
        return Comprehension(None, value, _texts(names), iterable, at=_at(bracket), depth=depth)

    def dictionary(self, bracket: Token, entries: tuple[tuple[Expression, Expression], ...] = ()) -> Expression:
        """``{x: y}``."""
        depth = self._deeper(bracket, *(part for entry in entries for part in entry))
        return Dictionary(entries, at=_at(bracket), depth=depth)

    def dictionary_of(
        self, bracket: Token, entry: tuple[Expression, Expression], names: tuple[Token, ...], iterable: Expression
    ) -> Expression:
        """``{x: x + 1 for x in l}``."""
        key, value = entry
        depth = self._deeper(bracket, key, value, iterable)
        return Comprehension(key, value, _texts(names), iterable, at=_at(bracket), depth=depth)

    def entries(self, *entries: tuple[Expression, Expression]) -> tuple[tuple[Expression, Expression], ...]:
        """The entries of a dictionary."""
        return entries

    def entry(self, key: Expression, value: Expression) -> tuple[Expression, Expression]:
        """``x: y``."""
        return key, value

    def call(self, function: Expression, arguments: tuple[Expression, ...] = ()) -> Expression:
        """``f(x, y)``."""
        return Call(function, arguments, at=function.at, depth=self._nested(function.at, function, *arguments))

    def arguments(self, *arguments: Expression) -> tuple[Expression, ...]:
        """The arguments of a call."""
        return arguments

    def index(self, operand: Expression, indices: tuple[Expression, ...]) -> Expression:
        """``x[0]``."""
        return Index(operand, indices, at=operand.at, depth=self._nested(operand.at, operand, *indices))

    def _operation(self, operator: Operator, operands: tuple[Expression, ...], at: At) -> Expression:
        return Operation(operator, operands, at=at, depth=self._nested(at, *operands))

    def _deeper(self, token: Token, *parts: Expression) -> int:
        return self._nested(_at(token), *parts)

    def _nested(self, at: At, *parts: Expression) -> int:
        depth = 1 + max((part.depth for part in parts), default=0)
        if depth > DEEPEST:
            hint = "assign subexpressions to names"
            raise Mistake(f"the expression is nested more than {DEEPEST} levels deep", at.line, at.column, hint)
        return depth

    def _block(self, token: Token, body: tuple[Statement, ...]) -> int:
        depth = 1 + max((statement.depth for statement in body), default=0)
        if depth > DEEPEST_BLOCK:
            message = f"blocks are nested more than {DEEPEST_BLOCK} levels deep"
            raise Mistake(message, *place_of(token), "move inner blocks into functions")
        return depth

    def _unquoted(self, quoted: Token) -> str:
        symbol = unquote(quoted)
        if symbol is None:
            raise Mistake("unknown escape sequence in this symbol", *place_of(quoted), r'write a backslash as "\\"')
        return symbol


def _at(token: Token) -> At:
    return At(*place_of(token))


def _texts(names: tuple[Token, ...]) -> tuple[str, ...]:
    return tuple(map(str, names))
