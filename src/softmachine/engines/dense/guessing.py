"""Speculative decoding (Leviathan, Kalman and Matias, 2023): tokens are guessed cheaply and checked many at a time.

The guesses come from the same weights in plain floats, which know nothing of their errors. Checking them is one pass
over all of them in the arithmetic that was asked for, and what it says stands, whatever was guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.plain_run import PlainRun
from softmachine.support.errors import SoftmachineError

_FROM = 2
"""Runs that are shorter are not worth preparing the weights twice for."""
_FEWEST, _MOST = 16, 128
"""So many tokens are guessed at a time, first and at most: twice as many when all were right."""


class Draft:
    """Guesses of what a decoder says next, until one is wrong.

    Args:
        engine: The engine that checks them.
        stops: Whether the run is over with a token; nothing is guessed beyond.
    """

    def __init__(self, engine: DenseEngine, stops: Callable[[str], bool]) -> None:
        self.engine = engine
        self.stops = stops
        self.useful = engine.arithmetic.checks_many
        self._at_once = _FEWEST
        self._run: PlainRun | None = None

    def begin(self) -> None:
        """Another sequence is read, from its first token on."""
        self._run = None

    def after(self, tokens: Sequence[str], said: int) -> tuple[str, ...]:
        """What may follow the tokens, of which ``said`` were decoded; nothing if that is not worth the effort."""
        if not self.useful or (said < _FROM and not self.engine.has_plain):
            return ()
        guesses: list[str] = []
        try:
            run = self._run = self._run or PlainRun(self.engine.plain)
            new = tokens[run.read :]
            with np.errstate(all="ignore"):
                while len(guesses) < self._at_once and not (guesses and self.stops(guesses[-1])):
                    guesses.append(run.says(new))
                    new = guesses[-1:]
        except SoftmachineError:  # such as a length that the weights were not made for
            self.useful = False
        return tuple(guesses)

    def compare(self, guesses: Sequence[str], said: Sequence[str]) -> None:
        """After a wrong guess there are no more: the next ones would hardly be better."""
        self.useful = self.useful and len(said) > len(guesses)
        if guesses:
            self._at_once = min(2 * self._at_once, _MOST)
