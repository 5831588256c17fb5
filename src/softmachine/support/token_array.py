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
CHUNK_SIZE = 1 << 16
"""Codes decoded per chunk."""
BLOCK_SIZE = 1 << 20
"""Codes per compressed block."""
MAX_NIBBLE_VOCABULARY = 16
"""Maximum vocabulary size for which two codes share a byte before compression, which is smaller and faster."""


class CodedSequence(Sequence[Item]):
    """A sequence stored as integer codes: at most a byte per item for small vocabularies, where a tuple takes eight.

    Args:
        names: The items by code.
    """

    __slots__ = ("names",)

    def __init__(self, names: Sequence[Item]) -> None:
        self.names = names

    @abstractmethod
    def code_arrays(self) -> Iterator[Numbers]:
        """Yield the codes as consecutive arrays."""

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> CodedSequence[Item]: ...
    @abstractmethod
    def __getitem__(self, index: int | slice) -> Item | CodedSequence[Item]: ...

    def __iter__(self) -> Iterator[Item]:
        names = self.names
        for codes in self._code_chunks():
            for code in codes.tolist():
                yield names[code]

    def _code_chunks(self) -> Iterator[Numbers]:
        """Yield the codes in chunks of at most `CHUNK_SIZE`, which bounds the memory of decoded items."""
        for part in self.code_arrays():
            for start in range(0, len(part), CHUNK_SIZE):
                yield part[start : start + CHUNK_SIZE]

    @abstractmethod
    def with_items(self, names: Sequence[Other]) -> CodedSequence[Other]:
        """The same codes with other items; nothing is copied."""

    def used_codes(self) -> set[int]:
        """The codes that occur."""
        return {code for code, count in enumerate(self.count_codes()) if count}

    def count_codes(self) -> list[int]:
        """The number of occurrences of each code."""
        import numpy as np

        found = np.zeros(len(self.names), dtype=np.int64)
        for codes in self._code_chunks():
            found += np.bincount(codes, minlength=len(found))
        return [int(count) for count in found]

    def map_items(self, mapping: Callable[[Item], Other | None]) -> CompressedSequence[Other]:
        """Map the items and drop those that map to None; the result is compressed."""
        import numpy as np

        meanings = [mapping(name) for name in self.names]
        kept = [found for found in meanings if found is not None]
        number = np.cumsum([found is not None for found in meanings]) - 1
        mapped = np.array([found is not None for found in meanings], dtype=bool)
        result = CompressedSequence(kept)
        for part in self.code_arrays():
            result.extend(number[part[mapped[part]]])
        return result

    def join_text(self, separator: str) -> str:
        """Join all items to one text, in little more memory than the text takes."""
        return separator.join(self._texts(separator))

    def _texts(self, separator: str) -> Iterator[str]:
        import numpy as np

        names = [str(name) for name in self.names]
        letters = (
            np.array([ord(name) for name in names], dtype="<u4") if _are_characters(names) and not separator else None
        )
        for codes in self._code_chunks():
            if letters is not None:
                yield letters[codes].tobytes().decode("utf-32-le", "surrogatepass")
            else:
                yield separator.join([names[code] for code in codes.tolist()])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 6)))
        return f"{type(self).__name__}({shown}{', …' if len(self) > 6 else ''})  # {len(self):,} items"


def _are_characters(names: Sequence[str]) -> bool:
    return all(len(name) == 1 for name in names)


class CodeArray(CodedSequence[Item]):
    """A sequence stored as one array of codes.

    Args:
        codes: The codes.
        names: The items by code.
    """

    __slots__ = ("codes",)

    def __init__(self, codes: Numbers, names: Sequence[Item]) -> None:
        super().__init__(names)
        self.codes = codes

    def code_arrays(self) -> Iterator[Numbers]:
        """Yield the array."""
        yield self.codes

    def with_items(self, names: Sequence[Other]) -> CodeArray[Other]:
        """The same array with other items."""
        return CodeArray(self.codes, names)

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> CodeArray[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | CodeArray[Item]:
        if isinstance(index, slice):
            return CodeArray(self.codes[index], self.names)
        return self.names[int(self.codes[index])]


class CodeStore(Protocol):
    """Append-only storage of codes."""

    def slice_codes(self, begin: int, end: int) -> Numbers:
        """The codes at the indices ``begin`` to ``end - 1``."""


class CodeView(CodedSequence[Item]):
    """A view of consecutive codes of a store.

    Args:
        store: The store.
        names: The items by code.
        places: The indices in the store.
    """

    __slots__ = ("places", "store")

    def __init__(self, store: CodeStore, names: Sequence[Item], places: range) -> None:
        super().__init__(names)
        self.store, self.places = store, places

    def code_arrays(self) -> Iterator[Numbers]:
        """Yield the codes block by block."""
        at, end = self.places.start, self.places.stop
        while at < end:
            stop = min(end, (at // BLOCK_SIZE + 1) * BLOCK_SIZE)
            yield self.store.slice_codes(at, stop)
            at = stop

    def with_items(self, names: Sequence[Other]) -> CodeView[Other]:
        """The same view with other items."""
        return CodeView(self.store, names, self.places)

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> CodedSequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | CodedSequence[Item]:
        if not isinstance(index, slice):
            at = self.places[index]
            return self.names[int(self.store.slice_codes(at, at + 1)[0])]
        chosen = self.places[index]
        if chosen.step == 1:
            return CodeView(self.store, self.names, chosen)
        first, last = (min(chosen), max(chosen)) if chosen else (0, -1)
        found = self.store.slice_codes(first, last + 1)
        return CodeArray(found[:: chosen.step], self.names)


class CompressedSequence(CodedSequence[Item]):
    """An append-only sequence whose full blocks are compressed by zlib; runs are repetitive and compress well.

    Args:
        names: The items by code.
    """

    __slots__ = ("_blocks", "_dtype", "_halves", "_length", "_open", "_room")

    def __init__(self, names: Sequence[Item]) -> None:
        import numpy as np

        super().__init__(names)
        self._dtype = np.dtype(np.uint8 if len(names) <= 256 else np.int32)
        self._halves = len(names) <= MAX_NIBBLE_VOCABULARY
        self._blocks: list[bytes] = []
        self._room: Numbers = np.zeros(CHUNK_SIZE, dtype=self._dtype)
        self._length = 0
        self._open: tuple[int, Numbers] | None = None

    def extend(self, codes: Numbers) -> None:
        """Append codes."""
        import numpy as np

        done = 0
        while done < len(codes):
            used = self._length % BLOCK_SIZE
            step = min(len(codes) - done, BLOCK_SIZE - used)
            if used + step > len(self._room):
                larger = np.zeros(min(BLOCK_SIZE, max(2 * len(self._room), used + step)), dtype=self._dtype)
                larger[:used] = self._room[:used]
                self._room = larger
            self._room[used : used + step] = codes[done : done + step]
            if used + step == BLOCK_SIZE:
                self._blocks[self._length // BLOCK_SIZE :] = [self._compress(self._room[:BLOCK_SIZE])]
            self._length += step  # last, so that an interrupt leaves the previous state
            done += step

    def _compress(self, codes: Numbers) -> bytes:
        """Compress a block of codes."""
        if self._halves:
            pairs = codes.view("<u2")  # the second code is the upper byte
            codes = (pairs | pairs >> 4).astype("u1")
        return zlib.compress(codes.tobytes(), 1)

    def _decompress(self, block: bytes) -> Numbers:
        """Decompress a block.

        Raises:
            ValueError: If the data is not a valid block.
        """
        import numpy as np

        size = BLOCK_SIZE // 2 if self._halves else BLOCK_SIZE * self._dtype.itemsize
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

    def copy(self) -> CompressedSequence[Item]:
        """A copy of the sequence."""
        twin = CompressedSequence(self.names)
        twin._blocks, twin._room, twin._length = list(self._blocks), self._room.copy(), self._length
        return twin

    def with_items(self, names: Sequence[Other]) -> CodeView[Other]:
        """A view of the current codes with other items."""
        return CodeView(self, names, range(self._length))

    def arrays_to_save(self) -> Iterator[Numbers]:
        """Yield the arrays to save: the compressed blocks, then the codes after them."""
        import numpy as np

        full = self._length // BLOCK_SIZE
        yield from (np.frombuffer(block, dtype=np.uint8) for block in self._blocks[:full])
        yield self._room[: self._length % BLOCK_SIZE].copy()

    def restore(self, saved: Sequence[Numbers], vocabulary_size: int) -> None:
        """Restore the arrays of :meth:`arrays_to_save`, with validation, since files are untrusted.

        Args:
            saved: The arrays.
            vocabulary_size: Exclusive upper bound of the codes.

        Raises:
            ValueError: If they are not a sequence with this vocabulary size.
        """
        if not saved:
            raise ValueError("there is no saved data")
        *blocks, rest = saved
        if any(block.dtype.itemsize != 1 or block.ndim != 1 for block in blocks) or rest.dtype != self._dtype:
            raise ValueError("the saved data has another type")
        if rest.ndim != 1 or len(rest) >= BLOCK_SIZE:
            raise ValueError("the saved data has no last block")
        self._blocks, self._length, self._open = [block.tobytes() for block in blocks], BLOCK_SIZE * len(blocks), None
        self.extend(rest)
        for part in self.code_arrays():
            if len(part) and not 0 <= int(part.min()) <= int(part.max()) < vocabulary_size:
                raise ValueError("the saved data has codes that are out of range")

    @property
    def memory_bytes(self) -> int:
        """Memory in bytes."""
        return sum(map(len, self._blocks)) + self._room.nbytes

    def code_arrays(self) -> Iterator[Numbers]:
        """Yield the blocks, decompressed one at a time."""
        for number in range(self._length // BLOCK_SIZE):
            yield self._block(number)
        if self._length % BLOCK_SIZE:
            yield self._room[: self._length % BLOCK_SIZE].copy()

    def _block(self, number: int) -> Numbers:
        if number == self._length // BLOCK_SIZE:
            return self._room
        if self._open is None or self._open[0] != number:
            self._open = (number, self._decompress(self._blocks[number]))
        return self._open[1]

    def slice_codes(self, begin: int, end: int) -> Numbers:
        """The codes at the indices ``begin`` to ``end - 1``; a view if they are in one full block."""
        import numpy as np

        block = begin // BLOCK_SIZE
        if begin < end <= (block + 1) * BLOCK_SIZE and block < self._length // BLOCK_SIZE:
            return self._block(block)[begin - block * BLOCK_SIZE : end - block * BLOCK_SIZE]
        found: Numbers = np.zeros(max(end - begin, 0), dtype=self._dtype)
        at = begin
        while at < end:
            stop = min(end, (at // BLOCK_SIZE + 1) * BLOCK_SIZE)
            found[at - begin : stop - begin] = self._block(at // BLOCK_SIZE)[
                at % BLOCK_SIZE : (stop - 1) % BLOCK_SIZE + 1
            ]
            at = stop
        return found

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> CodeArray[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | CodeArray[Item]:
        if not isinstance(index, slice):
            at = index + self._length if index < 0 else index
            if not 0 <= at < self._length:
                raise IndexError("index out of range")
            return self.names[int(self._block(at // BLOCK_SIZE)[at % BLOCK_SIZE])]
        start, stop, step = index.indices(self._length)
        first, last = (start, stop) if step > 0 else (stop + 1, start + 1)
        found = self.slice_codes(first, last)
        return CodeArray(found[::step] if step > 0 else found[::-1][::-step], self.names)
