"""AST builders of formulas. Their methods are named after the rules in grammar.lark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from softmachine.languages.linear import Linear, Number, Relation
from softmachine.languages.temporal import formula as tl
from softmachine.languages.temporal.counting import Comparison, Count, LeftCount, Position, Predicate, RightCount
from softmachine.languages.temporal.formula import Formula
from softmachine.languages.temporal.mistakes import QUOTE, SYMBOLS, bare_q, unknown_name
from softmachine.languages.text.grammar import SumBuilder
from softmachine.languages.text.layout import ESCAPED
from softmachine.languages.text.mistakes import Mistake, place_of
from softmachine.support.errors import InvalidError
from softmachine.support.text import clipped

if TYPE_CHECKING:
    from lark import Token

DEEPEST = 200
"""Maximum nesting depth of operators. Every level becomes a transformer layer."""

CONSTANTS = {"TRUE": tl.TRUE, "FALSE": tl.FALSE, "FIRST": tl.First(), "LAST": tl.Last()}
UNARY = {
    "NOT": tl.Not, "PREVIOUS": tl.Previous, "NEXT": tl.Next, "ONCE": tl.Once, "HISTORICALLY": tl.Historically,
    "EVENTUALLY": tl.Eventually, "ALWAYS": tl.Always,
}  # fmt: skip
TEMPORAL = {
    "SINCE": (tl.Since, tl.Reading.STANDARD), "STRONG_SINCE": (tl.Since, tl.Reading.PAPER),
    "UNTIL": (tl.Until, tl.Reading.STANDARD), "STRONG_UNTIL": (tl.Until, tl.Reading.PAPER),
}  # fmt: skip


def unquoted(text: str, line: int, column: int) -> str:
    """The symbol inside quotes.

    Raises:
        Mistake: If a quote is missing, the symbol is empty, or an escape is unknown.
    """
    if text[0] != text[-1] or len(text) < 2:
        raise Mistake(QUOTE, line, column, SYMBOLS)
    if len(text) == 2:
        raise Mistake("empty symbol in quotes", line, column, SYMBOLS)
    for match in re.finditer(r"\\(.)", text):
        if match[1] not in ESCAPED:
            hint = "a backslash may be followed by a quote, a backslash, n, r or t"
            raise Mistake(f"unknown escape {match[0]!r}", line, column + match.start(), hint)
    return re.sub(r"\\(.)", lambda match: ESCAPED[match[1]], text[1:-1])


class FormulaBuilder(SumBuilder[Number]):
    """AST builder of symbols, Boolean connectives and linear expressions, shared with C-RASP."""

    def iff(self, left: Formula, sign: Token, right: Formula) -> Formula:
        """``p <-> q``."""
        return at(sign, tl.Iff(left, right))

    def implies(self, left: Formula, sign: Token, right: Formula) -> Formula:
        """``p -> q``."""
        return at(sign, tl.Implies(left, right))

    def or_(self, first: Formula, sign: Token, *others: Formula) -> Formula:
        """``p or q or …``."""
        return at(sign, tl.Or((first, *others[::2])))

    def and_(self, first: Formula, sign: Token, *others: Formula) -> Formula:
        """``p and q and …``."""
        return at(sign, tl.And((first, *others[::2])))

    def unary(self, sign: Token, of: Formula) -> Formula:
        """``not p`` and the other prefix operators."""
        return at(sign, UNARY[sign.type](of))

    def symbol(self, name: Token) -> Formula:
        """``Q_a``."""
        return tl.Symbol(name.removeprefix("Q_"))

    def quoted(self, text: Token) -> Formula:
        """``'long symbol'``."""
        return tl.Symbol(unquoted(str(text), *place_of(text)))

    def constant(self, word: Token) -> Formula:
        """``true``, ``false``, ``first`` or ``last``."""
        return CONSTANTS[word.type]

    def bare_q(self, token: Token) -> Formula:
        """``Q_`` without a symbol."""
        raise bare_q(token)


class Builder(FormulaBuilder[Count]):
    """AST builder of temporal logic with counting."""

    not_linear = ("a product of two counts is not linear", "multiply a count by a number only, as in 2*#<[Q_a]")

    def temporal(self, left: Formula, sign: Token, right: Formula) -> Formula:
        """``p since q`` and ``p until q``, also with ``!``."""
        kind, reading = TEMPORAL[sign.type]
        return at(sign, kind(left, right, reading))

    def stray_name(self, name: Token) -> Formula:
        """A name that is not a formula."""
        raise unknown_name(name)

    def comparison(self, left: Linear[Count], relation: Token, right: Linear[Count]) -> Formula:
        """``term <= term``."""
        return at(relation, Comparison(left, Relation.written(relation), right))

    def predicate(self, name: Token, of: Position | Count, *parameters: int) -> Formula:
        """``odd(i)`` and the other predicates."""
        try:
            return at(name, Predicate(str(name), of, parameters))
        except InvalidError as error:
            raise Mistake(f"predicate {clipped(name)!r}: {error.problems[0]}", *place_of(name)) from None

    def argument(self, number: Token | Count) -> Position | Count:
        """The argument of a predicate."""
        if isinstance(number, LeftCount | RightCount):
            return number
        if number != "i":
            hint = "the argument of a predicate is the position i or a count, as in odd(i) or odd(#<[Q_a])"
            raise Mistake(f"invalid argument {clipped(number)!r}", *place_of(number), hint)
        return Position()

    def count(self, sign: Token, of: Formula) -> Count:
        """``#<[p]`` or ``#>[p]``."""
        return (LeftCount if sign.type == "LEFT" else RightCount)(of)

    def counted(self, count: Count) -> Linear[Count]:
        """A count in a linear expression."""
        return Linear(((1, count),))

    def integer(self, *parts: Token) -> int:
        """A parameter of a predicate."""
        return self.natural(parts[-1]) * (-1 if len(parts) == 2 else 1)


def at(token: Token, formula: Formula) -> Formula:
    """Check the nesting depth of a formula whose operator is at the token."""
    if formula.depth > DEEPEST:
        hint = "chains of and or of or do not count as nesting; split other formulas"
        raise Mistake(f"operators are nested more than {DEEPEST} deep", *place_of(token), hint)
    return formula
