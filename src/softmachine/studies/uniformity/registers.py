"""Machines in the making: numbers on work tapes, one a tape, and what is done with them, step by step.

A number stands on its tape in binary, the lowest bit first, after the mark of the left end and without zeros at the
top, so that x takes ⌊log₂ x⌋ + 3 cells: the mark, the bits, and the empty cell behind them. Between two operations
every head stands on the lowest bit. An operation sweeps over its tapes once and goes back: O(log x) steps.
"""

from __future__ import annotations

from collections.abc import Mapping

from softmachine.studies.uniformity.transducer import (
    BLANK,
    END,
    INPUT,
    LEFT,
    ONE,
    RIGHT,
    SEPARATOR,
    STAY,
    STUCK,
    SYMBOLS,
    ZERO,
    Action,
    Rules,
    Transducer,
)

BITS = (ZERO, ONE)


class Registers:
    """States and rules so far. Each method continues where the last one ended: in the state ``at``."""

    def __init__(self) -> None:
        self._looks: list[int] = [INPUT, INPUT]
        self._rules: list[Rules] = [{}, {}]
        self._free: list[int] = []
        self._tapes = 0
        self.at = self.state()
        self._first = self.at

    def state(self) -> int:
        """A new state, without rules so far."""
        self._looks.append(INPUT)
        self._rules.append({})
        return len(self._looks) - 1

    def rule(self, state: int, tape: int, rules: Mapping[int, Action]) -> None:
        """Say what is done in a state."""
        self._looks[state], self._rules[state] = tape, dict(rules)

    def jump(self, target: int) -> None:
        """Go on in a state."""
        self.rule(self.at, INPUT, {symbol: Action(symbol, STAY, target) for symbol in range(SYMBOLS)})
        self.at = target

    def new(self) -> int:
        """A tape that nobody uses."""
        if self._free:
            self._free.sort()
            return self._free.pop(0)
        self._tapes += 1
        return self._tapes

    def release(self, tape: int) -> None:
        """Let others use a tape."""
        self._free.append(tape)

    def machine(self, name: str) -> Transducer:
        """The machine that first marks the ends of its tapes, and then does all this; it halts in the state ``at``."""
        final = self.at
        self.at = self.state()
        start = self.at
        for tape in range(1, self._tapes + 1):
            after = self.state()
            self.rule(self.at, tape, {BLANK: Action(END, RIGHT, after)})
            self.at = after
        self.jump(self._first)
        # The start is state 2, and the last state is HALT: the two change places with what is there.
        renamed = {self._first: start, start: self._first, final: 0}
        order = [renamed.get(state, state) for state in range(len(self._looks))]
        looks, rules = list(self._looks), list(self._rules)
        for state in range(2, len(order)):
            looks[order[state]], rules[order[state]] = self._looks[state], self._rules[state]
        moved = [
            {symbol: action._replace(next=order[action.next]) for symbol, action in each.items()} for each in rules
        ]
        return Transducer(name, self._tapes, (INPUT, INPUT, *looks[2:]), ({}, {}, *moved[2:]))

    def rewind(self, *tapes: int) -> None:
        """Move heads back to the lowest bit."""
        for tape in tapes:
            after = self.state()
            back = {symbol: Action(symbol, LEFT, self.at) for symbol in (BLANK, *BITS)}
            self.rule(self.at, tape, back | {END: Action(END, RIGHT, after)})
            self.at = after

    def copy(self, x: int, y: int) -> None:
        """X := y."""
        read, rest = self.at, self.state()
        found: Rules = {BLANK: Action(BLANK, STAY, rest)}
        for bit in BITS:
            put = self.state()
            self.rule(put, x, {symbol: Action(bit, RIGHT, read) for symbol in (BLANK, *BITS)})
            found[bit] = Action(bit, RIGHT, put)
        self.rule(read, y, found)
        self.at = rest
        self._erase(x)
        self.rewind(x, y)

    def _erase(self, x: int) -> None:
        """Erase from the head on."""
        after = self.state()
        erase = {bit: Action(BLANK, RIGHT, self.at) for bit in BITS}
        self.rule(self.at, x, erase | {BLANK: Action(BLANK, STAY, after)})
        self.at = after

    def constant(self, x: int, value: int) -> None:
        """X := a known number."""
        while value:
            after = self.state()
            bit = ONE if value & 1 else ZERO
            self.rule(self.at, x, {symbol: Action(bit, RIGHT, after) for symbol in (BLANK, *BITS)})
            self.at, value = after, value >> 1
        self._erase(x)
        self.rewind(x)

    def add(self, x: int, y: int) -> None:
        """X := x + y, for different tapes."""
        last = self._column_by_column(x, y, -1)
        self._carry(x, last[1], ZERO, ONE)
        self._joined(last[0])
        self.rewind(x, y)

    def subtract(self, x: int, y: int) -> None:
        """X := x - y, for different tapes; the machine gets stuck if y is larger."""
        last = self._column_by_column(x, y, 1)
        self._carry(x, last[1], ONE, ZERO)
        self._joined(last[0])
        self._strip(x)
        self.rewind(x, y)

    def _column_by_column(self, x: int, y: int, sign: int) -> tuple[int, int]:
        """Add (sign -1) or subtract (1) the bits of y; the states in which y has ended, by what is carried."""
        reads = (self.at, self.state())
        ends = (self.state(), self.state())
        puts = [self.state() for _ in range(3)]
        for carry, read in enumerate(reads):
            found = {bit: Action(bit, RIGHT, puts[value + carry]) for value, bit in enumerate(BITS)}
            self.rule(read, y, found | {BLANK: Action(BLANK, STAY, ends[carry])})
        for amount, put in enumerate(puts):
            rules: Rules = {}
            for value, bit in ((0, ZERO), (1, ONE), (0, BLANK)):
                total = value - sign * amount
                carried = int(total < 0 if sign > 0 else total > 1)
                rules[bit] = Action(BITS[total & 1], RIGHT, reads[carried])
            if sign > 0:
                rules[BLANK] = Action(BLANK, STAY, STUCK)
            self.rule(put, x, rules)
        self.at = ends[0]
        return ends

    def _carry(self, x: int, start: int, stops: int, goes_on: int) -> None:
        """From a state on carry (or borrow) a 1 along x: the first bit that ``stops`` it becomes ``goes_on``."""
        after = self.state()
        empty = Action(ONE, STAY, after) if stops == ZERO else Action(BLANK, STAY, STUCK)
        rules = {stops: Action(goes_on, STAY, after), goes_on: Action(stops, RIGHT, start), BLANK: empty}
        self.rule(start, x, rules)
        self.at = after

    def _joined(self, other: int) -> None:
        """Let another state go on here, too."""
        here, self.at = self.at, other
        self.jump(here)

    def _strip(self, x: int) -> None:
        """Erase the zeros at the top."""
        top, after = self.state(), self.state()
        forward = {bit: Action(bit, RIGHT, self.at) for bit in BITS}
        self.rule(self.at, x, forward | {BLANK: Action(BLANK, LEFT, top)})
        stop = {symbol: Action(symbol, STAY, after) for symbol in (ONE, END)}
        self.rule(top, x, stop | {ZERO: Action(BLANK, LEFT, top)})
        self.at = after

    def increment(self, x: int) -> None:
        """X := x + 1."""
        self._carry(x, self.at, ZERO, ONE)
        self.rewind(x)

    def decrement(self, x: int) -> None:
        """X := x - 1; the machine gets stuck if x is 0."""
        self._carry(x, self.at, ONE, ZERO)
        self._strip(x)
        self.rewind(x)

    def double(self, x: int) -> None:
        """X := 2 x."""
        holds, after = (self.at, self.state()), self.state()
        for bit, held in zip(BITS, holds, strict=True):
            moved = {read: Action(bit, RIGHT, holds[value]) for value, read in enumerate(BITS)}
            self.rule(held, x, moved | {BLANK: Action(ONE if bit == ONE else BLANK, STAY, after)})
        self.at = after
        self.rewind(x)

    def halve(self, x: int) -> None:
        """X := ⌊x / 2⌋."""
        after = self.state()
        holds = {symbol: self.state() for symbol in (BLANK, *BITS)}
        forward = {bit: Action(bit, RIGHT, self.at) for bit in BITS}
        self.rule(self.at, x, forward | {BLANK: Action(BLANK, LEFT, holds[BLANK])})
        for held, state in holds.items():
            moved = {bit: Action(held, LEFT, holds[bit]) for bit in BITS}
            self.rule(state, x, moved | {END: Action(END, RIGHT, after)})
        self.at = after

    def compare(self, x: int, y: int) -> tuple[int, int, int]:
        """The states in which x is less than, equal to and greater than y."""
        less, equal, greater = outcomes = (self.state(), self.state(), self.state())
        reads = [self.state(), self.at, self.state()]
        for so_far, read in enumerate(reads):
            found: Rules = {}
            for value, bit in enumerate(BITS):
                judge = self.state()
                found[bit] = Action(bit, RIGHT, judge)
                rules = {
                    other: Action(other, RIGHT, reads[so_far if own == value else 2 * own])
                    for own, other in enumerate(BITS)
                }
                self.rule(judge, x, rules | {BLANK: Action(BLANK, STAY, less)})
            ended = self.state()
            longer = {bit: Action(bit, STAY, greater) for bit in BITS}
            self.rule(ended, x, longer | {BLANK: Action(BLANK, STAY, outcomes[so_far])})
            self.rule(read, y, found | {BLANK: Action(BLANK, STAY, ended)})
        exits = []
        for outcome in (less, equal, greater):
            self.at = outcome
            self.rewind(x, y)
            exits.append(self.at)
        return exits[0], exits[1], exits[2]

    def is_odd(self, x: int) -> tuple[int, int]:
        """The states in which x is odd, and in which it is even."""
        return self._looked(x, {ONE})

    def is_positive(self, x: int) -> tuple[int, int]:
        """The states in which x is not 0, and in which it is."""
        return self._looked(x, set(BITS))

    def _looked(self, x: int, wanted: set[int]) -> tuple[int, int]:
        yes, no = self.state(), self.state()
        every = (BLANK, *BITS)
        self.rule(self.at, x, {symbol: Action(symbol, STAY, yes if symbol in wanted else no) for symbol in every})
        return yes, no

    def say(self, text: str) -> None:
        """Append a text to the output."""
        for character in text:
            after = self.state()
            self.rule(self.at, INPUT, {symbol: Action(symbol, STAY, after, character) for symbol in range(SYMBOLS)})
            self.at = after

    def print(self, x: int) -> None:
        """Append a number to the output, in binary."""
        forward, back, after = self.state(), self.state(), self.state()
        bits = {bit: Action(bit, STAY, forward) for bit in BITS}
        self.rule(self.at, x, bits | {BLANK: Action(BLANK, STAY, after, "0")})
        on = {bit: Action(bit, RIGHT, forward) for bit in BITS}
        self.rule(forward, x, on | {BLANK: Action(BLANK, LEFT, back)})
        told = {bit: Action(bit, LEFT, back, str(value)) for value, bit in enumerate(BITS)}
        self.rule(back, x, told | {END: Action(END, RIGHT, after)})
        self.at = after

    def read_unary(self, x: int) -> None:
        """X := how many ones follow on the input tape."""
        self.constant(x, 0)
        read, count, after = self.at, self.state(), self.state()
        ends = {symbol: Action(symbol, STAY, after) for symbol in (BLANK, SEPARATOR)}
        self.rule(read, INPUT, ends | {ONE: Action(ONE, RIGHT, count)})
        self.at = count
        self.increment(x)
        self.jump(read)
        self.at = after

    def read_binary(self, x: int) -> None:
        """X := the number that follows on the input tape after a separator."""
        self.constant(x, 0)
        first, read, after = self.at, self.state(), self.state()
        self.rule(first, INPUT, {SEPARATOR: Action(SEPARATOR, RIGHT, read)})
        ends = {symbol: Action(symbol, STAY, after) for symbol in (BLANK, SEPARATOR)}
        count = {bit: self.state() for bit in BITS}
        self.rule(read, INPUT, ends | {bit: Action(bit, RIGHT, count[bit]) for bit in BITS})
        for bit in BITS:
            self.at = count[bit]
            self.double(x)
            if bit == ONE:
                self.increment(x)
            self.jump(read)
        self.at = after
