"""Compiled Python programs: the output of the model equals that of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import softmachine as sm
from softmachine import rasp
from softmachine.rasp import causal
from softmachine.support.errors import ConstructionError
from tests.rasp.causal.test_library import CASES as CAUSAL
from tests.rasp.test_programs import CASES

pytest.importorskip("softmachine.theorems.rasp.rasp")

WITHOUT = ("pair balance", "most frequent")
"""Programs without a construction: an output that is a difference of two means, and an order of negative numbers."""


@pytest.mark.parametrize("case", [case for case in CASES if case not in WITHOUT])
def test_a_known_program_is_right_on_all_short_words(case: str) -> None:
    alphabet, make, _ = CASES[case]
    assert sm.check(rasp.program(make(), alphabet, name=case), up_to=3).holds


def is_right(case: str, up_to: int) -> bool:
    function: Callable[[Any], Any] = CAUSAL[case][0]
    return sm.check(causal.program(function, range(3), name=case), up_to=up_to).holds


@pytest.mark.parametrize("case", [*CAUSAL][::4])
def test_a_causal_function_is_right_on_all_short_words(case: str) -> None:
    assert is_right(case, up_to=2)


@pytest.mark.slow
@pytest.mark.parametrize("case", CAUSAL)
def test_every_causal_function_is_right_on_all_words_up_to_length_4(case: str) -> None:
    assert is_right(case, up_to=4)


def test_an_input_may_have_the_values_of_the_vocabulary() -> None:
    numbers = rasp.program(rasp.tokens + 1, range(1, 6), name="successor")
    assert sm.run(numbers, [3, "4", 5.0]).outcome == sm.run(numbers, ["3", "4", "5"]).outcome
    others = rasp.program(rasp.tokens, [0.1, True, (1, 2)], name="same")
    assert sm.run(others, [True, 0.1, (1, 2)]).tokens[1:] == ("True", "1/10", "(1, 2)")
    for program, word in ((numbers, [True]), (numbers, [7]), (others, [1])):
        with pytest.raises(sm.SoftmachineError, match="is not in the alphabet"):
            sm.run(program, word)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("function", [round, int, lambda mean: round(mean) % 2], ids=["round", "int", "parity"])
def test_a_rounded_mean_over_a_selection_that_may_be_empty_is_compiled(
    function: Callable[..., object], masked: bool
) -> None:
    mean = rasp.Aggregate(rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.LT), rasp.tokens)
    model = sm.compile(rasp.program(rasp.Map(function, mean), [0, 1, 5], causal=masked))
    assert sm.check(model, up_to=3).holds
    assert sm.run(model, ["0"]).outcome.values == ("None",)


def test_the_hint_for_a_mean_as_an_output_works() -> None:
    mean = rasp.Aggregate(rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.LT), rasp.tokens)
    with pytest.raises(ConstructionError, match="round it, or compare it with another value"):
        sm.compile(rasp.program(mean, [0, 1]))
    for advised in (rasp.Map(round, mean), rasp.Map(lambda value: value > 0, mean)):
        assert sm.check(rasp.program(advised, [0, 1]), up_to=3).holds
