"""When a loop has settled: the numbers stay as they are, and their error bounds hold for all turns that follow.

A turn is a map of the exact stream. If it takes everything within bounds e of some numbers to what is within e of the
same numbers, so does every turn that follows. Softmax leaves bounds that go up and down a little; so of numbers that
stay, twice the largest bounds they had are tried (ε-inflation: Rump, *Solving algebraic problems with high accuracy*,
1983).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softmachine.arithmetic import Tensor
from softmachine.arithmetic.base import Array, Floats
from softmachine.engines.dense.everywhere import same
from softmachine.errors import SoftmachineError

_FIRST_TRIED = 4
"""After so many turns with the same numbers wider bounds are tried, and again after twice as many …"""
_TRIES = 4
"""… each time so often, since bounds may have to be much wider at some coordinates than at others."""


class Settling:
    """Watches the turns of a loop, to say when it has settled.

    Args:
        turn: What a turn makes of a stream.
    """

    def __init__(self, turn: Callable[[Tensor], Tensor]) -> None:
        self._turn = turn
        self._widest: Floats | None = None
        self._turns = 0
        self._try_after = _FIRST_TRIED

    def settled(self, before: Tensor, after: Tensor) -> Tensor | None:
        """After a turn, the stream as it will be for good; None if that is not known."""
        if before.error is None or after.error is None:
            return after if same(before, after) else None
        if not (before.value == after.value).all():
            self._widest, self._turns = None, 0
            return None
        if (after.error <= before.error).all():
            return after
        self._widest = np.maximum(before.error if self._widest is None else self._widest, after.error)
        self._turns += 1
        if self._turns < self._try_after:
            return None
        self._try_after *= 2
        return self._kept(after.value, self._widest)

    def _kept(self, value: Array, bound: Floats) -> Tensor | None:
        """The numbers with bounds that a turn keeps; None if none are found, or they are too wide to decide."""
        for _ in range(_TRIES):
            wider = 2 * bound
            try:
                after = self._turn(Tensor(value, wider))
            except SoftmachineError:
                return None
            if after.error is None or not (after.value == value).all():
                return None
            if (after.error <= wider).all():
                return after
            bound = np.maximum(wider, after.error)
        return None
