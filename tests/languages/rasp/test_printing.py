from __future__ import annotations

import random
from dataclasses import replace

import pytest

from softmachine.languages.rasp import RaspProgram, canonicalise, parse, to_text
from softmachine.languages.rasp.ir import structural_key
from softmachine.support.errors import InvalidError
from softmachine.testing.rasp import random_program


def survives(program: RaspProgram) -> bool:
    again = parse(to_text(program), name=program.name)
    return again == program and structural_key(again.definitions) == structural_key(program.definitions)


def in_order(program: RaspProgram) -> RaspProgram:
    definitions, output = canonicalise(program.definitions, program.output)
    return replace(program, definitions=definitions, output=output)


@pytest.mark.parametrize("seed", range(60))
def test_any_program_survives_a_round_trip(seed: int) -> None:
    program = random_program(random.Random(seed), operations=14, loop=seed % 3 == 0)
    assert survives(program)
    assert survives(in_order(program))


def without_names(program: RaspProgram) -> RaspProgram:
    """A program of anonymous definitions only, as another dialect produces it."""
    names = {definition.name: f"_{number}" for number, definition in enumerate(program.definitions, start=1)}
    from softmachine.languages.rasp.ir import Definition, rename_operands

    definitions = tuple(Definition(names[item.name], rename_operands(item.node, names)) for item in program.definitions)
    return in_order(replace(program, definitions=definitions, output=names[program.output]))


@pytest.mark.parametrize("seed", range(60, 100))
def test_anonymous_operations_are_inlined(seed: int) -> None:
    program = without_names(random_program(random.Random(seed), operations=14, loop=seed % 3 == 0))
    assert survives(program)
    text = to_text(program)
    if "# exact" not in text:
        assert text.count("\n") < len(program.definitions) + 6


def test_most_programs_are_printed_readably() -> None:
    programs = [without_names(random_program(random.Random(seed))) for seed in range(60, 100)]
    assert sum("# exact" not in to_text(program) for program in programs) > 20


def test_an_operation_without_a_name_in_an_exact_text_is_reported_once() -> None:
    text = "# exact\n# alphabet: a b\nrepeat x = 0 { x = min(x + 1, length); } until unchanged;\ny = x;"
    with pytest.raises(InvalidError) as caught:
        parse(text)
    assert "is not a valid name" in str(caught.value)
    assert "'?1' is defined both inside and outside the loop" not in str(caught.value)
