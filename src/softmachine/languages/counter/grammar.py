"""The grammar of transitions, and what builds them.

From loose to tight: or; and; not; comparisons; + and -; products with numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from softmachine.errors import InvalidError, Place
from softmachine.languages.counter.condition import FALSE, LARGEST_NUMBER, TRUE, And, Comparison, Condition, Not, Or
from softmachine.languages.counter.machine import Transition
from softmachine.languages.linear import Linear, Relation
from softmachine.languages.text.grammar import lalr_parser, signed_sum
from softmachine.languages.text.layout import QUOTED, unquote
from softmachine.languages.text.mistakes import Mistake, place_of

if TYPE_CHECKING:
    from lark import Lark, Token

GRAMMAR = rf"""
transition: name COLON (ELSE | condition) ARROW name (COLON update (COMMA update)*)?
update: name (INCREASE | DECREASE) MINUS? INTEGER

?condition: conjunction
    | conjunction (OR conjunction)+ -> disjunction
?conjunction: negation
    | negation (AND negation)+      -> conjunction
?negation: atom
    | NOT negation                  -> negation
?atom: LPAR condition RPAR          -> group
    | (TRUE | FALSE)                -> constant
    | term RELATION term            -> comparison

term: (PLUS | MINUS)? product ((PLUS | MINUS) product)*
?product: factor
    | factor (TIMES factor)+        -> product
?factor: LPAR term RPAR             -> group
    | (NAME | NAME_IN_QUOTES)       -> counter
    | INTEGER                       -> number
name: NAME | NAME_IN_QUOTES | INTEGER

ARROW.9: "->" | "→"
INCREASE.8: "+="
DECREASE.8: "-="
RELATION.7: "<=" | ">=" | "!=" | "==" | "<" | ">" | "=" | "≤" | "≥" | "≠"
AND.6: /and\b/
OR.6: /or\b/
NOT.6: /not\b/
ELSE.6: /else\b/
TRUE.6: /true\b/
FALSE.6: /false\b/
NAME_IN_QUOTES.5: /{QUOTED}/
COLON.3: ":"
COMMA.3: ","
LPAR.3: "("
RPAR.3: ")"
PLUS.3: "+"
MINUS.3: "-" | "−"
TIMES.3: "*" | "·"
INTEGER.3: /[0-9]+/
NAME.1: /[^\W\d]\w*/
%ignore /\s+/
"""
MOST_DIGITS = len(str(LARGEST_NUMBER))


class Builder:
    """Makes transitions from their parts. Its methods are the names in the grammar."""

    def transition(self, parts: list[Any]) -> Transition:
        """``q: x >= 2 -> r: x -= 2, y += 1``."""
        source, _, test, _, target, *rest = parts
        chosen = test if isinstance(test, Condition) else None
        updates = tuple(part for part in rest if isinstance(part, tuple))
        return Transition(source.name, chosen, updates, target.name, Place("", source.line, source.column))

    def update(self, parts: list[Any]) -> tuple[str, int]:
        """``x += 1``."""
        counter, sign, *minus, digits = parts
        return counter.name, _integer(digits) * (-1 if sign.type == "DECREASE" else 1) * (-1 if minus else 1)

    def disjunction(self, parts: list[Any]) -> Condition:
        """``p or q or …``."""
        return _shallow(parts[1], Or, tuple(parts[::2]))

    def conjunction(self, parts: list[Any]) -> Condition:
        """``p and q and …``."""
        return _shallow(parts[1], And, tuple(parts[::2]))

    def negation(self, parts: list[Any]) -> Condition:
        """``not p``."""
        return _shallow(parts[0], Not, parts[1])

    def group(self, parts: list[Any]) -> Any:
        """Something in parentheses."""
        return parts[1]

    def constant(self, parts: list[Any]) -> Condition:
        """``true`` and ``false``."""
        return TRUE if parts[0].type == "TRUE" else FALSE

    def comparison(self, parts: list[Any]) -> Condition:
        """``term <= term``."""
        left, sign, right = parts
        return _shallow(sign, Comparison, left, Relation.written(sign), right)

    def term(self, parts: list[Any]) -> Linear[str]:
        """A sum, with a sign in front of every product but perhaps the first."""
        return signed_sum(parts)

    def product(self, parts: list[Any]) -> Linear[str]:
        """``2*x``, where all factors but one are numbers."""
        result: Linear[str] = parts[0]
        for sign, factor in zip(parts[1::2], parts[2::2], strict=True):
            if result.terms and factor.terms:
                message = "a product of counters is not linear; multiply a counter with a number only, as in 2*x"
                raise Mistake(message, sign.line, sign.column)
            result = factor.constant * result if result.terms else result.constant * factor
            if result.largest > LARGEST_NUMBER:
                raise _too_large(sign)
        return result

    def counter(self, parts: list[Any]) -> Linear[str]:
        """A counter in a sum."""
        return Linear(((1, self.name(parts).name),))

    def number(self, parts: list[Any]) -> Linear[str]:
        """A number in a sum."""
        return Linear[str]((), _integer(parts[0]))

    def name(self, parts: list[Any]) -> Name:
        """A state or counter."""
        token = parts[0]
        name = unquote(token) if token.type == "NAME_IN_QUOTES" else str(token)
        if name is None:
            message = r"there is an unknown escape in these quotes; a backslash is written '\\'"
            raise Mistake(message, token.line, token.column)
        return Name(name, token.line, token.column)


@dataclass(frozen=True)
class Name:
    """A name and where it stands."""

    name: str
    line: int
    column: int


def _shallow(token: Token, kind: type[Condition], *arguments: Any) -> Condition:
    """A condition whose operator stands at the token, unless it is too deep or its numbers are too large."""
    try:
        return kind(*arguments)
    except InvalidError as error:
        raise Mistake(error.problems[0], *place_of(token)) from None


def _integer(digits: Token) -> int:
    # Digits are counted before they are read, since reading very many takes long.
    number = int(digits) if len(digits.lstrip("0")) <= MOST_DIGITS else LARGEST_NUMBER + 1
    if number > LARGEST_NUMBER:
        raise _too_large(digits)
    return number


def _too_large(token: Token) -> Mistake:
    return Mistake(f"numbers go up to {LARGEST_NUMBER:,}", *place_of(token))


@cache
def parser() -> Lark:
    """The parser of transitions, made when it is first needed."""
    return lalr_parser(GRAMMAR, start="transition", builder=Builder())
