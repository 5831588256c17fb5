"""Programs of the causal dialect, and errors for functions that are not programs."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from softmachine.languages.rasp import run
from softmachine.languages.rasp.incremental_interpreter import generate
from softmachine.rasp import causal
from softmachine.support.errors import InvalidError, SoftmachineError, UsageError


def count_from(x: Any) -> Any:
    """The next number, up to the second given one; then 0."""
    end = causal.index_select(x, causal.full(x, 1))
    return causal.where(x == end, causal.full(x, 0), (x + 1) % 8)


def copy(x: Any) -> Any:
    """After the mark 9: the letters before it, one by one; then 8."""
    mark = causal.firsts(x, causal.full(x, 9), default=-1)
    return causal.where(mark >= 0, causal.index_select(x, causal.indices(x) - mark, default=8), causal.full(x, 8))


def parity(x: Any) -> Any:
    """Whether the number of ones is odd."""
    return causal.cumsum(x == 1) % 2


def induction(x: Any) -> Any:
    """The letter after the previous occurrence of the current one."""
    before = causal.shift_right(x, 1, default=-1)
    return causal.index_select(x, causal.lasts(before, x), default=-1)


def test_counting_autoregressively() -> None:
    program = causal.program(count_from, range(8), stop="0")
    written = generate(program, ["2", "5", "2"])
    assert (written.letters, written.is_complete) == (("3", "4", "5"), True)


def test_copying_autoregressively() -> None:
    program = causal.program(copy, range(10), stop="9")
    written = generate(program, ["3", "1", "4", "9"])
    assert written.letters == ("3", "1", "4")


def test_parity_and_induction() -> None:
    word = Random(3).choices(range(3), k=12)
    ones = [word[: i + 1].count(1) % 2 for i in range(12)]
    assert list(run(causal.program(parity, range(3)), map(str, word))) == ones
    after = [next((word[j] for j in range(i, 0, -1) if word[j - 1] == word[i]), -1) for i in range(12)]
    assert list(run(causal.program(induction, range(3)), map(str, word))) == after


def test_the_name_is_that_of_the_function() -> None:
    assert causal.program(parity, "01").name == "parity"
    assert causal.program(lambda x: x, "01").name == "lambda"


def test_tokens_may_be_letters() -> None:
    assert causal.evaluate(lambda x: causal.shift_right(x, 1, "-"), "abc") == ["-", "a", "b"]
    assert causal.evaluate(lambda x: causal.tok_map(x, ord), "ab") == [97, 98]


BAD: list[tuple[Callable[[Any], Any], type[SoftmachineError], str]] = [
    (lambda x: x[0], UsageError, "cannot be indexed"),
    (len, UsageError, "length of a sequence is unknown"),
    (list, UsageError, "is not iterable"),
    (lambda x: x if x else 0, UsageError, "neither true nor false"),
    (lambda x: [1, 2], UsageError, "expected a sequence, not a list"),
    (lambda x: causal.select(x, x, causal.equals), UsageError, "not a sequence"),
    (lambda x: causal.select(x, x, causal.equals, causal=False), UsageError, "always causal"),
    (lambda x: causal.tok_map(causal.select(x, x, causal.equals), abs), UsageError, "expected a sequence"),  # type: ignore[arg-type]
    (
        lambda x: causal.aggr(causal.select(x, x, causal.equals), x, reduction="sum"),
        UsageError,
        "unknown reduction 'sum'",
    ),
    (lambda x: (x > 1) - (x > 2), InvalidError, "Booleans cannot be subtracted"),
    (lambda x: causal.tok_map(x, lambda v: {}[v]), InvalidError, "called with 1, it raises KeyError"),
]


@pytest.mark.parametrize(("function", "kind", "message"), BAD)
def test_bad_input_is_named(function: Callable[[Any], Any], kind: type[SoftmachineError], message: str) -> None:
    with pytest.raises(kind, match=message):
        causal.evaluate(function, [1, 2])
