"""Narrow programs: fewer coordinates, the same numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

import softmachine as sm
from softmachine.compiler import compile_program
from softmachine.engines.check import check_inputs
from softmachine.ir import Program, constant, loop, named, position, relu, stack, token
from softmachine.ir.gadgets import position_register, subtract_power
from softmachine.support.errors import ConstructionError
from softmachine.testing import load_as
from softmachine.testing import words as all_words
from softmachine.transformer.features import I
from tests.models import signals_of, with_codec


@pytest.mark.parametrize("name", ["increment", "palindrome", "binary-addition"])
def test_a_narrow_decoder_decides_as_the_wide_one_does(name: str) -> None:
    source = load_as(name, sm.TuringMachine)
    program, codec = signals_of(source, "turing-average-hard", "hard")
    model = with_codec(replace(program, reuse_coordinates=True), codec, "turing-average-hard")
    wide, narrow = compile_program(program), model.weights
    assert narrow.width < 0.7 * wide.width
    assert len(narrow.layers) == len(wide.layers)
    assert check_inputs(model, all_words(codec.alphabet, 3), arithmetic="exact", max_steps=40).holds


def test_a_register_is_changed_in_place() -> None:
    register = position_register(3)
    for number in range(5):
        register = subtract_power(f"less {number + 1}", register)
    made = compile_program(Program("p", ("a",), ("x", "y", "z"), register, reuse_coordinates=True))
    assert made.width == 3
    assert len(made.layers) == 5


def test_units_wait_for_what_they_come_after() -> None:
    bit = token("b", {"a": (1,)})
    late = named("late", relu("2", relu("1", bit)))
    waiting = relu("w", bit, after=late)
    made = compile_program(Program("p", ("a",), ("x", "y"), stack(waiting, late), reuse_coordinates=True))
    assert ["w" in layer.feed_forward.units for layer in made.layers] == [False, False, True]


def test_loops_cannot_be_narrow() -> None:
    carried = loop("l", iterations=2, initial=constant(0), body=lambda x: x * 1)
    program = Program("p", ("a",), ("x",), carried + position(I) * 0, reuse_coordinates=True)
    with pytest.raises(ConstructionError, match="cannot have loops"):
        compile_program(program)
