"""Reference interpreter of temporal logic, directly after the definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from softmachine.languages.linear import LinearExpression
from softmachine.languages.temporal import formula as tl
from softmachine.languages.temporal.formula import (
    Count,
    CountComparison,
    Formula,
    LeftCount,
    NumericalPredicate,
    Position,
    RightCount,
    subformulas,
)
from softmachine.languages.temporal.predicates import predicate_holds
from softmachine.languages.temporal.structure import Specification


def truth_values(formula: Formula | Specification, word: str | Iterable[str]) -> tuple[bool, ...]:
    """The truth value of a formula at every position 1 … n of a word; () for the empty word.

    Args:
        formula: A formula, whose words may have any symbols; or a specification, which has an alphabet.
        word: The symbols. A text is split by `Specification.word`; for a formula, into characters.

    Raises:
        InputError: If a symbol is not in the alphabet.
        InvalidError: If a predicate has no truth value at a number that occurs.
    """
    if isinstance(formula, Specification):
        return truth_values(formula.formula, formula.word(word))
    symbols = tuple(word)
    values: dict[Formula, tuple[bool, ...]] = {}
    for part in subformulas(formula):
        value_at = denotation(part, symbols, values)
        values[part] = tuple(value_at(i) for i in range(1, len(symbols) + 1))
    return values[formula]


def satisfies(formula: Formula | Specification, word: str | Iterable[str]) -> bool:
    """Whether a formula is true at the last position of a word. The empty word satisfies no formula.

    Raises:
        InputError: If a symbol is not in the alphabet.
        InvalidError: If a predicate has no truth value at a number that occurs.
    """
    return truth_values(formula, word)[-1:] == (True,)


def denotation(
    formula: Formula, word: tuple[str, ...], values: dict[Formula, tuple[bool, ...]]
) -> Callable[[int], bool]:
    """The truth value of a formula as a function of the position i, given the values of its parts."""
    n = len(word)

    def at(part: Formula, position: int) -> bool:
        return values[part][position - 1]

    def left(i: int) -> range:
        return range(1, i + 1)

    def right(i: int) -> range:
        return range(i, n + 1)

    def number(of: Position | LeftCount | RightCount, i: int) -> int:
        match of:
            case LeftCount(counted):
                return sum(at(counted, j) for j in left(i))
            case RightCount(counted):
                return sum(at(counted, j) for j in right(i))
            case _:
                return i

    def total(linear: LinearExpression[Count], i: int) -> int:
        return sum(coefficient * number(count, i) for coefficient, count in linear.terms) + linear.constant

    match formula:
        case tl.Symbol(symbol):
            return lambda i: word[i - 1] == symbol
        case tl.BooleanConstant(value):
            return lambda _: value
        case tl.First():
            return lambda i: i == 1
        case tl.Last():
            return lambda i: i == n
        case tl.Not(of):
            return lambda i: not at(of, i)
        case tl.And(operands):
            return lambda i: all(at(operand, i) for operand in operands)
        case tl.Or(operands):
            return lambda i: any(at(operand, i) for operand in operands)
        case tl.Implies(one, two):
            return lambda i: not at(one, i) or at(two, i)
        case tl.Iff(one, two):
            return lambda i: at(one, i) == at(two, i)
        case tl.Previous(of):
            return lambda i: i > 1 and at(of, i - 1)
        case tl.Next(of):
            return lambda i: i < n and at(of, i + 1)
        case tl.Since(one, two, reading):
            gap = 0 if reading is tl.WitnessSemantics.PAPER else 1
            return lambda i: any(at(two, j) and all(at(one, k) for k in range(j + gap, i + 1)) for j in left(i))
        case tl.Until(one, two, reading):
            gap = 0 if reading is tl.WitnessSemantics.PAPER else 1
            return lambda i: any(at(two, j) and all(at(one, k) for k in range(i, j - gap + 1)) for j in right(i))
        case tl.Once(of):
            return lambda i: any(at(of, j) for j in left(i))
        case tl.Historically(of):
            return lambda i: all(at(of, j) for j in left(i))
        case tl.Eventually(of):
            return lambda i: any(at(of, j) for j in right(i))
        case tl.Always(of):
            return lambda i: all(at(of, j) for j in right(i))
        case CountComparison(one_side, relation, other_side):
            return lambda i: relation.holds(total(one_side, i), total(other_side, i))
        case NumericalPredicate(name, what, parameters):
            return lambda i: predicate_holds(name, number(what, i), parameters, n)
        case _:
            raise TypeError(f"{type(formula).__name__} is not a formula of this logic")
