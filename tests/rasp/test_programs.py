"""Well-known programs in the tracr dialect, compared with plain Python; vocabularies."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from softmachine import rasp
from softmachine.languages.rasp import UNDEFINED, parse, run, to_text
from softmachine.support.errors import InvalidError, UsageError

EQ, LT, LEQ, GT, TRUE = (
    rasp.Comparison.EQ,
    rasp.Comparison.LT,
    rasp.Comparison.LEQ,
    rasp.Comparison.GT,
    rasp.Comparison.TRUE,
)


ROUND, CURLY = ("(", ")"), ("{", "}")


def length() -> rasp.SOp:
    everything = rasp.Select(rasp.tokens, rasp.tokens, TRUE)
    return rasp.SelectorWidth(everything).named("length")


def reverse() -> rasp.SOp:
    opposite = (length() - rasp.indices - 1).named("opposite")
    return rasp.Aggregate(rasp.Select(rasp.indices, opposite, EQ), rasp.tokens).named("reverse")


def hist() -> rasp.SOp:
    return rasp.SelectorWidth(rasp.Select(rasp.tokens, rasp.tokens, EQ)).named("hist")


def double_hist() -> rasp.SOp:
    """The number of different letters that occur as often as this one."""
    first = rasp.Select(rasp.tokens, rasp.tokens, EQ) & rasp.Select(rasp.indices, rasp.indices, LT)
    is_first = rasp.SelectorWidth(first) == 0
    count = hist()
    same = rasp.Select(count, count, EQ) & rasp.Select(is_first, rasp.Full(True), EQ)
    return rasp.SelectorWidth(same)


def sort_unique(values: rasp.SOp, keys: rasp.SOp) -> rasp.SOp:
    smaller = rasp.Select(keys, keys, LT)
    place = rasp.SelectorWidth(smaller)
    return rasp.Aggregate(rasp.Select(place, rasp.indices, EQ), values)


def sort() -> rasp.SOp:
    keys = rasp.tokens
    earlier = rasp.Select(keys, keys, EQ) & rasp.Select(rasp.indices, rasp.indices, LT)
    place = rasp.SelectorWidth(rasp.Select(keys, keys, LT) | earlier)
    return rasp.Aggregate(rasp.Select(place, rasp.indices, EQ), keys)


def frac_prevs(wanted: rasp.SOp) -> rasp.SOp:
    prevs = rasp.Select(rasp.indices, rasp.indices, LEQ)
    return rasp.numerical(rasp.Aggregate(prevs, rasp.numerical(wanted), default=None)).named("frac_prevs")


def pair_balance(opening: str, closing: str) -> rasp.SOp:
    opened = frac_prevs(rasp.tokens == opening)
    closed = frac_prevs(rasp.tokens == closing)
    return rasp.numerical(rasp.LinearSequenceMap(opened, closed, 1, -1))


def shuffle_dyck(*pairs: tuple[str, str]) -> rasp.SOp:
    everything = rasp.Select(rasp.tokens, rasp.tokens, TRUE)
    balanced: rasp.SOp = rasp.Full(True)
    for opening, closing in pairs:
        balance = pair_balance(opening, closing)
        below = rasp.Aggregate(everything, rasp.numerical(rasp.Map(lambda x: x < 0, balance)), default=None)
        at_end = rasp.Aggregate(rasp.Select(rasp.indices, length() - 1, EQ), rasp.Map(lambda x: x == 0, balance))
        balanced = rasp.SequenceMap(lambda x, y: x and y, balanced, rasp.Map(lambda x: x == 0, below) & at_end)
    return balanced


def dyck_by_prefix() -> rasp.SOp:
    """T where the prefix is balanced, F where it cannot become so, P otherwise."""
    up = rasp.Map(lambda t: 1 if t == "(" else -1, rasp.tokens)
    prevs = rasp.Select(rasp.indices, rasp.indices, LEQ)
    balance = (rasp.indices + 1) * rasp.Aggregate(prevs, up)
    failed = rasp.SelectorWidth(prevs & rasp.Select(rasp.Map(lambda x: x < 0, balance), rasp.Full(True), EQ))
    return rasp.SequenceMap(lambda bad, x: "F" if bad > 0 else "T" if x == 0 else "P", failed, balance)


def shift() -> rasp.SOp:
    return rasp.Aggregate(rasp.Select(rasp.indices, rasp.indices - 1, EQ), rasp.tokens, default="#")


def detect(pattern: str) -> rasp.SOp:
    """Whether the pattern ends at each position."""
    found: rasp.SOp = rasp.Full(True)
    for back, letter in enumerate(reversed(pattern)):
        before = rasp.Select(rasp.indices, rasp.indices - back, EQ)
        found = found & (rasp.Aggregate(before, rasp.tokens, default="#") == letter)
    return found


def most_frequent() -> rasp.SOp:
    """The letters sorted by frequency, the most frequent first; each repeated by its frequency."""
    count = hist()
    key = rasp.SequenceMap(lambda c, i: -c, count, rasp.indices)
    before = rasp.Select(key, key, LT) | (rasp.Select(key, key, EQ) & rasp.Select(rasp.tokens, rasp.tokens, LT))
    tied = rasp.Select(rasp.tokens, rasp.tokens, EQ) & rasp.Select(rasp.indices, rasp.indices, LT)
    return rasp.Aggregate(rasp.Select(rasp.SelectorWidth(before | tied), rasp.indices, EQ), rasp.tokens)


def count_less_frequent(most: int) -> rasp.SOp:
    """The number of letters that occur at most ``most`` times."""
    rare = rasp.Map(lambda c: 1 if c <= most else 0, hist())
    return rasp.SelectorWidth(rasp.Select(rare, rasp.Full(1), EQ))


def python_depths(word: Sequence[str]) -> list[int]:
    return [word[: i + 1].count("(") - word[: i + 1].count(")") for i in range(len(word))]


def python_shuffle(word: str, *pairs: tuple[str, str]) -> bool:
    counts = [[word[: i + 1].count(a) - word[: i + 1].count(b) for i in range(len(word))] for a, b in pairs]
    return all(min(count) >= 0 and count[-1] == 0 for count in counts)


def python_prefix(word: Sequence[str]) -> list[str]:
    depths = python_depths(word)
    return ["F" if min(depths[: i + 1]) < 0 else "T" if x == 0 else "P" for i, x in enumerate(depths)]


def python_frequent(word: Sequence[str]) -> list[str]:
    counts = Counter(word)
    return sorted(word, key=lambda letter: (-counts[letter], letter))


def python_double(word: Sequence[str]) -> list[int]:
    counts = Counter(word)
    return [sum(1 for other in counts if counts[other] == counts[letter]) for letter in word]


CASES: dict[str, tuple[str, Callable[[], rasp.SOp], Callable[[str], list[Any]]]] = {
    "length": ("ab", length, lambda w: [len(w)] * len(w)),
    "primitive length": ("ab", lambda: rasp.length, lambda w: [len(w)] * len(w)),
    "reverse": ("abc", reverse, lambda w: list(w[::-1])),
    "histogram": ("abc", hist, lambda w: [w.count(x) for x in w]),
    "double histogram": ("abcde", double_hist, python_double),
    "sort with ties": ("abcd", sort, sorted),
    "fraction of previous": (
        "ax",
        lambda: frac_prevs(rasp.tokens == "x"),
        lambda w: [Fraction(w[: i + 1].count("x"), i + 1) for i in range(len(w))],
    ),
    "pair balance": (
        "()",
        lambda: pair_balance("(", ")"),
        lambda w: [Fraction(x, i + 1) for i, x in enumerate(python_depths(w))],
    ),
    "shuffle-Dyck 1": ("()", lambda: shuffle_dyck(ROUND), lambda w: [python_shuffle(w, ROUND)] * len(w)),
    "shuffle-Dyck 2": (
        "(){}",
        lambda: shuffle_dyck(ROUND, CURLY),
        lambda w: [python_shuffle(w, ROUND, CURLY)] * len(w),
    ),
    "Dyck by prefix": ("()", dyck_by_prefix, python_prefix),
    "shift": ("abc", shift, lambda w: ["#", *w[:-1]]),
    "detect a pattern": ("abc", lambda: detect("abc"), lambda w: [w[: i + 1].endswith("abc") for i in range(len(w))]),
    "most frequent": ("abc", most_frequent, python_frequent),
    "count less frequent": (
        "abc",
        lambda: count_less_frequent(2),
        lambda w: [sum(w.count(x) <= 2 for x in w)] * len(w),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_known_programs_agree_with_their_definitions(case: str) -> None:
    alphabet, make, expected = CASES[case]
    sop, letters = make(), random.Random(case)
    program = rasp.program(sop, alphabet, name=case)
    for length in [1, 2, 3, 5, 9, 14] * 2:
        word = "".join(letters.choice(alphabet) for _ in range(length))
        assert list(run(program, word)) == expected(word)
        assert sop(word) == [float(x) if isinstance(x, Fraction) else x for x in expected(word)]


@pytest.mark.parametrize("case", CASES)
def test_a_program_is_the_same_after_it_was_written_as_text(case: str) -> None:
    alphabet, make, _ = CASES[case]
    program = rasp.program(make(), alphabet, name=case)
    again = parse(to_text(program))
    assert (again.definitions, again.output, again.letters) == (program.definitions, program.output, program.letters)


def test_the_text_is_readable() -> None:
    text = to_text(rasp.program(dyck_by_prefix(), "()", name="dyck"))
    assert 'dyck = "F" if selector_width(' in text


def test_numbers_without_repetition_are_sorted() -> None:
    program = rasp.program(sort_unique(rasp.tokens, rasp.tokens), range(20))
    for seed in range(5):
        word = random.Random(seed).sample(range(20), 7)
        assert list(run(program, map(str, word))) == sorted(word)


def test_names_are_kept_and_what_is_not_needed_is_left_out() -> None:
    rasp.Map(lambda x: x, rasp.tokens)
    program = rasp.program(reverse(), "ab")
    assert {"opposite", "reverse"} <= set(program.nodes)
    assert program.name == program.output == "reverse"


def test_a_name_that_is_none_in_the_text_form_becomes_one() -> None:
    assert rasp.program(hist().named("my hist!"), "ab").output == "my_hist_"


def test_letters_may_be_numbers_and_a_set_of_them_is_sorted() -> None:
    program = rasp.program(rasp.tokens + rasp.indices, {10, 9, -1})
    assert program.alphabet == ("-1", "9", "10")
    assert list(run(program, ["10", "-1"])) == [10, 0]


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (["1", 1], "both written as the letter 1"),
        ([object()], "a object is not a symbol"),
        ("", "it is empty"),
        ([float("nan")], "nan is not a finite number"),
    ],
)
def test_an_invalid_vocabulary_is_refused(vocabulary: Any, message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        rasp.program(rasp.tokens, vocabulary)


def test_the_output_is_no_selector() -> None:
    with pytest.raises(UsageError, match="'select' is a selector"):
        rasp.program(rasp.Select(rasp.tokens, rasp.tokens, EQ), "ab")


def test_where_a_number_is_none_the_program_is_undefined_and_the_list_has_none() -> None:
    previous = rasp.Aggregate(rasp.Select(rasp.indices, rasp.indices - 1, EQ), rasp.indices)
    assert previous("abc") == [None, 0, 1]
    assert list(run(rasp.program(previous, "abc"), "abc")) == [UNDEFINED, 0, 1]


def test_a_vocabulary_may_be_large() -> None:
    program = rasp.program(sort(), range(1000))
    assert list(run(program, map(str, [999, 3, 500, 3]))) == [3, 3, 500, 999]


def test_a_causal_program_sees_what_was_read() -> None:
    program = rasp.program(hist(), "ab", causal=True)
    assert list(run(program, "aba")) == [1, 1, 2]


def test_the_empty_input_has_no_values() -> None:
    assert hist()([]) == []


def test_an_expression_that_means_nothing_is_refused_where_it_was_written() -> None:
    with pytest.raises(InvalidError, match=r"test_programs\.py:\d+") as caught:
        rasp.program(rasp.Aggregate(rasp.Select(rasp.tokens, rasp.tokens, LT), rasp.indices, default="x"), "ab")
    assert "the default" in str(caught.value)
