from __future__ import annotations

import random
from collections import Counter

import pytest

from softmachine.languages.rasp import UNDEFINED, Finite, Integer, Program, Ratio, Type, evaluate
from softmachine.languages.rasp.values import Result, identity, is_number
from tests.sources.rasp_programs import random_program, words


def has_type(value: Result, found: Type, length: int) -> bool:
    if value is UNDEFINED:
        return found.partial
    if isinstance(found, Finite):
        return identity(value) in {identity(other) for other in found.values}
    if not is_number(value) or not found.low.at(length) <= value <= found.high.at(length):
        return False
    if isinstance(found, Integer):
        return isinstance(value, int)
    return isinstance(found, Ratio) and value.denominator <= found.denominator.at(length)


def violations(program: Program, longest: int) -> list[str]:
    return [
        f"{name} = {program.nodes[name]} is {value}, not {program.types[name]}, for {''.join(word)}"
        for word in words(program, longest)
        for name, values in evaluate(program, word).items()
        for value in values
        if not has_type(value, program.types[name], len(word))
    ]


@pytest.mark.parametrize("seed", range(150))
def test_what_the_interpreter_computes_is_of_the_type_that_was_inferred(seed: int) -> None:
    program = random_program(random.Random(seed), loop=seed % 10 == 0)
    assert not violations(program, 4 if len(program.alphabet) < 3 else 3)


def test_random_programs_have_all_constructs() -> None:
    programs = [random_program(random.Random(seed), loop=seed % 10 == 0) for seed in range(100)]
    nodes = Counter(type(definition.node).__name__ for program in programs for definition in program.definitions)
    types = Counter(type(program.types[program.output]).__name__ for program in programs)
    assert set(nodes) == {
        "Tokens", "Indices", "Length", "Constant", "Apply", "Table", "Select", "SelectPairs", "SelectAll", "Combine",
        "Aggregate", "Width", "Repeat",
    }  # fmt: skip
    assert min(types.values()) > 5
    assert set(types) == {"Finite", "Integer", "Ratio"}
