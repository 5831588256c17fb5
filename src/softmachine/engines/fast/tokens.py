"""The tokens of a pass: an array window around the current position; older tokens are compressed.

The code reads the token at the current position and writes the next one. So an array of some million tokens suffices,
which starts at a given position; tokens before it cost about a hundredth of a byte each.

Heads that select a position use what its token adds, and often only input tokens add anything. So compressed tokens are
looked up by equivalence class: tokens that add the same are one class; a page of positions of a single class is stored
as one number, a page of several classes as one byte per position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.indexes.kernels import PAGE_BITS, PAGE_SIZE
from softmachine.support.resources import require_memory
from softmachine.support.token_array import BLOCK_SIZE, CodeView, CompressedSequence


class TokenHistory:
    """Pages of positions, starting at position 0.

    Args:
        kinds: For each token the first one of its equivalence class; None if no head reads older tokens.
        dtype: The type of token indices.
    """

    def __init__(self, kinds: Array | None, dtype: np.dtype[Any]) -> None:
        self.classes = kinds
        self.pages: NDArray[np.int64] = np.zeros(64, dtype=np.int64)
        """For each page the offset of its tokens in ``kept``, or -1 minus the representative of a page of one class."""
        self.page_tokens: Array = np.zeros(PAGE_SIZE, dtype=dtype)
        self._count = self._used = 0
        self._rest: Array = np.zeros(0, dtype=dtype)

    @property
    def token_count(self) -> int:
        """The number of positions added."""
        return (self._count << PAGE_BITS) + len(self._rest)

    @property
    def size(self) -> int:
        """The memory in bytes."""
        return self._count * self.pages.itemsize + self._used * self.page_tokens.itemsize

    def has_classes(self, kinds: Array | None) -> bool:
        """Whether these equivalence classes are the ones stored."""
        if kinds is None or self.classes is None:
            return kinds is None
        return np.array_equal(kinds, self.classes)

    def append(self, begin: int, codes: Array) -> None:
        """Add the tokens from a position on, ignoring those already added; a page is stored when it is full."""
        if self.classes is None or begin + len(codes) <= self.token_count:
            return
        codes = np.concatenate([self._rest, codes[self.token_count - begin :]])
        full = len(codes) >> PAGE_BITS
        found = self._representatives(codes[: full << PAGE_BITS]).reshape(full, PAGE_SIZE)
        single = (found == found[:, :1]).all(axis=1)
        several = found[~single]
        starts = self._used + PAGE_SIZE * np.arange(len(several), dtype=np.int64)
        self._reserve(self._count + full, self._used + several.size)
        self.page_tokens[self._used : self._used + several.size] = several.reshape(-1)
        pages = -1 - found[:, 0].astype(np.int64)
        pages[~single] = starts
        self.pages[self._count : self._count + full] = pages
        count, used, rest = self._count + full, self._used + several.size, codes[full << PAGE_BITS :]
        self._count, self._used, self._rest = count, used, rest  # last and at once: safe against interrupts

    def _representatives(self, codes: Array) -> Array:
        """The class representative of each token."""
        assert self.classes is not None
        if codes.dtype != np.uint8:
            return self.classes[codes]
        table = np.zeros(256, dtype=np.uint8)
        table[: len(self.classes)] = self.classes
        return np.frombuffer(codes.tobytes().translate(table.tobytes()), dtype=np.uint8)  # 5 × as fast

    def _reserve(self, pages: int, tokens: int) -> None:
        if pages > len(self.pages):
            more = np.zeros(pages, dtype=np.int64)
            self.pages = np.concatenate([self.pages, more])
        if tokens > len(self.page_tokens):
            require_memory(2 * tokens * self.page_tokens.itemsize, "the index of older tokens")
            self.page_tokens = np.concatenate([self.page_tokens, np.zeros(tokens, dtype=self.page_tokens.dtype)])


Array = NDArray[Any]
MAX_WINDOW_BYTES = 1 << 23
"""Maximum bytes of the window; shorter runs are never compressed."""
INITIAL_CAPACITY = 1024
"""Initial capacity in tokens."""


class Tokens:
    """An append-only sequence of token indices.

    Tokens before ``len(packed)`` are compressed. The window holds all others, unless it shows an older range: then all
    tokens are compressed.

    Args:
        names: The token of each index.
        codes: The initial indices.
        kinds: Equivalence classes of tokens outside the window, see `TokenHistory`.
    """

    def __init__(self, names: Sequence[str], codes: Sequence[int] | Array = (), kinds: Array | None = None) -> None:
        self.names = names
        self.compressed: CompressedSequence[str] = CompressedSequence(names)
        self.dtype = np.dtype(np.uint8 if len(names) <= 256 else np.int32)
        self.history = TokenHistory(kinds, self.dtype)
        self.max_window = max(MAX_WINDOW_BYTES // self.dtype.itemsize, 2)
        self.base = 0
        """The position of the first token in the window."""
        self.window: Array = np.zeros(max(2 * len(codes), INITIAL_CAPACITY), dtype=self.dtype)
        self.window[: len(codes)] = codes

    @classmethod
    def from_compressed(
        cls, compressed: CompressedSequence[str], kinds: Array | None, older: TokenHistory | None = None
    ) -> Tokens:
        """A sequence that continues compressed tokens."""
        tokens = cls(compressed.names)
        tokens.compressed, tokens.base, tokens.window = compressed, len(compressed), tokens.window[:0]
        if older is not None:
            tokens.history = older
        else:
            tokens.set_classes(kinds)
        return tokens

    def set_classes(self, kinds: Array | None) -> None:
        """Replace the equivalence classes of older tokens."""
        self.history = TokenHistory(kinds, self.dtype)
        for part in self.compressed.code_arrays():
            self.history.append(self.history.token_count, part)

    def size(self, known: int) -> int:
        """The bytes taken by ``known`` tokens; unused capacity takes none."""
        return (
            self.compressed.memory_bytes
            + self.history.size
            + min(known - self.base, self.window.size) * self.dtype.itemsize
        )

    def reserve(self, positions: int) -> None:
        """Reserve capacity for this many tokens, up to the window size; memory is committed when it is written."""
        size = min(positions, self.max_window)
        if not self.base and self.window.size < size:
            self._widen_window(size, self.window.size)

    def assign(self, codes: Array) -> None:
        """Replace all tokens, reusing the window."""
        if len(self.compressed):
            self.compressed, self.history = (
                CompressedSequence(self.names),
                TokenHistory(self.history.classes, self.dtype),
            )
        self.base = 0
        if len(codes) >= self.window.size:
            self.window = np.zeros(2 * len(codes), dtype=self.dtype)
        self.window[: len(codes)] = codes

    def move_window(self, at: int, last: int, known: int) -> None:
        """Move the window so that it covers the positions ``at`` to ``last``.

        Args:
            at: The next position to be read.
            last: The last position to be read or written.
            known: The number of tokens.
        """
        end = self.base + self.window.size
        if self.base <= at and last < end:
            return
        if at < self.base or end <= len(self.compressed):
            self.compress(known)
            self._load_window(at, last, known)
        elif last < self.base + self.max_window:
            self._widen_window(max(last + 1 - self.base, min(2 * self.window.size, self.max_window)), known)
        else:
            self.compress(at)
            base = at // PAGE_SIZE * PAGE_SIZE
            window = np.zeros(max(last + 1 - base, self.max_window), dtype=self.dtype)  # the old one may be in use
            window[: known - base] = self.window[base - self.base : known - self.base]
            self.window, self.base = window, base

    def _widen_window(self, size: int, known: int) -> None:
        window = np.zeros(size, dtype=self.dtype)
        window[: known - self.base] = self.window[: known - self.base]
        self.window = window

    def _load_window(self, at: int, last: int, known: int) -> None:
        """Move the window to start at a compressed token; all tokens are compressed."""
        base, stop = at // PAGE_SIZE * PAGE_SIZE, min(known, max(last + 1, at + BLOCK_SIZE))
        more = last + 1 - stop if stop == known else 0
        window = np.zeros(stop - base + max(more, 0), dtype=self.dtype)
        window[: stop - base] = self.compressed.slice_codes(base, stop)
        self.window, self.base = window, base

    def compress(self, end: int) -> None:
        """Compress the tokens up to a position; those in the window stay there as well."""
        while (begin := len(self.compressed)) < end:
            codes = self.window[begin - self.base : min(end, begin + BLOCK_SIZE) - self.base]
            self.history.append(begin, codes)
            self.compressed.extend(codes)

    def slice_codes(self, begin: int, end: int) -> Array:
        """The indices of the tokens from ``begin`` up to ``end``."""
        if begin >= self.base and end <= self.base + self.window.size:
            return self.window[begin - self.base : end - self.base]
        middle = min(max(len(self.compressed), begin), end)
        older: Array = self.compressed.slice_codes(begin, middle)
        if middle == end:
            return older
        return np.concatenate([older, self.window[middle - self.base : end - self.base]])

    def names_between(self, begin: int, end: int) -> CodeView[str]:
        """The same as token names."""
        return CodeView(self, self.names, range(begin, end))

    def __getitem__(self, position: int) -> int:
        return int(self.slice_codes(position, position + 1)[0])

    def write(self, position: int, token: int) -> None:
        """Write a token into the window."""
        self.window[position - self.base] = token

    def read_only_prefix(self, count: int, kinds: Array | None) -> Tokens:
        """The first ``count`` tokens for a read-only pass; the compressed ones are shared."""
        self.compress(count)
        return Tokens.from_compressed(self.compressed, kinds, self.history if self.history.has_classes(kinds) else None)
