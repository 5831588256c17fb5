"""Logarithmic-space transducers: a read-only input tape, a write-only output tape, and work tapes.

The space of a run is the number of visited cells of the work tapes; input and output do not count. In every state the
machine reads one tape, and its rule for the symbol there gives the symbol to write, the move of the head, the output to
append, and the next state. Work tapes are bounded on the left, by a marker that the machine writes itself.

The interpreter is JIT-compiled and makes tens of millions of steps per second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.support.errors import SoftmachineError
from softmachine.support.jit import jit_compile

BLANK, ZERO, ONE, END, SEPARATOR = range(5)
"""The symbols: blank, bits, the left end marker of a work tape, and the separator of inputs."""
SYMBOL_TEXT = " 01>#"
SYMBOLS = len(SYMBOL_TEXT)
LEFT, STAY, RIGHT = -1, 0, 1
HALT, STUCK = 0, 1
"""Final states: normal termination, and an undefined operation such as 2 - 3."""
INPUT = 0
"""Index of the input tape; work tapes follow."""
MAX_CELLS = 1 << 12
"""Cells per work tape; a machine that needs more is stopped."""
STEPS_PER_CALL = 1 << 24
"""Steps per compiled call; Ctrl-C is handled between calls."""
OUTPUT_BUFFER = 1 << 16
"""Size of the output buffer, in symbols."""


class Action(NamedTuple):
    """Right-hand side of a rule: symbol to write, move of the head, next state, output character."""

    write: int
    move: int
    next: int
    output: str = ""


RuleTable = dict[int, Action]
"""Actions by the symbol under the head."""


@dataclass(frozen=True)
class Transducer:
    """Transducer. The initial state is 2.

    Args:
        name: The name of its output, for messages.
        num_tapes: Number of work tapes.
        read_tapes: For each state the tape that it reads.
        rules: For each state its rules.
    """

    name: str
    num_tapes: int
    read_tapes: tuple[int, ...]
    rules: tuple[RuleTable, ...]

    def __post_init__(self) -> None:
        for state, (look, rules) in enumerate(zip(self.read_tapes, self.rules, strict=True)):
            changed = any(action.write != symbol for symbol, action in rules.items())
            if look == INPUT and changed:
                raise ValueError(f"state {state} writes on the input tape")

    @property
    def num_states(self) -> int:
        """The number of states."""
        return len(self.read_tapes)

    def start(self, given: str) -> TransducerRun:
        """Start a run on an input of ones, bits and "#"."""
        return TransducerRun(self, given)

    @cached_property
    def table(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The tape of each state; and for each state and symbol: write, move, next state and character."""
        found = np.zeros((self.num_states, SYMBOLS, 4), np.int32)
        found[:, :, 2] = STUCK
        for state, rules in enumerate(self.rules):
            for symbol, action in rules.items():
                found[state, symbol] = (
                    action.write,
                    action.move,
                    action.next,
                    ord(action.output) if action.output else 0,
                )
        return np.array(self.read_tapes, np.int32), found


class TransducerRun:
    """Run of a transducer: its output in chunks, and the resources used so far.

    Args:
        machine: The machine.
        given: The input.
    """

    def __init__(self, machine: Transducer, given: str) -> None:
        self.machine = machine
        self._tapes = np.zeros((1 + machine.num_tapes, max(MAX_CELLS, len(given) + 2)), np.uint8)
        self._tapes[INPUT, : len(given)] = [SYMBOL_TEXT.index(symbol) for symbol in given]
        self._heads = np.zeros(1 + machine.num_tapes, np.int64)
        self._farthest = np.full(1 + machine.num_tapes, -1, np.int64)
        self._counts = np.array([2, 0, 0], np.int64)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return int(self._counts[1])

    @property
    def cells(self) -> int:
        """Number of visited cells of work tapes: the space used."""
        return int(self._farthest[1:].sum()) + self.machine.num_tapes

    def iterate_output(self) -> Iterator[str]:
        """Yield the output in chunks, until the machine halts.

        Raises:
            SoftmachineError: If the machine gets stuck, or exceeds a tape.
        """
        look, table = self.machine.table
        piece = np.zeros(OUTPUT_BUFFER, np.uint8)
        while self._counts[0] not in (HALT, STUCK):
            self._counts[2] = 0
            far = run_machine(
                look, table, self._tapes, self._heads, self._farthest, piece, self._counts, STEPS_PER_CALL
            )
            if far:
                raise SoftmachineError(
                    f"the machine for {self.machine.name} needs more than {MAX_CELLS:,} cells of a tape"
                )
            yield piece[: int(self._counts[2])].tobytes().decode("ascii")
        if self._counts[0] == STUCK:
            raise SoftmachineError(f"the machine for {self.machine.name} got stuck after {self.steps:,} steps")

    def read_output(self) -> str:
        """Return the whole output."""
        return "".join(self.iterate_output())


def encode_input(number: int, *more: int) -> str:
    """Encode an input: a number in unary, and others in binary."""
    return "#".join(["1" * number, *(f"{other:b}" if other else "0" for other in more)])


@jit_compile
def run_machine(
    look: NDArray[Any],
    table: NDArray[Any],
    tapes: NDArray[Any],
    heads: NDArray[Any],
    farthest: NDArray[Any],
    piece: NDArray[Any],
    counts: NDArray[Any],
    most: int,
) -> int:
    """Run until the machine stops, ``most`` steps are done, or the output buffer is full; return 1 if a tape overflows.

    ``counts`` holds the state, the total number of steps, and the length of the output in the buffer.
    """
    state, steps, printed = counts[0], 0, 0
    cells = tapes.shape[1]
    while state > 1 and steps < most and printed < piece.shape[0]:
        tape = look[state]
        head = heads[tape]
        if head >= cells:
            return 1
        farthest[tape] = max(farthest[tape], head)
        symbol = tapes[tape, head]
        tapes[tape, head] = table[state, symbol, 0]
        heads[tape] = head + table[state, symbol, 1]
        if table[state, symbol, 3]:
            piece[printed] = table[state, symbol, 3]
            printed += 1
        state = table[state, symbol, 2]
        steps += 1
    counts[0], counts[1], counts[2] = state, counts[1] + steps, printed
    return 0
