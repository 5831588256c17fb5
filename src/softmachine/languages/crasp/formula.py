"""Formulas of C-RASP as immutable data.

A formula is true or false at every position 1 … n of a sequence of tokens, and only the past is visible. Symbols and
Boolean connectives are those of temporal logic; C-RASP adds comparisons of terms, and names. It is the counting part
TL[#←, +] of temporal logic, also known as K_t[#] (Yang and Chiang, "Counting Like Transformers"), with names, and with
counts through a relation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from softmachine.languages.crasp.printing import write_term
from softmachine.languages.crasp.terms import Count, NamedTerm, Number, Term, formulas_in, inner_terms, largest_number
from softmachine.languages.linear import Linear, Relation
from softmachine.languages.temporal.counting import LinearComparison
from softmachine.languages.temporal.formula import Formula
from softmachine.languages.temporal.printing import Level, Writer

Shape: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, eq=False, repr=False)
class NamedFormula(Formula):
    """Reference to a formula defined earlier."""

    name: str

    def write(self, _writer: Writer) -> tuple[str, Level]:
        return self.name, Level.ATOM


class Comparison(LinearComparison[Number]):
    """``2*#[φ] - P + 3 <= 5``: comparison of two terms."""

    def largest(self, side: Term) -> int:
        return largest_number(side)

    @property
    def parts(self) -> tuple[Formula, ...]:
        return formulas_in(self.left) + formulas_in(self.right)

    @property
    def label(self) -> tuple[object, ...]:
        """The relation and both terms, without the formulas in them."""
        return (self.relation, _shape(self.left), _shape(self.right))

    def side_text(self, side: Term, writer: Writer) -> str:
        return write_term(side, writer)


def _shape(term: Term) -> Shape:
    """A term without its formulas."""
    return (term.constant, *((coefficient, *_shape_of(number)) for coefficient, number in term.terms))


def _shape_of(number: Number) -> Shape:
    own = number.relation if isinstance(number, Count) else number.name if isinstance(number, NamedTerm) else None
    return (type(number), own, *map(_shape, inner_terms(number)))


def compare(left: Term | int, relation: str, right: Term | int) -> Comparison:
    """Build a comparison, as in ``compare(term(Count(Symbol("a"))), ">=", 2)``."""
    sides = (Linear[Number]((), side) if isinstance(side, int) else side for side in (left, right))
    return Comparison(next(sides), Relation(relation), next(sides))
