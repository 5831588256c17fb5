"""Library of the causal dialect: core operations, functions defined by them, and the conversion to programs.

All functions refer to the positions up to the current one.
"""

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
    truth_values,
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


def shift_right(x: SOp, n: int, default: object = 0) -> Sequence:
    """The value ``n`` positions earlier."""
    return kqv(indices(x), indices(x) - n, x, equals, default=default)


def index_select(x: SOp, idx: SOp, default: object = 0) -> Sequence:
    """The value at position ``idx``; the default where that position has not been read yet."""
    return kqv(indices(x), idx, x, equals, default=default)


def mask(x: SOp, bool_mask: SOp, mask_val: object = 0) -> Sequence:
    """The value where the mask is true, ``mask_val`` elsewhere."""
    return where(bool_mask, x, full(x, mask_val))


def cumsum(bool_array: SOp) -> Sequence:
    """The number of true positions so far."""
    return sel_width(select(truth_values(bool_array), full(bool_array, 1), equals))


def maximum(x: SOp) -> Sequence:
    """The largest value so far."""
    return kqv(x, x, x, Comparison.TRUE, reduction="max")


def minimum(x: SOp) -> Sequence:
    """The smallest value so far."""
    return kqv(x, x, x, Comparison.TRUE, reduction="min")


def argmax(x: SOp) -> Sequence:
    """The last position of the largest value."""
    return kqv(x, maximum(x), indices(x), equals, reduction="max")


def argmin(x: SOp) -> Sequence:
    """The last position of the smallest value."""
    return kqv(x, minimum(x), indices(x), equals, reduction="max")


def num_prev(x: SOp, queries: SOp) -> Sequence:
    """The number of occurrences of the queried value so far."""
    return sel_width(select(x, queries, equals))


def has_seen(x: SOp, queries: SOp) -> Sequence:
    """1 where the queried value has occurred, else 0."""
    return integer_part(num_prev(x, queries) > 0)


def firsts(x: SOp, queries: SOp, default: object = -1) -> Sequence:
    """The first position of the queried value."""
    return kqv(x, queries, indices(x), equals, default=default, reduction="min")


def lasts(x: SOp, queries: SOp, default: object = -1) -> Sequence:
    """The last position of the queried value."""
    return kqv(x, queries, indices(x), equals, default=default, reduction="max")


def first_true(x: SOp, default: object = -1) -> Sequence:
    """The first position with value 1."""
    return firsts(x, full(x, 1), default)


def mode(x: SOp) -> Sequence:
    """The most frequent value; among ties, the one that reached the maximal count last."""
    return index_select(x, argmax(num_prev(x, x)))


def binary_mode(x: SOp) -> Sequence:
    """1 if there are more ones than zeros so far, else 0."""
    return integer_part(num_prev(x, full(x, 1)) > num_prev(x, full(x, 0)))


def induct_kqv(
    k: SOp,
    q: SOp,
    v: SOp,
    offset: int,
    default: object = 0,
    null_val: object = None,  # noqa: ARG001
) -> Sequence:
    """The value ``offset`` positions after the first key that equals the query, if that has been read.

    Args:
        k: The keys.
        q: The queries.
        v: The values.
        offset: The distance after the key; not negative.
        default: The value where there is no such key.
        null_val: Ignored; accepted for compatibility with RASP-L.
    """
    late_enough = select(indices(k), full(k, offset), geq)
    found = aggr(select(shift_right(k, offset), q, equals) & late_enough, indices(k), -1, "min")
    return index_select(v, found, default)


def induct(k: SOp, q: SOp, offset: int, default: object = 0, null_val: object = None) -> Sequence:
    """The key ``offset`` positions after the first one that equals the query, if that has been read."""
    return induct_kqv(k, q, k, offset, default, null_val)


def induct_prev(k: SOp, q: SOp, offset: int, default: object = 0, null_val: object = None) -> Sequence:  # noqa: ARG001
    """The key before the first one that equals the query: at a negative ``offset`` from it."""
    position = firsts(k, q)
    return where(position >= 0, index_select(k, position + offset, default), full(k, default))
