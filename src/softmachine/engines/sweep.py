"""Sweeps over many words: which words there are, how many, and how long it takes to check all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from softmachine.compiler.model import Model
from softmachine.engines.check import BATCH, check_words
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.inputs import (
    Word,
    count_words,
    lengths_up_to,
    one_length,
    random_words,
    require_choice,
    words_of,
)
from softmachine.engines.numerics import Arithmetic
from softmachine.support.errors import SoftmachineError
from softmachine.support.estimates import Estimate, Foresight, allow
from softmachine.support.text import many

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
        words_from: The words from the one of this number on, counted from 0.
    """

    model: Model
    longest: int
    total: int | float
    words_from: Callable[[int], Iterator[Word]]

    @property
    def number(self) -> str:
        """How many words there are, for people."""
        return many(self.total, "input") if isinstance(self.total, int) else "more than 10^30 inputs"

    def part(self, start: int, stop: int) -> Iterator[Word]:
        """Those from one number up to another, which is not among them."""
        return islice(self.words_from(start), stop - start)

    @staticmethod
    def of(model: Model, *, up_to: int | None, sample: int | None, length: int | None, seed: int = 0) -> Sweep:
        """All words up to a length, or so many random ones of a length.

        Sources whose inputs all have one length need no other: all inputs are taken if nothing is said, and are few.

        Raises:
            UsageError: If that does not say which words, or there are none.
        """
        require_choice(up_to=up_to, sample=sample, length=length)
        return Sweep.every(model, up_to) if sample is None else Sweep.random(model, sample, length, seed)

    @staticmethod
    def every(model: Model, up_to: int | None) -> Sweep:
        """All words up to a length, or all that there are."""
        lengths = lengths_up_to(model.codec, up_to)
        _allow_length(lengths[-1])
        total = count_words(model.codec, lengths)
        return Sweep(model, lengths[-1], total, lambda start: words_of(model.codec, lengths, start))

    @staticmethod
    def random(model: Model, count: int, wanted: int | None, seed: int = 0) -> Sweep:
        """So many random words of a length, or of the one that all have."""
        length = one_length(model.codec, wanted)
        _allow_length(length)
        return Sweep(model, length, count, lambda start: random_words(model.codec, count, length, seed, start))

    def foresight(self, arithmetic: str | Arithmetic, max_steps: int, hands: int = 1, known: int = 0) -> Foresight:
        """What is judged soon after the first words were checked: whether all that are not known take too long."""
        return Foresight(
            self.total - known,
            f"checking {self.number}",
            lambda: self._seconds(arithmetic, max_steps),
            hint="check shorter inputs, or fewer of them at random",
            hands=hands,
        )

    def _seconds(self, arithmetic: str | Arithmetic, max_steps: int) -> float:
        """How long one of the longest words takes; where it takes too long to try one, to judge by shorter ones."""
        length, engine = min(self.longest, 16), DenseEngine(self.model.weights, arithmetic)
        while True:
            try:
                seconds = self._tried(length, engine, max_steps)
            except SoftmachineError:  # such as a random word that the source does not take
                return 0.0
            if length == self.longest or seconds > ENOUGH:
                return seconds * (self.longest / max(length, 1)) ** 2
            length = min(self.longest, 2 * length)

    def _tried(self, length: int, engine: DenseEngine, max_steps: int) -> float:
        """How long a random word of some length takes, when as many are read together as is usual.

        What is prepared the first time is not there the second time.
        """
        count, least = 1, min(BATCH, self.total)
        while True:
            words = list(random_words(self.model.codec, count, length, seed=count))
            trials = (check_words(self.model, words, arithmetic=engine, max_steps=max_steps) for _ in range(2))
            seconds = min(report.seconds for report in trials)
            if seconds > ENOUGH or count >= least:
                return seconds / count
            count = min(4 * count, int(least))


def _allow_length(longest: int) -> None:
    """See that words are not too long to be written down."""
    seconds, memory = (each * longest for each in LETTER)
    allow(Estimate(f"a word of {many(longest, 'symbol')}", seconds, memory))
