"""Speculative decoding (Leviathan, Kalman and Matias, 2023): a draft model proposes tokens that one pass verifies.

The draft model has the same weights in floats without error bounds. A pass in the requested arithmetic verifies the
draft, and its tokens are the output, whatever the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.plain_run import PlainRun
from softmachine.support.errors import SoftmachineError

_FROM = 2
"""Decoded tokens before speculation starts; building the draft model costs more than shorter runs gain."""
_FEWEST, _MOST = 16, 128
"""Draft length: starts at the first, doubles after each fully accepted draft, up to the second."""


class Draft:
    """Drafts the next tokens of a decoder, until one is rejected.

    Args:
        engine: The engine that verifies the drafts.
        stops: Whether a token ends the run; a draft ends there, too.
    """

    def __init__(self, engine: DenseEngine, stops: Callable[[str], bool]) -> None:
        self.engine = engine
        self.stops = stops
        self.useful = engine.arithmetic.checks_many
        self._at_once = _FEWEST
        self._run: PlainRun | None = None

    def begin(self) -> None:
        """Start another sequence."""
        self._run = None

    def after(self, tokens: Sequence[str], said: int) -> tuple[str, ...]:
        """Draft the tokens after ``tokens``, ``said`` of which were decoded; empty if speculation does not pay off."""
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
        except SoftmachineError:  # for example, a length that the weights were not compiled for
            self.useful = False
        return tuple(guesses)

    def compare(self, guesses: Sequence[str], said: Sequence[str]) -> None:
        """Stop speculating after the first rejected token."""
        self.useful = self.useful and len(said) > len(guesses)
        if guesses:
            self._at_once = min(2 * self._at_once, _MOST)
