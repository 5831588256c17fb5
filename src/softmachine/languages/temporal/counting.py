"""Numerical formulas: linear comparisons of counts, and predicates of the position or of a count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, TypeAlias

from softmachine.languages.linear import LARGEST_NUMBER, Linear, Number, Relation, linear_text
from softmachine.languages.temporal.formula import Formula
from softmachine.languages.temporal.predicates import definition_of, depends_on_length
from softmachine.languages.temporal.printing import Level, Writer
from softmachine.support.errors import InvalidError


@dataclass(frozen=True)
class Position:
    """The current position i, from 1. It occurs only as the argument of a predicate, as in ``odd(i)``."""


POSITION = Position()


@dataclass(frozen=True)
class LeftCount:
    """``#<[φ]``: the number of positions j ≤ i where φ holds, the current position included."""

    of: Formula


@dataclass(frozen=True)
class RightCount:
    """``#>[φ]``: the number of positions j ≥ i where φ holds, the current position included."""

    of: Formula


Count: TypeAlias = LeftCount | RightCount


@dataclass(frozen=True, eq=False, repr=False)
class LinearComparison(Formula, Generic[Number]):
    """Comparison of two linear expressions, whose variables depend on the language."""

    left: Linear[Number]
    relation: Relation
    right: Linear[Number]
    too_large: ClassVar[str] = "it has a number larger than 10^18, the maximum"

    def __post_init__(self) -> None:
        if max(map(self.largest, (self.left, self.right))) > LARGEST_NUMBER:
            raise InvalidError("the comparison", [self.too_large])
        super().__post_init__()

    def largest(self, side: Linear[Number]) -> int:
        """The largest absolute value of a coefficient or constant in a side, nested terms included."""
        return side.largest

    def side_text(self, side: Linear[Number], _writer: Writer) -> str:
        """The text of a side; the formulas in it have been written already."""
        return linear_text(side, str)

    def write(self, writer: Writer) -> tuple[str, Level]:
        sides = (self.side_text(side, writer) for side in (self.left, self.right))
        return f" {writer.words.get(self.relation, self.relation)} ".join(sides), Level.ATOM

    @property
    def difference(self) -> Linear[Number]:
        """Left side minus right side, with like terms collected: the comparison is between this and 0."""
        return (self.left - self.right).merged()


class Comparison(LinearComparison[Count]):
    """``2*#<[φ] - #>[ψ] + 3 <= 5``: comparison of two linear combinations of counts."""

    @property
    def parts(self) -> tuple[Formula, ...]:
        return tuple(count.of for side in (self.left, self.right) for _, count in side.terms)

    @property
    def label(self) -> tuple[object, ...]:
        """The relation and both sides, without the counted formulas."""
        sides = (self.left, self.right)
        kinds = (tuple((coefficient, type(count)) for coefficient, count in side.terms) for side in sides)
        return (self.relation, *kinds, *(side.constant for side in sides))

    def side_text(self, side: Linear[Count], writer: Writer) -> str:
        return linear_text(side, partial(_number_text, writer))


@dataclass(frozen=True, eq=False, repr=False)
class Predicate(Formula):
    """``odd(i)`` or ``mod(#<[φ],3,1)``: a numerical predicate of the position or of a count."""

    name: str
    number: Position | LeftCount | RightCount = POSITION
    parameters: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        definition_of(self.name, self.parameters)
        super().__post_init__()

    @property
    def of_length(self) -> bool:
        """Whether the predicate also depends on the length of the word."""
        return depends_on_length(self.name, self.parameters)

    @property
    def parts(self) -> tuple[Formula, ...]:
        return () if isinstance(self.number, Position) else (self.number.of,)

    @property
    def label(self) -> tuple[object, ...]:
        """The name, the parameters, and the type of the argument: position, left count or right count."""
        return (self.name, self.parameters, type(self.number))

    def write(self, writer: Writer) -> tuple[str, Level]:
        arguments = [_number_text(writer, self.number), *map(str, self.parameters)]
        return f"{self.name}({','.join(arguments)})", Level.ATOM


def _number_text(writer: Writer, number: Position | LeftCount | RightCount) -> str:
    if isinstance(number, Position):
        return "i"
    return f"{writer.word(number)}[{writer.written[number.of][0]}]"
