"""Programs of tracr, represented by stand-ins with its class names and attributes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import softmachine as sm
from softmachine import rasp
from softmachine.languages.rasp import run
from softmachine.languages.rasp.python.from_tracr import KINDS, convert
from softmachine.support.errors import ConstructionError, InvalidError, UsageError
from tests.rasp import stand_ins as other
from tests.rasp.test_random import Generator

TOKENS, INDICES, LENGTH = other.TokensType(), other.IndicesType(), other.LengthType()
EQ, LEQ = other.Comparison.EQ, other.Comparison.LEQ


def reverse() -> other.SOp:
    opposite = other.Map(lambda x: x - 1, other.SequenceMap(lambda x, y: x - y, LENGTH, INDICES))
    opposite.name = "opposite"
    return other.Aggregate(other.Select(INDICES, opposite, EQ), TOKENS)


def test_a_program_of_the_other_library_is_taken() -> None:
    program = sm.from_tracr(reverse(), {"a", "b", "c"}, name="reverse")
    assert list(run(program, "abca")) == list("acba")
    assert program.alphabet == ("a", "b", "c")
    assert "opposite" in program.nodes


def test_nothing_of_the_other_library_is_imported() -> None:
    assert "tracr" not in sys.modules


def test_letters_may_be_numbers() -> None:
    program = sm.from_tracr(other.LinearSequenceMap(TOKENS, INDICES, 2, -1), {1, 2, 3}, example=[3, 1])
    assert list(run(program, program.default_input)) == [6, 1]


def test_a_causal_program_sees_what_was_read() -> None:
    hist = other.SelectorWidth(other.Select(TOKENS, TOKENS, EQ))
    assert list(run(sm.from_tracr(hist, "ab", causal=True), "aba")) == [1, 1, 2]


def test_a_predicate_may_be_a_function_of_comparisons() -> None:
    """In tracr, combined selectors are functions that call its comparisons."""
    table: dict[other.Comparison, Callable[[Any, Any], Any]] = {
        EQ: lambda key, query: key == query,
        LEQ: lambda key, query: key <= query,
    }

    def joined(key: Any, query: Any) -> Any:
        return table[EQ](key, query) or (not table[LEQ](key, query))

    width = other.SelectorWidth(other.Select(INDICES, INDICES, joined))
    assert list(run(sm.from_tracr(width, "ab"), "aba")) == [3, 2, 1]


def as_other(expression: rasp.Expression) -> Any:
    """Convert an expression to tracr's classes."""
    kind = KINDS[next(base.__name__ for base in type(expression).__mro__ if base.__name__ in KINDS)]
    name = next(base.__name__ for base in type(expression).__mro__ if base.__name__ in KINDS)
    made = getattr(other, name).__new__(getattr(other, name))
    for part in kind.operands:
        setattr(made, part, as_other(getattr(expression, part)))
    for attribute in kind.options:
        value = getattr(expression, attribute)
        setattr(made, attribute, other.Comparison[value.name] if isinstance(value, rasp.Comparison) else value)
    return made


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_converted(seed: int) -> None:
    ours, random = Generator(seed).number(2), Random(seed)
    theirs = convert(as_other(ours))
    for length in (1, 4):
        word = random.choices("abc", k=length)
        try:
            expected = rasp.evaluate(ours, word)
        except sm.SoftmachineError:
            continue
        assert rasp.evaluate(theirs, word) == expected


def test_every_class_is_known() -> None:
    assert {name for name in KINDS if not hasattr(other, name)} == set()
    fixed = other.ConstantSelector([[True, False], [True, True]])
    both = other.SelectorOr(other.SelectorNot(fixed), other.SelectorAnd(fixed, fixed))
    assert rasp.evaluate(convert(other.SelectorWidth(both)), "ab") == [2, 2]
    assert rasp.evaluate(convert(other.ConstantSOp([1, "x"])), "ab") == [1, "x"]
    assert rasp.evaluate(convert(other.Full(None)), "ab") == [None, None]


def test_a_subclass_is_taken_for_what_it_is_made_of() -> None:
    class Special(other.Map):
        pass

    assert rasp.evaluate(convert(Special(lambda x: x + x, TOKENS)), "ab") == ["aa", "bb"]


def test_an_unknown_class_is_named() -> None:
    with pytest.raises(UsageError, match=r"unknown class builtins\.int"):
        sm.from_tracr(other.Map(abs, 3), "ab")  # type: ignore[arg-type]


def test_a_missing_attribute_is_named() -> None:
    with pytest.raises(UsageError, match="a Map of the program has no attribute 'inner'"):
        sm.from_tracr(other.Map.__new__(other.Map), "ab")


def test_a_cycle_is_refused() -> None:
    looping = other.Map(lambda x: x, TOKENS)
    looping.inner = other.Map(lambda x: x, looping)  # type: ignore[attr-defined]
    looping.name = "looping"
    with pytest.raises(ConstructionError, match="'looping' is computed from itself"):
        sm.from_tracr(looping, "ab")


def test_a_huge_program_is_refused() -> None:
    sop: other.SOp = TOKENS
    for _ in range(100_000):
        sop = other.Map(lambda x: x, sop)
    with pytest.raises(ConstructionError, match="more than 10,000 expressions"):
        sm.from_tracr(sop, "ab")


def test_an_error_in_a_function_names_it_and_the_value() -> None:
    with pytest.raises(
        InvalidError, match=r"(?s)test_foreign\.py.*the lambda is .*called with 'b', it raises KeyError"
    ):
        sm.from_tracr(other.Map(lambda x: {"a": 1}[x], TOKENS), "ab")


def test_a_selector_is_no_program() -> None:
    with pytest.raises(UsageError, match="is a selector"):
        sm.from_tracr(other.Select(TOKENS, TOKENS, EQ), "ab")
