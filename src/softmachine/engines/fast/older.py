"""Lookup of compressed tokens: for each position a token of the same equivalence class.

Heads that select a position use what its token adds, and often only input tokens add anything. Tokens that add the same
are one class; a page of positions of a single class is stored as one number, a page of several classes as one byte per
position.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.growth import require_memory
from softmachine.engines.fast.indexes.kernels import PAGE, PAGE_BITS

Array = NDArray[Any]


class Older:
    """Pages of positions, starting at position 0.

    Args:
        kinds: For each token the first one of its equivalence class; None if no head reads older tokens.
        dtype: The type of token indices.
    """

    def __init__(self, kinds: Array | None, dtype: np.dtype[Any]) -> None:
        self.kinds = kinds
        self.pages: NDArray[np.int64] = np.zeros(64, dtype=np.int64)
        """For each page the offset of its tokens in ``kept``, or -1 minus the representative of a page of one class."""
        self.kept: Array = np.zeros(PAGE, dtype=dtype)
        self._count = self._used = 0
        self._rest: Array = np.zeros(0, dtype=dtype)

    @property
    def seen(self) -> int:
        """The number of positions added."""
        return (self._count << PAGE_BITS) + len(self._rest)

    @property
    def size(self) -> int:
        """The memory in bytes."""
        return self._count * self.pages.itemsize + self._used * self.kept.itemsize

    def answers(self, kinds: Array | None) -> bool:
        """Whether these equivalence classes are the ones stored."""
        if kinds is None or self.kinds is None:
            return kinds is None
        return np.array_equal(kinds, self.kinds)

    def see(self, begin: int, codes: Array) -> None:
        """Add the tokens from a position on, ignoring those already added; a page is stored when it is full."""
        if self.kinds is None or begin + len(codes) <= self.seen:
            return
        codes = np.concatenate([self._rest, codes[self.seen - begin :]])
        full = len(codes) >> PAGE_BITS
        found = self._representatives(codes[: full << PAGE_BITS]).reshape(full, PAGE)
        single = (found == found[:, :1]).all(axis=1)
        several = found[~single]
        starts = self._used + PAGE * np.arange(len(several), dtype=np.int64)
        self._reserve(self._count + full, self._used + several.size)
        self.kept[self._used : self._used + several.size] = several.reshape(-1)
        pages = -1 - found[:, 0].astype(np.int64)
        pages[~single] = starts
        self.pages[self._count : self._count + full] = pages
        count, used, rest = self._count + full, self._used + several.size, codes[full << PAGE_BITS :]
        self._count, self._used, self._rest = count, used, rest  # last and at once: safe against interrupts

    def _representatives(self, codes: Array) -> Array:
        """The class representative of each token."""
        assert self.kinds is not None
        if codes.dtype != np.uint8:
            return self.kinds[codes]
        table = np.zeros(256, dtype=np.uint8)
        table[: len(self.kinds)] = self.kinds
        return np.frombuffer(codes.tobytes().translate(table.tobytes()), dtype=np.uint8)  # 5 × as fast

    def _reserve(self, pages: int, tokens: int) -> None:
        if pages > len(self.pages):
            more = np.zeros(pages, dtype=np.int64)
            self.pages = np.concatenate([self.pages, more])
        if tokens > len(self.kept):
            require_memory(2 * tokens * self.kept.itemsize, "the index of older tokens")
            self.kept = np.concatenate([self.kept, np.zeros(tokens, dtype=self.kept.dtype)])
