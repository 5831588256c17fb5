"""The compiled loop for long runs: the same steps as the reference interpreter's, about a hundred million a second."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.jit import machine_code
from softmachine.languages.turing.configuration import Action, Configuration
from softmachine.languages.turing.machine import MOVES, Tape, TuringMachine

CHUNK = 1 << 22
"""So many steps at most are made before Python gets a chance to see that the user wants to stop."""
LARGEST_TABLE = 1 << 24
"""A machine whose table of states and readings has more entries is left to the plain loop."""

STOPPED, CHUNK_DONE, OFF_THE_ARRAY = 0, 1, 2
TWO_WAY, STAY, ERROR = 0, 1, 2

Integers = NDArray[Any]


def advance(machine: TuringMachine, configuration: Configuration, max_steps: int) -> None:
    """Go on, in place, until the machine stops or has made ``max_steps`` steps in all.

    A machine whose table would be too large stays where it is.
    """
    if len(machine.states) * len(machine.symbols) ** machine.tapes > LARGEST_TABLE or not machine.rules:
        return
    tapes = _Tapes(machine, configuration, two_way=machine.tape is Tape.TWO_WAY)
    table = _table(machine, tapes.number)
    progress = np.array([machine.states.index(configuration.state), configuration.steps], dtype=np.int64)
    loop = _one_tape if machine.tapes == 1 else _many_tapes
    outcome = CHUNK_DONE
    while outcome != STOPPED and progress[1] < max_steps:
        outcome = loop(table, tapes.array, tapes.heads, progress, min(max_steps, int(progress[1]) + CHUNK))
        if outcome == OFF_THE_ARRAY:
            tapes.grow()
    configuration.state = machine.states[progress[0]]
    configuration.steps = int(progress[1])
    tapes.restore(configuration)


def replay(machine: TuringMachine, configuration: Configuration, actions: tuple[Action, ...], codes: Integers) -> None:
    """Apply actions, given by their numbers, one after the other, in place."""
    tapes = _Tapes(machine, configuration, two_way=True)
    shape, number = (len(actions), machine.tapes), tapes.number
    write = np.array([[number[symbol] for symbol in action.write] for action in actions], dtype=np.int64).reshape(shape)
    move = np.array([[MOVES[letter] for letter in action.move] for action in actions], dtype=np.int64).reshape(shape)
    done = 0
    while done < len(codes):
        done += _replayed(write, move, tapes.array, tapes.heads, codes[done : done + CHUNK])
        if done < len(codes) and (tapes.heads.min() < 1 or tapes.heads.max() >= tapes.array.shape[1] - 1):
            tapes.grow()
    if len(codes):
        configuration.state = actions[int(codes[-1])].state
    configuration.steps += len(codes)
    tapes.restore(configuration)


class _Table(NamedTuple):
    """A machine in numbers. A reading is a number whose digits, in base ``base``, are the symbols read."""

    rule_of: Integers
    """[state, reading] -> the number of the rule, or -1."""
    next: Integers
    """[rule] -> state."""
    write: Integers
    """[rule, tape] -> symbol."""
    move: Integers
    """[rule, tape] -> -1, 0, +1."""
    base: int
    left_end: int


def _table(machine: TuringMachine, symbol_number: dict[str, int]) -> _Table:
    base = len(symbol_number)
    state_number = {state: number for number, state in enumerate(machine.states)}
    rule_of = np.full((len(machine.states), base**machine.tapes), -1, dtype=np.int32)
    for number, rule in enumerate(machine.rules):
        reading = reduce(lambda digits, symbol: digits * base + symbol_number[symbol], rule.read, 0)
        rule_of[state_number[rule.state], reading] = number
    return _Table(
        rule_of=rule_of,
        next=np.array([state_number[rule.next] for rule in machine.rules], dtype=np.int32),
        write=np.array([[symbol_number[symbol] for symbol in rule.write] for rule in machine.rules], dtype=np.int32),
        move=np.array([[MOVES[move] for move in rule.move] for rule in machine.rules], dtype=np.int32),
        base=base,
        left_end={Tape.TWO_WAY: TWO_WAY, Tape.STAY: STAY, Tape.ERROR: ERROR}[machine.tape],
    )


class _Tapes:
    """The tapes as one array [tape, index] that grows. Index 0 is cell ``first``; the blank is symbol 0."""

    def __init__(self, machine: TuringMachine, configuration: Configuration, *, two_way: bool) -> None:
        symbols = dict.fromkeys((machine.blank, *machine.symbols))
        self.number = {symbol: index for index, symbol in enumerate(symbols)}
        written = [0, *configuration.heads, *(cell for cells in configuration.cells for cell in cells)]
        margin = max(written) - min(written) + 1024
        self.two_way = two_way
        self.first = min(written) - margin if two_way else 0
        length = max(written) + margin - self.first
        dtype = np.uint8 if len(symbols) <= 256 else np.int32
        self.array: Integers = np.zeros((len(configuration.cells), length), dtype=dtype)
        self.heads: Integers = np.array([head - self.first for head in configuration.heads], dtype=np.int64)
        for row, cells in zip(self.array, configuration.cells, strict=True):
            for cell, symbol in cells.items():
                row[cell - self.first] = self.number[symbol]

    def grow(self) -> None:
        """Make room at the ends."""
        tapes, length = self.array.shape
        left = length // 2 if self.two_way else 0
        array = np.zeros((tapes, left + length + length // 2), dtype=self.array.dtype)
        array[:, left : left + length] = self.array
        self.array, self.first = array, self.first - left
        self.heads += left

    def restore(self, configuration: Configuration) -> None:
        """Put the heads and the symbols, without blanks, where they belong."""
        symbols = list(self.number)
        configuration.heads = [int(head) + self.first for head in self.heads]
        configuration.cells = [
            {index + self.first: symbols[row[index]] for index in np.flatnonzero(row).tolist()} for row in self.array
        ]


@machine_code
def _many_tapes(table: _Table, array: Integers, heads: Integers, progress: Integers, limit: int) -> int:
    """Make steps up to the limit; stop before a step for which there is no rule or no cell, and say so.

    Changes the tapes, the heads (as indices into the array) and the progress: the state and the number of steps.
    """
    tapes, length = array.shape
    state, steps = progress
    targets = np.empty_like(heads)
    outcome = CHUNK_DONE
    while steps < limit and outcome == CHUNK_DONE:
        reading = 0
        for tape in range(tapes):
            reading = reading * table.base + array[tape, heads[tape]]
        rule = table.rule_of[state, reading]
        if rule < 0:
            outcome = STOPPED
            break
        for tape in range(tapes):
            target = heads[tape] + table.move[rule, tape]
            if target < 0 and table.left_end == STAY:
                target = 0
            if target < 0 and table.left_end == ERROR:
                outcome = STOPPED
            elif (target < 0 or target >= length) and outcome == CHUNK_DONE:
                outcome = OFF_THE_ARRAY
            targets[tape] = target
        if outcome == CHUNK_DONE:
            for tape in range(tapes):
                array[tape, heads[tape]] = table.write[rule, tape]
                heads[tape] = targets[tape]
            state = table.next[rule]
            steps += 1
    progress[0], progress[1] = state, steps
    return outcome


@machine_code
def _one_tape(table: _Table, array: Integers, heads: Integers, progress: Integers, limit: int) -> int:
    """`_many_tapes` for one tape, twice as fast because everything fits into registers."""
    tape, length, head = array[0], array.shape[1], heads[0]
    state, steps = progress
    outcome = CHUNK_DONE
    while steps < limit:
        rule = table.rule_of[state, tape[head]]
        if rule < 0:
            outcome = STOPPED
            break
        target = head + table.move[rule, 0]
        if target < 0 and table.left_end == STAY:
            target = 0
        if target < 0 and table.left_end == ERROR:
            outcome = STOPPED
            break
        if target < 0 or target >= length:
            outcome = OFF_THE_ARRAY
            break
        tape[head] = table.write[rule, 0]
        head = target
        state = table.next[rule]
        steps += 1
    heads[0], progress[0], progress[1] = head, state, steps
    return outcome


@machine_code
def _replayed(write: Integers, move: Integers, array: Integers, heads: Integers, codes: Integers) -> int:
    """Apply actions as long as the heads are inside of the array; say how many were."""
    tapes, length = array.shape
    for count in range(codes.size):
        for tape in range(tapes):
            if heads[tape] < 1 or heads[tape] >= length - 1:
                return count
        action = codes[count]
        for tape in range(tapes):
            array[tape, heads[tape]] = write[action, tape]
            heads[tape] += move[action, tape]
    return int(codes.size)
