"""The compiled loop for long runs: the same steps as the reference interpreter's, about a hundred million a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from softmachine.languages.turing.configuration import Configuration
from softmachine.languages.turing.machine import MOVES, Tape, TuringMachine

CHUNK = 1 << 22
"""So many steps at most are made before Python gets a chance to see that the user wants to stop."""
LARGEST_TABLE = 1 << 24
"""A machine whose table of states and readings has more entries is left to the plain loop."""

_STOPPED, _CHUNK_DONE, _OFF_THE_ARRAY = 0, 1, 2
_LEFT_END = {Tape.TWO_WAY: 0, Tape.STAY: 1, Tape.ERROR: 2}

Integers = NDArray[Any]
Loop = TypeVar("Loop", bound=Callable[..., int])


def _compile(loop: Loop) -> Loop:
    """The loop as machine code, kept on disk where there is a place for it."""
    try:
        compiled: Loop = numba.njit(cache=True)(loop)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written to
        compiled = numba.njit(loop)
    return compiled


@dataclass(frozen=True)
class _Table:
    """A machine in numbers: the blank is symbol 0; a reading is a number whose digits are the symbols read."""

    states: tuple[str, ...]
    symbols: tuple[str, ...]
    rule_of: Integers
    """[state, reading] -> the number of the rule, or -1."""
    next: Integers
    """[rule] -> state."""
    write: Integers
    """[rule, tape] -> symbol."""
    move: Integers
    """[rule, tape] -> -1, 0, +1."""

    @classmethod
    def of(cls, machine: TuringMachine) -> _Table:
        symbols = (machine.blank, *(symbol for symbol in machine.symbols if symbol != machine.blank))
        number = {symbol: index for index, symbol in enumerate(symbols)}
        state = {name: index for index, name in enumerate(machine.states)}
        rule_of = np.full((len(state), len(symbols) ** machine.tapes), -1, dtype=np.int32)
        for index, rule in enumerate(machine.rules):
            reading = 0
            for symbol in rule.read:
                reading = reading * len(symbols) + number[symbol]
            rule_of[state[rule.state], reading] = index
        shape = (len(machine.rules), machine.tapes)
        return cls(
            states=machine.states,
            symbols=symbols,
            rule_of=rule_of,
            next=np.array([state[rule.next] for rule in machine.rules], dtype=np.int32),
            write=np.array([[number[symbol] for symbol in rule.write] for rule in machine.rules]).reshape(shape),
            move=np.array([[MOVES[move] for move in rule.move] for rule in machine.rules]).reshape(shape),
        )


class _Tapes:
    """The tapes as one array [tape, index] that grows; index 0 is cell ``first``."""

    def __init__(self, configuration: Configuration, symbols: tuple[str, ...], tape: Tape) -> None:
        self.two_way = tape is Tape.TWO_WAY
        cells = configuration.cells
        written = [0, *configuration.heads, *(cell for tape in cells for cell in tape)]
        margin = max(written) - min(written) + 1024
        self.first = min(written) - margin if self.two_way else 0
        dtype = np.uint8 if len(symbols) <= 256 else np.int32
        self.array: Integers = np.zeros((len(cells), max(written) + margin - self.first), dtype=dtype)
        number = {symbol: index for index, symbol in enumerate(symbols)}
        for tape, contents in enumerate(cells):
            for cell, symbol in contents.items():
                self.array[tape, cell - self.first] = number[symbol]

    def grow(self) -> int:
        """Make room at the ends; say by how much every index rose."""
        tapes, length = self.array.shape
        left = length if self.two_way else 0
        array = np.zeros((tapes, left + 2 * length), dtype=self.array.dtype)
        array[:, left : left + length] = self.array
        self.array, self.first = array, self.first - left
        return left

    def cells(self, symbols: tuple[str, ...]) -> list[dict[int, str]]:
        """For each tape its symbols by cell, without blanks."""
        return [
            {index + self.first: symbols[row[index]] for index in np.flatnonzero(row).tolist()} for row in self.array
        ]


def advance(machine: TuringMachine, configuration: Configuration, max_steps: int) -> None:
    """Go on, in place, until the machine stops or has made ``max_steps`` steps in all.

    A machine whose table would be too large stays where it is.
    """
    if len(machine.states) * len(machine.symbols) ** machine.tapes > LARGEST_TABLE or not machine.rules:
        return
    table = _Table.of(machine)
    tapes = _Tapes(configuration, table.symbols, machine.tape)
    heads = np.array([head - tapes.first for head in configuration.heads], dtype=np.int64)
    # What the loop changes besides the tapes: the state and the number of steps.
    counters = np.array([table.states.index(configuration.state), configuration.steps], dtype=np.int64)
    loop = _one_tape if machine.tapes == 1 else _many_tapes
    outcome = _CHUNK_DONE
    while outcome != _STOPPED and counters[1] < max_steps:
        limit = min(max_steps, int(counters[1]) + CHUNK)
        rules = (table.rule_of, table.next, table.write, table.move)
        outcome = loop(*rules, _LEFT_END[machine.tape], tapes.array, heads, counters, limit)
        if outcome == _OFF_THE_ARRAY:
            heads += tapes.grow()
    configuration.state = table.states[counters[0]]
    configuration.steps = int(counters[1])
    configuration.heads = [int(head) + tapes.first for head in heads]
    configuration.cells = tapes.cells(table.symbols)


@_compile
def _one_tape(
    rule_of: Integers,
    next_state: Integers,
    write: Integers,
    move: Integers,
    left_end: int,
    array: Integers,
    heads: Integers,
    counters: Integers,
    limit: int,
) -> int:
    """`_many_tapes` for one tape, which the processor's registers can hold."""
    tape, length, head = array[0], array.shape[1], heads[0]
    state, steps = counters[0], counters[1]
    outcome = _CHUNK_DONE
    while steps < limit:
        rule = rule_of[state, tape[head]]
        if rule < 0:
            outcome = _STOPPED
            break
        target = head + move[rule, 0]
        if target < 0 and left_end == 2:
            outcome = _STOPPED
            break
        if target < 0 and left_end == 1:
            target = 0
        if target < 0 or target >= length:
            outcome = _OFF_THE_ARRAY
            break
        tape[head] = write[rule, 0]
        head = target
        state = next_state[rule]
        steps += 1
    heads[0], counters[0], counters[1] = head, state, steps
    return outcome


@_compile
def _many_tapes(
    rule_of: Integers,
    next_state: Integers,
    write: Integers,
    move: Integers,
    left_end: int,
    array: Integers,
    heads: Integers,
    counters: Integers,
    limit: int,
) -> int:
    """Make steps up to the limit; stop before a step for which there is no rule or no cell, and say so."""
    tapes, length = array.shape
    state, steps = counters[0], counters[1]
    base = np.int64(round(rule_of.shape[1] ** (1.0 / tapes)))
    targets = np.empty_like(heads)
    outcome = _CHUNK_DONE
    while steps < limit and outcome == _CHUNK_DONE:
        reading = 0
        for tape in range(tapes):
            reading = reading * base + array[tape, heads[tape]]
        rule = rule_of[state, reading]
        if rule < 0:
            outcome = _STOPPED
            break
        for tape in range(tapes):
            target = heads[tape] + move[rule, tape]
            if target < 0 and left_end == 1:
                target = 0
            if target < 0 and left_end == 2:
                outcome = _STOPPED
            elif (target < 0 or target >= length) and outcome == _CHUNK_DONE:
                outcome = _OFF_THE_ARRAY
            targets[tape] = target
        if outcome == _CHUNK_DONE:
            for tape in range(tapes):
                array[tape, heads[tape]] = write[rule, tape]
                heads[tape] = targets[tape]
            state = next_state[rule]
            steps += 1
    counters[0], counters[1] = state, steps
    return outcome
