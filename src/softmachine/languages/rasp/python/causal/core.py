"""Core operations of the causal dialect, and the conversion of functions to programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from softmachine.languages.rasp.ir import Reduction
from softmachine.languages.rasp.program import RaspProgram
from softmachine.languages.rasp.python import lowering
from softmachine.languages.rasp.python.causal.array import (
    Sequence,
    as_sequence,
    choose,
    integer_part,
    map_elementwise,
    positions,
)
from softmachine.languages.rasp.python.expression import describe_object
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
) -> RaspProgram:
    """Build a causal program, which a decoder can run, from a function of a sequence.

    Args:
        function: A function from a sequence to a sequence.
        vocabulary: The input letters.
        name: The name of the program; by default the name of the function.
        stop: The output that ends an autoregressive run; None if the program is not autoregressive.
        example: The suggested input.

    Raises:
        UsageError: If the function applies an unsupported operation to a sequence.
        InvalidError: If an expression is invalid.
        ConstructionError: If a function in it cannot be lowered to operations.
    """
    name = name or getattr(function, "__name__", "program").strip("<>")
    return lowering.program(_call_on_tokens(function), vocabulary, name=name, causal=True, stop=stop, example=example)


def evaluate(function: Callable[[Any], object], xs: Iterable[object]) -> list[Any]:
    """Evaluate a function of a sequence on an input.

    Raises:
        InputError: If the result is undefined at some position.
    """
    return lowering.evaluate_expression(_call_on_tokens(function), list(xs), causal=True)


def _call_on_tokens(function: Callable[[Any], object]) -> Sequence:
    result = function(as_sequence(tokens))
    if isinstance(result, Selector):
        raise UsageError(
            f"the function returns {describe_object(result)}, not a sequence", hint="use aggr, kqv or sel_width"
        )
    return as_sequence(result)


def indices(x: SOp) -> Sequence:  # noqa: ARG001
    """The position, counted from 0."""
    return positions()


def full(x: SOp, const: object) -> Sequence:  # noqa: ARG001
    """The same value at every position."""
    return integer_part(const)


def tok_map(x: SOp, func: Callable[[Any], Any]) -> Sequence:
    """Integer part of a function applied elementwise."""
    return integer_part(map_elementwise(func, x))


def seq_map(x: SOp, y: SOp, func: Callable[[Any, Any], Any]) -> Sequence:
    """Integer part of a function of two sequences, applied elementwise."""
    return integer_part(map_elementwise(func, x, y))


def where(condition: SOp, x_if: SOp, y_else: SOp) -> Sequence:
    """The first value where a condition holds, the second elsewhere."""
    return choose(condition, x_if, y_else)


def select(k: SOp, q: SOp, pred: Callable[[Any, Any], Any], causal: bool = True) -> Selector:
    """The keys up to the query for which a predicate holds.

    Args:
        k: The keys.
        q: The queries.
        pred: A function of a key and a query.
        causal: Must be True; accepted for compatibility with RASP-L.
    """
    if not causal:
        raise UsageError(
            "selectors of this dialect are always causal",
            hint="use softmachine.rasp for selectors that see all positions",
        )
    return Select(as_sequence(k), as_sequence(q), pred)


def sel_width(A: Selector) -> Sequence:
    """The number of selected keys."""
    return as_sequence(SelectorWidth(A))


def aggr(A: Selector, v: SOp, default: object = 0, reduction: str = "mean") -> Sequence:
    """Reduce the selected values to one.

    Args:
        A: The selector.
        v: The values.
        default: The value where nothing is selected.
        reduction: "mean" (integer part), "max" or "min".
    """
    if reduction not in tuple(Reduction):
        raise UsageError(f"unknown reduction {reduction!r}", hint=f"use one of {', '.join(Reduction)}")
    return integer_part(Aggregate(A, integer_part(v), default, Reduction(reduction)))


def aggr_mean(A: Selector, v: SOp, default: object = 0) -> Sequence:
    """Integer part of the mean of the selected values."""
    return aggr(A, v, default, "mean")


def aggr_max(A: Selector, v: SOp, default: object = 0) -> Sequence:
    """The largest selected value."""
    return aggr(A, v, default, "max")


def aggr_min(A: Selector, v: SOp, default: object = 0) -> Sequence:
    """The smallest selected value."""
    return aggr(A, v, default, "min")


def kqv(
    k: SOp,
    q: SOp,
    v: SOp,
    pred: Callable[[Any, Any], Any],
    default: object = 0,
    reduction: str = "mean",
) -> Sequence:
    """Select by a predicate of key and query and reduce the selected values to one."""
    return aggr(select(k, q, pred), v, default, reduction)


equals, leq, lt, geq, gt = Comparison.EQ, Comparison.LEQ, Comparison.LT, Comparison.GEQ, Comparison.GT
