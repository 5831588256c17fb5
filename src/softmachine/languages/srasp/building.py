"""AST builder of S-RASP, without recursion: a text may be nested deeper than the recursion limit of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from softmachine.languages.linear import Relation
from softmachine.languages.srasp import expressions as ex
from softmachine.languages.srasp.expressions import Expression
from softmachine.languages.srasp.program import Definition
from softmachine.languages.text.layout import unquote
from softmachine.languages.text.problems import Problem
from softmachine.support.errors import Place

if TYPE_CHECKING:
    from lark import Token, Tree

MOST_DIGITS = 18


class Builder:
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

    def _place(self, token: Token) -> Place:
        return Place(self.source, self.line + (token.line or 1) - 1, token.column)

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
        predicate, value, default = [ex.Truth(True), *parts][-3:]
        return ex.Attention(ex.Choice(str(choice)), mask, predicate, value, default, place=self._place(choice))

    def mask(self, sign: Token) -> ex.Mask:
        """``< i``, ``<= i``, ``> i`` or ``>= i``."""
        return ex.Mask(f"j {Relation.written(sign)} i")

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
        return ex.Compare(Relation.written(sign), left, right, place=left.place)

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
        if isinstance(operand, ex.Integer) and operand.value > 0:
            return ex.Integer(-operand.value, place=place)
        return ex.Subtract(ex.Integer(0, place=place), operand, place=place)

    def vector(self, name: Token, at: Token) -> Expression:
        """``x(i)``, ``in(i)`` or ``pos(i)``."""
        return ex.Vector(str(name), cast(ex.Index, str(at)), place=self._place(name))

    def symbol(self, quoted: Token) -> ex.Symbol:
        """``'a'``."""
        symbol = unquote(quoted)
        if symbol is None:
            message = r"unknown escape in this symbol; write '\\' for a backslash"
            self.problems.append(Problem(message, self._place(quoted)))
        return ex.Symbol("?" if symbol is None else symbol, place=self._place(quoted))

    def integer(self, digits: Token) -> Expression:
        """``3``."""
        if len(digits) > MOST_DIGITS:
            self.problems.append(Problem(f"integer with {len(digits):,} digits is too large", self._place(digits)))
        return ex.Integer(int(digits[:MOST_DIGITS]), place=self._place(digits))

    def truth(self, word: Token) -> Expression:
        """``true`` or ``false``."""
        return ex.Truth(word.type == "TRUE", place=self._place(word))
