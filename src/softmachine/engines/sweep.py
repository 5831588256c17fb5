"""The inputs of a check: enumeration or random sampling, their number, and the estimated duration."""

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
"""Estimated seconds and bytes per symbol of a word."""
ENOUGH = 0.1
"""Seconds of a trial that suffice for an estimate."""


@dataclass(frozen=True)
class Sweep:
    """The inputs that a model is checked on.

    Args:
        model: The model.
        longest: The largest length, which most of the words have.
        total: The number of words; infinite if it exceeds 10^30.
        words_from: Iterates over the words from a given index, counted from 0.
    """

    model: Model
    longest: int
    total: int | float
    words_from: Callable[[int], Iterator[Word]]

    @property
    def number(self) -> str:
        """The number of words as text."""
        return many(self.total, "input") if isinstance(self.total, int) else "more than 10^30 inputs"

    def part(self, start: int, stop: int) -> Iterator[Word]:
        """Iterate over the words with indices from ``start`` up to, but not including, ``stop``."""
        return islice(self.words_from(start), stop - start)

    @staticmethod
    def of(model: Model, *, up_to: int | None, sample: int | None, length: int | None, seed: int = 0) -> Sweep:
        """Choose all words up to a length, or ``sample`` random words of a length.

        If all inputs of the source have one length, the default is that length and, if they are few, all inputs.

        Raises:
            UsageError: If the arguments do not determine the words, or there are none.
        """
        require_choice(up_to=up_to, sample=sample, length=length)
        return Sweep.every(model, up_to) if sample is None else Sweep.random(model, sample, length, seed)

    @staticmethod
    def every(model: Model, up_to: int | None) -> Sweep:
        """Choose all words up to a length; without a length, all words of a source with inputs of one length."""
        lengths = lengths_up_to(model.codec, up_to)
        _allow_length(lengths[-1])
        total = count_words(model.codec, lengths)
        return Sweep(model, lengths[-1], total, lambda start: words_of(model.codec, lengths, start))

    @staticmethod
    def random(model: Model, count: int, wanted: int | None, seed: int = 0) -> Sweep:
        """Choose random words of a length; by default, the one length of all inputs."""
        length = one_length(model.codec, wanted)
        _allow_length(length)
        return Sweep(model, length, count, lambda start: random_words(model.codec, count, length, seed, start))

    def foresight(self, arithmetic: str | Arithmetic, max_steps: int, hands: int = 1, known: int = 0) -> Foresight:
        """Return the cost forecast of the words not checked before, evaluated soon after the check has begun."""
        return Foresight(
            self.total - known,
            f"checking {self.number}",
            lambda: self._seconds(arithmetic, max_steps),
            hint="check shorter inputs, or fewer of them at random",
            hands=hands,
        )

    def _seconds(self, arithmetic: str | Arithmetic, max_steps: int) -> float:
        """Estimate the seconds for a word of the largest length, by extrapolation if a trial would take too long."""
        length, engine = min(self.longest, 16), DenseEngine(self.model.weights, arithmetic)
        while True:
            try:
                seconds = self._tried(length, engine, max_steps)
            except SoftmachineError:  # for example, a random word that the source rejects as input
                return 0.0
            if length == self.longest or seconds > ENOUGH:
                return seconds * (self.longest / max(length, 1)) ** 2
            length = min(self.longest, 2 * length)

    def _tried(self, length: int, engine: DenseEngine, max_steps: int) -> float:
        """Measure the seconds per random word of a length, at the usual batch size.

        The minimum of two trials excludes one-time preparation.
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
    """Require that words of this length fit in memory."""
    seconds, memory = (each * longest for each in LETTER)
    allow(Estimate(f"a word of {many(longest, 'symbol')}", seconds, memory))
