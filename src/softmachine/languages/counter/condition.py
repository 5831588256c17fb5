"""What a transition may ask of the counters: Boolean combinations of linear comparisons, as immutable data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from softmachine.errors import InvalidError
from softmachine.languages.linear import Linear, Relation

LARGEST_NUMBER = 10**18
"""No coefficient, constant or change of a counter may be larger."""
DEEPEST = 100
"""Conditions nested in one another. Whatever goes through them may be recursive."""


class Condition(ABC):
    """A condition on the counters. ``~p``, ``p & q`` and ``p | q`` make larger ones; ``str`` gives its text."""

    @property
    def parts(self) -> tuple[Condition, ...]:
        """The conditions it is made of directly."""
        return ()

    def __post_init__(self) -> None:
        depth = max((1 + part.depth for part in self.parts), default=0)
        if depth > DEEPEST:
            raise InvalidError("the condition", [f"it is nested more than {DEEPEST} deep; split the transition"])
        object.__setattr__(self, "_depth", depth)

    @property
    def depth(self) -> int:
        """How many operators are nested in it; 0 for a comparison."""
        depth: int = self.__dict__["_depth"]
        return depth

    @abstractmethod
    def holds(self, counters: Mapping[str, int]) -> bool:
        """Whether it is true for these values of the counters."""

    def comparisons(self) -> Iterator[Comparison]:
        """The comparisons in it, from left to right."""
        for part in self.parts:
            yield from part.comparisons()

    def __invert__(self) -> Not:
        return Not(self)

    def __and__(self, other: Condition) -> And:
        return And((*(self.operands if isinstance(self, And) else (self,)), other))

    def __or__(self, other: Condition) -> Or:
        return Or((*(self.operands if isinstance(self, Or) else (self,)), other))

    def __str__(self) -> str:
        from softmachine.languages.counter.printing import condition_text

        return condition_text(self)


@dataclass(frozen=True)
class Comparison(Condition):
    """``2*x + y <= z + 3``."""

    left: Linear[str]
    relation: Relation
    right: Linear[str]

    def __post_init__(self) -> None:
        if max(self.left.largest, self.right.largest) > LARGEST_NUMBER:
            raise InvalidError("the comparison", [f"it has a number beyond {LARGEST_NUMBER:,}"])
        super().__post_init__()

    @property
    def difference(self) -> Linear[str]:
        """The left side minus the right one, every counter once: what compares with 0."""
        return (self.left - self.right).merged()

    def holds(self, counters: Mapping[str, int]) -> bool:
        """Whether the two sides compare so."""
        return self.relation.holds(self.left.value(counters), self.right.value(counters))

    def comparisons(self) -> Iterator[Comparison]:
        """Itself."""
        yield self


@dataclass(frozen=True)
class Constant(Condition):
    """``true`` or ``false``."""

    value: bool

    def holds(self, counters: Mapping[str, int]) -> bool:  # noqa: ARG002 - they do not matter
        """Its value."""
        return self.value


TRUE = Constant(True)
FALSE = Constant(False)


@dataclass(frozen=True)
class Not(Condition):
    """``not p``."""

    of: Condition

    @property
    def parts(self) -> tuple[Condition, ...]:
        """What is negated."""
        return (self.of,)

    def holds(self, counters: Mapping[str, int]) -> bool:
        """Whether the condition in it is false."""
        return not self.of.holds(counters)


@dataclass(frozen=True)
class And(Condition):
    """``p and q and …``; true if there is no operand."""

    operands: tuple[Condition, ...]

    @property
    def parts(self) -> tuple[Condition, ...]:
        """The operands."""
        return self.operands

    def holds(self, counters: Mapping[str, int]) -> bool:
        """Whether all operands are true."""
        return all(operand.holds(counters) for operand in self.operands)


@dataclass(frozen=True)
class Or(Condition):
    """``p or q or …``; false if there is no operand."""

    operands: tuple[Condition, ...]

    @property
    def parts(self) -> tuple[Condition, ...]:
        """The operands."""
        return self.operands

    def holds(self, counters: Mapping[str, int]) -> bool:
        """Whether some operand is true."""
        return any(operand.holds(counters) for operand in self.operands)


def compare(left: str | int | Linear[str], relation: str, right: str | int | Linear[str]) -> Comparison:
    """A comparison of counters (by name), numbers and sums, as in ``compare("x", ">=", 2)``."""
    return Comparison(_linear(left), Relation(relation), _linear(right))


def _linear(side: str | int | Linear[str]) -> Linear[str]:
    match side:
        case str():
            return Linear(((1, side),))
        case int():
            return Linear((), side)
        case _:
            return side
