"""All words of a length in the order of the alphabet, from any of them on: whoever begins later enumerates nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations_with_replacement, product
from math import comb
from typing import TypeAlias

Word: TypeAlias = tuple[str, ...]


def words_from(letters: Sequence[str], length: int, start: int = 0) -> Iterable[Word]:
    """Every word of a length, from the start-th on, counted from 0; it costs the length to find that one.

    What follows a word is what has a longer beginning in common with it first: words that begin like it but for the
    last letter, then but for the last two, and so on.
    """
    if not start:
        return product(letters, repeat=length)
    return _following(letters, length, start)


def _following(letters: Sequence[str], length: int, start: int) -> Iterator[Word]:
    if start >= len(letters) ** length:
        return
    places = []
    for _ in range(length):
        start, place = divmod(start, len(letters))
        places.append(place)
    word = tuple(letters[place] for place in reversed(places))
    yield word
    for rest, place in enumerate(places):  # the last letter comes first
        beginning = word[: length - rest - 1]
        for end in product(letters[place + 1 :], *[letters] * rest):
            yield beginning + end


def ordered_words_from(letters: Sequence[str], length: int, start: int = 0) -> Iterable[Word]:
    """Every word of a length whose letters are in the order of the alphabet, from the start-th on."""
    if not start:
        return combinations_with_replacement(letters, length)
    return _ordered_following(letters, length, start)


def count_ordered_words(letters: int, length: int) -> int:
    """How many words of a length over so many letters have them in order."""
    return comb(length + letters - 1, length) if letters else int(not length)


def _ordered_following(letters: Sequence[str], length: int, start: int) -> Iterator[Word]:
    if start >= count_ordered_words(len(letters), length):
        return
    places, place = list[int](), 0
    for rest in reversed(range(length)):
        while start >= (beginning_so := count_ordered_words(len(letters) - place, rest)):
            start, place = start - beginning_so, place + 1
        places.append(place)
    word = tuple(letters[each] for each in places)
    yield word
    for rest, place in enumerate(reversed(places)):
        beginning = word[: length - rest - 1]
        for end in combinations_with_replacement(letters[place + 1 :], rest + 1):
            yield beginning + end


def words_of_lengths(
    lengths: Iterable[int], words: Callable[[int, int], Iterable[Word]], count: Callable[[int], int], start: int = 0
) -> Iterator[Word]:
    """Every word of some lengths, from the start-th on.

    Args:
        lengths: The lengths.
        words: The words of a length, from one of them on.
        count: How many there are of a length.
        start: The number of the first, counted from 0.
    """
    for length in lengths:
        before = count(length) if start else 0
        if not start or start < before:
            yield from words(length, start)
        start = max(start - before, 0)
