"""Structure of formulas: symbols, operators, fragments, and the translation to core operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from softmachine.languages.linear import Linear
from softmachine.languages.temporal import formula as tl
from softmachine.languages.temporal.formula import (
    Comparison,
    Count,
    Formula,
    LeftCount,
    Position,
    Predicate,
    RightCount,
    subformulas,
)


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """The conjunction of any number of formulas; true if there are none."""
    operands = tuple(formulas)
    return tl.And(operands) if len(operands) > 1 else operands[0] if operands else tl.TRUE


def disjunction(formulas: Iterable[Formula]) -> Formula:
    """The disjunction of any number of formulas; false if there are none."""
    operands = tuple(formulas)
    return tl.Or(operands) if len(operands) > 1 else operands[0] if operands else tl.FALSE


def symbols(formula: Formula) -> tuple[str, ...]:
    """The symbols of a formula, in the order of first occurrence."""
    return tuple(part.symbol for part in subformulas(formula) if isinstance(part, tl.Symbol))


class Operator(StrEnum):
    """Operators other than symbols and Boolean connectives, with the names of the literature."""

    PREVIOUS = "⊖"
    NEXT = "⊕"
    SINCE = "since"
    UNTIL = "until"
    FIRST = "first"
    LAST = "last"
    LEFT_COUNT = "#←"
    RIGHT_COUNT = "#→"
    COMPARISON = "+"
    POSITION_PREDICATE = "Mon(i)"
    COUNT_PREDICATE = "Mon(#)"
    LENGTH = "θ_n"


FUTURE = frozenset({Operator.NEXT, Operator.UNTIL, Operator.LAST, Operator.RIGHT_COUNT, Operator.LENGTH})
"""The operators that depend on later positions, or on the length of the word."""
OPERATORS: dict[type[Formula], Operator] = {
    tl.Previous: Operator.PREVIOUS, tl.Next: Operator.NEXT, tl.First: Operator.FIRST, tl.Last: Operator.LAST,
    tl.Since: Operator.SINCE, tl.Once: Operator.SINCE, tl.Historically: Operator.SINCE,
    tl.Until: Operator.UNTIL, tl.Eventually: Operator.UNTIL, tl.Always: Operator.UNTIL,
}  # fmt: skip
"""The operator of every node type; derived operators map to the one that they abbreviate."""


@dataclass(frozen=True)
class Fragment:
    """A fragment of the logic: formulas with these operators only. Derived operators count as what they abbreviate."""

    operators: frozenset[Operator]

    @property
    def past(self) -> bool:
        """Whether the value at a position is independent of later positions, as in a future-masked transformer."""
        return not self.operators & FUTURE

    def __str__(self) -> str:
        return f"TL[{', '.join(operator for operator in Operator if operator in self.operators)}]"


def fragment(formula: Formula) -> Fragment:
    """The smallest fragment that contains a formula."""
    return Fragment(frozenset().union(*(operators(part) for part in subformulas(formula))))


def operators(formula: Formula) -> frozenset[Operator]:
    """The operators of a node, without those of its parts."""
    match formula:
        case Comparison(left, _, right):
            return frozenset({Operator.COMPARISON, *(_side(count) for _, count in left.terms + right.terms)})
        case Predicate(number=number):
            own = {Operator.LENGTH} if formula.of_length else set()
            if isinstance(number, Position):
                return frozenset({Operator.POSITION_PREDICATE, *own})
            return frozenset({Operator.COUNT_PREDICATE, _side(number), *own})
        case _:
            return frozenset({OPERATORS[type(formula)]} if type(formula) in OPERATORS else ())


def _side(count: Count) -> Operator:
    return Operator.LEFT_COUNT if isinstance(count, LeftCount) else Operator.RIGHT_COUNT


def core(formula: Formula) -> Formula:
    """Translate a formula to core operators.

    The result is equivalent and has only atoms, not, and, or, prev, next, since and until (in the standard reading),
    comparisons and predicates.
    """
    done: dict[Formula, Formula] = {}
    for part in subformulas(formula):
        done[part] = _core(part, done)
    return done[formula]


def _core(formula: Formula, done: dict[Formula, Formula]) -> Formula:
    """Translate a node, given the translations of its parts."""

    def linear(side: Linear[Count]) -> Linear[Count]:
        return Linear(tuple((factor, type(count)(done[count.of])) for factor, count in side.terms), side.constant)

    match formula:
        case tl.Not(of) | tl.Previous(of) | tl.Next(of):
            return type(formula)(done[of])
        case tl.And(operands) | tl.Or(operands):
            return type(formula)(tuple(done[operand] for operand in operands))
        case tl.Implies(left, right):
            return tl.Or((tl.Not(done[left]), done[right]))
        case tl.Iff(left, right):
            one, two = done[left], done[right]
            return tl.Or((tl.And((one, two)), tl.And((tl.Not(one), tl.Not(two)))))
        case tl.Since(left, right, reading) | tl.Until(left, right, reading):
            one, two = done[left], done[right]
            # In the paper's reading the first argument must also hold at the witness.
            return type(formula)(one, tl.And((one, two)) if reading is tl.Reading.PAPER else two)
        case tl.Once(of):
            return tl.Since(tl.TRUE, done[of])
        case tl.Eventually(of):
            return tl.Until(tl.TRUE, done[of])
        case tl.Historically(of):
            return tl.Not(tl.Since(tl.TRUE, tl.Not(done[of])))
        case tl.Always(of):
            return tl.Not(tl.Until(tl.TRUE, tl.Not(done[of])))
        case Comparison(left, relation, right):
            return Comparison(linear(left), relation, linear(right))
        case Predicate(name, LeftCount() | RightCount() as count, parameters):
            return Predicate(name, type(count)(done[count.of]), parameters)
        case _:
            return formula
