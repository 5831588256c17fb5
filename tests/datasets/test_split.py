"""Words are assigned to parts by length, or by fractions, depending only on the word."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from softmachine.studies.datasets.split import Split
from softmachine.support.errors import UsageError
from softmachine.testing import words as all_words


def test_fractions_are_about_kept() -> None:
    split = Split.parse("train=0.8,validation=0.1,test=1/10")
    found = Counter(split.part_of(word) for word in all_words("ab", 12))
    total = found.total()
    assert abs(found["train"] / total - 0.8) < 0.02
    assert abs(found["test"] / total - 0.1) < 0.02
    assert set(found) == set(split.names)


def test_where_a_word_belongs_is_written_in_stone() -> None:
    split = Split.parse("train=0.5,test=0.5")
    assert [split.part_of(tuple(word)) for word in ("", "a", "b", "ab", "ba", "abba", "aab")] == (
        ["test", "test", "train", "train", "train", "test", "train"]
    )


def test_lengths_come_first_and_fractions_divide_the_rest() -> None:
    split = Split.parse("train=0.5, test=0.5, longer=3-4")
    assert {split.part_of(("a",) * length) for length in (3, 4)} == {"longer"}
    assert {split.part_of(word) for word in all_words("ab", 2)} == {"train", "test"}
    assert split.fractions == (("train", Fraction(1, 2)), ("test", Fraction(1, 2)))


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("train", "'train' is not a part"),
        ("train=", "'train=' is not a part"),
        ("train=0.5", "add up to 0.5, not to 1"),
        ("train=0.9,test=0.2", "add up to 1.1"),
        ("train=half,test=0.5", "'half' is neither a fraction nor a range"),
        ("train=-1,test=2", "'-1' is neither"),
        ("train=1e999999999", "neither"),
        ("train=1/0", "neither"),
        ("a=0.5,a=0.5", "named twice"),
        ("a=1-5,b=5-6", "belongs to two parts"),
        ("a=5-1", "no lengths from 5 to 1"),
        ("a=1-99999999", "at most 1,000,000 symbols"),
    ],
)
def test_what_is_no_rule_is_refused(rule: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Split.parse(rule)


def test_words_that_belong_nowhere_are_refused_beforehand() -> None:
    with pytest.raises(UsageError, match="words of length 0 belong to no part"):
        Split.parse("train=1-5").require_covered(range(6))
    Split.parse("train=1-5,rest=1").require_covered(range(6))
