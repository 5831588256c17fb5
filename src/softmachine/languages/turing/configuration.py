"""Configurations of Turing machines, and the actions that lead from one to the next.

Long tapes are stored in arrays, one byte per cell, where a dictionary takes a hundred. Tapes and traces are printed as
a window of cells, with the one under the head in brackets.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.turing.machine import MOVES, TuringMachine
from softmachine.support.text import escape_unprintable
from softmachine.support.token_array import CodeArray


@dataclass(frozen=True, slots=True)
class Action:
    """The effect of one step.

    Args:
        state: The next state.
        write: The symbols written, one per tape.
        move: The actual moves of the heads, one per tape: a left move blocked by the end of the tape is "S".
    """

    state: str
    write: tuple[str, ...]
    move: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' '.join(self.write)} {' '.join(self.move)} {self.state}"


@dataclass(frozen=True, slots=True)
class TapeContents:
    """Contents of a tape: ``symbols`` begin at cell ``first``; every other cell is blank."""

    first: int = 0
    symbols: Sequence[str] = ()

    @classmethod
    def from_cells(cls, cells: Mapping[int, str], blank: str) -> TapeContents:
        """The segment from the leftmost to the rightmost non-blank cell."""
        if isinstance(cells, SparseTape):
            return cells.contents
        written = [cell for cell, symbol in cells.items() if symbol != blank]
        if not written:
            return cls()
        first, last = min(written), max(written)
        return cls(first, tuple(cells.get(cell, blank) for cell in range(first, last + 1)))


class SparseTape(MutableMapping[int, str]):
    """Sparse tape, cell -> symbol, whose storage is not a dictionary."""

    @property
    @abstractmethod
    def contents(self) -> TapeContents:
        """The segment from the leftmost to the rightmost non-blank cell."""


@dataclass(slots=True)
class Configuration:
    """Configuration of a machine, with the number of steps so far. Mutable.

    Args:
        state: The current state.
        cells: The symbols of each tape by cell; missing cells are blank. Long runs store them as `LongTape`.
        heads: The positions of the heads.
        blank: The symbol of missing cells.
        steps: The number of steps since the initial configuration.
    """

    state: str
    cells: list[MutableMapping[int, str]]
    heads: list[int]
    blank: str
    steps: int = 0

    @classmethod
    def initial(cls, machine: TuringMachine, word: str | Iterable[str]) -> Configuration:
        """The initial configuration: the input on the first tape, starting at cell 0, and every head on cell 0."""
        cells: list[MutableMapping[int, str]] = [{} for _ in range(machine.tapes)]
        cells[0] = dict(enumerate(machine.word(word)))
        return cls(machine.start, cells, [0] * machine.tapes, machine.blank)

    def read_symbols(self) -> tuple[str, ...]:
        """The symbols under the heads."""
        return tuple([cells.get(head, self.blank) for cells, head in zip(self.cells, self.heads, strict=True)])

    def apply(self, action: Action) -> None:
        """Apply one action: write, move, change the state. The rules are not checked."""
        for tape, (symbol, move) in enumerate(zip(action.write, action.move, strict=True)):
            self.cells[tape][self.heads[tape]] = symbol
            self.heads[tape] += MOVES[move]
        self.state = action.state
        self.steps += 1

    @property
    def tape_contents(self) -> tuple[TapeContents, ...]:
        """The contents of the tapes, each from the leftmost to the rightmost non-blank cell."""
        return tuple(TapeContents.from_cells(cells, self.blank) for cells in self.cells)


SCAN_CHUNK = 1 << 20
"""Cells scanned per chunk."""


class LongTape(SparseTape):
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
        for start in range(0, len(self.array), SCAN_CHUNK):
            for place in np.flatnonzero(self.array[start : start + SCAN_CHUNK]).tolist():
                yield self.first + start + place

    def __len__(self) -> int:
        return int(np.count_nonzero(self.array))

    @property
    def outermost_cells(self) -> tuple[int, int] | None:
        """The leftmost and the rightmost non-blank cell, if any."""
        low = next(iter(self), None)
        if low is None:
            return None
        for stop in range(len(self.array), 0, -SCAN_CHUNK):
            start = max(stop - SCAN_CHUNK, 0)
            found = np.flatnonzero(self.array[start:stop])
            if len(found):
                return low, self.first + start + int(found[-1])
        raise AssertionError("there is a non-blank cell")

    @property
    def contents(self) -> TapeContents:
        """The segment from the leftmost to the rightmost non-blank cell, as a view."""
        if (ends := self.outermost_cells) is None:
            return TapeContents()
        low, high = ends
        return TapeContents(low, CodeArray(self.array[low - self.first : high + 1 - self.first], self.symbols))


WINDOW_RADIUS = 30
"""Cells shown on each side of the head."""
MAX_SCANNED_STEPS = 100_000
"""Steps scanned for the leftmost cell, which aligns the columns of a trace."""


def format_tape(configuration: Configuration, tape: int, first: int = 0) -> str:
    """One tape, starting at cell ``first`` or at the leftmost non-blank cell, with the head's cell in brackets."""
    cells, head = configuration.cells[tape], configuration.heads[tape]
    contents = configuration.tape_contents[tape]
    first, last = min(first, contents.first, head), max(contents.first + len(contents.symbols) - 1, head)
    left, right = max(first, head - WINDOW_RADIUS), min(last, head + WINDOW_RADIUS)
    shown = []
    for cell in range(left, right + 1):
        symbol = cells.get(cell, configuration.blank)
        symbol = "␣" if symbol == " " else escape_unprintable(symbol, keep="")
        shown.append(f"[{symbol}]" if cell == head else f" {symbol} ")
    return f"{'…' if left > first else ' '}{''.join(shown)}{'…' if right < last else ''}"


def format_configuration(configuration: Configuration, first: int = 0) -> Iterator[str]:
    """The step, the state and the first tape on one line; further tapes below it."""
    for tape in range(len(configuration.cells)):
        label = (
            f"{configuration.steps:>6}  {escape_unprintable(configuration.state, keep=''):<10}"
            if tape == 0
            else " " * 18
        )
        yield f"{label}{format_tape(configuration, tape, first)}".rstrip()


def format_trace(machine: TuringMachine, word: Iterable[str], actions: Sequence[Action]) -> Iterator[str]:
    """Every configuration of a run as text, one line per tape, with the cells aligned."""
    configuration = Configuration.initial(machine, word)
    seen = actions[:MAX_SCANNED_STEPS]
    leftmost = min(min(accumulate((MOVES[a.move[k]] for a in seen), initial=0)) for k in range(machine.tapes))
    yield "\n".join(format_configuration(configuration, leftmost))
    for action in actions:
        configuration.apply(action)
        yield "\n".join(format_configuration(configuration, leftmost))
