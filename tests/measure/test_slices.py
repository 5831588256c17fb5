from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from softmachine.languages import counter, crasp, srasp, temporal, turing
from softmachine.studies.measure.growth_laws import GrowthLaw, fit_growth
from softmachine.studies.measure.myhill_nerode import MyhillNerodeSlice, compute_slices, format_growth, format_slices
from softmachine.studies.measure.slices import membership_predicate
from softmachine.support.errors import UsageError
from softmachine.theorems.read_source import read_source

Word = tuple[str, ...]


def is_palindrome(word: Word) -> bool:
    return word == word[::-1]


def by_definition(accepts: Callable[[Word], bool], letters: str, length: int) -> tuple[int, ...]:
    """For every length of a prefix, the number of different sets of continuations."""

    def continuations(prefix: Word) -> frozenset[Word]:
        rest = product(letters, repeat=length - len(prefix))
        return frozenset(word for word in rest if accepts(prefix + word))

    return tuple(len({continuations(prefix) for prefix in product(letters, repeat=size)}) for size in range(length + 1))


LANGUAGES: dict[str, Callable[[Word], bool]] = {
    "palindromes": is_palindrome,
    "parity": lambda word: word.count("a") % 2 == 0,
    "majority": lambda word: word.count("a") > word.count("b"),
    "everything": lambda word: True,
    "nothing": lambda word: False,
    "ends in b": lambda word: word[-1:] == ("b",),
    "a squared": lambda word: word[: len(word) // 2] == word[len(word) // 2 :],
    "sum of places": lambda word: sum(place for place, letter in enumerate(word) if letter == "a") % 5 == 2,
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_classes_are_counted_as_defined(name: str) -> None:
    for length in range(7):
        (found,) = compute_slices(LANGUAGES[name], "ab", [length])
        assert found.classes == by_definition(LANGUAGES[name], "ab", length)
        assert found.words == sum(map(LANGUAGES[name], product("ab", repeat=length)))
    (three,) = compute_slices(LANGUAGES[name], "abc", [4])
    assert three.classes == by_definition(LANGUAGES[name], "abc", 4)


def test_known_numbers() -> None:
    (parity,) = compute_slices(LANGUAGES["parity"], "ab", [6])
    assert parity.classes == (1, 2, 2, 2, 2, 2, 2)
    (palindromes,) = compute_slices(is_palindrome, "ab", [6])
    assert palindromes.classes == (1, 2, 4, 8, 5, 3, 2)
    assert (palindromes.num_states, palindromes.width, palindromes.words) == (25, 8, 8)


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("palindromes", GrowthLaw.EXPONENTIAL),
        ("a squared", GrowthLaw.EXPONENTIAL),
        ("majority", GrowthLaw.POLYNOMIAL),
        ("parity", GrowthLaw.POLYNOMIAL),
        ("ends in b", GrowthLaw.POLYNOMIAL),
    ],
)
def test_palindromes_break_the_polynomial_ceiling(name: str, law: GrowthLaw) -> None:
    lengths = range(2, 15, 2) if name == "a squared" else range(1, 14)
    found = fit_growth({each.length: each.num_states for each in compute_slices(LANGUAGES[name], "ab", lengths)})
    assert found is not None
    assert found.law is law


def test_slices_are_shown_as_a_table() -> None:
    found = list(compute_slices(is_palindrome, "ab", range(1, 9)))
    assert format_slices(found).splitlines()[-1].split() == ["8", "16", "50", "16"]
    assert format_growth(found).splitlines()[-1].startswith("classes: exponential: like 1.4")
    assert format_growth(found[:3]) == "3 slices are too few for a growth law"


def test_too_many_words_are_refused_before_any_is_tried() -> None:
    def never(_: Word) -> bool:
        raise AssertionError

    with pytest.raises(UsageError, match="there are 2,097,152 words of length 21"):
        list(compute_slices(never, "ab", [21]))


MACHINE = "input a b\nstart q\naccept yes\nreject no\nq: a = b -> yes\nq: else -> no"
SOURCES = [
    (turing.TuringMachine, read_source("palindrome"), is_palindrome),
    (counter.CounterMachine, counter.parse(MACHINE), lambda word: word.count("a") == word.count("b")),
    (temporal.Specification, temporal.parse("Q_a or Q_b and false"), lambda word: word[-1:] == ("a",)),
    (crasp.CraspProgram, crasp.parse("alphabet a b\naccept Q_a"), lambda word: word[-1:] == ("a",)),
    (crasp.CraspProgram, crasp.parse("alphabet a b\nACC <- Q_a\nREJ <- true"), lambda word: word[-1:] == ("a",)),
    (srasp.SraspProgram, srasp.parse("alphabet a b\nx(i) = in(i) = 'a'\noutput x"), lambda word: word[-1:] == ("a",)),
]


@pytest.mark.parametrize(("kind", "source", "expected"), SOURCES)
def test_every_language_can_be_sliced(
    kind: type, source: turing.TuringMachine, expected: Callable[[Word], bool]
) -> None:
    assert isinstance(source, kind)
    assert list(compute_slices(membership_predicate(source), source.alphabet, range(1, 5))) == list(
        compute_slices(expected, "ab", range(1, 5))
    )


def test_what_gives_no_verdict_has_no_language() -> None:
    with pytest.raises(UsageError, match="does not accept or reject words of every length, so it has no language"):
        membership_predicate(srasp.parse("alphabet a b\nx(i) = in(i)\noutput x"))
    endless = crasp.parse("alphabet a\na <- true", name="endless")
    with pytest.raises(UsageError, match="'endless' has no verdict on a a within 50 steps"):
        membership_predicate(endless, max_steps=50)(("a", "a"))


def test_a_slice_is_plain_data() -> None:
    assert MyhillNerodeSlice(1, 1, (1, 2)) == next(iter(compute_slices(lambda word: word == ("a",), "ab", [1])))
