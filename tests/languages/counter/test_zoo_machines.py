"""The counter machines of the zoo against definitions in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from math import gcd
from pathlib import Path

import pytest

from softmachine.languages import zoo
from softmachine.languages.counter import CounterMachine, execute, parse, to_text

FOLDER = Path(zoo.__file__).parent / "counter"
FILES = sorted(path.name for path in FOLDER.iterdir())
LANGUAGES: dict[str, Callable[..., bool]] = {
    "parity.cm": lambda a, b: a % 2 == 1,
    "majority.cm": lambda a, b: a > b,
    "anbncn.cm": lambda a, b, c: a == b == c,
    "power-of-two.cm": lambda a: a in (1, 2, 4, 8, 16, 32, 64),
    "square.cm": lambda a, b: b == a**2,
    "exponential.cm": lambda a, b: b == 2**a,
    "prime.cm": lambda a: a >= 2 and all(a % divisor for divisor in range(2, a)),
    "gcd.cm": lambda a, b, c: c == gcd(a, b),
    "division.cm": lambda a, b, c: b > 0 and c == a // b,
    "multiplication.cm": lambda a, b, c: c == a * b,
}


@cache
def machine(file: str) -> CounterMachine:
    return parse((FOLDER / file).read_text("utf-8"), source=file)


def accepts(file: str, counts: tuple[int, ...]) -> bool:
    described = machine(file)
    word = tuple(letter for letter, count in zip(described.alphabet, counts, strict=True) for _ in range(count))
    result = execute(described, word)
    assert result.halted
    return result.accepted


def test_every_machine_has_a_definition() -> None:
    assert set(FILES) == set(LANGUAGES)


@pytest.mark.parametrize("file", FILES)
def test_it_agrees_with_the_definition_on_all_inputs_up_to_length_12(file: str) -> None:
    letters = len(machine(file).alphabet)
    for counts in product(range(13), repeat=letters):
        if sum(counts) <= 12:
            assert accepts(file, counts) == LANGUAGES[file](*counts), counts


@pytest.mark.parametrize("file", [file for file in FILES if not machine(file).has_ordered_letters])
def test_without_an_order_the_order_of_letters_does_not_matter(file: str) -> None:
    described = machine(file)
    for word in product(described.alphabet, repeat=6):
        counts = tuple(word.count(letter) for letter in described.alphabet)
        assert execute(described, word).accepted == LANGUAGES[file](*counts)


@pytest.mark.parametrize("file", ["gcd.cm", "division.cm", "multiplication.cm"])
def test_all_pairs_up_to_8_have_the_one_result(file: str) -> None:
    for one, two in product(range(9), repeat=2):
        for result in {*range(10), *range(max(one * two - 2, 0), one * two + 3)}:
            assert accepts(file, (one, two, result)) == LANGUAGES[file](one, two, result)


@pytest.mark.parametrize(
    ("file", "inputs"),
    [
        ("power-of-two.cm", [(n,) for n in range(100)]),
        ("prime.cm", [(n,) for n in range(40)]),
        ("square.cm", [(a, b) for a in range(7) for b in range(50)]),
        ("exponential.cm", [(a, b) for a in range(7) for b in range(70)]),
    ],
)
def test_larger_inputs(file: str, inputs: list[tuple[int, ...]]) -> None:
    for counts in inputs:
        assert accepts(file, counts) == LANGUAGES[file](*counts), counts


@pytest.mark.parametrize("file", FILES)
def test_a_file_survives_a_round_trip(file: str) -> None:
    assert parse(to_text(machine(file)), name=machine(file).name) == machine(file)
    assert machine(file).determinism.is_proven
