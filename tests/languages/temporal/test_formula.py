from __future__ import annotations

import pickle
import random
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softmachine.languages.temporal import (
    FALSE,
    TRUE,
    And,
    BooleanConstant,
    CountComparison,
    Formula,
    LeftCount,
    LinearExpression,
    Not,
    NumericalPredicate,
    Or,
    Relation,
    RightCount,
    Since,
    Symbol,
    WitnessSemantics,
    conjunction,
    disjunction,
    find_fragment,
    find_symbols,
    parse_formula,
    subformulas,
    to_core,
)
from softmachine.support.errors import InvalidError, UsageError
from softmachine.testing.temporal import PAST, random_formula

A, B = Symbol("a"), Symbol("b")


@given(st.integers(0, 10**9))
def test_formulas_compare_by_structure(seed: int) -> None:
    one, two = (random_formula(random.Random(seed), 4, "ab") for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert Not(one) != one
    assert pickle.loads(pickle.dumps(one)) == one


def test_different_formulas_are_different() -> None:
    texts = [
        "Q_a", "Q_b", "true", "false", "first", "last", "not Q_a", "prev Q_a", "once Q_a",
        "Q_a and Q_b", "Q_b and Q_a", "Q_a or Q_b", "(Q_a and Q_b) and Q_a", "Q_a and Q_b and Q_a",
        "Q_a since Q_b", "Q_a since! Q_b", "Q_a until Q_b",
        "#<[Q_a] = 0", "#>[Q_a] = 0", "#<[Q_b] = 0", "2*#<[Q_a] = 0", "#<[Q_a] = 1", "#<[Q_a] < 0", "0 = #<[Q_a]",
        "odd(i)", "prime(i)", "odd(#<[Q_a])", "odd(#>[Q_a])", "mod(i,3,1)", "mod(i,3,2)",
    ]  # fmt: skip
    assert len({parse_formula(text) for text in texts}) == len(texts)
    assert A != "a"


def test_deep_and_shared_formulas_compare_and_print_without_recursion() -> None:
    def deep() -> Formula:
        formula: Formula = A
        for _ in range(5_000):
            formula = CountComparison(
                LinearExpression(((1, LeftCount(formula)),)), Relation.AT_LEAST, LinearExpression((), 1)
            )
        return formula

    def shared() -> Formula:
        formula: Formula = A
        for _ in range(60):
            formula = And((formula, Not(formula)))
        return formula

    assert deep() == deep()
    assert deep() != Not(deep())
    assert deep().depth == 5_000
    assert str(deep()).startswith("#<[#<[")
    assert shared() == shared()
    assert len(subformulas(shared())) == 121
    with pytest.raises(UsageError, match="longer than 16 MiB"):
        str(shared())


def test_formulas_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        A.symbol = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Not(A).operand = B  # type: ignore[misc]


def test_python_operators_make_formulas() -> None:
    assert parse_formula("not Q_a and Q_b or false") == (~A & B | FALSE)
    assert parse_formula("Q_a and Q_b and Q_a") == (A & B & A)
    assert parse_formula("Q_a and (Q_b and Q_a)") == (A & (B & A))
    assert parse_formula("Q_a or Q_b or Q_a") == (A | B | A)


def test_conjunctions_and_disjunctions_take_any_number_of_formulas() -> None:
    assert [conjunction([]), conjunction([A]), conjunction([A, B])] == [TRUE, A, And((A, B))]
    assert [disjunction([]), disjunction([A]), disjunction([A, B])] == [FALSE, A, Or((A, B))]


def test_formulas_made_of_something_else_are_refused() -> None:
    with pytest.raises(UsageError, match="takes formulas, not 'a'"):
        Not("a")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="tuple of two or more formulas"):
        And((A,))
    with pytest.raises(UsageError, match="tuple of two or more formulas"):
        Or([A, B])  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="not a symbol"):
        Symbol("")
    with pytest.raises(InvalidError, match=r"10\^18"):
        CountComparison(LinearExpression((), 10**5000), Relation.LESS, LinearExpression())


def test_a_comparison_has_the_difference_of_its_sides() -> None:
    comparison = parse_formula("2*#<[Q_a] + 5 - #>[Q_b] <= #<[Q_a] + #>[Q_b] + #<[Q_a] - 1")
    assert isinstance(comparison, CountComparison)
    assert comparison.difference == LinearExpression(((-2, RightCount(B)),), 6)


def test_subformulas_come_once_each_and_after_their_parts() -> None:
    formula = parse_formula("Q_a since #<[Q_b and Q_a] >= 2 or odd(#>[Q_b])")
    assert [str(part) for part in subformulas(formula)] == [
        "Q_a",
        "Q_b",
        "Q_b and Q_a",
        "#<[Q_b and Q_a] >= 2",
        "Q_a since #<[Q_b and Q_a] >= 2",
        "odd(#>[Q_b])",
        "Q_a since #<[Q_b and Q_a] >= 2 or odd(#>[Q_b])",
    ]
    assert formula.depth == 4


def test_symbols_are_those_mentioned_in_order() -> None:
    assert find_symbols(parse_formula("Q_b since 'x y' and #<[Q_a or Q_b] > 0")) == ("b", "x y", "a")
    assert find_symbols(parse_formula("odd(i)")) == ()


@pytest.mark.parametrize(
    ("text", "name", "past"),
    [
        ("Q_a and not Q_b -> true", "TL[]", True),
        ("prev Q_a", "TL[⊖]", True),
        ("next prev Q_a", "TL[⊖, ⊕]", False),
        ("Q_a since! Q_b", "TL[since]", True),
        ("once Q_a or historically Q_b", "TL[since]", True),
        ("Q_a until Q_b", "TL[until]", False),
        ("eventually Q_a", "TL[until]", False),
        ("always Q_a", "TL[until]", False),
        ("first", "TL[first]", True),
        ("last", "TL[last]", False),
        ("#<[Q_a] > 2", "TL[#←, +]", True),
        ("#<[Q_a] > #>[Q_b]", "TL[#←, #→, +]", False),
        ("1 < 2", "TL[+]", True),
        ("odd(i)", "TL[Mon(i)]", True),
        ("odd(#<[prev Q_a])", "TL[⊖, #←, Mon(#)]", True),
        ("odd(#>[Q_a])", "TL[#→, Mon(#)]", False),
    ],
)
def test_the_fragment_of_a_formula_is_the_operators_it_needs(text: str, name: str, past: bool) -> None:
    found = find_fragment(parse_formula(text))
    assert str(found) == name
    assert found.is_past_only is past


@given(st.integers(0, 10**9))
def test_random_formulas_keep_to_their_depth_letters_and_operators(seed: int) -> None:
    formula = random_formula(random.Random(seed), 4, "ab", PAST)
    assert find_fragment(formula).is_past_only
    assert formula.depth <= 4
    assert set(find_symbols(formula)) <= {"a", "b"}


@given(st.integers(0, 10**9))
def test_a_core_has_core_operators_only(seed: int) -> None:
    formula = to_core(random_formula(random.Random(seed), 4, "ab"))
    kinds = {type(part).__name__ for part in subformulas(formula)}
    assert kinds <= {
        "Symbol", "BooleanConstant", "First", "Last", "Not", "And", "Or", "Previous", "Next", "Since", "Until",
        "CountComparison", "NumericalPredicate",
    }  # fmt: skip
    assert all(part.semantics is WitnessSemantics.STANDARD for part in subformulas(formula) if isinstance(part, Since))
    assert to_core(formula) == formula


def test_the_text_shows_in_representations() -> None:
    assert repr(Since(A, B)) == "<Since: Q_a since Q_b>"
    assert repr(BooleanConstant(True)) == "<BooleanConstant: true>"
    assert str(NumericalPredicate("mod", LeftCount(A), (3, 1))) == "mod(#<[Q_a],3,1)"
