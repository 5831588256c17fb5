"""AST builder of the RASP text form: callbacks of the grammar, called bottom-up during parsing, without recursion."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final, cast

from softmachine.languages.rasp import trees
from softmachine.languages.rasp.core import Operator
from softmachine.languages.rasp.trees import At, Expression, Statement
from softmachine.languages.rasp.values import plain
from softmachine.languages.text.layout import unquote
from softmachine.languages.text.mistakes import Mistake, place_of

if TYPE_CHECKING:
    from lark import Token

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
        return trees.Shown(expression, at=expression.at)

    def assignment(self, names: tuple[Token, ...], values: tuple[Expression, ...]) -> Statement:
        """``x, y = a, b;``."""
        return trees.Assignment(_texts(names), values, at=_at(names[0]))

    def function(self, _def: Token, name: Token, *rest: tuple[Token, ...] | tuple[Statement, ...]) -> Statement:
        """``def f(x) { … }``."""
        parameters, body = rest if len(rest) == 2 else ((), rest[0])
        names = _texts(cast("tuple[Token, ...]", parameters))
        statements = cast("tuple[Statement, ...]", body)
        return trees.Function(str(name), names, statements, at=_at(name), depth=self._block(name, statements))

    def returned(self, word: Token, values: tuple[Expression, ...]) -> Statement:
        """``return x, y;``."""
        return trees.Returned(values, at=_at(word))

    def for_(
        self, word: Token, names: tuple[Token, ...], iterable: Expression, body: tuple[Statement, ...]
    ) -> Statement:
        """``for x in l { … }``."""
        return trees.For(_texts(names), iterable, body, at=_at(word), depth=self._block(word, body))

    def repeat(self, word: Token, *parts: object) -> Statement:
        """``repeat x = tokens { … } until unchanged;``."""
        *starts, body, until = parts
        until = cast("Token", until)
        if until != UNCHANGED:
            hint = "a loop runs to a fixpoint: write until unchanged"
            raise Mistake(f"unexpected {str(until)!r}", *place_of(until), hint)
        statements = cast("tuple[Statement, ...]", body)
        variables = tuple(cast("list[tuple[str, Expression]]", starts))
        return trees.Loop(variables, statements, at=_at(word), depth=self._block(word, statements))

    def starting(self, name: Token, value: Expression) -> tuple[str, Expression]:
        """``x = tokens`` in the head of a loop."""
        return str(name), value

    def load(self, word: Token, file: Token) -> Statement:
        """``load "file";``."""
        return trees.Load(self._unquoted(file), at=_at(word))

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
        return trees.Member(operand, container, False, at=operand.at, depth=self._deeper(word, operand, container))

    def not_member(self, operand: Expression, word: Token, _in: Token, container: Expression) -> Expression:
        """``x not in l``."""
        return trees.Member(operand, container, True, at=operand.at, depth=self._deeper(word, operand, container))

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
        return trees.Relation(Operator(str(sign)), at=_at(sign))

    def compare(self, left: Expression, sign: Token, right: Expression) -> Expression:
        """``x <= y``."""
        return self._operation(Operator(str(sign)), (left, right), left.at)

    def arithmetic(self, left: Expression, sign: Token, right: Expression) -> Expression:
        """Binary arithmetic such as ``x + y``. A long sum is not deeper than its terms."""
        depth = max(left.depth, self._deeper(sign, right))
        return trees.Operation(Operator(str(sign)), (left, right), at=left.at, depth=depth)

    def negative(self, sign: Token, operand: Expression) -> Expression:
        """``-x`` or ``+x``."""
        return self._operation(Operator.NEGATE, (operand,), _at(sign)) if sign == "-" else operand

    def name(self, name: Token) -> Expression:
        """``x``."""
        return trees.Name(str(name), at=_at(name))

    def integer(self, digits: Token) -> Expression:
        """``3``."""
        if len(digits) > MOST_DIGITS:
            raise Mistake(
                f"this number has {len(digits):,} digits", *place_of(digits), f"at most {MOST_DIGITS} are allowed"
            )
        return trees.Literal(int(digits), at=_at(digits))

    def decimal(self, digits: Token) -> Expression:
        """``0.5``, as an exact fraction."""
        if len(digits) > MOST_DIGITS:
            raise Mistake(
                f"this number has {len(digits):,} digits", *place_of(digits), f"at most {MOST_DIGITS} are allowed"
            )
        return trees.Literal(plain(Fraction(str(digits))), at=_at(digits))

    def symbol(self, quoted: Token) -> Expression:
        """``"a"``."""
        return trees.Literal(self._unquoted(quoted), at=_at(quoted))

    def pack(self, bracket: Token, *parts: Expression | tuple[Expression, ...]) -> Expression:
        """The tuple ``(x, y)``, ``(x,)`` or ``()``."""
        first, others = parts[:1], parts[1:]
        entries = cast(
            "tuple[Expression, ...]",
            (*first, *(entry for rest in others for entry in cast("tuple[Expression, ...]", rest))),
        )
        return trees.Collection(entries, False, at=_at(bracket), depth=self._deeper(bracket, *entries))

    def listing(self, bracket: Token, parts: tuple[Expression, ...] = ()) -> Expression:
        """``[x, y]``."""
        return trees.Collection(parts, True, at=_at(bracket), depth=self._deeper(bracket, *parts))

    def listing_of(
        self, bracket: Token, value: Expression, names: tuple[Token, ...], iterable: Expression
    ) -> Expression:
        """``[x + 1 for x in l]``."""
        depth = self._deeper(bracket, value, iterable)
        return trees.Comprehension(None, value, _texts(names), iterable, at=_at(bracket), depth=depth)

    def dictionary(self, bracket: Token, entries: tuple[tuple[Expression, Expression], ...] = ()) -> Expression:
        """``{x: y}``."""
        depth = self._deeper(bracket, *(part for entry in entries for part in entry))
        return trees.Dictionary(entries, at=_at(bracket), depth=depth)

    def dictionary_of(
        self, bracket: Token, entry: tuple[Expression, Expression], names: tuple[Token, ...], iterable: Expression
    ) -> Expression:
        """``{x: x + 1 for x in l}``."""
        key, value = entry
        depth = self._deeper(bracket, key, value, iterable)
        return trees.Comprehension(key, value, _texts(names), iterable, at=_at(bracket), depth=depth)

    def entries(self, *entries: tuple[Expression, Expression]) -> tuple[tuple[Expression, Expression], ...]:
        """The entries of a dictionary."""
        return entries

    def entry(self, key: Expression, value: Expression) -> tuple[Expression, Expression]:
        """``x: y``."""
        return key, value

    def call(self, function: Expression, arguments: tuple[Expression, ...] = ()) -> Expression:
        """``f(x, y)``."""
        return trees.Call(function, arguments, at=function.at, depth=self._nested(function.at, function, *arguments))

    def arguments(self, *arguments: Expression) -> tuple[Expression, ...]:
        """The arguments of a call."""
        return arguments

    def index(self, operand: Expression, indices: tuple[Expression, ...]) -> Expression:
        """``x[0]``."""
        return trees.Index(operand, indices, at=operand.at, depth=self._nested(operand.at, operand, *indices))

    def _operation(self, operator: Operator, operands: tuple[Expression, ...], at: At) -> Expression:
        return trees.Operation(operator, operands, at=at, depth=self._nested(at, *operands))

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
