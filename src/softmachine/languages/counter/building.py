"""AST builder of transitions. Its methods are named after the rules in grammar.lark."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from softmachine.languages.counter.condition import DEEPEST, TOO_DEEP, Condition, CounterComparison
from softmachine.languages.counter.machine import Transition
from softmachine.languages.linear import LARGEST_NUMBER, Linear, Relation
from softmachine.languages.temporal.formula import FALSE, TRUE, And, Not, Or
from softmachine.languages.text.grammar import SumBuilder
from softmachine.languages.text.layout import unquote
from softmachine.languages.text.mistakes import Mistake, place_of
from softmachine.support.errors import InvalidError, Place

if TYPE_CHECKING:
    from lark import Token


class Name(NamedTuple):
    """A name with its place."""

    name: str
    place: Place


class Builder(SumBuilder[str]):
    """AST builder of transitions."""

    too_large = (f"numbers are at most {LARGEST_NUMBER:,}", None)
    not_linear = ("a product of counters is not linear", "multiply a counter by a number only, as in 2*x")

    def start(
        self, source: Name, test: Condition | Token, _arrow: Token, target: Name, *updates: tuple[str, int]
    ) -> Transition:
        """``q: x >= 2 -> r: x -= 2, y += 1``."""
        chosen = test if isinstance(test, Condition) else None
        return Transition(source.name, chosen, updates, target.name, source.place)

    def update(self, counter: Name, sign: Token, *number: Token) -> tuple[str, int]:
        """``x += 1``."""
        *minus, digits = number
        return counter.name, self.natural(digits) * (-1 if sign.type == "DECREASE" else 1) * (-1 if minus else 1)

    def name(self, token: Token) -> Name:
        """The name of a state or counter."""
        name = unquote(token) if token.type == "QUOTED" else str(token)
        if name is None:
            message = r"unknown escape in quotes; write '\\' for a backslash"
            raise Mistake(message, *place_of(token))
        return Name(name, Place("", *place_of(token)))

    def or_(self, first: Condition, sign: Token, *others: Condition) -> Condition:
        """``p or q or …``."""
        return _at(sign, Or((first, *others[::2])))

    def and_(self, first: Condition, sign: Token, *others: Condition) -> Condition:
        """``p and q and …``."""
        return _at(sign, And((first, *others[::2])))

    def not_(self, sign: Token, of: Condition) -> Condition:
        """``not p``."""
        return _at(sign, Not(of))

    def constant(self, word: Token) -> Condition:
        """``true`` and ``false``."""
        return TRUE if word.type == "TRUE" else FALSE

    def comparison(self, left: Linear[str], relation: Token, right: Linear[str]) -> Condition:
        """``term <= term``."""
        try:
            return CounterComparison(left, Relation.written(relation), right)
        except InvalidError as error:
            raise Mistake(error.problems[0], *place_of(relation)) from None

    def counter(self, token: Token) -> Linear[str]:
        """A counter in a linear expression."""
        return Linear(((1, self.name(token).name),))


def _at(token: Token, condition: Condition) -> Condition:
    """Check the nesting depth of a condition whose operator is at the token."""
    if condition.depth > DEEPEST:
        raise Mistake(TOO_DEEP, *place_of(token))
    return condition
