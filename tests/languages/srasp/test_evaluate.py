from __future__ import annotations

import random
from typing import Any

import pytest

from softmachine.languages.linear import Relation
from softmachine.languages.srasp import SraspProgram, accepts, evaluate, parse, run
from softmachine.languages.srasp.ast import (
    Add,
    And,
    Attention,
    AttentionChoice,
    BooleanLiteral,
    Compare,
    Conditional,
    Expression,
    IntegerLiteral,
    Mask,
    Member,
    Not,
    Or,
    PrefixSum,
    Subtract,
    SymbolLiteral,
    VectorRead,
)
from softmachine.support.errors import InputError, UsageError
from softmachine.testing import words
from softmachine.testing.srasp import random_program


def value(body: str, word: str, alphabet: str = "a b c") -> tuple[Any, ...]:
    return run(parse(f"alphabet {alphabet}\nx(i) = {body}\noutput x"), word)


def test_positions_count_from_1() -> None:
    assert value("pos(i)", "abc") == (1, 2, 3)


def test_a_prefix_sum_includes_its_own_position() -> None:
    assert value("psum j : pos(j)", "abca") == (1, 3, 6, 10)
    assert value("psum j <= i : (1 if in(j) = 'a' else -1)", "abba") == (1, 0, -1, 0)


@pytest.mark.parametrize(
    ("mask", "leftmost", "rightmost"),
    [
        ("j", (1, 1, 1, 1), (4, 4, 4, 4)),
        ("j < i", (0, 1, 1, 1), (0, 1, 2, 3)),
        ("j <= i", (1, 1, 1, 1), (1, 2, 3, 4)),
        ("j > i", (2, 3, 4, 0), (4, 4, 4, 0)),
        ("j >= i", (1, 2, 3, 4), (4, 4, 4, 4)),
    ],
)
def test_masks_decide_what_is_seen(mask: str, leftmost: tuple[int, ...], rightmost: tuple[int, ...]) -> None:
    assert value(f"leftmost {mask} : pos(j) else 0", "abca") == leftmost
    assert value(f"rightmost {mask} where true : pos(j) else 0", "abca") == rightmost


def test_attention_takes_the_chosen_position_or_the_default() -> None:
    assert value("rightmost j < i where in(j) = in(i) : pos(j) else -pos(i)", "abacb") == (-1, -2, 1, -4, 2)
    assert value("leftmost j > i where in(j) != in(i) : in(j) else '?'", "aabca") == ("b", "b", "c", "a", "?")


def test_the_value_may_depend_on_both_positions() -> None:
    assert value("leftmost j where in(j) = 'b' : pos(i) - pos(j) else 9", "aba") == (-1, 0, 1)
    assert value("leftmost j where in(j) = 'b' : pos(i) < pos(j) else false", "aba") == (True, False, False)


def test_integers_at_two_positions_may_be_equal() -> None:
    assert value("rightmost j where pos(j) = pos(i) + 1 : in(j) else '?'", "abc") == ("b", "c", "?")
    assert value("leftmost j where pos(j) != pos(i) : in(j) else '?'", "abc") == ("b", "a", "a")
    assert value("leftmost j where pos(i) - pos(j) = 2 : in(j) else '?'", "abc") == ("?", "?", "a")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("not in(i) = 'a' and in(i) = 'b'", (False, True, False)),
        ("in(i) = 'a' or in(i) = 'b' and false", (True, False, False)),
        ("not (in(i) = 'a' or in(i) = 'b')", (False, False, True)),
        ("in(i) in {'a', 'c'}", (True, False, True)),
        ("in(i) not in {'a', 'c'}", (False, True, False)),
        ("(in(i) = 'a') = (pos(i) = 1)", (True, True, True)),
        ("1 if in(i) = 'a' else 2 if in(i) = 'b' else 3", (1, 2, 3)),
        ("10 - pos(i) - 1", (8, 7, 6)),
        ("10 - (pos(i) - 1)", (10, 9, 8)),
        ("--pos(i) + -1", (0, 1, 2)),
        ("pos(i) ≥ 2 and pos(i) ≠ 3 and pos(i) ≤ 3 and pos(i) == 2", (False, True, False)),
        ("0 if pos(i) > 1 else psum j : 5", (5, 0, 0)),
        ("(psum j : 1) + (psum j : pos(j))", (2, 5, 9)),
        ("rightmost j < i : in(j) else leftmost j > i : in(j) else '?'", ("b", "a", "b")),
        ("'x' if in(i) = 'a' else in(i)", ("x", "b", "c")),
    ],
)
def test_expressions_have_their_defined_semantics(body: str, expected: tuple[Any, ...]) -> None:
    found = value(body, "abc")
    assert found == expected
    assert [type(entry) for entry in found] == [type(entry) for entry in expected]


def test_all_vectors_are_there_in_order() -> None:
    program = parse("alphabet a b\nx(i) = in(i) = 'a'\ny(i) = psum j : (1 if x(j) else 0)\noutput x")
    assert evaluate(program, "aba") == {"x": (True, False, True), "y": (1, 1, 2)}
    assert list(evaluate(program, "")) == ["x", "y"]


def test_the_verdict_is_the_output_at_the_last_position() -> None:
    program = parse("alphabet a b\nx(i) = in(i) = 'a'\noutput x")
    assert accepts(program, "ba")
    assert not accepts(program, "ab")


def test_there_is_no_verdict_without_a_last_position_or_a_boolean_output() -> None:
    with pytest.raises(InputError, match="empty word"):
        accepts(parse("alphabet a\nx(i) = true\noutput x"), "")
    with pytest.raises(UsageError, match="'x' is symbol"):
        accepts(parse("alphabet a\nx(i) = in(i)\noutput x"), "a")


def test_unknown_letters_and_longer_letters() -> None:
    with pytest.raises(InputError, match="symbol 'd' at position 2"):
        value("in(i)", "ad")
    program = parse("alphabet one two\nx(i) = in(i)\noutput x")
    assert run(program, "two  one") == run(program, ["two", "one"]) == ("two", "one")
    assert program.format_values(run(program, "two one")) == "two one"


def test_values_are_spelled_as_text() -> None:
    assert parse("alphabet a\nx(i) = pos(i)\noutput x").format_values([1, -2]) == "1 -2"
    assert parse("alphabet a\nx(i) = true\noutput x").format_values([True, False]) == "true false"
    assert parse("alphabet a\nx(i) = in(i)\noutput x").format_values("aa") == "aa"


def test_long_words_do_not_take_long() -> None:
    assert value("(psum j : 1) - (rightmost j <= i : pos(j) else 0)", "abc" * 1000) == (0,) * 3000


SIGNS = {**{comparison: comparison.value for comparison in Relation}, Relation.EQUAL: "=="}


def python(expression: Expression) -> str:
    """The expression as Python source over the list W of letters and the dictionary V of vectors."""
    match expression:
        case VectorRead("in", at):
            return f"W[{at}]"
        case VectorRead("pos", at):
            return f"({at} + 1)"
        case VectorRead(name=name, at=at):
            return f"V[{name!r}][{at}]"
        case SymbolLiteral(value=constant) | IntegerLiteral(value=constant) | BooleanLiteral(value=constant):
            return repr(constant)
        case Not(operand=operand):
            return f"(not {python(operand)})"
        case And(parts=parts):
            return f"({' and '.join(map(python, parts))})"
        case Or(parts=parts):
            return f"({' or '.join(map(python, parts))})"
        case Compare(relation=relation, left=left, right=right):
            return f"({python(left)} {SIGNS[relation]} {python(right)})"
        case Member(operand=operand, symbols=symbols):
            return f"({python(operand)} in {set(symbols)!r})"
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            return f"({python(then)} if {python(condition)} else {python(otherwise)})"
        case Add(left=left, right=right):
            return f"({python(left)} + {python(right)})"
        case Subtract(left=left, right=right):
            return f"({python(left)} - {python(right)})"
        case PrefixSum(term=term):
            return f"sum([{python(term)} for j in range(i + 1)])"
        case Attention():
            mask = "True" if expression.mask is Mask.NONE else expression.mask.value
            last = -1 if expression.choice is AttentionChoice.RIGHTMOST else 0
            found = f"[{python(expression.value)} for j in range(n) if {mask} and {python(expression.predicate)}]"
            return f"({found} or [{python(expression.default)}])[{last}]"


def in_python(program: SraspProgram, word: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    vectors: dict[str, Any] = {}
    for definition in program.definitions:
        code = compile(f"lambda i, n, W, V: {python(definition.body)}", "<test>", "eval")
        function = eval(code)
        vectors[definition.name] = tuple(function(i, len(word), word, vectors) for i in range(len(word)))
    return vectors


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_mean_the_same_in_python(seed: int) -> None:
    program = random_program(random.Random(seed), integers=seed % 4 != 0)
    for word in words(program.alphabet, 4):
        assert evaluate(program, word) == in_python(program, word)
