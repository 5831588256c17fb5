"""From a tree of the grammar to expressions, without recursion: a text may be nested deeper than Python can call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from softmachine.errors import Place
from softmachine.languages.srasp.expressions import (
    Add,
    And,
    Attention,
    Choice,
    Compare,
    Comparison,
    Conditional,
    Expression,
    Index,
    Integer,
    Letter,
    Mask,
    Member,
    Not,
    Or,
    Position,
    PrefixSum,
    Subtract,
    Symbol,
    Truth,
    Vector,
)
from softmachine.languages.srasp.program import Definition
from softmachine.languages.text.layout import unquote
from softmachine.languages.text.problems import Problem

if TYPE_CHECKING:
    from lark import Token, Tree

MOST_DIGITS = 18
COMPARISONS = {
    "EQUAL": Comparison.EQUAL,
    "SAME": Comparison.EQUAL,
    "UNEQUAL": Comparison.UNEQUAL,
    "LESS": Comparison.LESS,
    "AT_MOST": Comparison.AT_MOST,
    "GREATER": Comparison.GREATER,
    "AT_LEAST": Comparison.AT_LEAST,
}
MASKS = {"LESS": Mask.BEFORE, "AT_MOST": Mask.UP_TO, "GREATER": Mask.AFTER, "AT_LEAST": Mask.FROM}


class Builder:
    """Makes the definition that a tree stands for.

    Args:
        source: Where the text comes from.
        line: The line in it at which the statement begins, counted from 1.
    """

    def __init__(self, source: str, line: int) -> None:
        self.source = source
        self.line = line
        self.problems: list[Problem] = []

    def build(self, tree: Tree[Token]) -> Definition:
        """The definition. Problems with its constants are collected."""
        made: dict[int, Any] = {}
        for part in tree.iter_subtrees():  # the parts of a tree come before it
            entries = [made.get(id(child), child) for child in part.children]
            made[id(part)] = getattr(self, f"_{part.data}")(*entries)
        return cast(Definition, made[id(tree)])

    def _place(self, token: Token) -> Place:
        return Place(self.source, self.line + (token.line or 1) - 1, token.column)

    def _definition(self, name: Token, *rest: Any) -> Definition:
        return Definition(str(name), rest[-1], self._place(name))

    def _conditional(
        self, then: Expression, _if: Token, condition: Expression, _else: Token, otherwise: Expression
    ) -> Expression:
        return Conditional(condition, then, otherwise, place=then.place)

    def _prefix_sum(self, psum: Token, *rest: Any) -> Expression:
        return PrefixSum(rest[-1], place=self._place(psum))

    def _attention(self, choice: Token, _j: Token, *rest: Any) -> Expression:
        mask = MASKS.get(getattr(rest[0], "type", ""), Mask.NONE)
        parts = [part for part in rest if not hasattr(part, "type")]
        predicate, value, default = parts if len(parts) == 3 else (Truth(True), *parts)
        return Attention(Choice(str(choice)), mask, predicate, value, default, place=self._place(choice))

    def _disjunction(self, *parts: Any) -> Expression:
        return Or(parts[::2], place=parts[0].place)

    def _conjunction(self, *parts: Any) -> Expression:
        return And(parts[::2], place=parts[0].place)

    def _negation(self, word: Token, operand: Expression) -> Expression:
        return Not(operand, place=self._place(word))

    def _compare(self, left: Expression, sign: Token, right: Expression) -> Expression:
        return Compare(COMPARISONS[sign.type], left, right, place=left.place)

    def _member(self, operand: Expression, *rest: Any) -> Expression:
        member = Member(operand, rest[-1], place=operand.place)
        return member if len(rest) == 2 else Not(member, place=operand.place)

    def _set(self, _brace: Token, *rest: Token) -> tuple[str, ...]:
        return tuple(self._symbol(token).value for token in rest[::2])

    def _arithmetic(self, left: Expression, sign: Token, right: Expression) -> Expression:
        return (Add if sign.type == "PLUS" else Subtract)(left, right, place=left.place)

    def _negative(self, sign: Token, operand: Expression) -> Expression:
        place = self._place(sign)
        if isinstance(operand, Integer) and operand.value > 0:
            return Integer(-operand.value, place=place)
        return Subtract(Integer(0, place=place), operand, place=place)

    def _letter(self, word: Token, _open: Token, at: Token, _close: Token) -> Expression:
        return Letter(cast(Index, str(at)), place=self._place(word))

    def _position(self, word: Token, _open: Token, at: Token, _close: Token) -> Expression:
        return Position(cast(Index, str(at)), place=self._place(word))

    def _vector(self, name: Token, _open: Token, at: Token, _close: Token) -> Expression:
        return Vector(str(name), cast(Index, str(at)), place=self._place(name))

    def _symbol(self, quoted: Token) -> Symbol:
        symbol = unquote(quoted)
        if symbol is None:
            message = r"there is an unknown escape in this symbol; a backslash is written '\\'"
            self.problems.append(Problem(message, self._place(quoted)))
        return Symbol("?" if symbol is None else symbol, place=self._place(quoted))

    def _integer(self, digits: Token) -> Expression:
        if len(digits) > MOST_DIGITS:
            self.problems.append(Problem(f"this integer has {len(digits):,} digits", self._place(digits)))
        return Integer(int(digits[:MOST_DIGITS]), place=self._place(digits))

    def _truth(self, word: Token) -> Expression:
        return Truth(word.type == "TRUE", place=self._place(word))

    def _group(self, _open: Token, inner: Expression, _close: Token) -> Expression:
        return inner
