"""The operations of the causal dialect, and how a function becomes a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from softmachine.languages.rasp.core import Reduction
from softmachine.languages.rasp.program import Program
from softmachine.languages.rasp.python import programs
from softmachine.languages.rasp.python.causal.sequence import Sequence, chosen, integers, pointwise, positions, sequence
from softmachine.languages.rasp.python.expressions import described
from softmachine.languages.rasp.python.selectors import Aggregate, Comparison, Select, Selector, SelectorWidth
from softmachine.languages.rasp.python.sequences import SOp, tokens
from softmachine.support.errors import UsageError


def program(
    function: Callable[[Any], object],
    vocabulary: Iterable[object],
    *,
    name: str | None = None,
    stop: str | None = None,
    example: Iterable[object] = (),
) -> Program:
    """The program that a function of a sequence describes. It is causal: a decoder can run it.

    Args:
        function: A function of a sequence that returns one.
        vocabulary: The letters that an input may have.
        name: What people call the program; by default the name of the function.
        stop: With which output a program that feeds on its own output is done.
        example: The input that it suggests.

    Raises:
        UsageError: If the function does with a sequence what cannot be done.
        InvalidError: If something in it means nothing.
        ConstructionError: If a function in it cannot be made into operations.
    """
    name = name or getattr(function, "__name__", "program").strip("<>")
    return programs.program(_output(function), vocabulary, name=name, causal=True, stop=stop, example=example)


def evaluate(function: Callable[[Any], object], xs: Iterable[object]) -> list[Any]:
    """What a function of a sequence gives on an input.

    Raises:
        InputError: If it is undefined somewhere.
    """
    return programs.values(_output(function), list(xs), causal=True)


def _output(function: Callable[[Any], object]) -> Sequence:
    result = function(sequence(tokens))
    if isinstance(result, Selector):
        raise UsageError(f"the function returns {described(result)}, not a sequence", hint="use aggr, kqv or sel_width")
    return sequence(result)


def indices(x: SOp) -> Sequence:  # noqa: ARG001
    """The position, counted from 0."""
    return positions()


def full(x: SOp, const: object) -> Sequence:  # noqa: ARG001
    """The same value everywhere."""
    return integers(const)


def tok_map(x: SOp, func: Callable[[Any], Any]) -> Sequence:
    """A function of the value at each position; of the result, the integer part."""
    return integers(pointwise(func, x))


def seq_map(x: SOp, y: SOp, func: Callable[[Any, Any], Any]) -> Sequence:
    """A function of two values at each position; of the result, the integer part."""
    return integers(pointwise(func, x, y))


def where(condition: SOp, x_if: SOp, y_else: SOp) -> Sequence:
    """The first value where a condition holds, the second elsewhere."""
    return chosen(condition, x_if, y_else)


def select(k: SOp, q: SOp, pred: Callable[[Any, Any], Any], causal: bool = True) -> Selector:
    """The keys up to the query for which a predicate holds.

    Args:
        k: The keys.
        q: The queries.
        pred: A function of a key and a query.
        causal: Is always so.
    """
    if not causal:
        raise UsageError("selectors are causal here", hint="softmachine.rasp has those that see all positions")
    return Select(sequence(k), sequence(q), pred)


def sel_width(A: Selector) -> Sequence:
    """How many keys are selected."""
    return sequence(SelectorWidth(A))


def aggr(A: Selector, v: SOp, default: object = 0, reduction: str = "mean") -> Sequence:
    """What is selected, as one value.

    Args:
        A: Which values.
        v: The values.
        default: The value where nothing is selected.
        reduction: "mean", of which the integer part is taken, "max" or "min".
    """
    if reduction not in tuple(Reduction):
        raise UsageError(f"{reduction!r} is no reduction", hint=f"one of {', '.join(Reduction)}")
    return integers(Aggregate(A, integers(v), default, Reduction(reduction)))


def aggr_mean(A: Selector, v: SOp, default: object = 0) -> Sequence:
    """The integer part of the mean of what is selected."""
    return aggr(A, v, default, "mean")


def aggr_max(A: Selector, v: SOp, default: object = 0) -> Sequence:
    """The largest value that is selected."""
    return aggr(A, v, default, "max")


def aggr_min(A: Selector, v: SOp, default: object = 0) -> Sequence:
    """The smallest value that is selected."""
    return aggr(A, v, default, "min")


def kqv(
    k: SOp,
    q: SOp,
    v: SOp,
    pred: Callable[[Any, Any], Any],
    default: object = 0,
    reduction: str = "mean",
) -> Sequence:
    """What is selected by a predicate of key and query, as one value."""
    return aggr(select(k, q, pred), v, default, reduction)


equals, leq, lt, geq, gt = Comparison.EQ, Comparison.LEQ, Comparison.LT, Comparison.GEQ, Comparison.GT
