"""Sweeps over many words: which words there are, how many, and how long it takes to check all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from softmachine.arithmetic import Arithmetic
from softmachine.engines.check import BATCH, Word, all_words, check_words, only_length, random_words
from softmachine.errors import SoftmachineError
from softmachine.estimates import Estimate, allow, foreseen
from softmachine.model import Model
from softmachine.text import many

UNCOUNTED = 10**30
"""Nobody wants to know a larger number of words exactly."""
LETTER = 1e-6, 100
"""What a letter of a word takes: seconds and bytes, about."""
ENOUGH = 0.1
"""So many seconds a trial takes, to be judged by."""


@dataclass(frozen=True)
class Sweep:
    """The words that a model is checked on.

    Args:
        model: The model.
        longest: The length of the longest words, which is that of most of them.
        total: How many words there are; infinite, if that is too large to be of interest.
        words: The words.
    """

    model: Model
    longest: int
    total: int | float
    words: Iterator[Word]

    @staticmethod
    def every(model: Model, up_to: int) -> Sweep:
        """All words up to a length."""
        only, alphabet = only_length(model.codec, up_to), model.codec.alphabet
        longest = up_to if only is None else only
        _allow_length(longest)
        total = _total(len(alphabet) ** length for length in range(up_to + 1) if only in (None, length))
        return Sweep(model, longest, total, all_words(alphabet, up_to, only))

    @staticmethod
    def random(model: Model, count: int, length: int, seed: int = 0) -> Sweep:
        """So many random words of a length."""
        _allow_length(length)
        return Sweep(model, length, count, random_words(model.codec.alphabet, count, length, seed))

    def foreseen(self, arithmetic: str | Arithmetic, max_steps: int) -> Iterator[Word]:
        """The words, to be checked one by one; soon it is known how long all of them take.

        Raises:
            EffortError: If that is too long, and nobody said yes.
        """
        number = many(self.total, "input") if isinstance(self.total, int) else "more than 10^30 inputs"
        return foreseen(
            self.words,
            self.total,
            f"checking {number}",
            lambda: self._seconds(arithmetic, max_steps),
            hint="check shorter inputs, or fewer of them at random",
        )

    def _seconds(self, arithmetic: str | Arithmetic, max_steps: int) -> float:
        """How long one of the longest words takes; where it takes too long to try one, to judge by shorter ones."""
        length = min(self.longest, 16)
        while True:
            try:
                seconds = self._tried(length, arithmetic, max_steps)
            except SoftmachineError:  # such as a random word that the source does not take
                return 0.0
            if length == self.longest or seconds > ENOUGH:
                return seconds * (self.longest / max(length, 1)) ** 2
            length = min(self.longest, 2 * length)

    def _tried(self, length: int, arithmetic: str | Arithmetic, max_steps: int) -> float:
        """How long a random word of some length takes, when as many are read together as is usual."""
        count = 1
        while True:
            words = random_words(self.model.codec.alphabet, count, length, seed=count)
            report = check_words(self.model, words, arithmetic=arithmetic, max_steps=max_steps)
            if report.seconds > ENOUGH or count >= min(BATCH, self.total):
                return report.seconds / count
            count *= 4


def _allow_length(longest: int) -> None:
    """See that words are not too long to be written down."""
    seconds, memory = (each * longest for each in LETTER)
    allow(Estimate(f"a word of {many(longest, 'symbol')}", seconds, memory))


def _total(counts: Iterable[int]) -> int | float:
    """The sum of numbers; infinite, if it is too large to be of interest."""
    total = 0
    for count in counts:
        total += count
        if total > UNCOUNTED:
            return math.inf
    return total
