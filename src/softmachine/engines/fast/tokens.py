"""The tokens of a pass: those that the code reads and writes next are an array, the others are packed.

The code reads the token of the position it is at, and writes the next one. So an array of some millions does, whose
first place is that of a position, and what is behind the run costs a hundredth of a byte a token or so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.indexes.kernels import PAGE
from softmachine.engines.fast.older import Older
from softmachine.support.token_array import BLOCK, Packed, Stretch

Array = NDArray[Any]
WINDOW = 1 << 23
"""So many bytes the array has at most; shorter runs are never packed."""
START = 1024
"""It begins with room for so many tokens."""


class Tokens:
    """Tokens by their numbers, as many as there are: more may follow, and none changes.

    Those before ``len(packed)`` are packed. The window has all that are not, unless it shows older ones: then all are.

    Args:
        names: What each number stands for.
        codes: The numbers to begin with.
        kinds: What code may ask of those that are not in the window, see `Older`.
    """

    def __init__(self, names: Sequence[str], codes: Sequence[int] | Array = (), kinds: Array | None = None) -> None:
        self.names = names
        self.packed: Packed[str] = Packed(names)
        self.dtype = np.dtype(np.uint8 if len(names) <= 256 else np.int32)
        self.older = Older(kinds, self.dtype)
        self.most = max(WINDOW // self.dtype.itemsize, 2)
        self.base = 0
        """The position of the first token in the window."""
        self.window: Array = np.zeros(max(2 * len(codes), START), dtype=self.dtype)
        self.window[: len(codes)] = codes

    @classmethod
    def of(cls, packed: Packed[str], kinds: Array | None, older: Older | None = None) -> Tokens:
        """Tokens that are packed; more may follow."""
        tokens = cls(packed.names)
        tokens.packed, tokens.base, tokens.window = packed, len(packed), tokens.window[:0]
        if older is not None:
            tokens.older = older
        else:
            tokens.ask(kinds)
        return tokens

    def ask(self, kinds: Array | None) -> None:
        """Let code ask something else of older tokens."""
        self.older = Older(kinds, self.dtype)
        for part in self.packed.parts():
            self.older.see(self.older.seen, part)

    def size(self, known: int) -> int:
        """The bytes of so many tokens: room that was never written to takes none."""
        return self.packed.size + self.older.size + min(known - self.base, self.window.size) * self.dtype.itemsize

    def reserve(self, positions: int) -> None:
        """Have room for so many tokens, as far as that is reasonable; memory is only taken as they come."""
        size = min(positions, self.most)
        if not self.base and self.window.size < size:
            self._widen(size, self.window.size)

    def begin_anew(self, codes: Array) -> None:
        """Let these be the tokens; the array serves again."""
        if len(self.packed):
            self.packed, self.older = Packed(self.names), Older(self.older.kinds, self.dtype)
        self.base = 0
        if len(codes) >= self.window.size:
            self.window = np.zeros(2 * len(codes), dtype=self.dtype)
        self.window[: len(codes)] = codes

    def frame(self, at: int, last: int, known: int) -> None:
        """Let the window reach from one position to another, the last one included.

        Args:
            at: The position that is read next.
            last: The last one that is read or written.
            known: How many tokens there are.
        """
        end = self.base + self.window.size
        if self.base <= at and last < end:
            return
        if at < self.base or end <= len(self.packed):
            self.pack(known)
            self._show(at, last, known)
        elif last < self.base + self.most:
            self._widen(max(last + 1 - self.base, min(2 * self.window.size, self.most)), known)
        else:
            self.pack(at)
            base = at // PAGE * PAGE
            window = np.zeros(max(last + 1 - base, self.most), dtype=self.dtype)  # others may look at the old one
            window[: known - base] = self.window[base - self.base : known - self.base]
            self.window, self.base = window, base

    def _widen(self, size: int, known: int) -> None:
        window = np.zeros(size, dtype=self.dtype)
        window[: known - self.base] = self.window[: known - self.base]
        self.window = window

    def _show(self, at: int, last: int, known: int) -> None:
        """Let the window begin at a position whose token is packed, as all are."""
        base, stop = at // PAGE * PAGE, min(known, max(last + 1, at + BLOCK))
        more = last + 1 - stop if stop == known else 0
        window = np.zeros(stop - base + max(more, 0), dtype=self.dtype)
        window[: stop - base] = self.packed.between(base, stop)
        self.window, self.base = window, base

    def pack(self, end: int) -> None:
        """Pack the tokens up to a position; those that are in the window stay there, too."""
        while (begin := len(self.packed)) < end:
            codes = self.window[begin - self.base : min(end, begin + BLOCK) - self.base]
            self.older.see(begin, codes)
            self.packed.extend(codes)

    def between(self, begin: int, end: int) -> Array:
        """The tokens from one position up to another."""
        if begin >= self.base and end <= self.base + self.window.size:
            return self.window[begin - self.base : end - self.base]
        middle = min(max(len(self.packed), begin), end)
        older: Array = self.packed.between(begin, middle)
        if middle == end:
            return older
        return np.concatenate([older, self.window[middle - self.base : end - self.base]])

    def said(self, begin: int, end: int) -> Stretch[str]:
        """The same, as what they stand for."""
        return Stretch(self, self.names, range(begin, end))

    def __getitem__(self, position: int) -> int:
        return int(self.between(position, position + 1)[0])

    def put(self, position: int, token: int) -> None:
        """Write a token into the window."""
        self.window[position - self.base] = token

    def for_reading(self, count: int, kinds: Array | None) -> Tokens:
        """The first so many tokens, for a pass that only reads them; the packed ones are shared."""
        self.pack(count)
        return Tokens.of(self.packed, kinds, self.older if self.older.answers(kinds) else None)
