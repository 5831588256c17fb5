from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

import pytest

from softmachine.languages.srasp import (
    AttentionStep,
    PredicateProduct,
    PrefixSumStep,
    SraspProgram,
    Type,
    ValueKind,
    evaluate,
    list_operations,
    normalise,
    parse,
    run,
    split_predicate,
)
from softmachine.languages.srasp.ast import Attention, Expression, PrefixSum, VectorRead, children, free_indices, walk
from softmachine.languages.srasp.interpreter import Denotation, denotation_of
from softmachine.support.errors import ConstructionError
from softmachine.testing import words
from softmachine.testing.srasp import random_program


def predicate_of(predicate: str, definitions: str = "", alphabet: str = "a b c") -> tuple[SraspProgram, Expression]:
    last = f"x(i) = rightmost j where {predicate} : true else false"
    program = parse(f"alphabet {alphabet}\n{definitions}\n{last}\noutput x")
    body = program["x"]
    assert isinstance(body, Attention)
    return program, body.predicate


def products(predicate: str, definitions: str = "", alphabet: str = "a b c") -> list[str]:
    return [str(term) for term in split_predicate(*predicate_of(predicate, definitions, alphabet))]


def reader(program: SraspProgram, word: tuple[str, ...]) -> Callable[[Expression], Denotation]:
    """The values of expressions over the vectors of a program on a word."""
    vectors = evaluate(program, word)

    def read(part: Expression) -> Denotation | None:
        values: tuple[object, ...]
        match part:
            case VectorRead("in"):
                values = word
            case VectorRead("pos"):
                values = tuple(range(1, len(word) + 1))
            case VectorRead():
                values = vectors[part.name]
            case _:
                return None
        return (lambda i, _: values[i]) if part.at == "i" else (lambda _, j: values[j])

    return lambda expression: denotation_of(expression, read)


def meaning_of_product(product: PredicateProduct, meaning: Callable[[Expression], Denotation]) -> Denotation:
    conditions = [meaning(product.at_i), meaning(product.at_j)]
    equal = [(meaning(equality.at_i), meaning(equality.at_j)) for equality in product.required_equalities]
    unequal = [(meaning(equality.at_i), meaning(equality.at_j)) for equality in product.excluded_equalities]
    return lambda i, j: (
        all(condition(i, j) for condition in conditions)
        and all(left(i, j) == right(i, j) for left, right in equal)
        and all(left(i, j) != right(i, j) for left, right in unequal)
    )


def assert_covers_each_true_case_once(program: SraspProgram, predicate: Expression, length: int = 3) -> None:
    terms = split_predicate(program, predicate)
    for term in terms:
        assert free_indices(term.at_i) <= {"i"}
        assert free_indices(term.at_j) <= {"j"}
        for equality in term.required_equalities + term.excluded_equalities:
            assert free_indices(equality.at_i) == {"i"}
            assert free_indices(equality.at_j) == {"j"}
    for word in product(program.alphabet, repeat=length):
        meaning = reader(program, word)
        expected, found = meaning(predicate), [meaning_of_product(term, meaning) for term in terms]
        for i, j in product(range(length), repeat=2):
            true = [str(term) for term, holds in zip(terms, found, strict=True) if holds(i, j)]
            assert len(true) == expected(i, j), (str(predicate), word, i, j, true)


def test_a_condition_at_one_position_is_one_product() -> None:
    assert products("in(j) = 'a'") == ["[true] · [in(j) = 'a']"]
    assert products("in(i) = 'a' or pos(i) > 2") == ["[in(i) = 'a' or pos(i) > 2] · [true]"]
    assert products("in(i) = 'a' and in(j) = 'b'") == ["[in(i) = 'a'] · [in(j) = 'b']"]


def test_what_always_holds_is_one_product_and_what_never_holds_is_none() -> None:
    assert products("true") == ["[true] · [true]"]
    assert products("in(i) = in(j) or in(i) != in(j)") == ["[true] · [true]"]
    assert products("in(i) = in(j) and in(i) != in(j)") == []


def test_equality_of_symbols_is_a_product_a_symbol() -> None:
    assert products("in(i) = in(j)") == [f"[in(i) = '{x}'] · [in(j) = '{x}']" for x in "abc"]
    assert products("in(i) = y(j)", "y(i) = rightmost j < i where in(j) != 'a' : in(j) else 'c'", "a b c d") == [
        f"[in(i) = '{x}'] · [y(j) = '{x}']" for x in "abcd"
    ]


def test_the_side_that_makes_fewer_products_is_taken() -> None:
    two = products("(in(i) = 'a' if in(j) = 'a' else in(i) = 'b') or in(j) = 'c' and in(i) = 'b'")
    assert two == ["[in(i) = 'a'] · [in(j) = 'a']", "[in(i) = 'b'] · [not in(j) = 'a']"]


def test_cases_that_cannot_arise_make_no_products() -> None:
    predicate = "in(j) = '(' and in(i) = ')' or in(j) = '[' and in(i) = ']'"
    assert sorted(products(predicate, alphabet="( ) [ ]")) == [
        "[in(i) = ')'] · [in(j) = '(']",
        "[in(i) = ']'] · [in(j) = '[']",
    ]


def test_equalities_of_integers_are_brought_to_the_form_x_of_i_is_y_of_j() -> None:
    counts = "d(i) = psum j : 1\ne(i) = d(i) + 1"
    assert products("d(j) = d(i) + 1 and in(j) = 'a'", counts) == ["[true] · [in(j) = 'a'] · [d(i) + 1 = d(j)]"]
    assert products("d(i) - 1 = e(j) + 2", counts) == ["[true] · [true] · [d(i) - 3 = e(j)]"]
    assert products("d(i) - d(j) = 0", counts) == ["[true] · [true] · [d(i) = d(j)]"]
    assert products("pos(j) + d(i) = d(j) - e(i)", counts) == ["[true] · [true] · [d(i) + e(i) = d(j) - pos(j)]"]
    assert products("0 - pos(j) = e(i) + 1", counts) == ["[true] · [true] · [-e(i) - 1 = pos(j)]"]


def test_an_equality_that_does_not_matter_is_not_demanded() -> None:
    assert products("pos(i) = pos(j) or pos(j) != pos(i)") == ["[true] · [true]"]
    assert products("in(j) = 'a' or pos(i) = pos(j)") == [
        "[true] · [in(j) = 'a']",
        "[true] · [not in(j) = 'a'] · [pos(i) = pos(j)]",
    ]
    assert products("not pos(i) = pos(j)") == ["[true] · [true] · [not pos(i) = pos(j)]"]


@pytest.mark.parametrize(
    "predicate",
    [
        "in(i) = in(j) and (y(i) or not y(j)) or pos(i) = pos(j)",
        "y(i) = y(j)",
        "(y(i) = y(j)) != (in(i) in {'a', 'c'})",
        "(in(i) if y(j) else 'a') = in(j)",
        "(in(i) if y(j) else '?') in {'b', '?'}",
        "pos(i) = pos(j) + 1 or d(i) = d(j) and not y(j)",
        "(in(i) if d(i) = d(j) else in(j)) = 'b'",
        "y(i) if d(i) != d(j) else y(j)",
        "(d(i) > 1) = (d(j) > 1)",
    ],
)
def test_products_cover_each_true_case_once(predicate: str) -> None:
    definitions = "y(i) = rightmost j < i : in(j) = 'b' else true\nd(i) = psum j : (1 if y(j) else -1)"
    program, found = predicate_of(predicate, definitions)
    assert_covers_each_true_case_once(program, found)


@pytest.mark.parametrize("seed", range(60))
def test_products_of_random_predicates_cover_each_true_case_once(seed: int) -> None:
    program = random_program(random.Random(seed), vectors=4, integers=seed % 3 != 0)
    for definition in normalise(program).definitions:
        if isinstance(definition.body, Attention):
            assert_covers_each_true_case_once(normalise(program), definition.body.predicate)


def test_a_predicate_with_too_many_cases_is_refused() -> None:
    many = " ".join(f"s{number}" for number in range(600))
    with pytest.raises(ConstructionError, match="too many cases"):
        products("in(i) = in(j)", alphabet=many)
    with pytest.raises(ConstructionError, match="too many values") as caught:
        products("in(i) = in(j) and y(i) = y(j) and z(i) = z(j)", "y(i) = in(i)\nz(i) = in(i)", many)
    assert "separate vector" in str(caught.value)


def test_large_conditions_at_one_position_are_no_trouble() -> None:
    definitions = "\n".join(f"y{number}(i) = pos(i) > {number}" for number in range(20))
    all_of_them = " and ".join(f"y{number}(j)" for number in range(20))
    assert products(all_of_them, definitions) == [f"[true] · [{all_of_them}]"]


def test_operations_are_listed_in_order() -> None:
    program = parse(
        "alphabet a b\nx(i) = psum j : (1 if in(j) = 'a' else 0)\ny(i) = x(i) > 1\n"
        "z(i) = rightmost j < i where x(i) = x(j) and y(j) : (in(j) if x(i) > x(j) + pos(j) else in(j)) else '?'\n"
        "output z"
    )
    total, lookup = list_operations(program)
    assert isinstance(total, PrefixSumStep)
    assert (total.name, str(total.term)) == ("x", "1 if in(i) = 'a' else 0")
    assert isinstance(lookup, AttentionStep)
    assert [str(term) for term in lookup.products] == ["[true] · [y(j)] · [x(i) = x(j)]"]
    assert sorted(map(str, lookup.read_vectors)) == ["in(j)", "pos(j)", "x(j)"]


def test_normalising_gives_every_operation_its_own_vector() -> None:
    program = parse(
        "alphabet a b\nx_1(i) = pos(i)\nx(i) = (psum j : 1) + (rightmost j < i : pos(j) else psum j : 2)\noutput x"
    )
    flat = normalise(program)
    assert [definition.name for definition in flat.definitions] == ["x_1", "x_2", "x_3", "x_4", "x"]
    assert run(flat, "abab") == run(program, "abab")
    assert normalise(flat) is flat


@pytest.mark.parametrize("seed", range(20))
def test_a_normalised_program_computes_the_same(seed: int) -> None:
    program = random_program(random.Random(seed))
    flat = normalise(program)
    for definition in flat.definitions:
        inner = [part for child in children(definition.body) for part in walk(child)]
        assert not any(isinstance(part, PrefixSum | Attention) for part in inner)
    for word in words(program.alphabet, 4):
        assert run(flat, word) == run(program, word)


def test_types_of_expressions_are_available() -> None:
    program = parse("alphabet a b\nx(i) = rightmost j < i : in(j) else '?'\noutput x")
    assert program.type_of(VectorRead("x", "j")) == program.types["x"] == Type(ValueKind.SYMBOL, ("a", "b", "?"))
    assert program.types["x"].values == ("a", "b", "?")
