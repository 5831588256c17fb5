"""Compressed token arrays: long sequences over a small vocabulary, stored as integer codes."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.integer]

Item = TypeVar("Item")
Other = TypeVar("Other")
PIECE = 1 << 16
"""Codes decoded per chunk."""
BLOCK = 1 << 20
"""Codes per compressed block."""
NIBBLE = 16
"""Maximum vocabulary size for which two codes share a byte before compression, which is smaller and faster."""


class Codes(Sequence[Item]):
    """A sequence stored as integer codes: at most a byte per item for small vocabularies, where a tuple takes eight.

    Args:
        names: The items by code.
    """

    __slots__ = ("names",)

    def __init__(self, names: Sequence[Item]) -> None:
        self.names = names

    @abstractmethod
    def parts(self) -> Iterator[Numbers]:
        """Yield the codes as consecutive arrays."""

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Codes[Item]: ...
    @abstractmethod
    def __getitem__(self, index: int | slice) -> Item | Codes[Item]: ...

    def __iter__(self) -> Iterator[Item]:
        names = self.names
        for codes in self._pieces():
            for code in codes.tolist():
                yield names[code]

    def _pieces(self) -> Iterator[Numbers]:
        """Yield the codes in chunks of at most `PIECE`, which bounds the memory of decoded items."""
        for part in self.parts():
            for start in range(0, len(part), PIECE):
                yield part[start : start + PIECE]

    @abstractmethod
    def renamed(self, names: Sequence[Other]) -> Codes[Other]:
        """The same codes with other items; nothing is copied."""

    def used(self) -> set[int]:
        """The codes that occur."""
        return {code for code, count in enumerate(self.counts()) if count}

    def counts(self) -> list[int]:
        """The number of occurrences of each code."""
        import numpy as np

        found = np.zeros(len(self.names), dtype=np.int64)
        for codes in self._pieces():
            found += np.bincount(codes, minlength=len(found))
        return [int(count) for count in found]

    def chosen(self, meaning: Callable[[Item], Other | None]) -> Packed[Other]:
        """Map the items and drop those that map to None; the result is compressed."""
        import numpy as np

        meanings = [meaning(name) for name in self.names]
        kept = [found for found in meanings if found is not None]
        number = np.cumsum([found is not None for found in meanings]) - 1
        mapped = np.array([found is not None for found in meanings], dtype=bool)
        result = Packed(kept)
        for part in self.parts():
            result.extend(number[part[mapped[part]]])
        return result

    def joined(self, between: str) -> str:
        """Join all items to one text, in little more memory than the text takes."""
        return between.join(self._texts(between))

    def _texts(self, between: str) -> Iterator[str]:
        import numpy as np

        names = [str(name) for name in self.names]
        letters = np.array([ord(name) for name in names], dtype="<u4") if _plain(names) and not between else None
        for codes in self._pieces():
            if letters is not None:
                yield letters[codes].tobytes().decode("utf-32-le", "surrogatepass")
            else:
                yield between.join([names[code] for code in codes.tolist()])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 6)))
        return f"{type(self).__name__}({shown}{', …' if len(self) > 6 else ''})  # {len(self):,} items"


def _plain(names: Sequence[str]) -> bool:
    return all(len(name) == 1 for name in names)


class Coded(Codes[Item]):
    """A sequence stored as one array of codes.

    Args:
        codes: The codes.
        names: The items by code.
    """

    __slots__ = ("codes",)

    def __init__(self, codes: Numbers, names: Sequence[Item]) -> None:
        super().__init__(names)
        self.codes = codes

    def parts(self) -> Iterator[Numbers]:
        """Yield the array."""
        yield self.codes

    def renamed(self, names: Sequence[Other]) -> Coded[Other]:
        """The same array with other items."""
        return Coded(self.codes, names)

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


class Store(Protocol):
    """Append-only storage of codes."""

    def between(self, begin: int, end: int) -> Numbers:
        """The codes at the indices ``begin`` to ``end - 1``."""


class Stretch(Codes[Item]):
    """A view of consecutive codes of a store.

    Args:
        store: The store.
        names: The items by code.
        places: The indices in the store.
    """

    __slots__ = ("places", "store")

    def __init__(self, store: Store, names: Sequence[Item], places: range) -> None:
        super().__init__(names)
        self.store, self.places = store, places

    def parts(self) -> Iterator[Numbers]:
        """Yield the codes block by block."""
        at, end = self.places.start, self.places.stop
        while at < end:
            stop = min(end, (at // BLOCK + 1) * BLOCK)
            yield self.store.between(at, stop)
            at = stop

    def renamed(self, names: Sequence[Other]) -> Stretch[Other]:
        """The same view with other items."""
        return Stretch(self.store, names, self.places)

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Codes[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Codes[Item]:
        if not isinstance(index, slice):
            at = self.places[index]
            return self.names[int(self.store.between(at, at + 1)[0])]
        chosen = self.places[index]
        if chosen.step == 1:
            return Stretch(self.store, self.names, chosen)
        first, last = (min(chosen), max(chosen)) if chosen else (0, -1)
        found = self.store.between(first, last + 1)
        return Coded(found[:: chosen.step], self.names)


class Packed(Codes[Item]):
    """An append-only sequence whose full blocks are compressed by zlib; runs are repetitive and compress well.

    Args:
        names: The items by code.
    """

    __slots__ = ("_blocks", "_dtype", "_halves", "_length", "_open", "_room")

    def __init__(self, names: Sequence[Item]) -> None:
        import numpy as np

        super().__init__(names)
        self._dtype = np.dtype(np.uint8 if len(names) <= 256 else np.int32)
        self._halves = len(names) <= NIBBLE
        self._blocks: list[bytes] = []
        self._room: Numbers = np.zeros(PIECE, dtype=self._dtype)
        self._length = 0
        self._open: tuple[int, Numbers] | None = None

    def extend(self, codes: Numbers) -> None:
        """Append codes."""
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
                self._blocks[self._length // BLOCK :] = [self._squeezed(self._room[:BLOCK])]
            self._length += step  # last, so that an interrupt leaves the previous state
            done += step

    def _squeezed(self, codes: Numbers) -> bytes:
        """Compress a block of codes."""
        if self._halves:
            pairs = codes.view("<u2")  # the second code is the upper byte
            codes = (pairs | pairs >> 4).astype("u1")
        return zlib.compress(codes.tobytes(), 1)

    def _released(self, block: bytes) -> Numbers:
        """Decompress a block.

        Raises:
            ValueError: If the data is not a valid block.
        """
        import numpy as np

        size = BLOCK // 2 if self._halves else BLOCK * self._dtype.itemsize
        reader = zlib.decompressobj()
        try:
            data = reader.decompress(block, size + 1)  # bounded, since files are untrusted
        except zlib.error as problem:
            raise ValueError(f"a block cannot be decompressed: {problem}") from None
        if len(data) != size or not reader.eof:
            raise ValueError("a block has the wrong length")
        found = np.frombuffer(data, dtype=np.uint8 if self._halves else self._dtype)
        if self._halves:
            pairs = found.astype("<u2")
            found = ((pairs | pairs << 4) & 0x0F0F).view(np.uint8)
        return found

    def copy(self) -> Packed[Item]:
        """A copy of the sequence."""
        twin = Packed(self.names)
        twin._blocks, twin._room, twin._length = list(self._blocks), self._room.copy(), self._length
        return twin

    def renamed(self, names: Sequence[Other]) -> Stretch[Other]:
        """A view of the current codes with other items."""
        return Stretch(self, names, range(self._length))

    def saved(self) -> Iterator[Numbers]:
        """Yield the arrays to save: the compressed blocks, then the codes after them."""
        import numpy as np

        full = self._length // BLOCK
        yield from (np.frombuffer(block, dtype=np.uint8) for block in self._blocks[:full])
        yield self._room[: self._length % BLOCK].copy()

    def load(self, saved: Sequence[Numbers], below: int) -> None:
        """Restore the arrays of :meth:`saved`, with validation, since files are untrusted.

        Args:
            saved: The arrays.
            below: Exclusive upper bound of the codes.

        Raises:
            ValueError: If they are not a sequence with this vocabulary size.
        """
        if not saved:
            raise ValueError("there is no saved data")
        *blocks, rest = saved
        if any(block.dtype.itemsize != 1 or block.ndim != 1 for block in blocks) or rest.dtype != self._dtype:
            raise ValueError("the saved data has another type")
        if rest.ndim != 1 or len(rest) >= BLOCK:
            raise ValueError("the saved data has no last block")
        self._blocks, self._length, self._open = [block.tobytes() for block in blocks], BLOCK * len(blocks), None
        self.extend(rest)
        for part in self.parts():
            if len(part) and not 0 <= int(part.min()) <= int(part.max()) < below:
                raise ValueError("the saved data has codes that are out of range")

    @property
    def size(self) -> int:
        """Memory in bytes."""
        return sum(map(len, self._blocks)) + self._room.nbytes

    def parts(self) -> Iterator[Numbers]:
        """Yield the blocks, decompressed one at a time."""
        for number in range(self._length // BLOCK):
            yield self._block(number)
        if self._length % BLOCK:
            yield self._room[: self._length % BLOCK].copy()

    def _block(self, number: int) -> Numbers:
        if number == self._length // BLOCK:
            return self._room
        if self._open is None or self._open[0] != number:
            self._open = (number, self._released(self._blocks[number]))
        return self._open[1]

    def between(self, begin: int, end: int) -> Numbers:
        """The codes at the indices ``begin`` to ``end - 1``; a view if they are in one full block."""
        import numpy as np

        block = begin // BLOCK
        if begin < end <= (block + 1) * BLOCK and block < self._length // BLOCK:
            return self._block(block)[begin - block * BLOCK : end - block * BLOCK]
        found: Numbers = np.zeros(max(end - begin, 0), dtype=self._dtype)
        at = begin
        while at < end:
            stop = min(end, (at // BLOCK + 1) * BLOCK)
            found[at - begin : stop - begin] = self._block(at // BLOCK)[at % BLOCK : (stop - 1) % BLOCK + 1]
            at = stop
        return found

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
                raise IndexError("index out of range")
            return self.names[int(self._block(at // BLOCK)[at % BLOCK])]
        start, stop, step = index.indices(self._length)
        first, last = (start, stop) if step > 0 else (stop + 1, start + 1)
        found = self.between(first, last)
        return Coded(found[::step] if step > 0 else found[::-1][::-step], self.names)
