"""Array storage for long tapes: one byte per cell, where a dictionary takes a hundred."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.turing.configuration import Cells, Contents
from softmachine.support.token_array import Coded

PIECE = 1 << 20
"""Cells scanned per chunk."""


class LongTape(Cells):
    """Tape stored as an array, with the interface of a mapping; its keys are exactly the non-blank cells.

    Args:
        array: The numbers of the symbols, 0 for the blank; not copied.
        first: The cell of the first entry.
        symbols: The symbols by number.
    """

    def __init__(self, array: NDArray[Any], first: int, symbols: tuple[str, ...]) -> None:
        self.array, self.first, self.symbols = array, first, symbols
        self._number = {symbol: number for number, symbol in enumerate(symbols)}

    def __getitem__(self, cell: int) -> str:
        at = cell - self.first
        if not 0 <= at < len(self.array) or not self.array[at]:
            raise KeyError(cell)
        return self.symbols[int(self.array[at])]

    def __setitem__(self, cell: int, symbol: str) -> None:
        length = len(self.array)
        if not 0 <= cell - self.first < length:
            before = max(self.first - cell, 0)
            after = max(cell - self.first - length + 1, 0)
            left, right = (before + length // 2) * (before > 0), (after + length // 2) * (after > 0)
            wider = np.zeros(left + length + right, dtype=self.array.dtype)
            wider[left : left + length] = self.array
            self.array, self.first = wider, self.first - left
        self.array[cell - self.first] = self._number[symbol]

    def __delitem__(self, cell: int) -> None:
        self[cell]  # raises KeyError for blank cells
        self.array[cell - self.first] = 0

    def __iter__(self) -> Iterator[int]:
        for start in range(0, len(self.array), PIECE):
            for place in np.flatnonzero(self.array[start : start + PIECE]).tolist():
                yield self.first + start + place

    def __len__(self) -> int:
        return int(np.count_nonzero(self.array))

    @property
    def ends(self) -> tuple[int, int] | None:
        """The leftmost and the rightmost non-blank cell, if any."""
        low = next(iter(self), None)
        if low is None:
            return None
        for stop in range(len(self.array), 0, -PIECE):
            start = max(stop - PIECE, 0)
            found = np.flatnonzero(self.array[start:stop])
            if len(found):
                return low, self.first + start + int(found[-1])
        raise AssertionError("there is a non-blank cell")

    @property
    def contents(self) -> Contents:
        """The segment from the leftmost to the rightmost non-blank cell, as a view."""
        if (ends := self.ends) is None:
            return Contents()
        low, high = ends
        return Contents(low, Coded(self.array[low - self.first : high + 1 - self.first], self.symbols))
