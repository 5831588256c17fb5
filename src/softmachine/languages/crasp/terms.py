"""Terms of C-RASP: integer values at every position, as immutable data.

A term is a linear combination of numbers with integer coefficients, a `Linear`. Only counts are primitive; names,
conditional terms, minima and maxima are syntactic sugar (see `softmachine.languages.crasp.desugaring`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from softmachine.languages.linear import LinearExpression
from softmachine.support.errors import UsageError

if TYPE_CHECKING:
    from softmachine.languages.temporal.formula import Formula


@dataclass(frozen=True)
class Count:
    """``#[φ]``: the number of positions j ≤ i where φ holds, the current position included.

    Args:
        formula: φ.
        relation: Name of a relation, as in ``#R[φ]``: only positions j related to i are counted.
    """

    formula: Formula
    relation: str | None = None


@dataclass(frozen=True)
class NamedTerm:
    """Reference to a term defined earlier."""

    name: str


@dataclass(frozen=True)
class Conditional:
    """``p ? s : t``: s where p holds, and t elsewhere."""

    condition: Formula
    then: Term
    otherwise: Term


@dataclass(frozen=True)
class _Extremum:
    arguments: tuple[Term, ...]

    def __post_init__(self) -> None:
        if (
            not isinstance(self.arguments, tuple)
            or not self.arguments
            or not all(isinstance(each, LinearExpression) for each in self.arguments)
        ):
            function = type(self).__name__.lower()[:3]
            raise UsageError(f"{function} takes a tuple of one or more terms, not {self.arguments!r}")


class Minimum(_Extremum):
    """``min(s, t, …)``: the smallest of one or more numbers."""


class Maximum(_Extremum):
    """``max(s, t, …)``: the largest of one or more numbers."""


AtomicTerm: TypeAlias = Count | NamedTerm | Conditional | Minimum | Maximum
Term: TypeAlias = LinearExpression[AtomicTerm]


def as_term(number: AtomicTerm | int) -> Term:
    """The term that consists of a single number."""
    return LinearExpression((), number) if isinstance(number, int) else LinearExpression(((1, number),))


def subterms(number: AtomicTerm) -> tuple[Term, ...]:
    """The immediate subterms of a number: branches of a conditional, arguments of min and max."""
    match number:
        case Conditional(_, then, otherwise):
            return then, otherwise
        case Minimum(of) | Maximum(of):
            return of
        case _:
            return ()


def find_atoms(term: Term) -> Iterator[AtomicTerm]:
    """The numbers of a term, including those inside conditional terms, minima and maxima."""
    for _, number in term.terms:
        yield number
        for inner in subterms(number):
            yield from find_atoms(inner)


def find_formulas(term: Term) -> tuple[Formula, ...]:
    """The counted formulas and conditions in a term, from left to right."""
    found = (
        number.formula if isinstance(number, Count) else number.condition
        for number in find_atoms(term)
        if isinstance(number, Count | Conditional)
    )
    return tuple(found)


def nesting_depth(term: Term) -> int:
    """Nesting depth of conditional terms, minima and maxima."""
    return max((1 + nesting_depth(inner) for _, number in term.terms for inner in subterms(number)), default=0)


def max_abs_number(term: Term) -> int:
    """The largest absolute value of a coefficient or constant anywhere in a term."""
    return max(term.max_abs, *(inner.max_abs for number in find_atoms(term) for inner in subterms(number)), 0)
