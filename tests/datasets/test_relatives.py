"""Words at a small edit distance from others."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

import softmachine as sm
from softmachine.engines.inputs import Word
from softmachine.engines.inputs.sampling import (
    MAX_LISTED_WORDS,
    LengthSampler,
    WordSampler,
    draw_similar,
    iterate_neighbours,
)
from softmachine.testing import words as all_words

CODEC = sm.compile("palindrome").codec
WORDS = st.lists(st.sampled_from("ab"), max_size=5).map(tuple)


def distance(one: Word, other: Word) -> int:
    """The Levenshtein distance."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
    return row[-1]


@given(WORDS)
def test_neighbours_are_all_words_one_edit_away_each_once(word: Word) -> None:
    found = list(iterate_neighbours(word, "ab", range(7)))
    assert len(set(found)) == len(found)
    assert set(found) == {other for other in all_words("ab", 6) if distance(word, other) == 1}
    assert set(iterate_neighbours(word, "ab", range(len(word), len(word) + 1))) == {
        w for w in found if len(w) == len(word)
    }


@given(WORDS, st.integers(0, 12), st.integers())
def test_relatives_have_the_length_that_is_asked_for(word: Word, length: int, seed: int) -> None:
    found = draw_similar(word, "ab", length, Random(seed))
    assert found is None or len(found) == length


def test_a_pool_has_every_word_once() -> None:
    for length in (0, 3, 13):
        pool = LengthSampler(CODEC, length, Random(1))
        drawn = list(iter(pool.draw, None))
        assert len(drawn) == len(set(drawn)) == 2**length
    assert MAX_LISTED_WORDS < 2**13


def test_pools_draw_every_length_as_often_while_it_lasts() -> None:
    pools = WordSampler(CODEC, range(1, 21), Random(0))
    lengths = [len(pools.draw() or ()) for _ in range(2000)]
    assert 60 < lengths.count(20) < 160
    assert lengths.count(1) == 2
