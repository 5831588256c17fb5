"""From the parts that the grammar finds to formulas. Its methods are the names in grammar.lark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from softmachine.errors import InvalidError
from softmachine.languages.linear import Linear, Relation
from softmachine.languages.temporal import formula as tl
from softmachine.languages.temporal.counting import (
    LARGEST_NUMBER,
    Comparison,
    Count,
    LeftCount,
    Position,
    Predicate,
    RightCount,
)
from softmachine.languages.temporal.formula import Formula
from softmachine.languages.temporal.mistakes import SYMBOLS, unknown_name
from softmachine.languages.text.grammar import signed_sum
from softmachine.languages.text.layout import ESCAPED
from softmachine.languages.text.mistakes import Mistake, clipped, place_of

if TYPE_CHECKING:
    from lark import Token

DEEPEST = 200
"""Operators nested in one another. Every one becomes a layer; nobody writes so many by hand."""

UNARY = {
    "NOT": tl.Not, "PREVIOUS": tl.Previous, "NEXT": tl.Next, "ONCE": tl.Once, "HISTORICALLY": tl.Historically,
    "EVENTUALLY": tl.Eventually, "ALWAYS": tl.Always,
}  # fmt: skip
TEMPORAL = {
    "SINCE": (tl.Since, tl.Reading.STANDARD), "STRONG_SINCE": (tl.Since, tl.Reading.PAPER),
    "UNTIL": (tl.Until, tl.Reading.STANDARD), "STRONG_UNTIL": (tl.Until, tl.Reading.PAPER),
}  # fmt: skip


def unquoted(text: str, line: int, column: int) -> str:
    """The symbol that a text in quotes stands for.

    Raises:
        Mistake: If a quote or a symbol is missing, or a backslash stands before something that needs none.
    """
    if text[0] != text[-1] or len(text) < 2:
        raise Mistake("this quote is not closed on its line", line, column, SYMBOLS)
    if len(text) == 2:
        raise Mistake("there is no symbol between these quotes", line, column, SYMBOLS)
    for match in re.finditer(r"\\(.)", text):
        if match[1] not in ESCAPED:
            hint = "after a backslash there may be a quote, a backslash, n, r or t"
            raise Mistake(f"{match[0]!r} means nothing", line, column + match.start(), hint)
    return re.sub(r"\\(.)", lambda match: ESCAPED[match[1]], text[1:-1])


class Builder:
    """Makes formulas, terms and counts from their parts."""

    product_example = "2*#<[Q_a]"

    def start(self, parts: list[Any]) -> Formula:
        """The whole text."""
        formula: Formula = parts[0]
        return formula

    def iff(self, parts: list[Any]) -> Formula:
        """``p <-> q``."""
        return at(parts[1], tl.Iff(parts[0], parts[2]))

    def implies(self, parts: list[Any]) -> Formula:
        """``p -> q``."""
        return at(parts[1], tl.Implies(parts[0], parts[2]))

    def or_(self, parts: list[Any]) -> Formula:
        """``p or q or …``."""
        return at(parts[1], tl.Or(tuple(parts[::2])))

    def and_(self, parts: list[Any]) -> Formula:
        """``p and q and …``."""
        return at(parts[1], tl.And(tuple(parts[::2])))

    def temporal(self, parts: list[Any]) -> Formula:
        """``p since q`` and the like."""
        kind, reading = TEMPORAL[parts[1].type]
        return at(parts[1], kind(parts[0], parts[2], reading))

    def unary(self, parts: list[Any]) -> Formula:
        """``not p`` and the like."""
        return at(parts[0], UNARY[parts[0].type](parts[1]))

    def symbol(self, parts: list[Any]) -> Formula:
        """``Q_a``."""
        return tl.Symbol(parts[0].removeprefix("Q_"))

    def quoted(self, parts: list[Any]) -> Formula:
        """``'long symbol'``."""
        return tl.Symbol(unquoted(str(parts[0]), parts[0].line, parts[0].column))

    def true(self, _: list[Any]) -> Formula:
        """``true``."""
        return tl.TRUE

    def false(self, _: list[Any]) -> Formula:
        """``false``."""
        return tl.FALSE

    def first(self, _: list[Any]) -> Formula:
        """``first``."""
        return tl.First()

    def last(self, _: list[Any]) -> Formula:
        """``last``."""
        return tl.Last()

    def stray_name(self, parts: list[Any]) -> Formula:
        """A word that is not a formula."""
        raise unknown_name(parts[0])

    def bare_q(self, parts: list[Any]) -> Formula:
        """``Q_`` without a symbol."""
        raise Mistake("Q_ needs the name of a symbol", parts[0].line, parts[0].column, SYMBOLS)

    def comparison(self, parts: list[Any]) -> Formula:
        """``term <= term``."""
        left, relation, right = parts
        return at(relation, Comparison(left, Relation.written(relation), right))

    def predicate(self, parts: list[Any]) -> Formula:
        """``odd(i)`` and the like."""
        name, of, *parameters = parts
        try:
            return at(name, Predicate(str(name), of, tuple(parameters)))
        except InvalidError as error:
            problem = f"predicate {clipped(name)!r}: {error.problems[0]}"
            raise Mistake(problem, name.line, name.column) from None

    def argument(self, parts: list[Any]) -> Position | Count:
        """What a predicate is applied to."""
        if isinstance(parts[0], LeftCount | RightCount):
            return parts[0]
        if parts[0] != "i":
            hint = "a predicate is one of the position i or of a count, as in odd(i) or odd(#<[Q_a])"
            raise Mistake(f"{clipped(parts[0])!r} is not a number", parts[0].line, parts[0].column, hint)
        return Position()

    def count(self, parts: list[Any]) -> Count:
        """``#<[p]`` or ``#>[p]``."""
        return (LeftCount if parts[0].type == "LEFT" else RightCount)(parts[1])

    def counted(self, parts: list[Any]) -> Linear[Count]:
        """A count in a term."""
        return Linear(((1, parts[0]),))

    def constant(self, parts: list[Any]) -> Linear[Count]:
        """A number in a term."""
        return Linear((), _integer(parts[0]))

    def integer(self, parts: list[Any]) -> int:
        """A parameter of a predicate."""
        return _integer(parts[-1]) * (-1 if len(parts) == 2 else 1)

    def product(self, parts: list[Any]) -> Linear[Count]:
        """``2*#<[p]``, where all factors but one are numbers."""
        result: Linear[Count] = parts[0]
        for sign, factor in zip(parts[1::2], parts[2::2], strict=True):
            if result.terms and factor.terms:
                hint = f"multiply a count with a number only, as in {self.product_example}"
                raise Mistake("a product of two counts is not linear", sign.line, sign.column, hint)
            result = factor.constant * result if result.terms else result.constant * factor
            if result.largest > LARGEST_NUMBER:
                raise _too_large(sign)
        return result

    def term(self, parts: list[Any]) -> Linear[Count]:
        """A sum, with a sign in front of every product but perhaps the first."""
        return signed_sum(parts)


def at(token: Token, formula: Formula) -> Formula:
    """A formula whose operator stands at the token, unless it is too deep."""
    if formula.depth > DEEPEST:
        hint = "chains of and and or are no nesting; split other formulas"
        raise Mistake(f"operators are nested more than {DEEPEST} deep", *place_of(token), hint)
    return formula


def _integer(token: Token) -> int:
    digits = token.lstrip("0") or "0"
    if len(digits) > len(str(LARGEST_NUMBER)) or int(digits) > LARGEST_NUMBER:
        raise _too_large(token)
    return int(digits)


def _too_large(token: Token) -> Mistake:
    return Mistake("this number is too large", *place_of(token), "10^18 is the largest there is")
