"""Long sequences of few different things: a number for each, and what the numbers stand for."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.integer]

Item = TypeVar("Item")
Other = TypeVar("Other")
PIECE = 1 << 16
"""So many numbers are turned into things at a time."""
BLOCK = 1 << 20
"""So many numbers are compressed together."""


class Codes(Sequence[Item]):
    """A sequence that is kept as small numbers: a byte an item or less, where a tuple takes eight.

    Args:
        names: What each number stands for.
    """

    __slots__ = ("names",)

    def __init__(self, names: Sequence[Item]) -> None:
        self.names = names

    @abstractmethod
    def parts(self) -> Iterator[Numbers]:
        """The numbers, in arrays one after the other."""

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Codes[Item]: ...
    @abstractmethod
    def __getitem__(self, index: int | slice) -> Item | Codes[Item]: ...

    def __iter__(self) -> Iterator[Item]:
        names = self.names
        for part in self.parts():
            for start in range(0, len(part), PIECE):
                for code in part[start : start + PIECE].tolist():
                    yield names[code]

    def used(self) -> set[int]:
        """The numbers that occur."""
        return {code for code, count in enumerate(self.counts()) if count}

    def counts(self) -> list[int]:
        """How often each number occurs."""
        import numpy as np

        found = np.zeros(len(self.names), dtype=np.int64)
        for part in self.parts():
            for start in range(0, len(part), PIECE):
                found += np.bincount(part[start : start + PIECE], minlength=len(found))
        return [int(count) for count in found]

    def chosen(self, meaning: Callable[[Item], Other | None]) -> Packed[Other]:
        """What those items mean that mean anything, in little memory."""
        import numpy as np

        meanings = [meaning(name) for name in self.names]
        kept = [found for found in meanings if found is not None]
        number = np.cumsum([found is not None for found in meanings]) - 1
        wanted = np.array([found is not None for found in meanings], dtype=bool)
        result = Packed(kept)
        for part in self.parts():
            result.extend(number[part[wanted[part]]])
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 6)))
        return f"{type(self).__name__}({shown}{', …' if len(self) > 6 else ''})  # {len(self):,} items"


class Coded(Codes[Item]):
    """A sequence as an array of numbers.

    Args:
        codes: The numbers.
        names: What each number stands for.
    """

    __slots__ = ("codes",)

    def __init__(self, codes: Numbers, names: Sequence[Item]) -> None:
        super().__init__(names)
        self.codes = codes

    def parts(self) -> Iterator[Numbers]:
        """The array."""
        yield self.codes

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


class Packed(Codes[Item]):
    """A sequence that grows, and whose older parts are compressed: runs repeat themselves, so that they become small.

    Args:
        names: What each number stands for.
    """

    __slots__ = ("_blocks", "_dtype", "_length", "_open", "_room")

    def __init__(self, names: Sequence[Item]) -> None:
        import numpy as np

        super().__init__(names)
        self._dtype = np.dtype(np.uint8 if len(names) <= 256 else np.int32)
        self._blocks: list[bytes] = []
        self._room: Numbers = np.zeros(PIECE, dtype=self._dtype)
        self._length = 0
        self._open: tuple[int, Numbers] | None = None

    def extend(self, codes: Numbers) -> None:
        """Append numbers."""
        import numpy as np

        done = 0
        while done < len(codes):
            used = self._length % BLOCK
            step = min(len(codes) - done, BLOCK - used)
            if used + step > len(self._room):
                larger = np.zeros(min(BLOCK, max(2 * len(self._room), used + step)), dtype=self._dtype)
                larger[:used] = self._room[:used]
                self._room = larger
            self._room[used : used + step] = codes[done : done + step]
            if used + step == BLOCK:
                self._blocks[self._length // BLOCK :] = [zlib.compress(self._room.tobytes(), 1)]
            self._length += step  # last, so that an interrupt leaves what was there before
            done += step

    def copy(self) -> Packed[Item]:
        """The sequence as it is now."""
        twin = Packed(self.names)
        twin._blocks, twin._room, twin._length = list(self._blocks), self._room.copy(), self._length
        return twin

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(map(len, self._blocks)) + self._room.nbytes

    def parts(self) -> Iterator[Numbers]:
        """The blocks, uncompressed one after the other."""
        for number in range(self._length // BLOCK):
            yield self._block(number)
        if self._length % BLOCK:
            yield self._room[: self._length % BLOCK].copy()

    def _block(self, number: int) -> Numbers:
        import numpy as np

        if number == self._length // BLOCK:
            return self._room
        if self._open is None or self._open[0] != number:
            self._open = (number, np.frombuffer(zlib.decompress(self._blocks[number]), dtype=self._dtype))
        return self._open[1]

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Coded[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Coded[Item]:
        if not isinstance(index, slice):
            at = index + self._length if index < 0 else index
            if not 0 <= at < self._length:
                raise IndexError("the sequence is not that long")
            return self.names[int(self._block(at // BLOCK)[at % BLOCK])]
        import numpy as np

        start, stop, step = index.indices(self._length)
        first, last = (start, stop) if step > 0 else (stop + 1, start + 1)
        found: Numbers = np.zeros(max(last - first, 0), dtype=self._dtype)
        at = first
        while at < last:
            end = min(last, (at // BLOCK + 1) * BLOCK)
            found[at - first : end - first] = self._block(at // BLOCK)[at % BLOCK : (end - 1) % BLOCK + 1]
            at = end
        return Coded(found[::step] if step > 0 else found[::-1][::-step], self.names)
