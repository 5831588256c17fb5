"""Words in lexicographic order, from any index: start-up takes time linear in the length of the word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations_with_replacement, product
from math import comb
from typing import TypeAlias

Word: TypeAlias = tuple[str, ...]


def words_from(letters: Sequence[str], length: int, start: int = 0) -> Iterable[Word]:
    """All words of a length in lexicographic order, starting at index ``start`` (from 0).

    The successors of the first word are enumerated by the length of the common prefix: first the words that differ in
    the last letter only, then those that differ in the last two, and so on.
    """
    if not start:
        return product(letters, repeat=length)
    return _next_words(letters, length, start)


def _next_words(letters: Sequence[str], length: int, start: int) -> Iterator[Word]:
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
    """All words of a length with non-decreasing letters, in lexicographic order, starting at index ``start``."""
    if not start:
        return combinations_with_replacement(letters, length)
    return _next_ordered_words(letters, length, start)


def count_ordered_words(letters: int, length: int) -> int:
    """Number of words of a length with non-decreasing letters, for an alphabet of this size."""
    return comb(length + letters - 1, length) if letters else int(not length)


def _next_ordered_words(letters: Sequence[str], length: int, start: int) -> Iterator[Word]:
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
    """All words of several lengths, starting at index ``start``.

    Args:
        lengths: The lengths.
        words: Function from a length and an index to the words of this length from that index.
        count: Number of words of a length.
        start: Index of the first word, from 0.
    """
    for length in lengths:
        before = count(length) if start else 0
        if not start or start < before:
            yield from words(length, start)
        start = max(start - before, 0)
