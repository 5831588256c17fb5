"""What formulas say about numbers: comparisons of counts, and predicates of the position or of a count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, TypeAlias

from softmachine.languages.linear import LARGEST_NUMBER, Linear, Number, Relation, linear_text
from softmachine.languages.temporal import predicates
from softmachine.languages.temporal.formula import Formula
from softmachine.languages.temporal.printing import Level, Writer
from softmachine.support.errors import InvalidError


@dataclass(frozen=True)
class Position:
    """The number i of the present position, counted from 1. Only predicates speak of it, as in ``odd(i)``."""


POSITION = Position()


@dataclass(frozen=True)
class LeftCount:
    """``#<[φ]``: the number of positions j ≤ i where φ holds. The present one counts."""

    of: Formula


@dataclass(frozen=True)
class RightCount:
    """``#>[φ]``: the number of positions j ≥ i where φ holds. The present one counts."""

    of: Formula


Count: TypeAlias = LeftCount | RightCount


@dataclass(frozen=True, eq=False, repr=False)
class LinearComparison(Formula, Generic[Number]):
    """Two sums of numbers with integer coefficients compare so. What these numbers are is a matter of the language."""

    left: Linear[Number]
    relation: Relation
    right: Linear[Number]
    too_large: ClassVar[str] = "it has a number larger than 10^18, the largest there is"

    def __post_init__(self) -> None:
        if max(map(self.largest, (self.left, self.right))) > LARGEST_NUMBER:
            raise InvalidError("the comparison", [self.too_large])
        super().__post_init__()

    def largest(self, side: Linear[Number]) -> int:
        """The largest absolute value of a coefficient or constant anywhere in a side."""
        return side.largest

    def side_text(self, side: Linear[Number], _writer: Writer) -> str:
        """A side, given the texts of all formulas in it."""
        return linear_text(side, str)

    def write(self, writer: Writer) -> tuple[str, Level]:
        sides = (self.side_text(side, writer) for side in (self.left, self.right))
        return f" {writer.words.get(self.relation, self.relation)} ".join(sides), Level.ATOM

    @property
    def difference(self) -> Linear[Number]:
        """Left side minus right side, every number once: the comparison is between this and 0."""
        return (self.left - self.right).merged()


class Comparison(LinearComparison[Count]):
    """``2*#<[φ] - #>[ψ] + 3 <= 5``: two linear combinations of counts compare so."""

    @property
    def parts(self) -> tuple[Formula, ...]:
        return tuple(count.of for side in (self.left, self.right) for _, count in side.terms)

    @property
    def label(self) -> tuple[object, ...]:
        """The relation, and each side without what is counted."""
        sides = (self.left, self.right)
        kinds = (tuple((coefficient, type(count)) for coefficient, count in side.terms) for side in sides)
        return (self.relation, *kinds, *(side.constant for side in sides))

    def side_text(self, side: Linear[Count], writer: Writer) -> str:
        return linear_text(side, partial(_number_text, writer))


@dataclass(frozen=True, eq=False, repr=False)
class Predicate(Formula):
    """``odd(i)`` or ``mod(#<[φ],3,1)``: the position or a count is in a named set of numbers."""

    name: str
    number: Position | LeftCount | RightCount = POSITION
    parameters: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        predicates.definition_of(self.name, self.parameters)
        super().__post_init__()

    @property
    def of_length(self) -> bool:
        """Whether it speaks of the length of the word, too."""
        return predicates.depends_on_length(self.name, self.parameters)

    @property
    def parts(self) -> tuple[Formula, ...]:
        return () if isinstance(self.number, Position) else (self.number.of,)

    @property
    def label(self) -> tuple[object, ...]:
        """The name, the parameters, and whether the number is the position, a left or a right count."""
        return (self.name, self.parameters, type(self.number))

    def write(self, writer: Writer) -> tuple[str, Level]:
        arguments = [_number_text(writer, self.number), *map(str, self.parameters)]
        return f"{self.name}({','.join(arguments)})", Level.ATOM


def _number_text(writer: Writer, number: Position | LeftCount | RightCount) -> str:
    if isinstance(number, Position):
        return "i"
    return f"{writer.word(number)}[{writer.written[number.of][0]}]"
