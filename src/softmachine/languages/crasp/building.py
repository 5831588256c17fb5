"""AST builder of C-RASP. Its methods are named after the rules in grammar.lark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softmachine.languages.crasp.formula import Comparison, NamedFormula
from softmachine.languages.crasp.relation import RELATIONS
from softmachine.languages.crasp.terms import (
    Conditional,
    Count,
    Maximum,
    Minimum,
    NamedTerm,
    Number,
    Term,
    nesting,
    term,
)
from softmachine.languages.linear import Relation
from softmachine.languages.temporal.building import DEEPEST, FormulaBuilder, at
from softmachine.languages.temporal.formula import Formula
from softmachine.languages.text.mistakes import Mistake, place_of

if TYPE_CHECKING:
    from lark import Token


class Builder(FormulaBuilder[Number]):
    """AST builder of formulas and terms; symbols, connectives and sums are those of temporal logic."""

    not_linear = ("a product of two counts is not linear", "multiply a count by a number only, as in 2*#[Q_a]")

    def named_formula(self, name: Token) -> Formula:
        """The name of a formula."""
        return NamedFormula(str(name))

    def comparison(self, left: Term, relation: Token, right: Term) -> Formula:
        """``term <= term``."""
        return at(relation, Comparison(left, Relation.written(relation), right))

    def conditional(self, condition: Formula, sign: Token, then: Term, otherwise: Term) -> Term:
        """``p ? s : t``."""
        return _at(sign, term(Conditional(condition, then, otherwise)))

    def counting(self, token: Token, of: Formula) -> Term:
        """``#[p]`` or ``#R[p]``."""
        relation = str(token[1:]) or None
        if relation is not None and relation not in RELATIONS:
            hint = f"the relations are {', '.join(RELATIONS)}; a comment begins with # and a space"
            raise Mistake(f"unknown relation {relation!r} in a count", *place_of(token), hint)
        return term(Count(of, relation))

    def extreme(self, word: Token, *of: Term) -> Term:
        """``min(s, t)`` or ``max(s, t)``."""
        return _at(word, term((Minimum if word.type == "MIN" else Maximum)(of)))

    def named_term(self, name: Token) -> Term:
        """The name of a term."""
        return term(NamedTerm(str(name)))


def _at(token: Token, made: Term) -> Term:
    """Check the nesting depth of a term that begins at a token."""
    if nesting(made) > DEEPEST:
        message = f"conditional terms are nested more than {DEEPEST} deep"
        raise Mistake(message, *place_of(token), "define parts of it by name")
    return made
