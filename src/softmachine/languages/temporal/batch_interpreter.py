"""Vectorised interpreter: evaluates a formula at all positions of a batch of words, one array per subformula.

`softmachine.languages.temporal.interpreter` is the reference, which takes quadratic time; the tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

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

TruthArray: TypeAlias = NDArray[np.bool_]
"""[word, position]."""
TruthTable: TypeAlias = dict[Formula, TruthArray]
MAX_INT64_SUM = 1 << 62
"""Sums that cannot exceed this are computed in 64-bit integers."""


def evaluate_batch(specification: Specification, words: Sequence[Sequence[str]]) -> TruthArray:
    """The truth values of a formula at every position of words of equal length.

    Raises:
        InvalidError: If a predicate has no truth value at a number that occurs.
    """
    return evaluate_subformulas(specification, words)[specification.formula]


def evaluate_subformulas(specification: Specification, words: Sequence[Sequence[str]]) -> TruthTable:
    """The truth values of every subformula, each after its parts."""
    number = {symbol: code for code, symbol in enumerate(specification.alphabet)}
    shape = len(words), len(words[0]) if words else 0
    codes = np.fromiter(map(number.__getitem__, chain.from_iterable(words)), dtype=np.int64).reshape(shape)
    values: TruthTable = {}
    for part in subformulas(specification.formula):
        values[part] = np.asarray(_evaluate_node(part, codes, number, values), dtype=np.bool_)
    return values


def _evaluate_node(formula: Formula, words: NDArray[np.int64], number: dict[str, int], values: TruthTable) -> Any:
    """The truth values of a node, given those of its parts."""
    match formula:
        case tl.Symbol(symbol):
            return words == number.get(symbol, -1)
        case tl.BooleanConstant(value):
            return np.full(words.shape, value)
        case tl.First():
            return np.indices(words.shape)[1] == 0
        case tl.Last():
            return np.indices(words.shape)[1] == words.shape[1] - 1
        case tl.Not(of):
            return ~values[of]
        case tl.And(operands):
            return np.logical_and.reduce([values[operand] for operand in operands])
        case tl.Or(operands):
            return np.logical_or.reduce([values[operand] for operand in operands])
        case tl.Implies(one, two):
            return ~values[one] | values[two]
        case tl.Iff(one, two):
            return values[one] == values[two]
        case tl.Previous(of):
            return _shift_right(values[of])
        case tl.Next(of):
            return _shift_right(values[of][:, ::-1])[:, ::-1]
        case tl.Since(one, two, reading):
            return _since(values[one], values[two], reading)
        case tl.Until(one, two, reading):
            return _since(values[one][:, ::-1], values[two][:, ::-1], reading)[:, ::-1]
        case tl.Once(of):
            return np.logical_or.accumulate(values[of], axis=1)
        case tl.Historically(of):
            return np.logical_and.accumulate(values[of], axis=1)
        case tl.Eventually(of):
            return np.logical_or.accumulate(values[of][:, ::-1], axis=1)[:, ::-1]
        case tl.Always(of):
            return np.logical_and.accumulate(values[of][:, ::-1], axis=1)[:, ::-1]
        case CountComparison(one_side, relation, other_side):
            compared: Callable[[Any, Any], Any] = relation.comparison
            return compared(_linear_values(one_side, words, values), _linear_values(other_side, words, values))
        case NumericalPredicate(name, what, parameters):
            found, where = np.unique(_count_values(what, words, values), return_inverse=True)
            n = words.shape[1]
            held = np.array([predicate_holds(name, int(each), parameters, n) for each in found], dtype=bool)
            return held[where].reshape(words.shape)
        case _:
            raise TypeError(f"{type(formula).__name__} is not a formula of this logic")


def _shift_right(values: TruthArray) -> TruthArray:
    """The values shifted by one position to the right; False at the first."""
    found = np.zeros_like(values)
    found[:, 1:] = values[:, :-1]
    return found


def _since(one: TruthArray, two: TruthArray, reading: tl.WitnessSemantics) -> TruthArray:
    """The values of ``one since two``; in the paper's reading ``one`` must also hold at the witness."""
    found = np.zeros_like(one)
    held = np.zeros(len(one), dtype=bool)
    for i in range(one.shape[1]):
        here, then = one[:, i], two[:, i]
        held = here & (then | held) if reading is tl.WitnessSemantics.PAPER else then | (here & held)
        found[:, i] = held
    return found


def _linear_values(linear: LinearExpression[Count], words: NDArray[np.int64], values: TruthTable) -> NDArray[Any]:
    """A linear combination of counts at every position; in Python integers if 64 bits may not suffice."""
    large = linear.max_abs * (len(linear.terms) * words.shape[1] + 1) >= MAX_INT64_SUM
    total = np.full(words.shape, linear.constant, dtype=object if large else np.int64)
    for coefficient, count in linear.terms:
        total = total + coefficient * _count_values(count, words, values).astype(total.dtype)
    return total


def _count_values(
    count: Position | LeftCount | RightCount, words: NDArray[np.int64], values: TruthTable
) -> NDArray[np.int64]:
    """A count, or the position itself, at every position."""
    match count:
        case LeftCount(counted):
            return np.cumsum(values[counted], axis=1, dtype=np.int64)
        case RightCount(counted):
            return np.cumsum(values[counted][:, ::-1], axis=1, dtype=np.int64)[:, ::-1]
        case _:
            return np.broadcast_to(np.arange(1, words.shape[1] + 1), words.shape)
