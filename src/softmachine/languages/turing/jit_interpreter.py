"""JIT-compiled interpreter of Turing machines for long runs: about 10⁸ steps per second, the reference's results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.languages.turing.configuration import Action, Configuration, LongTape
from softmachine.languages.turing.machine import MOVES, Rule, TapeConvention, TuringMachine
from softmachine.support.jit import jit_compile
from softmachine.support.token_array import CodeArray

CHUNK_STEPS = 1 << 22
"""Steps per compiled call; Ctrl-C is handled between calls."""
MIN_LONG_TAPE_CELLS = 1 << 12
"""Tapes with more non-blank cells remain arrays (`LongTape`)."""
MAX_TABLE_ENTRIES = 1 << 24
"""Maximum entries of the transition table; larger machines run in the reference interpreter."""

STOPPED, CHUNK_DONE, OUT_OF_ARRAY = 0, 1, 2
TWO_WAY, STAY, ERROR = 0, 1, 2

IntArray = NDArray[Any]


def advance(machine: TuringMachine, configuration: Configuration, max_steps: int) -> None:
    """Run, in place, until the machine halts or ``max_steps`` total steps are reached.

    Returns at once if the machine's transition table would be too large.
    """
    if not fits_table_limit(machine):
        return
    run = JitRun(machine, configuration)
    while not run.stopped and run.steps < max_steps:
        run.advance(min(CHUNK_STEPS, max_steps - run.steps))
    run.store_to(configuration)


def fits_table_limit(machine: TuringMachine) -> bool:
    """Whether the transition table of a machine is within `MAX_TABLE_ENTRIES`."""
    readings = len(machine.states) * len(machine.symbols) ** machine.tapes
    return bool(machine.rules) and max(readings, len(machine.rules) << machine.tapes) <= MAX_TABLE_ENTRIES


class JitRun:
    """A run that continues from a configuration, which is left unchanged until :meth:`store_to`.

    Args:
        machine: The machine; it must satisfy :func:`fits_table_limit`.
        configuration: The configuration to continue from.
    """

    def __init__(self, machine: TuringMachine, configuration: Configuration) -> None:
        self.machine = machine
        self.stopped = False
        self._tapes = _TapeArrays(machine, configuration, two_way=machine.tape is TapeConvention.TWO_WAY)
        self._table = _build_table(machine, self._tapes.number)
        self._progress = np.array([machine.states.index(configuration.state), configuration.steps], dtype=np.int64)

    @property
    def steps(self) -> int:
        """The number of steps since the initial configuration."""
        return int(self._progress[1])

    @property
    def state(self) -> str:
        """The current state."""
        return self.machine.states[int(self._progress[0])]

    @property
    def heads(self) -> IntArray:
        """The positions of the heads."""
        found: IntArray = self._tapes.heads + self._tapes.first
        return found

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols by the numbers of :meth:`written`."""
        return tuple(self._tapes.number)

    def symbol_numbers(self, low: int, high: int) -> IntArray:
        """Symbol numbers of the cells ``low`` to ``high - 1``, which the heads have visited: [tape, cell]."""
        first = self._tapes.first
        return self._tapes.array[:, low - first : high - first]

    @property
    def is_halted(self) -> bool:
        """Whether no transition applies in the current configuration."""
        if not self.stopped:
            tapes, cells, progress = self._tapes, self.heads, self._progress.copy()
            rows = np.arange(len(cells))
            under = tapes.array[rows, tapes.heads]
            self.advance(1)
            if not self.stopped:  # undo the step
                tapes.heads[:] = cells - tapes.first
                tapes.array[rows, tapes.heads] = under
                self._progress[:] = progress
        return self.stopped

    @cached_property
    def actions_by_code(self) -> tuple[Action, ...]:
        """The actions by the codes of :meth:`record`: a rule, with some left moves blocked by the end of the tape."""
        held = (range(1 << self.machine.tapes)) if self._table.blocked_bits else (0,)
        return tuple(_blocked_action(rule, mask) for rule in self.machine.rules for mask in held)

    def advance(self, count: int, codes: IntArray | None = None) -> None:
        """Run ``count`` more steps, unless the machine halts before; fill ``codes`` with their actions, if given."""
        loop = _run_one_tape if self.machine.tapes == 1 else _run_many_tapes
        begin, end = self.steps, self.steps + count
        while not self.stopped and self.steps < end:
            rest = None if codes is None else codes[self.steps - begin :]
            outcome = loop(self._table, self._tapes.array, self._tapes.heads, self._progress, end, rest)
            self.stopped = outcome == STOPPED
            if outcome == OUT_OF_ARRAY:
                self._tapes.grow()

    def record(self, count: int) -> CodeArray[Action]:
        """Run ``count`` more steps, unless the machine halts before; returns their actions."""
        codes: IntArray = np.empty(count, dtype=np.uint8 if len(self.actions_by_code) <= 256 else np.int32)
        begin = self.steps
        self.advance(count, codes)
        return CodeArray(codes[: self.steps - begin], self.actions_by_code)

    def store_to(self, configuration: Configuration) -> None:
        """Update a configuration to the current state of the run."""
        configuration.state = self.machine.states[self._progress[0]]
        configuration.steps = self.steps
        self._tapes.store_to(configuration)


def _blocked_action(rule: Rule, mask: int) -> Action:
    """The action of a rule whose left moves are blocked on some tapes; the last tape has the lowest bit."""
    last = len(rule.move) - 1
    moves = ("S" if mask >> (last - tape) & 1 else move for tape, move in enumerate(rule.move))
    return Action(rule.next, rule.write, tuple(moves))


def replay(
    machine: TuringMachine, configuration: Configuration, actions: tuple[Action, ...], parts: Iterable[IntArray]
) -> None:
    """Apply actions, given by their codes, in place."""
    tapes = _TapeArrays(machine, configuration, two_way=True)
    shape, number = (len(actions), machine.tapes), tapes.number
    write = np.array([[number[symbol] for symbol in action.write] for action in actions], dtype=np.int64).reshape(shape)
    move = np.array([[MOVES[letter] for letter in action.move] for action in actions], dtype=np.int64).reshape(shape)
    for codes in parts:
        done = 0
        while done < len(codes):
            done += _replay(write, move, tapes.array, tapes.heads, codes[done : done + CHUNK_STEPS])
            if done < len(codes) and (tapes.heads.min() < 1 or tapes.heads.max() >= tapes.array.shape[1] - 1):
                tapes.grow()
        if len(codes):
            configuration.state = actions[int(codes[-1])].state
        configuration.steps += len(codes)
    tapes.store_to(configuration)


class _Table(NamedTuple):
    """Numeric transition table. A reading is the number whose digits, in base ``base``, are the symbols read."""

    rule_of: IntArray
    """[state, reading] -> the number of the rule, or -1."""
    next: IntArray
    """[rule] -> state."""
    write: IntArray
    """[rule, tape] -> symbol."""
    move: IntArray
    """[rule, tape] -> -1, 0, +1."""
    base: int
    left_end: int
    blocked_bits: int
    """A step is encoded as the number of its rule followed by this many bits, which mark blocked left moves."""


def _build_table(machine: TuringMachine, symbol_numbers: dict[str, int]) -> _Table:
    base = len(symbol_numbers)
    state_number = {state: number for number, state in enumerate(machine.states)}
    rule_of = np.full((len(machine.states), base**machine.tapes), -1, dtype=np.int32)
    for number, rule in enumerate(machine.rules):
        reading = reduce(lambda digits, symbol: digits * base + symbol_numbers[symbol], rule.read, 0)
        rule_of[state_number[rule.state], reading] = number
    return _Table(
        rule_of=rule_of,
        next=np.array([state_number[rule.next] for rule in machine.rules], dtype=np.int32),
        write=np.array([[symbol_numbers[symbol] for symbol in rule.write] for rule in machine.rules], dtype=np.int32),
        move=np.array([[MOVES[move] for move in rule.move] for rule in machine.rules], dtype=np.int32),
        base=base,
        left_end={TapeConvention.TWO_WAY: TWO_WAY, TapeConvention.STAY: STAY, TapeConvention.ERROR: ERROR}[
            machine.tape
        ],
        blocked_bits=machine.tapes if machine.tape is TapeConvention.STAY else 0,
    )


class _TapeArrays:
    """The tapes as one array [tape, index] that grows. Index 0 is cell ``first``; the blank is symbol 0."""

    def __init__(self, machine: TuringMachine, configuration: Configuration, *, two_way: bool) -> None:
        symbols = dict.fromkeys((machine.blank, *machine.symbols))
        self.number = {symbol: index for index, symbol in enumerate(symbols)}
        ends = (end for cells in configuration.cells for end in _outermost_cells(cells))
        written = [0, *configuration.heads, *ends]
        margin = max(written) - min(written) + 1024
        self.two_way = two_way
        self.first = min(written) - margin if two_way else 0
        length = max(written) + margin - self.first
        dtype = np.uint8 if len(symbols) <= 256 else np.int32
        self.array: IntArray = np.zeros((len(configuration.cells), length), dtype=dtype)
        self.heads: IntArray = np.array([head - self.first for head in configuration.heads], dtype=np.int64)
        for row, cells in zip(self.array, configuration.cells, strict=True):
            if isinstance(cells, LongTape) and (reach := cells.outermost_cells):
                begin, end = (end - cells.first for end in reach)
                row[begin + cells.first - self.first :][: end + 1 - begin] = cells.array[begin : end + 1]
                continue
            for cell, symbol in cells.items():
                row[cell - self.first] = self.number[symbol]

    def grow(self) -> None:
        """Extend the array at its ends."""
        tapes, length = self.array.shape
        left = length // 2 if self.two_way else 0
        array = np.zeros((tapes, left + length + length // 2), dtype=self.array.dtype)
        array[:, left : left + length] = self.array
        self.array, self.first = array, self.first - left
        self.heads += left

    def store_to(self, configuration: Configuration) -> None:
        """Copy the heads and the non-blank cells to a configuration."""
        symbols = tuple(self.number)
        configuration.heads = [int(head) + self.first for head in self.heads]
        configuration.cells = [
            LongTape(row, self.first, symbols)
            if np.count_nonzero(row) > MIN_LONG_TAPE_CELLS
            else {index + self.first: symbols[row[index]] for index in np.flatnonzero(row).tolist()}
            for row in self.array
        ]


def _outermost_cells(cells: Mapping[int, str]) -> Iterable[int]:
    """The leftmost and rightmost cell, if any."""
    if isinstance(cells, LongTape):
        return cells.outermost_cells or ()
    return (min(cells), max(cells)) if cells else ()


@jit_compile
def _run_many_tapes(
    table: _Table, array: IntArray, heads: IntArray, progress: IntArray, limit: int, codes: IntArray | None
) -> int:
    """Run up to the step limit; stops before a step without a rule or beyond the array, and returns the outcome.

    Updates the tapes, the heads (as indices into the array) and the progress: the state and the number of steps. Fills
    ``codes`` with the code of every step, if given.
    """
    tapes, length = array.shape
    state, steps = progress
    begin = steps
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
        held = 0
        for tape in range(tapes):
            held *= 2
            target = heads[tape] + table.move[rule, tape]
            if target < 0 and table.left_end == STAY:
                target = 0
                held += 1
            if target < 0 and table.left_end == ERROR:
                outcome = STOPPED
            elif (target < 0 or target >= length) and outcome == CHUNK_DONE:
                outcome = OUT_OF_ARRAY
            targets[tape] = target
        if outcome == CHUNK_DONE:
            for tape in range(tapes):
                array[tape, heads[tape]] = table.write[rule, tape]
                heads[tape] = targets[tape]
            state = table.next[rule]
            if codes is not None:
                codes[steps - begin] = (rule << table.blocked_bits) + held
            steps += 1
    progress[0], progress[1] = state, steps
    return outcome


@jit_compile
def _run_one_tape(
    table: _Table, array: IntArray, heads: IntArray, progress: IntArray, limit: int, codes: IntArray | None
) -> int:
    """`_run_many_tapes` specialised to one tape: twice as fast because all variables fit into registers."""
    tape, length, head = array[0], array.shape[1], heads[0]
    state, steps = progress
    begin = steps
    outcome = CHUNK_DONE
    while steps < limit:
        rule = table.rule_of[state, tape[head]]
        if rule < 0:
            outcome = STOPPED
            break
        target, held = head + table.move[rule, 0], 0
        if target < 0 and table.left_end == STAY:
            target, held = 0, 1
        if target < 0 and table.left_end == ERROR:
            outcome = STOPPED
            break
        if target < 0 or target >= length:
            outcome = OUT_OF_ARRAY
            break
        tape[head] = table.write[rule, 0]
        head = target
        state = table.next[rule]
        if codes is not None:
            codes[steps - begin] = (rule << table.blocked_bits) + held
        steps += 1
    heads[0], progress[0], progress[1] = head, state, steps
    return outcome


@jit_compile
def _replay(write: IntArray, move: IntArray, array: IntArray, heads: IntArray, codes: IntArray) -> int:
    """Apply actions while the heads are inside the array; returns the number applied."""
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
