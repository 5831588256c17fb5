"""Equality of an integer at i with an integer at j: the only comparison of integers at two positions in predicates.

It occurs in predicates of attention, as in ``depth(j) = depth(i) + 1``; in general, it is an equation between sums and
differences in which every term depends on one position only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from softmachine.languages.linear import Relation
from softmachine.languages.srasp.expressions import Add, Compare, Expression, Integer, Subtract, indices


@dataclass(frozen=True)
class Equality:
    """X(i) = Y(j).

    Args:
        at_i: X, an integer that depends on i alone.
        at_j: Y, an integer that depends on j alone.
    """

    at_i: Expression
    at_j: Expression

    def __str__(self) -> str:
        return f"{self.at_i} = {self.at_j}"


def separate(comparison: Compare) -> Equality | None:
    """Separate the positions of an equation or inequation: one side at i, the other at j.

    Constants are moved to the side of i. Returns None if the comparison is not = or !=, or a term depends on both
    positions.
    """
    if comparison.relation not in (Relation.EQUAL, Relation.UNEQUAL):
        return None
    here: list[tuple[int, Expression]] = []
    there: list[tuple[int, Expression]] = []
    constant = 0
    for sign, term in _terms(Subtract(comparison.left, comparison.right)):
        found = indices(term)
        if isinstance(term, Integer):
            constant += sign * term.value
        elif len(found) > 1:
            return None
        else:
            (there if "j" in found else here).append((sign, term))
    if not here or not there:
        return None
    # here + there + constant = 0, so ±there = ∓(here + constant); choose the signs with fewer minuses, first at j.
    both = [
        ([(flip * sign, term) for sign, term in there], [(-flip * sign, term) for sign, term in here], -flip * constant)
        for flip in (1, -1)
    ]
    at_j, at_i, shift = max(both, key=lambda sides: (_pluses(sides[0]), _pluses(sides[1])))
    return Equality(_sum(at_i, shift), _sum(at_j, 0))


def _pluses(terms: list[tuple[int, Expression]]) -> int:
    return sum(sign > 0 for sign, _ in terms)


def _terms(expression: Expression) -> Iterator[tuple[int, Expression]]:
    """The terms of a sum with their signs."""
    left = [(1, expression)]
    while left:
        sign, current = left.pop()
        if isinstance(current, Add):
            left += [(sign, current.right), (sign, current.left)]
        elif isinstance(current, Subtract):
            left += [(-sign, current.right), (sign, current.left)]
        else:
            yield sign, current


def _sum(terms: list[tuple[int, Expression]], constant: int) -> Expression:
    first, *others = sorted(terms, key=lambda entry: -entry[0])
    total = first[1] if first[0] > 0 else Subtract(Integer(0), first[1])
    for sign, term in others:
        total = Add(total, term) if sign > 0 else Subtract(total, term)
    if constant:
        total = Add(total, Integer(constant)) if constant > 0 else Subtract(total, Integer(-constant))
    return total
