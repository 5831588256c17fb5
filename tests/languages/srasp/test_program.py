from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError
from typing import Any, cast

import pytest

from softmachine.languages.linear import Relation
from softmachine.languages.srasp import Definition, SraspProgram, Type, ValueKind, parse
from softmachine.languages.srasp.ast import (
    Add,
    And,
    Attention,
    AttentionChoice,
    BooleanLiteral,
    Compare,
    Expression,
    IntegerLiteral,
    Mask,
    Member,
    Not,
    PrefixSum,
    SymbolLiteral,
    VectorRead,
)
from softmachine.support.errors import InvalidError


def program(*bodies: Expression, alphabet: tuple[str, ...] = ("a", "b"), output: str = "v0") -> SraspProgram:
    definitions = tuple(Definition(f"v{number}", body) for number, body in enumerate(bodies))
    return SraspProgram(name="test", alphabet=alphabet, definitions=definitions, output=output)


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidError) as caught:
        parse(f"alphabet a b\n{text}\noutput x")
    return caught.value.problems


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("in(i)", Type(ValueKind.SYMBOL, ("a", "b"))),
        ("'c'", Type(ValueKind.SYMBOL, ("c",))),
        ("'c' if true else in(i)", Type(ValueKind.SYMBOL, ("c", "a", "b"))),
        ("rightmost j < i : in(j) else '?'", Type(ValueKind.SYMBOL, ("a", "b", "?"))),
        ("psum j : pos(j)", Type(ValueKind.INTEGER)),
        ("pos(i) < 3", Type(ValueKind.BOOLEAN)),
        ("rightmost j where pos(j) = pos(i) : pos(j) > pos(i) else true", Type(ValueKind.BOOLEAN)),
    ],
)
def test_types_are_inferred(body: str, expected: Type) -> None:
    assert parse(f"alphabet a b\nx(i) = {body}\noutput x").types == {"x": expected}


@pytest.mark.parametrize(
    ("body", "column", "message"),
    [
        ("pos(i) + in(i)", 17, "in(i) is a symbol ('a', 'b'), but '+' requires integers"),
        ("1 - true", 12, "true is a Boolean, but '-' requires integers"),
        ("not 1", 12, "1 is an integer, but 'not' requires a Boolean"),
        ("true and 1 or false", 17, "1 is an integer, but 'and' requires Booleans"),
        ("in(i) or true", 8, "'or' requires Booleans"),
        ("in(i) = 1", 8, "only values of the same type can be compared"),
        ("in(i) < 'a'", 8, "'<' requires integers"),
        ("true >= false", 8, "'>=' requires integers"),
        ("in(i) = 'c'", 8, "in(i) is never 'c': it is a symbol ('a', 'b')"),
        ("'c' != in(i)", 8, "is never true"),
        ("in(i) in {'a', 'd'}", 8, "in(i) is never 'd'"),
        ("pos(i) in {'a'}", 8, "pos(i) is an integer, but 'in' requires a symbol"),
        ("1 if in(i) else 2", 13, "a condition must be Boolean"),
        ("1 if true else 'a'", 23, "must have the same type"),
        ("psum j : true", 17, "(1 if … else 0)"),
        ("psum j : pos(i)", 17, "must not depend on i; write j"),
        ("in(j)", 8, "j is not defined here"),
        ("rightmost j : 1 else pos(j)", 29, "j is not defined here"),
        ("rightmost j where pos(j) : 1 else 2", 26, "a predicate must be Boolean"),
        ("rightmost j : 1 else 'a'", 29, "the value and the default of an attention must have the same type"),
        ("rightmost j where pos(i) < pos(j) : 1 else 2", 26, "only be compared by '=' and '!='"),
        ("rightmost j where (pos(i) if in(j) = 'a' else 0) = pos(j) : 1 else 2", 27, "depends on both i and j"),
        ("rightmost j : (psum j : 1) else 2", 23, "define it as a separate vector"),
        ("psum j : (rightmost j : 1 else 2)", 18, "define it as a separate vector"),
        ("y(i)", 8, "unknown vector 'y'"),
        ("x(i)", 8, "'x' is used before its definition"),
        ("2 if true else 3 - (2 if in(i) in {'c'} else 1)", 33, "in(i) is never 'c'"),
        ("1000000001", 8, "at most 1,000,000,000"),
        ("'' = 'a b'", 8, "symbol '' is empty or contains whitespace"),
    ],
)
def test_a_broken_rule_is_named_with_its_place_and_a_caret(body: str, column: int, message: str) -> None:
    first = problems(f"x(i) = {body}")[0]
    head, line, caret = first.splitlines()
    assert head.startswith(f"<string>:2:{column}: ")
    assert message in head
    assert (line.strip(), caret.index("^")) == (f"x(i) = {body}", 8 + column - 1)


def test_all_problems_are_reported_at_once_and_follow_from_nothing_else() -> None:
    found = problems(
        "x(i) = later(i) and 1\nlater(i) = not in(i) = 'a'\nopen(i) = pen(i)\nx(i) = 2\nif_open(i) = opens(i) + 1\n"
        "z(i) = open(i) and x(i)"
    )
    assert len(found) == 5
    for part, problem in zip(
        (
            "'later' is used before",
            "1 is an integer",
            "did you mean 'open'",
            "'x' is defined twice",
            "did you mean 'open'",
        ),
        found,
        strict=True,
    ):
        assert part in problem


def test_an_output_that_is_not_there_and_a_missing_alphabet_are_named() -> None:
    with pytest.raises(InvalidError) as caught:
        parse("x(i) = 1\noutput y")
    assert [problem.splitlines()[0] for problem in caught.value.problems] == [
        "it has no alphabet; add a line such as: alphabet a b",
        "<string>:2:8: the output 'y' is not one of its vectors (x)",
    ]
    with pytest.raises(InvalidError, match="it has no output; end with a line that names a vector, as in: output x"):
        parse("alphabet a\nx(i) = 1")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: program(And((BooleanLiteral(True),))), "'and' requires at least two operands, not 1"),
        (lambda: program(Member(VectorRead("in", "i"), ())), "the set is empty"),
        (lambda: program(VectorRead("v0", cast(Any, "k"))), "the positions are i and j"),
        (lambda: program(VectorRead("in", "i"), alphabet=("a", "a")), "letter 'a' is listed 2 times"),
        (lambda: program(VectorRead("in", "i"), alphabet=("a b",)), "symbol 'a b' is empty or contains whitespace"),
        (lambda: program(VectorRead("in", "i"), output=""), "it has no output"),
        (lambda: SraspProgram(name="x", alphabet=("a",), definitions=(), output="v"), "there are none"),
        (
            lambda: SraspProgram(
                name="x", alphabet=("a",), definitions=(Definition("a b", BooleanLiteral(True)),), output="a b"
            ),
            "'a b' is not a valid name",
        ),
        (
            lambda: SraspProgram(
                name="x", alphabet=("a",), definitions=(Definition("psum", BooleanLiteral(True)),), output="psum"
            ),
            "'psum' is a keyword",
        ),
    ],
)
def test_programs_made_in_python_are_checked_as_well(make: Any, message: str) -> None:
    with pytest.raises(InvalidError) as caught:
        make()
    assert message in str(caught.value)


def test_a_program_made_in_python_may_be_nested_as_deep_as_one_in_a_text() -> None:
    body: Expression = BooleanLiteral(True)
    for _ in range(50_000):
        body = Not(body)
    with pytest.raises(InvalidError, match="nested more than 100 deep"):
        program(body)


def test_many_problems_are_not_all_listed() -> None:
    with pytest.raises(InvalidError, match="… and 30 more"):
        program(*[Not(IntegerLiteral(1))] * 50)


def test_a_program_is_immutable_and_can_be_compared_and_printed() -> None:
    body = Attention(
        AttentionChoice.LEFTMOST, Mask.AFTER, BooleanLiteral(True), VectorRead("in", "j"), SymbolLiteral("?")
    )
    one, other = program(body), program(body)
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == "S-RASP program test: 2 letters, 1 vector, output v0"
    assert str(one["v0"]) == "leftmost j > i : in(j) else '?'"
    with pytest.raises(FrozenInstanceError):
        one.name = "other"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(one)) == deepcopy(one) == one


def test_a_program_shows_itself_as_a_table() -> None:
    shown = program(
        Compare(Relation.LESS, PrefixSum(Add(IntegerLiteral(1), IntegerLiteral(1))), IntegerLiteral(2))
    )._repr_html_()
    cells = ("v0", "Boolean", "(psum j : 1 + 1) &lt; 2", "output")
    assert "".join(f"<td>{cell}</td>" for cell in cells) in shown


def test_types_are_printed() -> None:
    assert str(Type(ValueKind.SYMBOL, tuple("abcdefghij"))) == "symbol ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', …)"
    assert Type(ValueKind.BOOLEAN).is_finite
    assert not Type(ValueKind.INTEGER).is_finite


def test_an_unavailable_type_is_an_error() -> None:
    with pytest.raises(InvalidError, match="unknown vector 'w'"):
        program(BooleanLiteral(True)).type_of(VectorRead("w", "j"))
