from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from softmachine.languages import zoo
from softmachine.languages.crasp import CraspProgram, encode_word, interpreter, run
from softmachine.studies.measure.growth_laws import GrowthLaw, fit_growth
from softmachine.studies.measure.myhill_nerode import compute_slices
from softmachine.testing import load_as

ENTRIES = {entry.name: entry for entry in zoo.list_entries() if entry.file.startswith("crasp/")}


def is_balanced(word: str) -> bool:
    while "()" in word:
        word = word.replace("()", "")
    return not word


def is_anbncn(word: str) -> bool:
    third = len(word) // 3
    return word == "a" * third + "b" * third + "c" * third


def is_power_of_two(word: str) -> bool:
    return len(word) in (1, 2, 4, 8, 16, 32, 64)


EXPECTED: dict[str, tuple[Callable[[str], bool], int]] = {
    "majority-crasp": (lambda word: word.count("a") > word.count("b"), 8),
    "dyck-1-crasp": (is_balanced, 10),
    "in-order-crasp": (lambda word: word == "".join(sorted(word)), 6),
    "anbncn-crasp": (is_anbncn, 7),
    "parity-crasp": (lambda word: word.count("a") % 2 == 0, 8),
    "power-of-two-crasp": (is_power_of_two, 70),
    "ends-in-b-relative": (lambda word: word.endswith("b"), 5),
    "palindrome-relative": (lambda word: word == word[::-1], 5),
}


def test_every_program_is_tested() -> None:
    assert EXPECTED.keys() == ENTRIES.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_program_accepts_what_it_should(name: str) -> None:
    expected, longest = EXPECTED[name]
    recogniser = load_as(name, CraspProgram)
    for length in range(longest + 1):
        for letters in product(recogniser.alphabet, repeat=length):
            word = "".join(letters)
            assert run(recogniser, word).accepted == expected(word), word


@pytest.mark.parametrize("name", EXPECTED)
def test_samples_are_right(name: str) -> None:
    recogniser = load_as(name, CraspProgram)
    for sample in ENTRIES[name].samples:
        result = run(recogniser, sample.input)
        assert (result.verdict, len(result.tokens)) == (sample.verdict, sample.steps)
        if recogniser.rules and sample.steps < 50:
            assert tuple(interpreter.generate(recogniser, sample.input)) == result.tokens


@pytest.mark.parametrize("name", ["ends-in-b-relative", "palindrome-relative"])
def test_the_relative_encoding_is_written_first(name: str) -> None:
    recogniser = load_as(name, CraspProgram)
    for length in range(5):
        for letters in product("ab", repeat=length):
            tokens = run(recogniser, letters).tokens
            assert (length + tokens.index("M_a"), length + tokens.index("M_b")) == encode_word(letters, "ab")[0]


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        ("majority-crasp", 12),
        ("dyck-1-crasp", 12),
        ("in-order-crasp", 7),
        ("parity-crasp", 12),
        ("power-of-two-crasp", 40),
    ],
)
def test_the_slices_of_what_counting_recognises_have_polynomially_many_classes(name: str, longest: int) -> None:
    recogniser = load_as(name, CraspProgram)
    lengths = range(1, longest + 1)
    found = compute_slices(lambda word: run(recogniser, word).accepted, recogniser.alphabet, lengths)
    grown = fit_growth({each.length: each.num_states for each in found})
    assert grown is not None
    assert grown.law is GrowthLaw.POLYNOMIAL


@pytest.mark.slow
def test_the_slices_of_palindromes_have_exponentially_many_classes() -> None:
    recogniser = load_as("palindrome-relative", CraspProgram)
    found = compute_slices(lambda word: run(recogniser, word).accepted, "ab", range(1, 9))
    grown = fit_growth({each.length: each.num_states for each in found})
    assert grown is not None
    assert grown.law is GrowthLaw.EXPONENTIAL
