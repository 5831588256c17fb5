"""What a run of a Turing machine consists of: configurations, and the actions that lead from one to the next."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

from softmachine.languages.turing.machine import MOVES, TuringMachine


@dataclass(frozen=True, slots=True)
class Action:
    """What one step did.

    Args:
        state: The state the machine went to.
        write: The symbols it wrote, one a tape.
        move: How the heads really moved, one a tape: a move to the left that the end of a tape held back is "S".
    """

    state: str
    write: tuple[str, ...]
    move: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' '.join(self.write)} {' '.join(self.move)} {self.state}"


@dataclass(frozen=True, slots=True)
class Contents:
    """A stretch of a tape: ``symbols`` stand from cell ``first`` on; every other cell is blank."""

    first: int = 0
    symbols: Sequence[str] = ()

    @classmethod
    def of(cls, cells: Mapping[int, str], blank: str) -> Contents:
        """The stretch from the leftmost to the rightmost cell that is not blank."""
        if isinstance(cells, Cells):
            return cells.contents
        written = [cell for cell, symbol in cells.items() if symbol != blank]
        if not written:
            return cls()
        first, last = min(written), max(written)
        return cls(first, tuple(cells.get(cell, blank) for cell in range(first, last + 1)))


class Cells(MutableMapping[int, str]):
    """The symbols of a tape by cell that are kept in another way than one by one."""

    @property
    @abstractmethod
    def contents(self) -> Contents:
        """The stretch from the leftmost to the rightmost cell that is not blank."""


@dataclass(slots=True)
class Configuration:
    """Everything that decides how a run goes on, and the number of steps that led here. It changes in place.

    Args:
        state: The state of the machine.
        cells: For each tape its symbols by cell; a cell that is not there is blank. A long run leaves them as
            `LongTape`.
        heads: The cell each head is on.
        blank: The symbol of a cell that is not there.
        steps: How many steps were made since the start.
    """

    state: str
    cells: list[MutableMapping[int, str]]
    heads: list[int]
    blank: str
    steps: int = 0

    @classmethod
    def initial(cls, machine: TuringMachine, word: str | Iterable[str]) -> Configuration:
        """The start: the input on the first tape from cell 0 on, every head on cell 0."""
        cells: list[MutableMapping[int, str]] = [{} for _ in range(machine.tapes)]
        cells[0] = dict(enumerate(machine.word(word)))
        return cls(machine.start, cells, [0] * machine.tapes, machine.blank)

    def read(self) -> tuple[str, ...]:
        """The symbols under the heads."""
        return tuple([cells.get(head, self.blank) for cells, head in zip(self.cells, self.heads, strict=True)])

    def apply(self, action: Action) -> None:
        """Make one step: write, move, change the state. No rule is consulted."""
        for tape, (symbol, move) in enumerate(zip(action.write, action.move, strict=True)):
            self.cells[tape][self.heads[tape]] = symbol
            self.heads[tape] += MOVES[move]
        self.state = action.state
        self.steps += 1

    @property
    def tapes(self) -> tuple[Contents, ...]:
        """What is on the tapes, each from the leftmost to the rightmost cell that is not blank."""
        return tuple(Contents.of(cells, self.blank) for cells in self.cells)
