"""Keys or values of the positions read so far; grows by doubling, so that appending one position is cheap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic import Tensor
from softmachine.arithmetic.base import Array


class Cache:
    """A tensor (batch, position, coordinate) that positions are appended to.

    As long as all numbers are exact, no error bounds are kept.
    """

    def __init__(self) -> None:
        self._value: Array | None = None
        self._error: NDArray[np.float64] | None = None
        self._used = 0

    def append(self, new: Tensor) -> Tensor:
        """Append positions; everything so far, as a view."""
        used, end = self._used, self._used + new.shape[1]
        if self._value is None or end > self._value.shape[1]:
            capacity = max(end, 2 * used, 64) if used else end
            self._value = _grown(self._value, new.value, used, capacity)
            if self._error is not None and new.error is not None:
                self._error = _grown(self._error, new.error, used, capacity)
        self._value[:, used:end] = new.value
        if new.error is not None and (self._error is not None or new.error.any()):
            if self._error is None:
                self._error = np.zeros(self._value.shape)
            self._error[:, used:end] = new.error
        elif self._error is not None:
            self._error[:, used:end] = 0
        self._used = end
        return Tensor(self._value[:, :end], None if self._error is None else self._error[:, :end])

    def keep(self, positions: int) -> None:
        """Forget all but the first so many positions."""
        self._used = min(self._used, positions)


def _grown(old: Array | None, like: Array, used: int, capacity: int) -> Array:
    larger = np.zeros((like.shape[0], capacity, like.shape[2]), dtype=like.dtype)
    if old is not None:
        larger[:, :used] = old[:, :used]
    return larger
