"""The grammar of definitions.

From loose to tight: ``if else``, psum and attention; or; and; not; comparisons; + and -; unary -. Since every ``if``
and every attention has exactly one ``else``, an operation may stand wherever a conditional may.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from softmachine.languages.text.grammar import lalr_parser
from softmachine.languages.text.layout import QUOTED

if TYPE_CHECKING:
    from lark import Lark

GRAMMAR = rf"""
definition: NAME LPAR I RPAR EQUAL expression

?expression: disjunction | conditional | prefix_sum | attention
conditional: disjunction IF disjunction ELSE expression
prefix_sum: PSUM J [AT_MOST I] COLON expression
attention: (LEFTMOST | RIGHTMOST) J [_mask] [WHERE expression] COLON expression ELSE expression
_mask: (LESS | AT_MOST | GREATER | AT_LEAST) I

?disjunction: conjunction | conjunction (OR conjunction)+ -> disjunction
?conjunction: negation | negation (AND negation)+ -> conjunction
?negation: comparison | NOT negation -> negation
?comparison: sum
    | sum (EQUAL | SAME | UNEQUAL | LESS | AT_MOST | GREATER | AT_LEAST) sum -> compare
    | sum [NOT] IN set -> member
?sum: unary | sum (PLUS | MINUS) unary -> arithmetic
?unary: unit | MINUS unary -> negative
?unit: IN LPAR (I | J) RPAR -> letter
    | POS LPAR (I | J) RPAR -> position
    | NAME LPAR (I | J) RPAR -> vector
    | SYMBOL -> symbol
    | NUMBER -> integer
    | (TRUE | FALSE) -> truth
    | LPAR expression RPAR -> group
set: LBRACE SYMBOL (COMMA SYMBOL)* RBRACE

IF: "if"
ELSE: "else"
PSUM: "psum"
LEFTMOST: "leftmost"
RIGHTMOST: "rightmost"
WHERE: "where"
AND: "and"
OR: "or"
NOT: "not"
IN: "in"
POS: "pos"
TRUE: "true"
FALSE: "false"
I: "i"
J: "j"
NAME: /[^\W\d]\w*/
NUMBER: /[0-9]+/
SYMBOL: /{QUOTED}/
LPAR: "("
RPAR: ")"
LBRACE: "{{"
RBRACE: "}}"
COMMA: ","
COLON: ":"
EQUAL: "="
SAME: "=="
UNEQUAL: "!=" | "≠"
LESS: "<"
AT_MOST: "<=" | "≤"
GREATER: ">"
AT_LEAST: ">=" | "≥"
PLUS: "+"
MINUS: "-" | "−"
%ignore /\s+/
"""


@cache
def parser() -> Lark:
    """The parser of definitions, made when it is first needed."""
    return lalr_parser(GRAMMAR, start="definition")
