"""What C-RASP counts and compares: numbers that a program has at every position.

A term is a sum of such numbers with integer coefficients, a `Linear`. Only counts are primitive; names, conditional
terms, minima and maxima abbreviate (see `softmachine.languages.crasp.core`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from softmachine.errors import UsageError
from softmachine.languages.linear import Linear

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
class Minimum:
    """``min(s, t, …)``: the smallest of one or more numbers."""

    of: tuple[Term, ...]

    def __post_init__(self) -> None:
        _check_arguments("min", self.of)


@dataclass(frozen=True)
class Maximum:
    """``max(s, t, …)``: the largest of one or more numbers."""

    of: tuple[Term, ...]

    def __post_init__(self) -> None:
        _check_arguments("max", self.of)


Number: TypeAlias = Count | NamedTerm | Conditional | Minimum | Maximum
Term: TypeAlias = Linear[Number]


def term(number: Number | int) -> Term:
    """A number alone, as a term."""
    return Linear((), number) if isinstance(number, int) else Linear(((1, number),))


def formulas_in(of: Term) -> tuple[Formula, ...]:
    """The formulas that a term is made of directly: what is counted, and conditions. From left to right."""
    found: list[Formula] = []
    for _, number in of.terms:
        match number:
            case Count(counted):
                found.append(counted)
            case Conditional(condition, then, otherwise):
                found += [condition, *formulas_in(then), *formulas_in(otherwise)]
            case Minimum(several) | Maximum(several):
                found += [formula for inner in several for formula in formulas_in(inner)]
            case NamedTerm():
                pass
    return tuple(found)


def numbers_in(of: Term) -> tuple[Number, ...]:
    """The numbers that a term is made of, and those inside conditional terms, minima and maxima."""
    found: list[Number] = []
    for _, number in of.terms:
        found.append(number)
        match number:
            case Conditional(_, then, otherwise):
                found += [*numbers_in(then), *numbers_in(otherwise)]
            case Minimum(several) | Maximum(several):
                found += [inner for each in several for inner in numbers_in(each)]
            case _:
                pass
    return tuple(found)


def nesting(of: Term) -> int:
    """How many conditional terms, minima and maxima are nested in one another."""
    deepest = 0
    for _, number in of.terms:
        match number:
            case Conditional(_, then, otherwise):
                deepest = max(deepest, 1 + nesting(then), 1 + nesting(otherwise))
            case Minimum(several) | Maximum(several):
                deepest = max(deepest, *(1 + nesting(inner) for inner in several))
            case _:
                pass
    return deepest


def largest_number(of: Term) -> int:
    """The largest absolute value of a coefficient or constant anywhere in a term."""
    inner: list[Term] = []
    for number in numbers_in(of):
        match number:
            case Conditional(_, then, otherwise):
                inner += [then, otherwise]
            case Minimum(several) | Maximum(several):
                inner += several
            case _:
                pass
    return max(each.largest for each in (of, *inner))


def _check_arguments(function: str, of: tuple[Term, ...]) -> None:
    if not isinstance(of, tuple) or not of or not all(isinstance(each, Linear) for each in of):
        raise UsageError(f"{function} takes a tuple of one or more terms, not {of!r}")
