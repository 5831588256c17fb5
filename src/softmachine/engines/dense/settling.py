"""When a loop has settled: the numbers stay as they are, and their error bounds hold for all turns that follow.

A turn is a map of the exact stream. If it takes everything within bounds e of some numbers to what is within e of the
same numbers, so does every turn that follows. Softmax leaves bounds that go up and down a little; so of numbers that
stay, twice the largest bounds they had are tried (ε-inflation: Rump, *Solving algebraic problems with high accuracy*,
1983).
"""

from __future__ import annotations

import numpy as np

from softmachine.arithmetic import Tensor
from softmachine.arithmetic.base import Floats
from softmachine.engines.dense.everywhere import same

_FIRST_TRIED = 4
"""After so many turns with the same numbers wider bounds are tried, and again after twice as many …"""
TRIES = 4
"""… each time so often, since bounds may need to be much wider at some coordinates than at others."""


def holds(before: Tensor, after: Tensor) -> bool:
    """Whether a turn that took the one to the other ends the loop: the same numbers, and no bound is wider."""
    if before.error is None or after.error is None:
        return same(before, after)
    return bool((before.value == after.value).all() and (after.error <= before.error).all())


class Settling:
    """Watches the turns of a loop, and says which bounds might hold for good."""

    def __init__(self) -> None:
        self._widest: Floats | None = None
        self._turns = 0
        self._try_after = _FIRST_TRIED

    def wider(self, before: Tensor, after: Tensor) -> Tensor | None:
        """The same numbers with bounds to be tried, after a turn; None if there are none now."""
        if before.error is None or after.error is None or not (before.value == after.value).all():
            self._widest, self._turns = None, 0
            return None
        self._widest = np.maximum(before.error if self._widest is None else self._widest, after.error)
        self._turns += 1
        if self._turns < self._try_after:
            return None
        self._try_after *= 2
        return inflated(after, self._widest)


def inflated(stream: Tensor, bound: Floats) -> Tensor:
    """The same numbers with bounds twice as wide."""
    return Tensor(stream.value, 2 * bound)
