from __future__ import annotations

import random
from collections import Counter

import pytest

from softmachine.languages.rasp import (
    UNDEFINED,
    FiniteType,
    FractionType,
    IntegerType,
    RaspProgram,
    Type,
    evaluate,
    parse,
)
from softmachine.languages.rasp.types import is_at_least, lower_bound, upper_bound
from softmachine.languages.rasp.values import PartialValue, identity_key, is_number
from softmachine.support.polynomial import Polynomial
from softmachine.testing import words
from softmachine.testing.rasp import random_program


def has_type(value: PartialValue, found: Type, length: int) -> bool:
    if value is UNDEFINED:
        return found.partial
    if isinstance(found, FiniteType):
        return identity_key(value) in {identity_key(other) for other in found.values}
    if not is_number(value) or not found.low.at(length) <= value <= found.high.at(length):
        return False
    if isinstance(found, IntegerType):
        return isinstance(value, int)
    return isinstance(found, FractionType) and value.denominator <= found.denominator.at(length)


def violations(program: RaspProgram, longest: int) -> list[str]:
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
    assert set(types) == {"FiniteType", "IntegerType", "FractionType"}


HEADER = "# alphabet: 0 1 2 a\n"


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("tokens", 'a symbol ("0", "1", "2", "a")'),
        ("indices", "an integer from 0 to n-1"),
        ("length", "an integer from n to n"),
        ("length - 1 - indices", "an integer from 0 to n-1"),
        ("3 * indices - 2", "an integer from -2 to 3n-5"),
        ("indices * length", "an integer from 0 to n^2-n"),
        ("indices % 3", "one of 0, 1, 2"),
        ("indices // 2", "an integer from 0 to n-1"),
        ("indices / 2", "a fraction from 0 to n-1 with denominators up to 2"),
        ("1 / length", "a fraction from 0 to 1 with denominators up to n"),
        ("1 / indices", "a fraction from 0 to 1 with denominators up to n, or undefined"),
        ("abs(indices - length)", "an integer from 1 to n"),
        ("min(indices, 2)", "one of 0, 1, 2"),
        ("max(indices, 2)", "an integer from 2 to n+1"),
        ("(-1) ^ indices", "one of -1, 0, 1"),
        ("indices ^ 2", "an integer from 0 to n^2-2n+1"),
        ("indices == 0", "one of False, True"),
        ("indices if tokens == \"a\" else -1", "an integer from -1 to n-1"),
        ("tokens + tokens", "a symbol (\"00\", \"11\", \"22\", \"aa\")"),
        ("tokens_int", "one of 0, 1, 2, or undefined"),
        ("selector_width(select(tokens, tokens, ==))", "an integer from 1 to n"),
        ("selector_width(select(indices, indices, <))", "an integer from 0 to n-1"),
        ("selector_width(select(indices, indices - 1, ==))", "one of 0, 1"),
        ("selector_width(full_s)", "an integer from n to n"),
        ("selector_width(no_s)", "0"),
        ("selector_width(not no_s)", "an integer from 1 to n"),
        ("aggregate(select(indices, length - 1, ==), tokens)", 'a symbol ("0", "1", "2", "a")'),
        ("aggregate(select(indices, indices - 1, ==), indices, -1)", "an integer from -1 to n-1"),
        ("aggregate(full_s, indicator(tokens == \"a\"))", "a fraction from 0 to 1 with denominators up to n"),
        ("aggregate(full_s, tokens)", 'a symbol ("0", "1", "2", "a"), or undefined'),
        ("aggregate(select(tokens, tokens, ==), tokens == \"a\")", "one of False, True"),
        ('aggregate(full_s, indices, 0, "max")', "an integer from 0 to n-1"),
        ("length * aggregate(full_s, indices)", "an integer from 0 to n^2-n"),
        ("(indices + 1) * aggregate(select(indices, indices, <=), tokens == \"a\")", "an integer from 0 to n"),
        ("indices * aggregate(select(indices, indices, <), tokens == \"a\")", "an integer from 0 to n"),
        ("1 / aggregate(full_s, indicator(indices == 0))", "an integer from 1 to n"),
        ("round(aggregate(full_s, indices))", "an integer from 0 to n-1"),
        ("aggregate(full_s, indices / 2)", "a fraction from 0 to n-1 with denominators up to 2n"),
    ],
)  # fmt: skip
def test_types_are_as_narrow_as_programs_need(text: str, described: str) -> None:
    program = parse(f"{HEADER}x = {text};")
    assert str(program.types[program.output]) == described


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("length", "an integer from 1 to n"),
        ("aggregate(select(indices, length - 1, ==), tokens)", 'one of "0", "1", "2", "a", 0'),
        ("(indices + 1) * aggregate(full_s, tokens == \"a\")", "an integer from 0 to n"),
        ("length * aggregate(full_s, tokens == \"a\")", "an integer from 0 to n"),
        ("selector_width(select(indices, indices, <=))", "an integer from 1 to n"),
    ],
)  # fmt: skip
def test_types_of_a_causal_program_are_narrower(text: str, described: str) -> None:
    program = parse(f"{HEADER}# causal\nx = {text};")
    assert str(program.types[program.output]) == described


@pytest.mark.parametrize("seed", range(100))
def test_bounds_are_right_at_every_length(seed: int) -> None:
    rng = random.Random(seed)
    one, other = (Polynomial(*(rng.randint(-9, 9) for _ in range(rng.randint(1, 4)))) for _ in range(2))
    for n in range(1, 12):
        assert upper_bound(one, other).at(n) >= max(one.at(n), other.at(n))
        assert lower_bound(one, other).at(n) <= min(one.at(n), other.at(n))
        assert (one * other).at(n) == one.at(n) * other.at(n)
        assert (one - other).at(n) == one.at(n) - other.at(n)
        assert one.at(n) >= other.at(n) or not is_at_least(one, other)
