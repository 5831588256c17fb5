"""Configurations of Turing machines, and the actions that lead from one to the next."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

from softmachine.languages.turing.machine import MOVES, TuringMachine


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
class Contents:
    """Contents of a tape: ``symbols`` begin at cell ``first``; every other cell is blank."""

    first: int = 0
    symbols: Sequence[str] = ()

    @classmethod
    def of(cls, cells: Mapping[int, str], blank: str) -> Contents:
        """The segment from the leftmost to the rightmost non-blank cell."""
        if isinstance(cells, Cells):
            return cells.contents
        written = [cell for cell, symbol in cells.items() if symbol != blank]
        if not written:
            return cls()
        first, last = min(written), max(written)
        return cls(first, tuple(cells.get(cell, blank) for cell in range(first, last + 1)))


class Cells(MutableMapping[int, str]):
    """Sparse tape, cell -> symbol, whose storage is not a dictionary."""

    @property
    @abstractmethod
    def contents(self) -> Contents:
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

    def read(self) -> tuple[str, ...]:
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
    def tapes(self) -> tuple[Contents, ...]:
        """The contents of the tapes, each from the leftmost to the rightmost non-blank cell."""
        return tuple(Contents.of(cells, self.blank) for cells in self.cells)
