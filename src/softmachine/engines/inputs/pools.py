"""Sampling of words without replacement, uniformly over lengths."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from softmachine.engines.inputs import Word
from softmachine.languages.source import Source
from softmachine.theorems.codec import Codec

FEW = 4096
"""Up to this many words of a length are listed and shuffled; of more, words are drawn until half are used."""


class Pool:
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
        if self._rest is None and (self._size <= FEW or 2 * len(self._drawn) >= self._size):
            self._rest = [word for word in self.codec.words(self.length) if word not in self._drawn]
            self.chooser.shuffle(self._rest)
        if self._rest is not None:
            return self._rest.pop() if self._rest else None
        while (word := self.codec.random_word(self.chooser, self.length)) in self._drawn:
            pass
        self._drawn.add(word)
        return word


class Pools:
    """Samples words without replacement; lengths that have words left are equally likely."""

    def __init__(self, codec: Codec[Source], lengths: Sequence[int], chooser: Random) -> None:
        self.codec = codec
        self.chooser = chooser
        self._lengths = list(lengths)
        self._pools: dict[int, Pool] = {}

    def draw(self) -> Word | None:
        """Another word; None if there are no more."""
        while self._lengths:
            place = self.chooser.randrange(len(self._lengths))
            length = self._lengths[place]
            if length not in self._pools:
                self._pools[length] = Pool(self.codec, length, self.chooser)
            word = self._pools[length].draw()
            if word is not None:
                return word
            self._lengths[place] = self._lengths[-1]
            self._lengths.pop()
        return None
