"""Words similar to a given one: one edit away, with runs stretched, or pumped to another length.

Where random words rarely have a verdict, words similar to one that has it may: a word of aⁿbⁿ with its runs stretched,
a nested word with both of its ends repeated. Each is labelled by the interpreter like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from random import Random

from softmachine.engines.inputs import Word

TRIES = 20
"""Attempts to choose factors whose repetition gives the required length."""


def neighbours(word: Word, alphabet: Sequence[str], lengths: Sequence[int]) -> Iterator[Word]:
    """Iterate over all words at edit distance 1 (replace, insert, delete) with one of these lengths."""
    if len(word) in lengths:
        for place, old in enumerate(word):
            yield from (_spliced(word, place, 1, new) for new in alphabet if new != old)
    if len(word) + 1 in lengths:
        for place in range(len(word) + 1):  # beside an equal symbol, only after it, to avoid duplicates
            yield from (_spliced(word, place, 0, new) for new in alphabet if place == 0 or new != word[place - 1])
    if word and len(word) - 1 in lengths:
        for place in range(len(word)):
            if place == 0 or word[place] != word[place - 1]:
                yield _spliced(word, place, 1)


def _spliced(word: Word, place: int, gone: int, *new: str) -> Word:
    return (*word[:place], *new, *word[place + gone :])


def relative(word: Word, alphabet: Sequence[str], length: int, chooser: Random) -> Word | None:
    """Return a word of a length similar to the given one, or None."""
    if len(word) == length and chooser.random() < 0.5:
        return _changed(word, alphabet, chooser)
    return (_stretched if chooser.random() < 0.5 else _pumped)(word, length, chooser)


def _changed(word: Word, alphabet: Sequence[str], chooser: Random) -> Word:
    """Change one symbol, or two to the same symbol, possibly at mirrored positions."""
    symbols, new = list(word), chooser.choice(alphabet)
    for place in [chooser.randrange(len(word)) for _ in range(2)] if word else []:
        symbols[place] = new
        if chooser.random() < 0.5:
            symbols[-1 - place] = new
            break
    return tuple(symbols)


def shape(word: Word) -> Word:
    """Return the word with each run of equal symbols collapsed to one."""
    return tuple(symbol for symbol, _ in groupby(word))


def _stretched(word: Word, length: int, chooser: Random) -> Word | None:
    """Change the lengths of the runs of equal symbols."""
    runs = shape(word)
    if not runs or len(runs) > length:
        return None
    cuts = [0, *sorted(chooser.sample(range(1, length), len(runs) - 1)), length]
    parts = zip(runs, cuts, cuts[1:], strict=False)
    return tuple(symbol for symbol, first, last in parts for _ in range(last - first))


def _pumped(word: Word, length: int, chooser: Random) -> Word | None:
    """Repeat two factors of the word equally often, as in the pumping lemma for context-free languages."""
    for _ in range(TRIES):
        a, b, c, d = sorted(chooser.randrange(len(word) + 1) for _ in range(4))
        more, grown = b - a + d - c, length - len(word)
        if more and grown > 0 and grown % more == 0:
            times = 1 + grown // more
            return (*word[:a], *word[a:b] * times, *word[b:c], *word[c:d] * times, *word[d:])
    return None
