"""Words that resemble others: one edit away, or of another length with runs stretched or parts repeated.

Where random words hardly ever have a verdict, relatives of a word that has it may: a word of aⁿbⁿ with its runs
stretched, a nested word with both of its ends repeated. None is trusted: each is judged like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from random import Random

from softmachine.engines.inputs import Word

TRIES = 20
"""So often are parts chosen to be repeated, until the length comes out right."""


def neighbours(word: Word, alphabet: Sequence[str], lengths: Sequence[int]) -> Iterator[Word]:
    """All words one edit away (a symbol replaced, inserted or deleted) that have one of these lengths."""
    if len(word) in lengths:
        for place, old in enumerate(word):
            yield from (_spliced(word, place, 1, new) for new in alphabet if new != old)
    if len(word) + 1 in lengths:
        for place in range(len(word) + 1):  # next to an equal symbol, only behind it
            yield from (_spliced(word, place, 0, new) for new in alphabet if place == 0 or new != word[place - 1])
    if word and len(word) - 1 in lengths:
        for place in range(len(word)):
            if place == 0 or word[place] != word[place - 1]:
                yield _spliced(word, place, 1)


def _spliced(word: Word, place: int, gone: int, *new: str) -> Word:
    return (*word[:place], *new, *word[place + gone :])


def relative(word: Word, alphabet: Sequence[str], length: int, chooser: Random) -> Word | None:
    """A word of a length that resembles another; None if none was found."""
    if len(word) == length and chooser.random() < 0.5:
        return _changed(word, alphabet, chooser)
    return (_stretched if chooser.random() < 0.5 else _pumped)(word, length, chooser)


def _changed(word: Word, alphabet: Sequence[str], chooser: Random) -> Word:
    """One symbol changed, or two to the same, which may stand in mirrored places."""
    symbols, new = list(word), chooser.choice(alphabet)
    for place in [chooser.randrange(len(word)) for _ in range(2)] if word else []:
        symbols[place] = new
        if chooser.random() < 0.5:
            symbols[-1 - place] = new
            break
    return tuple(symbols)


def shape(word: Word) -> Word:
    """Which symbols it has, one for a run of equal ones."""
    return tuple(symbol for symbol, _ in groupby(word))


def _stretched(word: Word, length: int, chooser: Random) -> Word | None:
    """The same runs of equal symbols, of other lengths."""
    runs = shape(word)
    if not runs or len(runs) > length:
        return None
    cuts = [0, *sorted(chooser.sample(range(1, length), len(runs) - 1)), length]
    parts = zip(runs, cuts, cuts[1:], strict=False)
    return tuple(symbol for symbol, first, last in parts for _ in range(last - first))


def _pumped(word: Word, length: int, chooser: Random) -> Word | None:
    """Two parts of it repeated, equally often."""
    for _ in range(TRIES):
        a, b, c, d = sorted(chooser.randrange(len(word) + 1) for _ in range(4))
        more, grown = b - a + d - c, length - len(word)
        if more and grown > 0 and grown % more == 0:
            times = 1 + grown // more
            return (*word[:a], *word[a:b] * times, *word[b:c], *word[c:d] * times, *word[d:])
    return None
