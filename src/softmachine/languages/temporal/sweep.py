"""The fast evaluator: the value of a formula at all positions of a word, in one sweep over the word a subformula.

`softmachine.languages.temporal.evaluate` says what formulas mean, and looks at all positions for every position; the
tests hold this one to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from operator import add, and_, or_

from softmachine.languages.linear import Linear
from softmachine.languages.temporal import formula as tl
from softmachine.languages.temporal import predicates
from softmachine.languages.temporal.counting import Comparison, Count, LeftCount, Position, Predicate, RightCount
from softmachine.languages.temporal.evaluate import meaning
from softmachine.languages.temporal.formula import Formula, subformulas
from softmachine.languages.temporal.specification import Specification

Values = Sequence[bool]
Table = dict[Formula, tuple[bool, ...]]


def swept(specification: Specification, word: str | Iterable[str]) -> tuple[bool, ...]:
    """The value of a formula at every position 1 … n of a word, as `truth` has it.

    Raises:
        InputError: If a symbol is not in the alphabet.
        InvalidError: If a predicate has no truth value at a number that occurs.
    """
    return sweeps(specification, word)[specification.formula]


def sweeps(specification: Specification, word: str | Iterable[str]) -> Table:
    """The same of every subformula, each after its own parts."""
    symbols = specification.word(word)
    values: Table = {}
    for part in subformulas(specification.formula):
        values[part] = tuple(_sweep(part, symbols, values))
    return values


def _sweep(formula: Formula, word: tuple[str, ...], values: Table) -> Iterable[bool]:
    """The values of a formula, given those of its parts; what only looks at its own position is as it is defined."""
    match formula:
        case tl.Since(one, two, reading):
            return _held(values[one], values[two], reading)
        case tl.Until(one, two, reading):
            return _backwards(lambda first, second: _held(first, second, reading), values[one], values[two])
        case tl.Once(of):
            return accumulate(values[of], or_)
        case tl.Historically(of):
            return accumulate(values[of], and_)
        case tl.Eventually(of):
            return _backwards(lambda some: accumulate(some, or_), values[of])
        case tl.Always(of):
            return _backwards(lambda some: accumulate(some, and_), values[of])
        case Comparison(one_side, relation, other_side):
            sides = zip(_totals(one_side, len(word), values), _totals(other_side, len(word), values), strict=True)
            return (relation.holds(one, other) for one, other in sides)
        case Predicate(name, what, parameters):
            return (predicates.holds(name, number, parameters) for number in _numbers(what, len(word), values))
    holds = meaning(formula, word, values)
    return (holds(i) for i in range(1, len(word) + 1))


def _held(one: Values, two: Values, reading: tl.Reading) -> list[bool]:
    """Where ``two`` has held before, and ``one`` ever since; in the paper's reading from that position on."""
    found, held = [], False
    for first, second in zip(one, two, strict=True):
        held = first and (second or held) if reading is tl.Reading.PAPER else second or (first and held)
        found.append(held)
    return found


def _backwards(sweep: Callable[..., Iterable[bool]], *values: Values) -> list[bool]:
    """A sweep from the end of the word to its beginning."""
    return list(sweep(*(some[::-1] for some in values)))[::-1]


def _totals(linear: Linear[Count], length: int, values: Table) -> list[int]:
    totals = [linear.constant] * length
    for coefficient, count in linear.terms:
        numbers = _numbers(count, length, values)
        totals = [total + coefficient * number for total, number in zip(totals, numbers, strict=True)]
    return totals


def _numbers(count: Position | LeftCount | RightCount, length: int, values: Table) -> list[int]:
    """A count at every position."""
    match count:
        case LeftCount(counted):
            return list(accumulate(map(int, values[counted]), add))
        case RightCount(counted):
            return list(accumulate(map(int, reversed(values[counted])), add))[::-1]
        case _:
            return list(range(1, length + 1))
