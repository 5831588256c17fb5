"""Abstract syntax of S-RASP: expressions, which define the value of a vector at position i, and their types.

An expression depends on a position i, and inside an operation on a second position j:

- *reads* of vectors: ``in(i)``, the input symbol; ``pos(i)``, the position, from 1; ``v(i)`` for an
  earlier vector v; and the same at j;
- *position-wise* functions of these: constants, Boolean connectives, comparisons, conditionals, sums and differences;
- *operations*, which read other positions: the prefix sum ``psum j : …`` and leftmost or rightmost attention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Literal, TypeAlias, cast

from softmachine.languages.linear import Relation
from softmachine.languages.text.statements import quote
from softmachine.support.errors import SourceLocation

Index: TypeAlias = Literal["i", "j"]
Value: TypeAlias = bool | int | str


class AttentionChoice(StrEnum):
    """Which of the matching positions an attention selects."""

    LEFTMOST = "leftmost"
    RIGHTMOST = "rightmost"


class Mask(StrEnum):
    """Which positions j are visible to an attention at i; the value is the notation."""

    NONE = "j"
    BEFORE = "j < i"
    UP_TO = "j <= i"
    AFTER = "j > i"
    FROM = "j >= i"

    def visible_positions(self, i: int, length: int) -> range:
        """The positions j visible at i, from 0, in a word of this length."""
        start = {Mask.AFTER: i + 1, Mask.FROM: i}.get(self, 0)
        stop = {Mask.BEFORE: i, Mask.UP_TO: i + 1}.get(self, length)
        return range(start, stop)


@dataclass(frozen=True)
class ExpressionNode:
    """Base class of expressions: the place in the source, which is ignored by comparisons."""

    place: SourceLocation | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        return format_expression(cast(Expression, self))


@dataclass(frozen=True)
class VectorRead(ExpressionNode):
    """``v(i)``: a read of an earlier vector, or of the built-in ``in(i)`` and ``pos(i)``."""

    name: str
    at: Index


@dataclass(frozen=True)
class SymbolLiteral(ExpressionNode):
    """``'x'``."""

    value: str


@dataclass(frozen=True)
class IntegerLiteral(ExpressionNode):
    """``-3``."""

    value: int


@dataclass(frozen=True)
class BooleanLiteral(ExpressionNode):
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True)
class Not(ExpressionNode):
    """``not p``."""

    operand: Expression


@dataclass(frozen=True)
class And(ExpressionNode):
    """``p and q and …``: two or more parts."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Or(ExpressionNode):
    """``p or q or …``: two or more parts."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Compare(ExpressionNode):
    """``x <= y`` for integers; ``x = y`` and ``x != y`` also for symbols and for Booleans."""

    relation: Relation
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Member(ExpressionNode):
    """``x in {'a', 'b'}``."""

    operand: Expression
    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Conditional(ExpressionNode):
    """``x if p else y``."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class Add(ExpressionNode):
    """``x + y``."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Subtract(ExpressionNode):
    """``x - y``; ``-y`` is 0 - y."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class PrefixSum(ExpressionNode):
    """``psum j : x(j)``: the sum of an integer over all j <= i."""

    term: Expression


@dataclass(frozen=True)
class Attention(ExpressionNode):
    """``rightmost j < i where PREDICATE : VALUE else DEFAULT``.

    Selects the rightmost (leftmost) position j that the mask allows and where the predicate holds. The result is the
    value there, or the default at i if there is no such position.
    """

    choice: AttentionChoice
    mask: Mask
    predicate: Expression
    value: Expression
    default: Expression


Expression: TypeAlias = (
    VectorRead | SymbolLiteral | IntegerLiteral | BooleanLiteral | Not | And | Or | Compare | Member | Conditional
    | Add | Subtract | PrefixSum | Attention
)  # fmt: skip


def children(expression: Expression) -> tuple[Expression, ...]:
    """The immediate subexpressions, from left to right."""
    if isinstance(expression, And | Or):
        return expression.parts
    values = (getattr(expression, entry.name) for entry in fields(expression))
    return cast(tuple[Expression, ...], tuple(value for value in values if isinstance(value, ExpressionNode)))


def map_children(expression: Expression, function: Callable[[Expression], Expression]) -> Expression:
    """Rebuild an expression with a function applied to its immediate subexpressions."""
    if isinstance(expression, And | Or):
        return replace(expression, parts=tuple(function(part) for part in expression.parts))
    changed = {
        entry.name: function(cast(Expression, value))
        for entry in fields(expression)
        if isinstance(value := getattr(expression, entry.name), ExpressionNode)
    }
    return cast(Expression, replace(cast(Any, expression), **changed)) if changed else expression


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all its subexpressions, in preorder."""
    left = [expression]
    while left:
        current = left.pop()
        yield current
        left.extend(reversed(children(current)))


def tree_depth(expression: Expression) -> int:
    """Depth of the expression tree; 1 for a leaf."""
    deepest = 0
    left = [(expression, 1)]
    while left:
        current, level = left.pop()
        deepest = max(deepest, level)
        left.extend((child, level + 1) for child in children(current))
    return deepest


def free_indices(expression: Expression) -> frozenset[Index]:
    """The positions that an expression depends on. An operation binds its own j and depends on i alone."""
    if isinstance(expression, PrefixSum | Attention):
        return frozenset({"i"})
    if isinstance(expression, VectorRead):
        return frozenset({expression.at})
    return frozenset[Index]().union(*(free_indices(child) for child in children(expression)))


def move_to_i(expression: Expression) -> Expression:
    """The same expression with every read at j replaced by a read at i."""
    if isinstance(expression, PrefixSum | Attention):
        return expression
    if isinstance(expression, VectorRead):
        return replace(expression, at="i")
    return map_children(expression, move_to_i)


# Precedence levels; an operand that binds more loosely than its context demands is put in parentheses.
WHOLE, OR, AND, NOT, COMPARISON, SUM, UNIT = range(7)


def format_expression(expression: Expression, level: int = WHOLE) -> str:
    """Format an expression, in parentheses if it binds more loosely than demanded."""
    text, binding = _format_node(expression)
    return f"({text})" if binding < level else text


def _format_node(expression: Expression) -> tuple[str, int]:
    match expression:
        case VectorRead(name=name, at=at):
            return f"{name}({at})", UNIT
        case SymbolLiteral(value=symbol):
            return quote(symbol), UNIT
        case IntegerLiteral(value=number):
            return str(number), UNIT
        case BooleanLiteral(value=value):
            return "true" if value else "false", UNIT
        case Not(operand=Member() as member):
            return f"{format_expression(member.operand, SUM)} not in {_format_set(member.symbols)}", COMPARISON
        case Not(operand=operand):
            return f"not {format_expression(operand, NOT)}", NOT
        case And(parts=parts):
            return " and ".join(format_expression(part, NOT) for part in parts), AND
        case Or(parts=parts):
            return " or ".join(format_expression(part, AND) for part in parts), OR
        case Compare(relation=relation, left=left, right=right):
            return f"{format_expression(left, SUM)} {relation} {format_expression(right, SUM)}", COMPARISON
        case Member(operand=operand, symbols=symbols):
            return f"{format_expression(operand, SUM)} in {_format_set(symbols)}", COMPARISON
        case Add(left=left, right=right):
            return f"{format_expression(left, SUM)} + {format_expression(right, UNIT)}", SUM
        # -5 is parsed as a constant, so 0 - 5 must be printed in full.
        case Subtract(IntegerLiteral(0), right) if not (isinstance(right, IntegerLiteral) and right.value > 0):
            return f"-{format_expression(right, UNIT)}", UNIT
        case Subtract(left=left, right=right):
            return f"{format_expression(left, SUM)} - {format_expression(right, UNIT)}", SUM
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            chosen, when = format_expression(then, OR), format_expression(condition, OR)
            return f"{chosen} if {when} else {format_expression(otherwise)}", WHOLE
        case PrefixSum(term=term):
            return f"psum j : {format_expression(term, OR)}", WHOLE
        case Attention():
            return _format_attention(expression), WHOLE


def _format_attention(attention: Attention) -> str:
    where = (
        "" if attention.predicate == BooleanLiteral(True) else f" where {format_expression(attention.predicate, OR)}"
    )
    value, default = format_expression(attention.value, OR), format_expression(attention.default)
    return f"{attention.choice} {attention.mask}{where} : {value} else {default}"


def _format_set(symbols: tuple[str, ...]) -> str:
    return "{" + ", ".join(quote(symbol) for symbol in symbols) + "}"


MAX_SHOWN_SYMBOLS = 8


class ValueKind(StrEnum):
    """Kinds of values; Booleans and symbols have finitely many."""

    BOOLEAN = "Boolean"
    SYMBOL = "symbol"
    INTEGER = "integer"


@dataclass(frozen=True)
class Type:
    """The type of an expression.

    Args:
        kind: Boolean, symbol or integer.
        symbols: All possible symbols, if the kind is symbol.
    """

    kind: ValueKind
    symbols: tuple[str, ...] = ()

    @property
    def is_finite(self) -> bool:
        """Whether the number of values is bounded independently of the input length."""
        return self.kind is not ValueKind.INTEGER

    @property
    def values(self) -> tuple[Value, ...]:
        """All values of a finite type; empty for integers."""
        return (False, True) if self.kind is ValueKind.BOOLEAN else self.symbols

    def union(self, other: Type) -> Type:
        """The union of two types of the same kind."""
        return Type(self.kind, tuple(dict.fromkeys(self.symbols + other.symbols)))

    def __str__(self) -> str:
        if self.kind is not ValueKind.SYMBOL:
            return self.kind.value
        more = ", …" if len(self.symbols) > MAX_SHOWN_SYMBOLS else ""
        return f"symbol ({', '.join(quote(symbol) for symbol in self.symbols[:MAX_SHOWN_SYMBOLS])}{more})"


BOOLEAN = Type(ValueKind.BOOLEAN)
INTEGER = Type(ValueKind.INTEGER)
