"""Library of the causal dialect: functions defined by its core operations.

All functions refer to the positions up to the current one.
"""

from __future__ import annotations

from softmachine.languages.rasp.python.causal.array import Sequence, integer_part, truth_values
from softmachine.languages.rasp.python.causal.core import (
    aggr,
    equals,
    full,
    geq,
    indices,
    kqv,
    sel_width,
    select,
    where,
)
from softmachine.languages.rasp.python.selectors import Comparison
from softmachine.languages.rasp.python.sequences import SOp


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
