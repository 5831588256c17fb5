"""What C-RASP counts and compares: numbers that a program has at every position.

A term is a sum of such numbers with integer coefficients, a `Linear`. Only counts are primitive; names, conditional
terms, minima and maxima abbreviate (see `softmachine.languages.crasp.core`).
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
    """``#[φ]``: the number of positions j ≤ i where φ holds; the present one counts.

    Args:
        of: φ.
        relation: The name of a relation, as in ``#R[φ]``: only the j count that are in it with i.
    """

    of: Formula
    relation: str | None = None


@dataclass(frozen=True)
class NamedTerm:
    """The name of a term that is defined before."""

    name: str


@dataclass(frozen=True)
class Conditional:
    """``p ? s : t``: the number s where p holds, and t elsewhere."""

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
    """A number alone, as a term."""
    return Linear((), number) if isinstance(number, int) else Linear(((1, number),))


def inner_terms(number: Number) -> tuple[Term, ...]:
    """The terms that a number is made of: what it may be."""
    match number:
        case Conditional(_, then, otherwise):
            return then, otherwise
        case Minimum(of) | Maximum(of):
            return of
        case _:
            return ()


def numbers_in(of: Term) -> Iterator[Number]:
    """The numbers that a term is made of, and those inside conditional terms, minima and maxima."""
    for _, number in of.terms:
        yield number
        for inner in inner_terms(number):
            yield from numbers_in(inner)


def formulas_in(of: Term) -> tuple[Formula, ...]:
    """The formulas that a term is made of directly: what is counted, and conditions. From left to right."""
    found = (
        number.of if isinstance(number, Count) else number.condition
        for number in numbers_in(of)
        if isinstance(number, Count | Conditional)
    )
    return tuple(found)


def nesting(of: Term) -> int:
    """How many conditional terms, minima and maxima are nested in one another."""
    return max((1 + nesting(inner) for _, number in of.terms for inner in inner_terms(number)), default=0)


def largest_number(of: Term) -> int:
    """The largest absolute value of a coefficient or constant anywhere in a term."""
    return max(of.largest, *(inner.largest for number in numbers_in(of) for inner in inner_terms(number)), 0)
