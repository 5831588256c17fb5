"""Selectors and aggregates of the tracr dialect, compared with Python lists; predicates as pairs, or decomposed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from softmachine import rasp
from softmachine.languages.rasp import ir
from softmachine.support.errors import ConstructionError, InputError, InvalidError, SoftmachineError, UsageError

WORD = [3, 1, 2, 1, 0, 3]


def rows(predicate: Callable[[Any, Any], Any], keys: list[Any], queries: list[Any]) -> list[list[bool]]:
    return [[bool(predicate(key, query)) for key in keys] for query in queries]


@pytest.mark.parametrize("comparison", rasp.Comparison)
@pytest.mark.parametrize("keys", [rasp.tokens, rasp.indices])
@pytest.mark.parametrize("queries", [rasp.tokens, rasp.indices])
def test_a_comparison_selects_keys_that_compare_so(
    comparison: rasp.Comparison, keys: rasp.SOp, queries: rasp.SOp
) -> None:
    expected = rows(comparison, keys(WORD), queries(WORD))
    assert rasp.Select(keys, queries, comparison)(WORD) == expected


PREDICATES: list[Callable[[Any, Any], Any]] = [
    lambda k, q: True,
    lambda k, q: k,
    lambda k, q: q > 2,
    lambda k, q: k + 1 == q,
    lambda k, q: q == k + 1,
    lambda k, q: k - q == 1,
    lambda k, q: 2 * k - 3 * q <= 1,
    lambda k, q: -(k - q) / 2 > 0.5,
    lambda k, q: abs(k - q) <= 1,
    lambda k, q: max(k, q) == 3,
    lambda k, q: min(k + 1, q) > 1 or k == 0,
    lambda k, q: (k if k > q else q) == 2,
    lambda k, q: k % 2 == q % 2,
    lambda k, q: 0 <= q - k < 2,
    lambda k, q: k == q and k > 1,
    lambda k, q: not (k < q),
    lambda k, q: k in (q, q + 1),
    lambda k, q: (k > 1) == (q > 1),
    lambda k, q: (k < 2) if q > 1 else (k == q),
    lambda k, q: "yes" if k > q else "",
    lambda k, q: None if k > q else [1][0],
    lambda k, q: (k > q) * 2,
]


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("keys", [rasp.tokens, rasp.indices])
@pytest.mark.parametrize("queries", [rasp.tokens, rasp.indices])
def test_a_function_of_key_and_query_selects_where_it_is_true(
    predicate: Callable[[Any, Any], Any], keys: rasp.SOp, queries: rasp.SOp
) -> None:
    assert rasp.Select(keys, queries, predicate)(WORD) == rows(predicate, keys(WORD), queries(WORD))


MIXED: list[Callable[[Any, Any], Any]] = [
    lambda k, q: k in "ab" and q > 1,
    lambda k, q: {"a": q == 0, "b": q > 2}.get(k, True),
    lambda k, q: ord(k) - 97 == q,
]


@pytest.mark.parametrize("predicate", MIXED)
def test_a_key_may_be_a_letter_and_a_query_a_number(predicate: Callable[[Any, Any], Any]) -> None:
    word = list("abcba")
    assert rasp.Select(rasp.tokens, rasp.indices, predicate)(word) == rows(predicate, word, list(range(5)))
    turned = rasp.Select(rasp.indices, rasp.tokens, lambda k, q: predicate(q, k))(word)
    assert turned == rows(lambda k, q: predicate(q, k), list(range(5)), word)


def test_selectors_are_joined_and_negated() -> None:
    one = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ)
    other = rasp.Select(rasp.indices, rasp.indices, rasp.Comparison.LT)
    pairs = [list(zip(*both, strict=True)) for both in zip(one(WORD), other(WORD), strict=True)]
    assert (one & other)(WORD) == rasp.SelectorAnd(one, other)(WORD) == [[a and b for a, b in row] for row in pairs]
    assert (one | other)(WORD) == rasp.SelectorOr(one, other)(WORD) == [[a or b for a, b in row] for row in pairs]
    assert (~one)(WORD) == rasp.SelectorNot(one)(WORD) == [[not a for a, _ in row] for row in pairs]
    assert (one & one)(WORD) == one(WORD)
    assert rasp.selector_and(one, other)(WORD) == (one & other)(WORD)
    assert rasp.selector_or(one, other)(WORD) == (one | other)(WORD)
    assert rasp.selector_not(one, simplify=False)(WORD) == (~one)(WORD)


def test_a_constant_selector_is_all_nothing_or_rows_for_one_length() -> None:
    assert rasp.ConstantSelector(True)("ab") == [[True, True], [True, True]]
    assert rasp.ConstantSelector(False)("ab") == [[False, False], [False, False]]
    fixed = [[True, False, False], [False, False, False], [True, True, True]]
    assert rasp.ConstantSelector(fixed)("abc") == fixed
    assert rasp.SelectorWidth(rasp.ConstantSelector(fixed))("abc") == [1, 0, 3]
    assert rasp.ConstantSelector(fixed, check_length=False)("ab") == [[True, False], [False, False]]
    with pytest.raises(InputError, match="undefined"):
        rasp.ConstantSelector(fixed)("ab")


def test_width_counts() -> None:
    assert rasp.SelectorWidth(rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ))("hello") == [1, 1, 2, 2, 1]


def test_an_aggregate_is_the_mean_the_one_value_or_the_default() -> None:
    before = rasp.Select(rasp.indices, rasp.indices, rasp.Comparison.LT)
    for seed in range(5):
        word = Random(seed).choices(range(6), k=7)
        means = [sum(word[:i]) / i for i in range(1, 7)]
        assert rasp.Aggregate(before, rasp.tokens)(word) == pytest.approx([None, *means])
        assert rasp.Aggregate(before, rasp.tokens, default=-1)(word) == pytest.approx([-1, *means])
    previous = rasp.Select(rasp.indices, rasp.indices - 1, rasp.Comparison.EQ)
    assert rasp.Aggregate(previous, rasp.tokens)("abc") == [None, "a", "b"]
    assert rasp.Aggregate(previous, rasp.tokens, "-")("abc") == ["-", "a", "b"]
    twice = rasp.Aggregate(previous, rasp.Aggregate(previous, rasp.indices))
    assert twice("abcd") == [None, None, 0, 1]


def test_several_letters_that_differ_have_no_mean() -> None:
    everything = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.TRUE)
    assert rasp.Aggregate(everything, rasp.tokens)("aaa") == ["a", "a", "a"]
    with pytest.raises(InputError, match=r"test_selectors\.py.* undefined at position 0"):
        rasp.Aggregate(everything, rasp.tokens)("ab")


def test_comparing_none_is_undefined_but_a_function_may_ask_for_it() -> None:
    some = rasp.Map(lambda t: None if t == "b" else t, rasp.tokens)
    comparisons: list[Callable[[Any, Any], Any]] = [rasp.Comparison.EQ, rasp.Comparison.TRUE, lambda k, q: k < q]
    for comparison in comparisons:
        assert rasp.Select(some, some, comparison)("aa") == [[bool(comparison("a", "a"))] * 2] * 2
        with pytest.raises(InputError, match="undefined"):
            rasp.Select(some, some, comparison)("ab")
    assert rasp.Select(some, some, lambda k, q: k is None)("ab") == [[False, True], [False, True]]
    assert rasp.Select(some, rasp.indices, lambda k, q: k is None or q > 0)("ab") == [[False, True], [True, True]]


def test_a_predicate_of_letters_is_a_list_of_pairs_and_one_of_numbers_a_comparison() -> None:
    def kinds(selector: rasp.Selector) -> set[type]:
        return {type(step.node) for step in rasp.program(rasp.SelectorWidth(selector), "ab").definitions}

    assert ir.SelectPairs in kinds(rasp.Select(rasp.tokens, rasp.tokens, lambda k, q: k < q))
    assert ir.Select in kinds(rasp.Select(rasp.indices, rasp.indices, lambda k, q: k < q))
    assert ir.SelectAll in kinds(rasp.Select(rasp.tokens, rasp.tokens, lambda k, q: True))


BAD: list[tuple[Callable[[], object], type[SoftmachineError], str]] = [
    (lambda: rasp.Select(rasp.tokens, 3, max), UsageError, "the second argument of Select must be a sequence operator"),  # type: ignore[arg-type]
    (lambda: rasp.Select(rasp.tokens, rasp.tokens, "=="), UsageError, "the predicate of Select must be a function"),  # type: ignore[arg-type]
    (lambda: rasp.Aggregate(rasp.tokens, rasp.tokens), UsageError, "takes a selector, not the sequence operator"),  # type: ignore[arg-type]
    (lambda: rasp.SelectorWidth(3), UsageError, "SelectorWidth takes a selector, not a int"),  # type: ignore[arg-type]
    (lambda: rasp.ConstantSelector([[True], [False]]), UsageError, "must have one Boolean per key"),
    (
        lambda: rasp.Select(rasp.indices, rasp.indices, lambda k, q: k * q == 4)("ab"),
        ConstructionError,
        "mixes key and query",
    ),
    (
        lambda: rasp.Select(rasp.tokens, rasp.tokens, lambda k, q: 1 // 0)("ab"),
        SoftmachineError,
        "ZeroDivisionError",
    ),
    (
        lambda: rasp.Select(rasp.tokens, rasp.tokens, lambda k, q: {}[k])("ab"),
        InvalidError,
        "called with 'a', 'a', it raises KeyError",
    ),
    (
        lambda: rasp.program(rasp.SelectorWidth(rasp.Select(rasp.tokens, rasp.tokens, lambda k, q: k > q)), range(200)),
        ConstructionError,
        "called on 40,000 pairs",
    ),
    (lambda: rasp.Select(rasp.tokens, rasp.indices, rasp.Comparison.LT)("ab"), InvalidError, "cannot compare"),
    (lambda: bool(rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.LT)), UsageError, "neither true nor false"),
]


@pytest.mark.parametrize(("make", "kind", "message"), BAD)
def test_bad_input_is_named(make: Callable[[], object], kind: type[SoftmachineError], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()
