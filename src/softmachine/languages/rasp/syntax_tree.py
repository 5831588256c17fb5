"""Abstract syntax tree of the RASP text form: statements and expressions before elaboration.

A node is labelled with the grammar rule that it was parsed by. The builder consists of callbacks of the grammar, called
bottom-up during parsing, without recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from softmachine.languages.rasp.ir import Operator
from softmachine.languages.rasp.values import normalise_number
from softmachine.languages.text.diagnostics import SyntaxDiagnostic, line_and_column
from softmachine.languages.text.statements import unquote

if TYPE_CHECKING:
    from lark import Token

Position: TypeAlias = tuple[int, int]
"""Line and column in a source, counted from 1."""


@dataclass(eq=False, slots=True)
class Node:
    """A statement or an expression.

    Args:
        rule: The grammar rule, such as ``call``; ``operation`` for all operators, and ``literal`` for all literals.
        parts: What the rule consists of, without keywords and brackets: nodes, names, values, and tuples of these. An
            operation consists of the operator and the tuple of its operands.
        position: The position of its first name, literal, keyword or bracket.
        depth: Nesting depth of the subexpressions or, for a statement, of the blocks inside.
    """

    rule: str
    parts: tuple[Any, ...]
    position: Position
    depth: int = 0


MAX_DEPTH: Final = 64
"""Maximal nesting depth of expressions; redundant parentheses do not count."""
MAX_BLOCK_DEPTH: Final = 16
MAX_DIGITS: Final = 30
UNCHANGED: Final = "unchanged"
OPERATORS: Final = {
    "conditional": Operator.CHOOSE, "and_": Operator.AND, "or_": Operator.OR, "not_": Operator.NOT,
    "negative": Operator.NEGATE,
}  # fmt: skip
"""The operators of the rules that have no operator sign. ``and`` and ``or`` take two or more operands."""
SIMPLE_STATEMENTS: Final = ("shown", "assignment", "returned")
BLOCK_STATEMENTS: Final = ("function", "for_", "repeat")
MARKERS: Final = ("RETURN", "FOR", "REPEAT", "NOT", "MINUS", "PLUS", "LPAR", "LSQB", "LBRACE")
"""Keywords and brackets that only determine the position of a node."""


class RaspAstBuilder:
    """Builds syntax trees. Its methods are named after the rules in grammar.lark; other rules build a node."""

    def __getattr__(self, rule: str) -> Callable[..., Node]:
        if rule.isupper() or rule.startswith("_"):
            raise AttributeError(rule)
        return partial(self._node, rule)

    @staticmethod
    def start(*parts: Any) -> tuple[Any, ...]:
        """A whole program text, as the tuple of its statements."""
        return parts

    block = expressions = arguments = entries = entry = starting = start

    def names(self, *names: Token) -> Node:
        """``x, y``, as in an assignment."""
        return Node("names", tuple(map(str, names)), line_and_column(names[0]))

    def function(self, name: Token, *rest: Any) -> Node:
        """``def f(x) { … }``."""
        return self._node("function", self.names(name), *rest)

    def repeat(self, word: Token, *parts: Any) -> Node:
        """``repeat x = tokens { … } until unchanged;``."""
        *starts, body, until = parts
        if until != UNCHANGED:
            hint = "a loop runs to a fixpoint: write until unchanged"
            raise SyntaxDiagnostic(f"unexpected {str(until)!r}", *line_and_column(until), hint)
        return self._node("repeat", word, tuple((str(name), start) for name, start in starts), body)

    def load(self, word: Token, file: Token) -> Node:
        """``load "file";``."""
        return Node("load", (_unquoted(file),), line_and_column(word))

    def relation(self, sign: Token) -> Token:
        """A comparison operator such as ``==``."""
        return sign

    def relation_argument(self, sign: Token) -> Node:
        """``==`` as an argument."""
        return Node("relation_argument", (Operator(str(sign)),), line_and_column(sign))

    def compare(self, left: Node, sign: Token, right: Node) -> Node:
        """``x <= y``."""
        return Node("operation", (Operator(str(sign)), (left, right)), left.position, self._node("", left, right).depth)

    def arithmetic(self, left: Node, sign: Token, right: Node) -> Node:
        """Binary arithmetic such as ``x + y``. A long sum is not deeper than its terms."""
        depth = max(left.depth, self._node("", sign, right).depth)
        return Node("operation", (Operator(str(sign)), (left, right)), left.position, depth)

    def negative(self, sign: Token, operand: Node) -> Node:
        """``-x`` or ``+x``."""
        return self._node("negative", sign, operand) if sign == "-" else operand

    def name(self, name: Token) -> Node:
        """``x``."""
        return Node("name", (str(name),), line_and_column(name))

    def number(self, digits: Token) -> Node:
        """``3``, or ``0.5`` as an exact fraction."""
        if len(digits) > MAX_DIGITS:
            message, hint = f"this number has {len(digits):,} digits", f"at most {MAX_DIGITS} are allowed"
            raise SyntaxDiagnostic(message, *line_and_column(digits), hint)
        value = normalise_number(Fraction(str(digits))) if "." in digits else int(digits)
        return Node("literal", (value,), line_and_column(digits))

    def symbol(self, quoted: Token) -> Node:
        """``"a"``."""
        return Node("literal", (_unquoted(quoted),), line_and_column(quoted))

    def _node(self, rule: str, *parts: Any) -> Node:
        """The node of a rule.

        Raises:
            SyntaxDiagnostic: If it is nested too deeply.
        """
        located = _flatten(parts)
        position = _position(located[0])
        if getattr(parts[0], "type", None) in MARKERS:
            parts = parts[1:]
        if rule in SIMPLE_STATEMENTS:
            return Node(rule, parts, position)
        inner = _flatten(parts[-1:]) if rule in BLOCK_STATEMENTS else located
        depth = 1 + max([part.depth for part in inner if isinstance(part, Node)], default=0)
        if rule in BLOCK_STATEMENTS and depth > MAX_BLOCK_DEPTH:
            message = f"blocks are nested more than {MAX_BLOCK_DEPTH} levels deep"
            raise SyntaxDiagnostic(message, *position, "move inner blocks into functions")
        if depth > MAX_DEPTH:
            message = f"the expression is nested more than {MAX_DEPTH} levels deep"
            raise SyntaxDiagnostic(message, *position, "assign subexpressions to names")
        if rule in OPERATORS:
            return Node("operation", (OPERATORS[rule], parts), position, depth)
        return Node(rule, parts, position, depth)


def _flatten(parts: tuple[Any, ...]) -> list[Token | Node]:
    """The tokens and nodes in nested tuples."""
    nested = [_flatten(part) if isinstance(part, tuple) else (part,) for part in parts]
    return list(chain.from_iterable(nested))


def _position(part: Token | Node) -> Position:
    return part.position if isinstance(part, Node) else line_and_column(part)


def _unquoted(quoted: Token) -> str:
    symbol = unquote(quoted)
    if symbol is None:
        hint = r'write a backslash as "\\"'
        raise SyntaxDiagnostic("unknown escape sequence in this symbol", *line_and_column(quoted), hint)
    return symbol
