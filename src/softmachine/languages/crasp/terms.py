"""Terms of C-RASP: integer values at every position, as immutable data.

A term is a linear combination of numbers with integer coefficients, a `Linear`. Only counts are primitive; names,
conditional terms, minima and maxima are syntactic sugar (see `softmachine.languages.crasp.desugaring`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from softmachine.languages.linear import Linear
from softmachine.support.errors import UsageError

if TYPE_CHECKING:
    from softmachine.languages.temporal.formula import Formula


@dataclass(frozen=True)
class Count:
    """``#[φ]``: the number of positions j ≤ i where φ holds, the current position included.

    Args:
        of: φ.
        relation: Name of a relation, as in ``#R[φ]``: only positions j related to i are counted.
    """

    of: Formula
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
class _Extreme:
    of: tuple[Term, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.of, tuple) or not self.of or not all(isinstance(each, Linear) for each in self.of):
            function = type(self).__name__.lower()[:3]
            raise UsageError(f"{function} takes a tuple of one or more terms, not {self.of!r}")


class Minimum(_Extreme):
    """``min(s, t, …)``: the smallest of one or more numbers."""


class Maximum(_Extreme):
    """``max(s, t, …)``: the largest of one or more numbers."""


Number: TypeAlias = Count | NamedTerm | Conditional | Minimum | Maximum
Term: TypeAlias = Linear[Number]


def term(number: Number | int) -> Term:
    """The term that consists of a single number."""
    return Linear((), number) if isinstance(number, int) else Linear(((1, number),))


def inner_terms(number: Number) -> tuple[Term, ...]:
    """The immediate subterms of a number: branches of a conditional, arguments of min and max."""
    match number:
        case Conditional(_, then, otherwise):
            return then, otherwise
        case Minimum(of) | Maximum(of):
            return of
        case _:
            return ()


def numbers_in(of: Term) -> Iterator[Number]:
    """The numbers of a term, including those inside conditional terms, minima and maxima."""
    for _, number in of.terms:
        yield number
        for inner in inner_terms(number):
            yield from numbers_in(inner)


def formulas_in(of: Term) -> tuple[Formula, ...]:
    """The counted formulas and conditions in a term, from left to right."""
    found = (
        number.of if isinstance(number, Count) else number.condition
        for number in numbers_in(of)
        if isinstance(number, Count | Conditional)
    )
    return tuple(found)


def nesting(of: Term) -> int:
    """Nesting depth of conditional terms, minima and maxima."""
    return max((1 + nesting(inner) for _, number in of.terms for inner in inner_terms(number)), default=0)


def largest_number(of: Term) -> int:
    """The largest absolute value of a coefficient or constant anywhere in a term."""
    return max(of.largest, *(inner.largest for number in numbers_in(of) for inner in inner_terms(number)), 0)
