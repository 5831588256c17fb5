"""Keys or values of the positions read so far; grows by doubling, so that appending one position is cheap."""

from __future__ import annotations

import numpy as np

from softmachine.arithmetic import Tensor


class Cache:
    """A tensor (batch, position, coordinate) that positions are appended to."""

    def __init__(self) -> None:
        self._store: Tensor | None = None
        self._used = 0

    def append(self, new: Tensor) -> Tensor:
        """Append positions; everything so far, as a view."""
        used, end = self._used, self._used + new.shape[1]
        if self._store is None or end > self._store.shape[1]:
            self._store = self._grown(new, max(end, 2 * used, 16) if used else new.shape[1])
        self._store.value[:, used:end] = new.value
        if new.error is not None and self._store.error is not None:
            self._store.error[:, used:end] = new.error
        self._used = end
        return self._store[:, :end]

    def _grown(self, like: Tensor, capacity: int) -> Tensor:
        batch, _, width = like.shape
        value = np.empty((batch, capacity, width), dtype=like.value.dtype)
        error = None if like.error is None else np.empty((batch, capacity, width))
        if self._store is not None:
            value[:, : self._used] = self._store.value[:, : self._used]
            if error is not None and self._store.error is not None:
                error[:, : self._used] = self._store.error[:, : self._used]
        return Tensor(value, error)
