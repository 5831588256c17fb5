"""Every function of the causal dialect, compared with Python lists and loops over prefixes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from softmachine.languages.rasp import run
from softmachine.rasp import causal
from softmachine.rasp.causal import (
    aggr,
    aggr_max,
    aggr_mean,
    aggr_min,
    argmax,
    argmin,
    binary_mode,
    cumsum,
    equals,
    first_true,
    firsts,
    full,
    geq,
    gt,
    has_seen,
    index_select,
    indices,
    induct,
    induct_kqv,
    induct_prev,
    kqv,
    lasts,
    leq,
    lt,
    mask,
    maximum,
    minimum,
    mode,
    num_prev,
    sel_width,
    select,
    seq_map,
    shift_right,
    tok_map,
    where,
)

Function = Callable[[Any], Any]
OnPrefix = Callable[[list[int]], Any]
"""The expected value at the last position of a prefix."""


def first_of(prefix: list[int], wanted: int, default: int = -1) -> int:
    return prefix.index(wanted) if wanted in prefix else default


def last_of(prefix: list[int], wanted: int, default: int = -1) -> int:
    return len(prefix) - 1 - prefix[::-1].index(wanted) if wanted in prefix else default


def at(prefix: list[int], index: int, default: int = 0) -> int:
    return prefix[index] if 0 <= index < len(prefix) else default


def part(numbers: list[int], default: int) -> int:
    """The integer part of a mean."""
    return int(np.divide(sum(numbers), len(numbers))) if numbers else default


def most_frequent(prefix: list[int]) -> int:
    """The value that became the most frequent one last."""
    counts: Counter[int] = Counter()
    best, found = 0, 0
    for x in prefix:
        counts[x] += 1
        if counts[x] >= best:
            best, found = counts[x], x
    return found


def copied(prefix: list[int], offset: int) -> int:
    """The value ``offset`` positions after the first occurrence of the current value."""
    places = [j for j in range(len(prefix) - offset) if prefix[j] == prefix[-1]]
    return prefix[places[0] + offset] if places else 0


CASES: dict[str, tuple[Function, OnPrefix]] = {
    "full": (lambda x: full(x, 7), lambda p: 7),
    "full of a float": (lambda x: full(x, 2.9), lambda p: 2),
    "indices": (indices, lambda p: len(p) - 1),
    "tok_map": (lambda x: tok_map(x, lambda v: v * v - 3), lambda p: p[-1] ** 2 - 3),
    "tok_map of Booleans": (lambda x: tok_map(x, lambda v: v > 1), lambda p: int(p[-1] > 1)),
    "tok_map of fractions": (lambda x: tok_map(indices(x), lambda i: (1 - i) / 2), lambda p: int((2 - len(p)) / 2)),
    "seq_map": (lambda x: seq_map(x, indices(x), lambda a, b: a - 2 * b), lambda p: p[-1] - 2 * (len(p) - 1)),
    "where": (lambda x: where(x > 1, x, -x), lambda p: p[-1] if p[-1] > 1 else -p[-1]),
    "where a number is not 0": (lambda x: where(x, indices(x), full(x, -1)), lambda p: len(p) - 1 if p[-1] else -1),
    "mask": (lambda x: mask(x, x != 2, 9), lambda p: p[-1] if p[-1] != 2 else 9),
    "sel_width": (lambda x: sel_width(select(x, x, equals)), lambda p: p.count(p[-1])),
    "select by a function": (
        lambda x: sel_width(select(x, indices(x), lambda k, q: k + 1 < q)),
        lambda p: sum(k + 1 < len(p) - 1 for k in p),
    ),
    "joined selectors": (
        lambda x: sel_width(select(x, x, lt) & ~select(x, full(x, 0), equals) | select(x, full(x, 3), geq)),
        lambda p: sum((k < p[-1] and k != 0) or k >= 3 for k in p),
    ),
    "aggr_mean": (lambda x: aggr_mean(select(x, x, leq), x), lambda p: part([k for k in p if k <= p[-1]], 0)),
    "mean of negative numbers": (
        lambda x: aggr_mean(select(x, x, gt), -indices(x), 5),
        lambda p: part([-i for i, k in enumerate(p) if k > p[-1]], 5),
    ),
    "aggr_max": (
        lambda x: aggr_max(select(x, x, lt), indices(x), -2),
        lambda p: max((i for i, k in enumerate(p) if k < p[-1]), default=-2),
    ),
    "aggr_min": (
        lambda x: aggr_min(select(x, x, lt), indices(x), -2),
        lambda p: min((i for i, k in enumerate(p) if k < p[-1]), default=-2),
    ),
    "aggr": (
        lambda x: aggr(select(x, x, lt), x, default=4, reduction="min"),
        lambda p: min((k for k in p if k < p[-1]), default=4),
    ),
    "kqv": (
        lambda x: kqv(indices(x), indices(x) - 2, x, equals, default=-1),
        lambda p: at(p, len(p) - 3, -1),
    ),
    "shift_right": (lambda x: shift_right(x, 2, 8), lambda p: at(p, len(p) - 3, 8)),
    "shift_right by 0": (lambda x: shift_right(x, 0), lambda p: p[-1]),
    "cumsum": (lambda x: cumsum(x > 1), lambda p: sum(k > 1 for k in p)),
    "cumsum of numbers": (cumsum, lambda p: sum(k != 0 for k in p)),
    "maximum": (maximum, max),
    "minimum": (minimum, min),
    "argmax": (argmax, lambda p: last_of(p, max(p))),
    "argmin": (argmin, lambda p: last_of(p, min(p))),
    "num_prev": (lambda x: num_prev(x, full(x, 2)), lambda p: p.count(2)),
    "has_seen": (lambda x: has_seen(x, x + 1), lambda p: int(p[-1] + 1 in p)),
    "firsts": (lambda x: firsts(x, x + 1), lambda p: first_of(p, p[-1] + 1)),
    "lasts": (lambda x: lasts(x, x - 1, -5), lambda p: last_of(p, p[-1] - 1, -5)),
    "index_select": (lambda x: index_select(x, x, 6), lambda p: at(p, p[-1], 6)),
    "first_true": (lambda x: first_true(x == 2), lambda p: first_of(p, 2)),
    "mode": (mode, most_frequent),
    "binary_mode": (binary_mode, lambda p: int(p.count(1) > p.count(0))),
    "induct": (lambda x: induct(x, x, 1), lambda p: copied(p, 1)),
    "induct by 2": (lambda x: induct(x, x, 2, null_val=-999), lambda p: copied(p, 2)),
    "induct_kqv": (
        lambda x: induct_kqv(x, x, indices(x), 1, default=-1),
        lambda p: next((j + 1 for j in range(len(p) - 1) if p[j] == p[-1]), -1),
    ),
    "induct_prev": (lambda x: induct_prev(x, x, -1, -1), lambda p: at(p, first_of(p, p[-1]) - 1, -1)),
    "arithmetic": (lambda x: 3 * x - indices(x) // 2 + x % 2, lambda p: 3 * p[-1] - (len(p) - 1) // 2 + p[-1] % 2),
    "bits": (lambda x: (x & 1) + (x | 2) + ~x, lambda p: (p[-1] & 1) + (p[-1] | 2) + ~p[-1]),
    "Booleans": (
        lambda x: ((x > 1) & (x < 3)) | ~(x == 0),
        lambda p: (1 < p[-1] < 3) or p[-1] != 0,
    ),
    "sums of Booleans": (lambda x: (x > 1) + (x > 2), lambda p: bool(np.array([p[-1] > 1]) + np.array([p[-1] > 2]))),
    "products of Booleans": (lambda x: (x > 1) * (x < 3) * 5, lambda p: 5 * (1 < p[-1] < 3)),
    "a Boolean times a number": (lambda x: (x > 1) * indices(x), lambda p: (p[-1] > 1) * (len(p) - 1)),
}


@pytest.mark.parametrize("case", CASES)
def test_functions_agree_with_loops_over_prefixes(case: str) -> None:
    function, expected = CASES[case]
    random = Random(case)
    for length in (1, 2, 3, 5, 8, 13):
        word = random.choices(range(4), k=length)
        assert causal.evaluate(function, word) == [expected(word[: i + 1]) for i in range(length)], word


@pytest.mark.parametrize("case", CASES)
def test_programs_of_functions_agree_with_the_functions(case: str) -> None:
    function, expected = CASES[case]
    program = causal.program(function, range(4), name=case)
    word = Random(case).choices(range(4), k=9)
    assert program.causal
    assert list(run(program, map(str, word))) == [expected(word[: i + 1]) for i in range(9)]


def test_there_is_a_case_for_every_function() -> None:
    tested = {*CASES, "equals", "leq", "lt", "geq", "gt", "select", "Sequence", "evaluate", "program"}
    assert set(causal.__all__) <= tested
