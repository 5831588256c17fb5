"""Long sequences of few different things: a number for each, and what the numbers stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from numpy.typing import NDArray

Item = TypeVar("Item")
PIECE = 1 << 16
"""So many numbers are turned into things at a time."""


class Coded(Sequence[Item]):
    """A sequence that is kept as an array of small numbers: a byte an item, where a tuple takes eight.

    Args:
        codes: The numbers.
        names: What each number stands for.
    """

    __slots__ = ("codes", "names")

    def __init__(self, codes: NDArray[Any], names: Sequence[Item]) -> None:
        self.codes = codes
        self.names = names

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Coded[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Coded[Item]:
        if isinstance(index, slice):
            return Coded(self.codes[index], self.names)
        return self.names[int(self.codes[index])]

    def __iter__(self) -> Iterator[Item]:
        names = self.names
        for start in range(0, len(self.codes), PIECE):
            for code in self.codes[start : start + PIECE].tolist():
                yield names[code]

    def used(self) -> set[int]:
        """The numbers that occur."""
        found: set[int] = set()
        for start in range(0, len(self.codes), PIECE):
            found |= set(self.codes[start : start + PIECE].tolist())
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 6)))
        return f"Coded({shown}{', …' if len(self) > 6 else ''})  # {len(self):,} items"
