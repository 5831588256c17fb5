"""Samplers of words: without replacement and uniformly over lengths, or similar to words that have a verdict.

Where random words rarely have a verdict, words similar to one that has it may: one edit away, a word of aⁿbⁿ with its
runs stretched, a nested word with both of its ends repeated (pumping). Each is labelled by the interpreter like any
other. Labelled words are indexed by verdict and shape.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from random import Random

from softmachine.engines.inputs import Word
from softmachine.engines.inputs.row import LabelledWord
from softmachine.languages.source import Source
from softmachine.theorems.codec import Codec

MAX_LISTED_WORDS = 4096
"""Up to this many words of a length are listed and shuffled; of more, words are drawn until half are used."""


class LengthSampler:
    """Samples the words of one length without replacement.

    Args:
        codec: Defines the words.
        length: The length.
        chooser: The random generator.
    """

    def __init__(self, codec: Codec[Source], length: int, chooser: Random) -> None:
        self.codec = codec
        self.length = length
        self.chooser = chooser
        self._drawn: set[Word] = set()
        self._rest: list[Word] | None = None
        self._size = codec.word_count(length)

    def draw(self) -> Word | None:
        """Another word; None if there are no more."""
        if self._rest is None and (self._size <= MAX_LISTED_WORDS or 2 * len(self._drawn) >= self._size):
            self._rest = [word for word in self.codec.words(self.length) if word not in self._drawn]
            self.chooser.shuffle(self._rest)
        if self._rest is not None:
            return self._rest.pop() if self._rest else None
        while (word := self.codec.random_word(self.chooser, self.length)) in self._drawn:
            pass
        self._drawn.add(word)
        return word


class WordSampler:
    """Samples words without replacement; lengths that have words left are equally likely."""

    def __init__(self, codec: Codec[Source], lengths: Sequence[int], chooser: Random) -> None:
        self.codec = codec
        self.chooser = chooser
        self._lengths = list(lengths)
        self._pools: dict[int, LengthSampler] = {}

    def draw(self) -> Word | None:
        """Another word; None if there are no more."""
        while self._lengths:
            place = self.chooser.randrange(len(self._lengths))
            length = self._lengths[place]
            if length not in self._pools:
                self._pools[length] = LengthSampler(self.codec, length, self.chooser)
            word = self._pools[length].draw()
            if word is not None:
                return word
            self._lengths[place] = self._lengths[-1]
            self._lengths.pop()
        return None


MAX_TRIES = 20
"""Attempts to choose factors whose repetition gives the required length."""


def iterate_neighbours(word: Word, alphabet: Sequence[str], lengths: Sequence[int]) -> Iterator[Word]:
    """Iterate over all words at edit distance 1 (replace, insert, delete) with one of these lengths."""
    if len(word) in lengths:
        for place, old in enumerate(word):
            yield from (_splice(word, place, 1, new) for new in alphabet if new != old)
    if len(word) + 1 in lengths:
        for place in range(len(word) + 1):  # beside an equal symbol, only after it, to avoid duplicates
            yield from (_splice(word, place, 0, new) for new in alphabet if place == 0 or new != word[place - 1])
    if word and len(word) - 1 in lengths:
        for place in range(len(word)):
            if place == 0 or word[place] != word[place - 1]:
                yield _splice(word, place, 1)


def _splice(word: Word, place: int, removed: int, *new: str) -> Word:
    return (*word[:place], *new, *word[place + removed :])


def draw_similar(word: Word, alphabet: Sequence[str], length: int, chooser: Random) -> Word | None:
    """Return a word of this length that is similar to the given one, or None."""
    if len(word) == length and chooser.random() < 0.5:
        return _change_symbols(word, alphabet, chooser)
    return (_stretch_runs if chooser.random() < 0.5 else _pump)(word, length, chooser)


def _change_symbols(word: Word, alphabet: Sequence[str], chooser: Random) -> Word:
    """Change one symbol, or two to the same symbol, possibly at mirrored positions."""
    symbols, new = list(word), chooser.choice(alphabet)
    for place in [chooser.randrange(len(word)) for _ in range(2)] if word else []:
        symbols[place] = new
        if chooser.random() < 0.5:
            symbols[-1 - place] = new
            break
    return tuple(symbols)


def collapse_runs(word: Word) -> Word:
    """Return the word with each run of equal symbols collapsed to one."""
    return tuple(symbol for symbol, _ in groupby(word))


def _stretch_runs(word: Word, length: int, chooser: Random) -> Word | None:
    """Change the lengths of the runs of equal symbols."""
    runs = collapse_runs(word)
    if not runs or len(runs) > length:
        return None
    cuts = [0, *sorted(chooser.sample(range(1, length), len(runs) - 1)), length]
    parts = zip(runs, cuts, cuts[1:], strict=False)
    return tuple(symbol for symbol, first, last in parts for _ in range(last - first))


def _pump(word: Word, length: int, chooser: Random) -> Word | None:
    """Repeat two factors of the word equally often, as in the pumping lemma for context-free languages."""
    for _ in range(MAX_TRIES):
        a, b, c, d = sorted(chooser.randrange(len(word) + 1) for _ in range(4))
        more, grown = b - a + d - c, length - len(word)
        if more and grown > 0 and grown % more == 0:
            times = 1 + grown // more
            return (*word[:a], *word[a:b] * times, *word[b:c], *word[c:d] * times, *word[d:])
    return None


MAX_SHAPES, MAX_PER_SHAPE = 1_000, 100
"""Limits of stored shapes per kind of word, and of words per shape."""


class LabelledWords:
    """The words labelled up to now, by verdict and shape: the word with each run of equal symbols collapsed to one."""

    def __init__(self) -> None:
        self.verdicts: dict[Word, str] = {}
        self.counts: Counter[str] = Counter()
        """The number of words per verdict."""
        self._kinds: dict[tuple[str, bool], dict[Word, list[Word]]] = defaultdict(dict)
        """Words by (verdict, has a long trace), then by shape."""

    def add(self, labelled: LabelledWord) -> None:
        """Store a word."""
        if labelled.word in self.verdicts:
            return
        self.verdicts[labelled.word] = labelled.verdict
        self.counts[labelled.verdict] += 1
        shapes, form = self._kinds[labelled.verdict, labelled.is_long], collapse_runs(labelled.word)
        if len(shapes) < MAX_SHAPES or form in shapes:
            words = shapes.setdefault(form, [])
            if len(words) < MAX_PER_SHAPE:
                words.append(labelled.word)

    def draw(self, verdict: str, chooser: Random, *, long: bool) -> Word | None:
        """Draw a word with a verdict, uniformly over shapes; with a long trace if ``long`` and there are any."""
        lengthy, brief = (list(self._kinds[verdict, is_long].values()) for is_long in (True, False))
        shapes = lengthy if long and lengthy else lengthy + brief
        return chooser.choice(chooser.choice(shapes)) if shapes else None
