"""What code may ask of tokens that are packed: one that is as good as the token at a position.

Heads that choose a position look at what its token adds, and often only tokens of the input add anything. So tokens
that add the same are one kind, and a page of positions of one kind is one number. A page of several kinds takes a byte
a position.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.growth import require_memory
from softmachine.engines.fast.indexes.kernels import PAGE, PAGE_BITS

Array = NDArray[Any]


class Older:
    """Pages of positions, from the first one on.

    Args:
        kinds: For each token the first of its kind; None if nobody asks.
        dtype: Of the tokens.
    """

    def __init__(self, kinds: Array | None, dtype: np.dtype[Any]) -> None:
        self.kinds = kinds
        self.pages: NDArray[np.int64] = np.zeros(64, dtype=np.int64)
        """For each page where its tokens begin, or -1 less the token that all are as good as."""
        self.kept: Array = np.zeros(PAGE, dtype=dtype)
        self._count = self._used = 0
        self._rest: Array = np.zeros(0, dtype=dtype)

    @property
    def seen(self) -> int:
        """How many positions were seen."""
        return (self._count << PAGE_BITS) + len(self._rest)

    @property
    def size(self) -> int:
        """Bytes."""
        return self._count * self.pages.itemsize + self._used * self.kept.itemsize

    def answers(self, kinds: Array | None) -> bool:
        """Whether these kinds are the ones that it tells apart."""
        if kinds is None or self.kinds is None:
            return kinds is None
        return np.array_equal(kinds, self.kinds)

    def see(self, begin: int, codes: Array) -> None:
        """Take the tokens from a position on, as far as they are new; a page counts when it is full."""
        if self.kinds is None or begin + len(codes) <= self.seen:
            return
        codes = np.concatenate([self._rest, codes[self.seen - begin :]])
        full = len(codes) >> PAGE_BITS
        found = self._kinds_of(codes[: full << PAGE_BITS]).reshape(full, PAGE)
        single = (found == found[:, :1]).all(axis=1)
        several = found[~single]
        starts = self._used + PAGE * np.arange(len(several), dtype=np.int64)
        self._make_room(self._count + full, self._used + several.size)
        self.kept[self._used : self._used + several.size] = several.reshape(-1)
        pages = -1 - found[:, 0].astype(np.int64)
        pages[~single] = starts
        self.pages[self._count : self._count + full] = pages
        count, used, rest = self._count + full, self._used + several.size, codes[full << PAGE_BITS :]
        self._count, self._used, self._rest = count, used, rest  # last, and at once: an interrupt changes nothing

    def _kinds_of(self, codes: Array) -> Array:
        """For each token the first of its kind."""
        assert self.kinds is not None
        if codes.dtype != np.uint8:
            return self.kinds[codes]
        table = np.zeros(256, dtype=np.uint8)
        table[: len(self.kinds)] = self.kinds
        return np.frombuffer(codes.tobytes().translate(table.tobytes()), dtype=np.uint8)  # five times as fast

    def _make_room(self, pages: int, tokens: int) -> None:
        if pages > len(self.pages):
            more = np.zeros(pages, dtype=np.int64)
            self.pages = np.concatenate([self.pages, more])
        if tokens > len(self.kept):
            require_memory(2 * tokens * self.kept.itemsize, "what heads look at among older tokens")
            self.kept = np.concatenate([self.kept, np.zeros(tokens, dtype=self.kept.dtype)])
