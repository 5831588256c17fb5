"""Loops that go round: of turns whose outcome is known, only those are made that are needed to know it.

A turn is a map of the exact stream of a sequence. If some turns take everything within bounds e of some numbers to what
is within e of the same numbers, so do as many turns again. A loop that has settled goes round in one turn. Each stream
is compared with that of the turn before, and with that of the last turn that was a power of two (Brent, *An improved
Monte Carlo factorization algorithm*, 1980).

Softmax leaves bounds that go up and down a little; so of numbers that come back, twice the bounds they had are tried
(ε-inflation: Rump, *Solving algebraic problems with high accuracy*, 1983).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics import Tensor
from softmachine.engines.numerics.base import Flags
from softmachine.support.errors import SoftmachineError

Turn = Callable[[Tensor], Tensor]
"""What a turn makes of a stream: (sequence, position, coordinate)."""
_FIRST_TRIED = 4
"""When numbers have come back so many times with other bounds, wider ones are tried, and again after twice as many …"""
_TRIES = 4
"""… each time so often, since bounds may have to be much wider at some coordinates than at others."""


def after_turns(turn: Turn, stream: Tensor, turns: int) -> Tensor:
    """The stream after so many turns; sequences that go round leave early."""
    rounds = _Rounds(turn, stream, turns)
    for done in range(1, turns + 1):
        if not rounds.go_on(done):
            break
    return rounds.ended


class _Rounds:
    """Sequences in a loop.

    Args:
        turn: What a turn makes of a stream.
        stream: The sequences before the first turn.
        turns: How many turns there are.
    """

    def __init__(self, turn: Turn, stream: Tensor, turns: int) -> None:
        self._turn = turn
        self._stream = stream
        self._live = np.arange(stream.shape[0])
        self._ends = np.full(len(self._live), turns)
        self._left: list[tuple[NDArray[np.intp], Tensor]] = [] if turns else [(self._live, stream)]
        self._anchor, self._anchored = stream, 0
        self._met, self._try_after = 0, _FIRST_TRIED

    def go_on(self, done: int) -> bool:
        """Make a turn, after which so many are done; whether any sequence is left."""
        before, self._stream = self._stream, self._turn(self._stream)
        for past, when in ((before, done - 1), (self._anchor, self._anchored)):
            self._compare(past, done, done - when)
        over = self._ends == done
        if over.any():
            self._left.append((self._live[over], self._stream[over]))
            self._live, self._ends = self._live[~over], self._ends[~over]
            self._stream, self._anchor = self._stream[~over], self._anchor[~over]
        if done >= 2 * self._anchored:
            self._anchor, self._anchored = self._stream, done
        return bool(self._live.size)

    def _compare(self, past: Tensor, done: int, period: int) -> None:
        """Note which sequences are where they were: what is left of their turns is less than a round."""
        back = _back(self._stream, past)
        within = back & _within(self._stream, past)
        if (back & ~within & (self._ends - done >= period)).any():
            within |= self._widened(past, back & ~within, period)
        self._ends[within] = done + (self._ends[within] - done) % period

    def _widened(self, past: Tensor, some: Flags, period: int) -> Flags:
        """Which of some sequences have wider bounds now, that a round keeps: none or all."""
        self._met += 1
        if self._met < self._try_after:
            return np.zeros_like(some)
        self._try_after *= 2
        kept = self._kept(past[some], self._stream[some], period)
        if kept is None:
            return np.zeros_like(some)
        assert self._stream.error is not None
        error = self._stream.error.copy()
        error[some] = kept.error
        self._stream = replace(self._stream, error=error)
        return some

    def _kept(self, past: Tensor, now: Tensor, period: int) -> Tensor | None:
        """The numbers with bounds that a round keeps; None if none are found, or they are too wide to decide."""
        assert past.error is not None
        assert now.error is not None
        bound = np.maximum(past.error, now.error)
        for _ in range(_TRIES):
            wider = Tensor(now.value, 2 * bound)
            after = wider
            try:
                for _ in range(period):
                    after = self._turn(after)
            except SoftmachineError:
                return None
            if after.error is None or not _back(after, now).all():
                return None
            if _within(after, wider).all():
                return after
            bound = np.maximum(2 * bound, after.error)
        return None

    @property
    def ended(self) -> Tensor:
        """The stream of all sequences after all turns."""
        order = np.argsort(np.concatenate([which for which, _ in self._left]))
        first, *others = (part for _, part in self._left)
        return first.joined(others, axis=0)[order] if others else first


def _back(now: Tensor, past: Tensor) -> Flags:
    """Which sequences have the same numbers; those of some arithmetics never are."""
    return np.asarray((now.value == past.value).reshape(len(now.value), -1).all(axis=1), dtype=bool)


def _within(now: Tensor, past: Tensor) -> Flags:
    """Which sequences have bounds that are no wider."""
    if now.error is None or past.error is None:
        return np.full(len(now.value), now.error is past.error)
    return np.asarray((now.error <= past.error).reshape(len(now.error), -1).all(axis=1))
