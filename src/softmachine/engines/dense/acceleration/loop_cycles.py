"""Cycle detection for looped blocks: iteration stops early once the residual stream repeats.

An iteration is a map of the exact residual stream of a sequence. If k iterations map the box of radius e around some
numbers into itself, so do k more; a fixpoint is a cycle of length 1. Each stream is compared with that of the previous
iteration, and with that of the last iteration whose number is a power of two (Brent, *An improved Monte Carlo
factorization algorithm*, 1980).

The error bounds of softmax fluctuate slightly, so for numbers that repeat, boxes of twice the radius are tried
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

Iteration = Callable[[Tensor], Tensor]
"""One iteration: a map of the residual stream (sequence, position, coordinate)."""
_MIN_REPETITIONS = 4
"""Repetitions of the numbers with other bounds before wider bounds are tried; doubled after each attempt."""
_MAX_WIDENINGS = 4
"""Widening steps per attempt, since some coordinates may need much wider bounds than others."""


def iterate_until_cycle(iteration: Iteration, stream: Tensor, count: int) -> Tensor:
    """Return the stream after ``count`` iterations; sequences in a cycle finish early."""
    rounds = _ActiveSequences(iteration, stream, count)
    for done in range(1, count + 1):
        if not rounds.step(done):
            break
    return rounds.final_stream


class _ActiveSequences:
    """The sequences that are still iterating.

    Args:
        turn: One iteration.
        stream: The sequences before the first iteration.
        turns: The number of iterations.
    """

    def __init__(self, turn: Iteration, stream: Tensor, turns: int) -> None:
        self._iteration = turn
        self._stream = stream
        self._live = np.arange(stream.shape[0])
        self._ends = np.full(len(self._live), turns)
        self._left: list[tuple[NDArray[np.intp], Tensor]] = [] if turns else [(self._live, stream)]
        self._anchor, self._anchored = stream, 0
        self._repetitions, self._try_after = 0, _MIN_REPETITIONS

    def step(self, done: int) -> bool:
        """Run iteration number ``done``; return whether any sequence is left."""
        before, self._stream = self._stream, self._iteration(self._stream)
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
        """Find sequences in a cycle, and reduce their remaining iterations modulo its length."""
        back = _have_equal_numbers(self._stream, past)
        within = back & _have_narrower_bounds(self._stream, past)
        if (back & ~within & (self._ends - done >= period)).any():
            within |= self._widen(past, back & ~within, period)
        self._ends[within] = done + (self._ends[within] - done) % period

    def _widen(self, past: Tensor, some: Flags, period: int) -> Flags:
        """Widen the bounds of some sequences so that the cycle preserves them; return these sequences, or none."""
        self._repetitions += 1
        if self._repetitions < self._try_after:
            return np.zeros_like(some)
        self._try_after *= 2
        kept = self._find_preserved(past[some], self._stream[some], period)
        if kept is None:
            return np.zeros_like(some)
        assert self._stream.error is not None
        error = self._stream.error.copy()
        error[some] = kept.error
        self._stream = replace(self._stream, error=error)
        return some

    def _find_preserved(self, past: Tensor, now: Tensor, period: int) -> Tensor | None:
        """Return the numbers with bounds that the cycle preserves; None if none are found or a step is undecided."""
        assert past.error is not None
        assert now.error is not None
        bound = np.maximum(past.error, now.error)
        for _ in range(_MAX_WIDENINGS):
            wider = Tensor(now.value, 2 * bound)
            after = wider
            try:
                for _ in range(period):
                    after = self._iteration(after)
            except SoftmachineError:
                return None
            if after.error is None or not _have_equal_numbers(after, now).all():
                return None
            if _have_narrower_bounds(after, wider).all():
                return after
            bound = np.maximum(2 * bound, after.error)
        return None

    @property
    def final_stream(self) -> Tensor:
        """The final stream of all sequences."""
        order = np.argsort(np.concatenate([which for which, _ in self._left]))
        first, *others = (part for _, part in self._left)
        return first.concat(others, axis=0)[order] if others else first


def _have_equal_numbers(now: Tensor, past: Tensor) -> Flags:
    """Return which sequences have the same numbers; inexact objects such as balls never compare equal."""
    return np.asarray((now.value == past.value).reshape(len(now.value), -1).all(axis=1), dtype=bool)


def _have_narrower_bounds(now: Tensor, past: Tensor) -> Flags:
    """Return which sequences have bounds that are no wider."""
    if now.error is None or past.error is None:
        return np.full(len(now.value), now.error is past.error)
    return np.asarray((now.error <= past.error).reshape(len(now.error), -1).all(axis=1))
