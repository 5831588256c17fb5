from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from softmachine.languages.temporal import (
    NumericalPredicate,
    parse_formula,
    predicate,
    predicates,
    to_text,
    truth_values,
)
from softmachine.support.errors import InvalidError, SourceError, UsageError


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(predicates, "_DEFINITIONS", dict(predicates._DEFINITIONS))
        yield


def true_at(name: str, *parameters: int) -> list[int]:
    return [number for number in range(20) if predicates.predicate_holds(name, number, parameters)]


def test_built_in_predicates_have_their_defined_values() -> None:
    assert true_at("odd") == [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]
    assert true_at("prime") == [2, 3, 5, 7, 11, 13, 17, 19]
    assert true_at("power2") == [1, 2, 4, 8, 16]
    assert true_at("mod", 7, 3) == [3, 10, 17]
    assert true_at("mod", 1, 0) == list(range(20))


def test_a_predicate_can_be_defined_and_used_by_its_name() -> None:
    predicate("square", lambda number: math.isqrt(number) ** 2 == number)
    formula = parse_formula("square(i) and not square(#<[Q_a])")
    assert to_text(formula) == "square(i) and not square(#<[Q_a])"
    assert truth_values(formula, "abaa") == (False, False, False, True)
    predicate("square", lambda number: number == 5)
    assert true_at("square") == [5]


def test_a_predicate_must_have_a_truth_value_at_every_number_that_is_tried() -> None:
    with pytest.raises(InvalidError, match=r"at 0 it raises ZeroDivisionError: .*; it must be True or False at every"):
        predicate("bad", lambda number: 10 % number == 0)
    with pytest.raises(InvalidError, match="at 0 it is 0, of type int"):
        predicate("bad", lambda number: number % 2)
    with pytest.raises(InvalidError, match="unknown predicate"):
        NumericalPredicate("bad")
    predicate("late", lambda number: bool(1 // (40 - number)))
    with pytest.raises(InvalidError, match="at 40 it raises ZeroDivisionError"):
        truth_values(NumericalPredicate("late"), "a" * 40)


@pytest.mark.parametrize("name", ["odd", "mod", "since", "S", "i", "Q_a", "two words", "2nd", "", "a-b"])
def test_names_that_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        predicate(name, lambda number: True)


def test_parameters_are_checked_when_a_formula_is_made() -> None:
    with pytest.raises(InvalidError, match=r"write odd\(i\), with 0 parameters, not 1"):
        NumericalPredicate("odd", parameters=(3,))
    with pytest.raises(InvalidError, match="3 is not a remainder modulo 3; write one from 0 to 2"):
        NumericalPredicate("mod", parameters=(3, 3))


def test_predicates_of_the_length_have_their_defined_values() -> None:
    def at(name: str, n: int, *parameters: int) -> list[int]:
        return [number for number in range(n + 1) if predicates.predicate_holds(name, number, parameters, n)]

    assert at("half", 7) == [0, 1, 2, 3]
    assert [at("middle", n) for n in (1, 2, 7, 8)] == [[1], [1], [4], [4]]
    assert at("divides", 12) == [1, 2, 3, 4, 6, 12]
    assert at("upto", 9, 2, 3) == [0, 1, 2, 3, 4, 5, 6]


def test_a_predicate_of_the_length_is_read_printed_and_evaluated() -> None:
    formula = parse_formula("historically (half(i) <-> Q_a) and upto(#<[Q_a],1,2)")
    assert parse_formula(to_text(formula)) == formula
    assert [truth_values(formula, word)[-1] for word in ("ab", "aabb", "abab", "aab", "b")] == [
        True,
        True,
        False,
        False,
        True,
    ]


def test_a_predicate_of_the_length_can_be_defined() -> None:
    predicate("late", lambda number, n: 3 * number > 2 * n, depends_on_length=True)
    assert truth_values(parse_formula("late(i)"), "aaaaaa") == (False,) * 4 + (True,) * 2
    with pytest.raises(InvalidError, match="at 0 of 0 it raises ZeroDivisionError"):
        predicate("bad", lambda number, n: number % n == 0, depends_on_length=True)
    with pytest.raises(InvalidError, match="depends on the length of the word"):
        predicates.predicate_holds("half", 3)


@pytest.mark.parametrize("text", ["upto(i)", "upto(i,3,2)", "upto(i,0,0)", "half(i,2)"])
def test_wrong_parameters_are_refused(text: str) -> None:
    with pytest.raises(SourceError, match="predicate"):
        parse_formula(text)
