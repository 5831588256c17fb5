"""Search for small formulas: it finds existing ones, and claims nothing about formulas that it has not tried."""

from __future__ import annotations

from itertools import product

import pytest

import softmachine as sm
from softmachine.languages.source import Source
from softmachine.languages.temporal import parse_formula, truth_values
from softmachine.studies.measure.formula_search import Separation, _Search, sample_pairs, separate
from softmachine.studies.measure.slices import membership_predicate
from softmachine.support.errors import UsageError


def searched(name: str, length: int, largest: int) -> list[Separation]:
    source = sm.load(name)
    assert isinstance(source, Source)
    inside, outside = sample_pairs(membership_predicate(source), source.alphabet, length)
    assert all(map(membership_predicate(source), inside))
    assert not any(map(membership_predicate(source), outside))
    return list(separate(inside, outside, source.alphabet, largest))


SAME = [
    (2, "not Q_a"),
    (2, "prev Q_a"),
    (2, "next Q_b"),
    (2, "#<[Q_a] = 0"),
    (2, "#>[Q_b] <= 1"),
    (3, "Q_a since Q_b"),
    (3, "Q_b until Q_a"),
    (3, "#<[Q_a] <= #>[Q_b]"),
    (3, "Q_a and odd(i)"),
    (4, "#<[prev Q_a] = #<[Q_b]"),
    (4, "not (last and Q_b)"),
    (5, "#<[Q_a] = #<[Q_b since Q_a]"),
]


@pytest.mark.parametrize(("size", "text"), SAME)
def test_every_formula_of_a_size_is_among_those_that_are_tried(size: int, text: str) -> None:
    import numpy as np

    words = list(product("ab", repeat=5))
    search = _Search(np.array(words), "ab")
    for smaller in range(1, size + 1):
        list(search.enumerate_size(smaller))
    wanted = np.array([truth_values(parse_formula(text), word) for word in words])
    assert np.packbits(wanted.reshape(1, -1), axis=1).tobytes() in search.known


@pytest.mark.parametrize(
    "length", [6, 16, *(pytest.param(length, marks=pytest.mark.slow) for length in (8, 10, 12, 20))]
)
def test_dyck_1_is_told_from_all_other_words_by_small_formulas(length: int) -> None:
    assert searched("dyck-1-formula", length, 5)[-1].unseparated == 0


@pytest.mark.parametrize("length", [8, 10, 12])
def test_no_conjunction_of_formulas_up_to_size_4_defines_dyck_2(length: int) -> None:
    last = searched("dyck-2-program", length, 4)[-1]
    assert last.unseparated > 0
    assert last.example is not None
    assert not membership_predicate(sm.load("dyck-2-program"))(last.example)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("length", [8, 10, 12, 16])
def test_no_conjunction_of_formulas_up_to_size_5_defines_dyck_2(length: int) -> None:
    assert searched("dyck-2-program", length, 5)[-1].unseparated > 0


def test_the_word_that_is_left_satisfies_what_all_words_of_the_language_do() -> None:
    """Against the evaluator, for some formulas of the searched size."""
    source, last = sm.load("dyck-2-program"), searched("dyck-2-program", 8, 3)[-1]
    assert isinstance(source, Source)
    assert last.example is not None
    inside, _ = sample_pairs(membership_predicate(source), source.alphabet, 8)
    for text in ("#<['('] = #<[')']", "#<['['] <= #<[']']", "not Q_a", "true since '['", "#>['('] <= #<[')']"):
        formula = parse_formula(text)
        if len(ends := {truth_values(formula, word)[-1] for word in inside}) == 1:
            assert {truth_values(formula, last.example)[-1]} == ends, text
    assert all(truth_values(parse_formula("#<['('] = #<[')']"), word)[-1] for word in (*inside, last.example))


def test_languages_that_do_not_care_for_the_order_are_refused() -> None:
    with pytest.raises(UsageError, match="when two letters are exchanged"):
        sample_pairs(lambda word: word.count("a") >= 2, "ab", 6)
