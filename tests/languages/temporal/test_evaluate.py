from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softmachine.languages.temporal import (
    Formula,
    Specification,
    parse,
    parse_formula,
    satisfies,
    to_core,
    truth_values,
)
from softmachine.languages.temporal.batch_interpreter import evaluate_batch
from softmachine.support.errors import InputError
from softmachine.testing import words
from softmachine.testing.temporal import random_formula

LETTERS = "npqb"
"""Letters for neither, p, q, and both."""
P, Q = "(Q_p or Q_b)", "(Q_q or Q_b)"

Values = list[bool]
Definition = Callable[[Values, Values, int], bool]
"""The semantics of an operator at position i (counted from 0), given where p and q hold: by recursion, instead of the
quantifiers of the interpreter."""


def since(p: Values, q: Values, i: int) -> bool:
    return i >= 0 and (q[i] or (p[i] and since(p, q, i - 1)))


def paper_since(p: Values, q: Values, i: int) -> bool:
    return i >= 0 and p[i] and (q[i] or paper_since(p, q, i - 1))


def mirrored(past: Definition) -> Definition:
    """The same to the right."""
    return lambda p, q, i: past(p[::-1], q[::-1], len(p) - 1 - i)


def left_count(p: Values, i: int) -> int:
    return 0 if i < 0 else p[i] + left_count(p, i - 1)


def right_count(p: Values, i: int) -> int:
    return 0 if i >= len(p) else p[i] + right_count(p, i + 1)


OPERATORS: dict[str, Definition] = {
    "true": lambda p, q, i: True,
    "false": lambda p, q, i: False,
    "first": lambda p, q, i: i == 0,
    "last": lambda p, q, i: i == len(p) - 1,
    "{p}": lambda p, q, i: p[i],
    "not {p}": lambda p, q, i: not p[i],
    "{p} and {q}": lambda p, q, i: p[i] and q[i],
    "{p} or {q}": lambda p, q, i: p[i] or q[i],
    "{p} -> {q}": lambda p, q, i: p[i] <= q[i],
    "{p} <-> {q}": lambda p, q, i: p[i] is q[i],
    "{p} and {q} and first": lambda p, q, i: p[0] and q[0] and i == 0,
    "{p} or {q} or last": lambda p, q, i: p[i] or q[i] or i == len(p) - 1,
    "prev {p}": lambda p, q, i: [False, *p][i],
    "next {p}": lambda p, q, i: [*p, False][i + 1],
    "{p} since {q}": since,
    "{p} since! {q}": paper_since,
    "{p} until {q}": mirrored(since),
    "{p} until! {q}": mirrored(paper_since),
    "once {p}": lambda p, q, i: True in p[: i + 1],
    "historically {p}": lambda p, q, i: False not in p[: i + 1],
    "eventually {p}": lambda p, q, i: True in p[i:],
    "always {p}": lambda p, q, i: False not in p[i:],
    "#<[{p}] < 2": lambda p, q, i: left_count(p, i) < 2,
    "#<[{p}] <= 2": lambda p, q, i: left_count(p, i) <= 2,
    "#<[{p}] = 2": lambda p, q, i: left_count(p, i) == 2,
    "#<[{p}] != 2": lambda p, q, i: left_count(p, i) != 2,
    "#>[{p}] >= 2": lambda p, q, i: right_count(p, i) >= 2,
    "#>[{p}] > 2": lambda p, q, i: right_count(p, i) > 2,
    "2*#<[{p}] - #>[{q}] + 3 <= #>[{p}] + #<[{q}] + 1": lambda p, q, i: (
        2 * left_count(p, i) - right_count(q, i) + 3 <= right_count(p, i) + left_count(q, i) + 1
    ),
    "odd(i)": lambda p, q, i: i in (0, 2, 4),
    "prime(i)": lambda p, q, i: i + 1 in (2, 3, 5),
    "power2(i)": lambda p, q, i: i + 1 in (1, 2, 4),
    "mod(i,3,1)": lambda p, q, i: i + 1 in (1, 4),
    "odd(#<[{p}])": lambda p, q, i: left_count(p, i) in (1, 3, 5),
    "prime(#<[{p}])": lambda p, q, i: left_count(p, i) in (2, 3, 5),
    "power2(#>[{p}])": lambda p, q, i: right_count(p, i) in (1, 2, 4),
    "mod(#>[{p}],3,0)": lambda p, q, i: right_count(p, i) in (0, 3),
}


@pytest.mark.parametrize("text", OPERATORS)
def test_every_operator_agrees_with_its_definition_on_every_word_up_to_length_5(text: str) -> None:
    formula, meaning = parse_formula(text.format(p=P, q=Q)), OPERATORS[text]
    for word in words(LETTERS, 5):
        p, q = [letter in "pb" for letter in word], [letter in "qb" for letter in word]
        assert truth_values(formula, word) == tuple(meaning(p, q, i) for i in range(len(word))), word


@given(st.integers(0, 10**9))
@settings(max_examples=150, deadline=None)
def test_the_core_of_a_formula_means_the_same(seed: int) -> None:
    formula = random_formula(random.Random(seed), 3, "ab")
    for word in words("ab", 4):
        assert truth_values(to_core(formula), word) == truth_values(formula, word)


def test_a_word_satisfies_a_formula_that_is_true_at_its_last_position() -> None:
    formula = parse_formula("Q_b and prev Q_a")
    assert truth_values(formula, "aba") == (False, True, False)
    assert not satisfies(formula, "aba")
    assert satisfies(formula, "aab")


def test_the_empty_word_has_no_values_and_satisfies_nothing() -> None:
    for text in ("true", "not Q_a", "#<[Q_a] = 0", "historically false", "last"):
        assert truth_values(parse_formula(text), "") == ()
        assert not satisfies(parse_formula(text), "")


def test_parity_is_right_on_words_without_ones() -> None:
    parity = parse_formula("odd(#<[Q_1])")
    assert truth_values(parity, "0000") == (False,) * 4
    for word in words("01", 7):
        assert satisfies(parity, word) == (word.count("1") % 2 == 1)


def test_parity_without_predicates_is_parity() -> None:
    # The paper's formula in section 4.5: there is no position with as many ones before it as from it on.
    parity = parse_formula("#<[#<[prev Q_1] = #>[Q_1]] = 0")
    for word in words("01", 7):
        if word:
            assert satisfies(parity, word) == (word.count("1") % 2 == 1)


def test_at_position_1_since_needs_its_first_argument_only_in_the_papers_reading() -> None:
    assert truth_values(parse_formula("Q_a since Q_b"), "b") == (True,)
    assert truth_values(parse_formula("Q_a since! Q_b"), "b") == (False,)
    assert truth_values(parse_formula("(Q_a or Q_b) since! Q_b"), "b") == (True,)
    assert truth_values(parse_formula("Q_a until Q_b"), "ab") == (True, True)
    assert truth_values(parse_formula("Q_a until! Q_b"), "ab") == (False, False)


def test_right_counts_at_the_last_position_count_that_position() -> None:
    assert truth_values(parse_formula("#>[Q_a] = 1"), "aaa") == (False, False, True)
    assert truth_values(parse_formula("#>[Q_a] = 0"), "aab") == (False, False, True)


def test_dyck_1_in_counting_logic() -> None:
    dyck = parse_formula("#<[#<[')'] > #<['(']] = 0 and #<['('] = #<[')']")
    assert [satisfies(dyck, word) for word in ("()", "(())()", ")(", "(()")] == [True, True, False, False]


def test_words_of_a_specification_have_symbols_of_its_alphabet_only() -> None:
    specification = parse("Q_a since Q_b")
    assert truth_values(specification, "ba") == (True, True)
    assert satisfies(specification, ["b", "a"])
    with pytest.raises(InputError, match="symbol 'c' at position 2 of the input is not in the alphabet"):
        truth_values(specification, "ac")
    with pytest.raises(InputError):
        satisfies(specification, "c")


def test_deep_and_shared_formulas_are_evaluated() -> None:
    deep: Formula = parse_formula("Q_a")
    for _ in range(5_000):
        deep = ~deep
    assert truth_values(deep, "ab") == (True, False)
    shared: Formula = parse_formula("Q_a")
    for _ in range(200):
        shared = ~shared & ~(shared & parse_formula("first"))
    assert len(truth_values(shared, "ab")) == 2


@pytest.mark.parametrize("seed", range(60))
def test_the_batch_interpreter_agrees_with_the_reference(seed: int) -> None:
    rng = random.Random(seed)
    formula = random_formula(rng, 4, "ab")
    specification = Specification(name="formula", formula=formula, alphabet=("a", "b"))
    for word in [*words("ab", 4), tuple(rng.choices("ab", k=20))]:
        assert tuple(evaluate_batch(specification, [word])[0].tolist()) == truth_values(specification, word), word


def test_the_fast_evaluator_is_linear() -> None:
    """By the definitions this takes hours."""
    formula = parse_formula("(Q_a since Q_b) and (Q_a until Q_b) and #<[Q_a] >= 2*#>[Q_b]")
    specification = Specification(name="formula", formula=formula, alphabet=("a", "b"))
    assert not evaluate_batch(specification, ["ab" * 20_000])[0, :100].any()
