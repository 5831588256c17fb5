"""Turing machines with a read-only input tape, a write-only output tape and work tapes whose cells are counted.

This is the machine with which logarithmic space is defined: what it reads and what it writes does not count, the cells
of the work tapes that a head has ever been on do. In every state the machine looks at one tape, and its rule for the
symbol there says what to write on it, where to move its head, what to append to the output, and which state is next.
Work tapes end at the left, with a mark that the machine itself writes there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.support.errors import SoftmachineError

BLANK, ZERO, ONE, END, SEPARATOR = range(5)
"""The symbols: an empty cell, bits, the left end of a work tape, and what stands between the parts of an input."""
SHOWN = " 01>#"
SYMBOLS = len(SHOWN)
LEFT, STAY, RIGHT = -1, 0, 1
HALT, STUCK = 0, 1
"""The states in which a machine stops: having done its work, and having tried what it must not, such as 2 - 3."""
INPUT = 0
"""The number of the input tape; work tapes follow."""
CELLS = 1 << 12
"""A work tape has so many cells; a machine that needs more is stopped."""
CHUNK = 1 << 24
"""So many steps at most are made before Python gets a chance to see that the user wants to stop."""
PIECE = 1 << 16
"""So many symbols of output are handed out at a time."""


class Action(NamedTuple):
    """What a rule does: write a symbol on the tape that is looked at, move its head, say a character, go to a state."""

    write: int
    move: int
    next: int
    say: str = ""


Rules = dict[int, Action]
"""For each symbol that may stand under the head, what to do."""


@dataclass(frozen=True)
class Transducer:
    """A machine: for each state the tape it looks at, and the rules. State 2 is the first one.

    Args:
        name: What it prints.
        tapes: How many work tapes it has.
        looks: For each state the tape that it looks at.
        rules: For each state what to do.
    """

    name: str
    tapes: int
    looks: tuple[int, ...]
    rules: tuple[Rules, ...]

    def __post_init__(self) -> None:
        for state, (look, rules) in enumerate(zip(self.looks, self.rules, strict=True)):
            changed = any(action.write != symbol for symbol, action in rules.items())
            if look == INPUT and changed:
                raise ValueError(f"state {state} writes on the input tape")

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.looks)

    def run(self, given: str) -> Running:
        """A run on an input: ones, bits and "#"."""
        return Running(self, given)

    @cached_property
    def table(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The tapes looked at, and for each state and symbol: write, move, next state and character."""
        found = np.zeros((self.states, SYMBOLS, 4), np.int32)
        found[:, :, 2] = STUCK
        for state, rules in enumerate(self.rules):
            for symbol, action in rules.items():
                found[state, symbol] = (action.write, action.move, action.next, ord(action.say) if action.say else 0)
        return np.array(self.looks, np.int32), found


class Running:
    """A run: what is printed, piece by piece, and what it took so far.

    Args:
        machine: The machine.
        given: The input.
    """

    def __init__(self, machine: Transducer, given: str) -> None:
        self.machine = machine
        self._tapes = np.zeros((1 + machine.tapes, max(CELLS, len(given) + 2)), np.uint8)
        self._tapes[INPUT, : len(given)] = [SHOWN.index(symbol) for symbol in given]
        self._heads = np.zeros(1 + machine.tapes, np.int64)
        self._farthest = np.full(1 + machine.tapes, -1, np.int64)
        self._counts = np.array([2, 0, 0], np.int64)

    @property
    def steps(self) -> int:
        """Steps made."""
        return int(self._counts[1])

    @property
    def cells(self) -> int:
        """The cells of work tapes that heads have been on: the space used."""
        return int(self._farthest[1:].sum()) + self.machine.tapes

    def output(self) -> Iterator[str]:
        """What is printed, piece by piece, until the machine halts.

        Raises:
            SoftmachineError: If the machine gets stuck, or leaves a tape.
        """
        from softmachine.studies.uniformity.loop import go

        look, table = self.machine.table
        piece = np.zeros(PIECE, np.uint8)
        while self._counts[0] not in (HALT, STUCK):
            self._counts[2] = 0
            far = go(look, table, self._tapes, self._heads, self._farthest, piece, self._counts, CHUNK)
            if far:
                raise SoftmachineError(f"the machine for {self.machine.name} needs more than {CELLS:,} cells of a tape")
            yield piece[: int(self._counts[2])].tobytes().decode("ascii")
        if self._counts[0] == STUCK:
            raise SoftmachineError(f"the machine for {self.machine.name} got stuck after {self.steps:,} steps")

    def text(self) -> str:
        """All that is printed."""
        return "".join(self.output())


def unary(number: int, *more: int) -> str:
    """An input: a number in unary, and others in binary."""
    return "#".join(["1" * number, *(f"{other:b}" if other else "0" for other in more)])
