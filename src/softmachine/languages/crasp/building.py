"""From the parts that the grammar finds to formulas and terms. Its methods are the names in grammar.lark."""

from __future__ import annotations

from typing import Any

from softmachine.languages.crasp.formula import Comparison, NamedFormula
from softmachine.languages.crasp.relation import RELATIONS
from softmachine.languages.crasp.terms import Conditional, Count, Maximum, Minimum, NamedTerm, Term, nesting, term
from softmachine.languages.linear import Relation
from softmachine.languages.temporal import building as temporal
from softmachine.languages.temporal.building import DEEPEST
from softmachine.languages.temporal.formula import Formula, Not
from softmachine.languages.text.mistakes import Mistake, place_of


class Builder(temporal.Builder):
    """Makes formulas and terms from their parts; symbols, connectives and sums are those of temporal logic."""

    product_example = "2*#[Q_a]"

    def not_(self, parts: list[Any]) -> Formula:
        """``not p``."""
        return temporal.at(parts[0], Not(parts[1]))

    def named_formula(self, parts: list[Any]) -> Formula:
        """A name that is defined as a formula."""
        return NamedFormula(str(parts[0]))

    def comparison(self, parts: list[Any]) -> Formula:
        """``term <= term``."""
        left, relation, right = parts
        return temporal.at(relation, Comparison(left, Relation.written(relation), right))

    def conditional(self, parts: list[Any]) -> Term:
        """``p ? s : t``."""
        condition, sign, then, otherwise = parts
        return _at(sign, term(Conditional(condition, then, otherwise)))

    def count(self, parts: list[Any]) -> Term:  # type: ignore[override]
        """``#[p]`` or ``#R[p]``."""
        token, of = parts
        relation = str(token[1:]) or None
        if relation is not None and relation not in RELATIONS:
            hint = f"there is {', '.join(RELATIONS)}; a comment begins with # and a blank"
            raise Mistake(f"there is no relation {relation!r} to count through", token.line, token.column, hint)
        return term(Count(of, relation))

    def extreme(self, parts: list[Any]) -> Term:
        """``min(s, t)`` or ``max(s, t)``."""
        kind = Minimum if parts[0].type == "MIN" else Maximum
        return _at(parts[0], term(kind(tuple(parts[1:]))))

    def named_term(self, parts: list[Any]) -> Term:
        """A name that is defined as a term."""
        return term(NamedTerm(str(parts[0])))


def _at(token: Any, made: Term) -> Term:
    """A term that begins at a token, unless it is too deep."""
    if nesting(made) > DEEPEST:
        message = f"conditional terms are nested more than {DEEPEST} deep"
        raise Mistake(message, *place_of(token), "name parts of it")
    return made
