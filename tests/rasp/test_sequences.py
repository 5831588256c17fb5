"""Sequence operators of the tracr dialect, compared with Python lists; functions as tables; invalid input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from softmachine import rasp
from softmachine.languages.rasp.interpreter import run
from softmachine.languages.rasp.ir import Apply, Table
from softmachine.support.errors import ConstructionError, InputError, InvalidError, SoftmachineError, UsageError

WORD = [3, 1, 2, 1, 0]
EQ = rasp.Comparison.EQ


def nodes(sop: rasp.SOp, vocabulary: Any) -> list[Any]:
    return [definition.node for definition in rasp.program(sop, vocabulary).definitions]


def test_primitives_are_the_input_the_position_and_the_length() -> None:
    assert rasp.tokens(WORD) == WORD
    assert rasp.indices(WORD) == [0, 1, 2, 3, 4]
    assert rasp.length(WORD) == [5] * 5
    assert rasp.Full("x")(WORD) == ["x"] * 5


OPERATORS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / (y + 7),
    lambda x, y: x // (y + 7),
    lambda x, y: x % (y + 7),
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
    lambda x, y: x == y,
    lambda x, y: x != y,
    lambda x, y: 2 - x + 3 * y,
    lambda x, y: 1 / (y + 7 + 0 * x),
    lambda x, y: abs(-x) ** 2,
]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("other", [rasp.indices, rasp.length, rasp.tokens + 1, 2])
def test_operators_work_at_every_position(operator: Callable[[Any, Any], Any], other: Any) -> None:
    others = [other] * len(WORD) if isinstance(other, int) else other(WORD)
    expected = [operator(x, y) for x, y in zip(WORD, others, strict=True)]
    assert operator(rasp.tokens, other)(WORD) == pytest.approx(expected)
    assert operator(rasp.indices, other)(WORD) == pytest.approx([operator(i, y) for i, y in enumerate(others)])


@pytest.mark.parametrize("other", [rasp.indices, rasp.tokens, 0, 3])
def test_and_or_and_not_are_those_of_python(other: Any) -> None:
    others = [other] * len(WORD) if isinstance(other, int) else other(WORD)
    pairs = list(zip(WORD, others, strict=True))
    assert (rasp.tokens & other)(WORD) == [x and y for x, y in pairs]
    assert (rasp.tokens | other)(WORD) == [x or y for x, y in pairs]
    assert (3 & rasp.tokens)(WORD) == [3 and x for x in WORD]
    assert (0 | rasp.tokens)(WORD) == [0 or x for x in WORD]
    assert (~rasp.tokens)(WORD) == (rasp.sop_not(rasp.tokens))(WORD) == [not x for x in WORD]


def test_a_function_of_letters_becomes_a_table_and_an_operator_stays_one() -> None:
    assert Table in map(type, nodes(rasp.Map(lambda t: t.upper(), rasp.tokens), "ab"))
    assert Apply in map(type, nodes(rasp.tokens == "a", "ab"))


def test_a_function_that_changes_nothing_is_no_operation() -> None:
    assert len(nodes(rasp.Map(lambda t: t, rasp.tokens), "ab")) == 1


def test_none_goes_through_maps_and_no_function_is_called_on_it() -> None:
    called: list[object] = []
    some = rasp.Map(lambda x: None if x == 1 else x, rasp.tokens)

    def increased(number: Any) -> Any:
        called.append(number)
        return number + 1

    after = rasp.Map(increased, some)
    assert after(WORD) == [4, None, 3, None, 1]
    assert None not in called
    assert rasp.SequenceMap(lambda x, y: x + y, some, rasp.indices)(WORD) == [3, None, 4, None, 4]
    assert (rasp.indices + some)(WORD) == [3, None, 4, None, 4]
    assert rasp.LinearSequenceMap(some, rasp.indices, 2, -1)(WORD) == [6, None, 2, None, -4]
    assert rasp.Map(lambda x: x if x > 1 else None, rasp.indices)(WORD) == [None, None, 2, 3, 4]


def test_a_linear_map_is_exact() -> None:
    third = rasp.LinearSequenceMap(rasp.tokens, rasp.indices, 1 / 3, 0.1)
    assert third([3, 6]) == [1, 2.1]


def test_values_may_be_tuples() -> None:
    pair = rasp.SequenceMap(lambda x, y: (x, y), rasp.tokens, rasp.Map(lambda x: x > 1, rasp.tokens))
    assert pair(WORD[:2]) == [(3, True), (1, False)]


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    assert (rasp.tokens + numpy.int64(1))([1, 2]) == [2, 3]
    assert rasp.Map(lambda x: numpy.float64(x) / 2, rasp.tokens)([1, 2]) == [0.5, 1]
    assert rasp.Map(lambda x: x + numpy.int64(1), rasp.indices)("ab") == [1, 2]


def test_a_fixed_sequence_has_values_for_one_length() -> None:
    fixed = rasp.ConstantSOp([5, None, "x"])
    assert fixed("abc") == [5, None, "x"]
    assert rasp.ConstantSOp([1, 2, 3], check_length=False)("ab") == [1, 2]
    with pytest.raises(InputError, match="undefined"):
        fixed("ab")


def test_marks_and_names() -> None:
    sop = rasp.numerical(rasp.Map(lambda x: x, rasp.tokens)).named("count")
    assert rasp.is_numerical(sop)
    assert not rasp.is_categorical(sop)
    assert rasp.is_categorical(rasp.categorical(rasp.Full(1)))
    assert sop.name == sop.annotations["name"] == "count"
    assert repr(sop) == "<Map count>"
    assert rasp.annotate(sop, name="other").name == "other"
    assert rasp.evaluate(sop, "ab") == ["a", "b"]


def test_a_name_like_a_generated_one_is_not_kept() -> None:
    first = (rasp.indices + 1).named("_1")  # would hide the first operation of the program
    output = rasp.SequenceMap(lambda a, b: a and b > 2, rasp.tokens == "a", first)
    assert output("baa") == [False, False, True]
    program = rasp.program(output, "ab")
    assert [str(value) for value in run(program, "baa")] == ["False", "False", "True"]


def test_functions_of_two_values_of_which_only_one_is_a_number_without_bound() -> None:
    sop = rasp.SequenceMap(lambda t, i: {"a": i, "b": -i}.get(t, 7), rasp.tokens, rasp.indices)
    assert sop("abcab") == [0, -1, 7, 3, -4]
    with_numbers = rasp.SequenceMap(lambda d, i: ("zero", "one")[d] if i < 3 else "late", rasp.tokens, rasp.indices)
    assert with_numbers([1, 0, 1, 1]) == ["one", "zero", "one", "late"]


BAD: list[tuple[Callable[[], object], type[SoftmachineError], str]] = [
    (lambda: rasp.Map(3, rasp.tokens), UsageError, "the first argument of Map must be a function, not a int"),  # type: ignore[arg-type]
    (lambda: rasp.Map(len, "a"), UsageError, "the argument of Map must be a sequence operator, not a str"),  # type: ignore[arg-type]
    (lambda: rasp.Full([1]), UsageError, "invalid constant: a list is not a symbol"),
    (lambda: rasp.Full(rasp.tokens), UsageError, "not the expression 'tokens'"),
    (lambda: rasp.tokens and 1, UsageError, "neither true nor false"),
    (lambda: rasp.LinearSequenceMap(rasp.tokens, rasp.tokens, "x", 1), UsageError, "a factor"),  # type: ignore[arg-type]
    (lambda: (rasp.tokens + 1)("ab"), InvalidError, r"operator '\+' is not valid"),
    (lambda: rasp.Map(lambda x: {"a": 1}[x], rasp.tokens)("ab"), InvalidError, "called with 'b', it raises KeyError"),
    (lambda: rasp.Map(lambda x: [x], rasp.tokens)("ab"), InvalidError, "returns an invalid value: a list"),
    (lambda: rasp.Map(lambda x: 2**0.5, rasp.tokens)("ab"), InvalidError, "is not a fraction"),
    (lambda: rasp.Map(lambda x: x**0.5, rasp.indices)("ab"), ConstructionError, "takes a root"),
    (lambda: (1 / rasp.indices)("ab"), InputError, "division by 0"),
    (lambda: rasp.Map(lambda x: 1 / x, rasp.tokens)([1, 0]), InputError, "divides by 0"),
    (
        lambda: rasp.program(rasp.SequenceMap(max, rasp.tokens, rasp.tokens + 1), range(200)),
        ConstructionError,
        "called on 40,000 combinations",
    ),
]


@pytest.mark.parametrize(("make", "kind", "message"), BAD)
def test_bad_input_is_named(make: Callable[[], object], kind: type[SoftmachineError], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        make()
    assert "test_sequences.py" in str(caught.value) or kind is UsageError


def test_what_is_computed_from_itself_is_refused() -> None:
    sop = rasp.Map(lambda x: x, rasp.tokens).named("ouroboros")
    sop.inner = sop
    with pytest.raises(ConstructionError, match="'ouroboros' is computed from itself"):
        sop("ab")


def test_a_very_long_chain_is_no_problem_and_a_longer_one_is_refused() -> None:
    sop: rasp.SOp = rasp.tokens
    for _ in range(2000):
        sop = rasp.Map(lambda x: (x + 1) % 5, sop)
    assert sop([3]) == [3]
    for _ in range(10_000):
        sop = rasp.Map(lambda x: x, sop)
    with pytest.raises(ConstructionError, match="more than 10,000 expressions"):
        sop([3])
