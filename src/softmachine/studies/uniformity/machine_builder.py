"""Builder of transducers that operate on registers: natural numbers, one per work tape.

A number is stored in binary, the lowest bit first, after the left end marker and without leading zeros, so x takes
⌊log₂ x⌋ + 3 cells: the marker, the bits, and the blank cell behind them. Between two operations every head is on the
lowest bit. An operation sweeps over its tapes once and rewinds: O(log x) steps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

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
    RuleTable,
    Transducer,
)

BITS = (ZERO, ONE)


class MachineBuilder:
    """Builder of states and rules. Each method continues in the state ``at`` where the last one ended."""

    def __init__(self) -> None:
        self._looks: list[int] = [INPUT, INPUT]
        self._rules: list[RuleTable] = [{}, {}]
        self._free: list[int] = []
        self._tapes = 0
        self.current = self.new_state()
        self._first = self.current

    def new_state(self) -> int:
        """Create a state without rules."""
        self._looks.append(INPUT)
        self._rules.append({})
        return len(self._looks) - 1

    def set_rules(self, state: int, tape: int, rules: Mapping[int, Action]) -> None:
        """Set the rules of a state."""
        self._looks[state], self._rules[state] = tape, dict(rules)

    def jump(self, target: int, output: str = "") -> None:
        """Append a character, or nothing, to the output, and continue in a state."""
        self.set_rules(self.current, INPUT, {symbol: Action(symbol, STAY, target, output) for symbol in range(SYMBOLS)})
        self.current = target

    def allocate(self) -> int:
        """Allocate a free tape."""
        if self._free:
            self._free.sort()
            return self._free.pop(0)
        self._tapes += 1
        return self._tapes

    def release(self, tape: int) -> None:
        """Free a tape."""
        self._free.append(tape)

    def build(self, name: str) -> Transducer:
        """Build the machine, which first marks the ends of its tapes; it halts in the state ``at``."""
        final = self.current
        self.current = self.new_state()
        start = self.current
        for tape in range(1, self._tapes + 1):
            after = self.new_state()
            self.set_rules(self.current, tape, {BLANK: Action(END, RIGHT, after)})
            self.current = after
        self.jump(self._first)
        # The start must be state 2, and the last state HALT: both are renumbered.
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
            after = self.new_state()
            back = {symbol: Action(symbol, LEFT, self.current) for symbol in (BLANK, *BITS)}
            self.set_rules(self.current, tape, back | {END: Action(END, RIGHT, after)})
            self.current = after

    def copy(self, x: int, y: int) -> None:
        """X := y."""
        read, rest = self.current, self.new_state()
        found: RuleTable = {BLANK: Action(BLANK, STAY, rest)}
        for bit in BITS:
            put = self.new_state()
            self.set_rules(put, x, {symbol: Action(bit, RIGHT, read) for symbol in (BLANK, *BITS)})
            found[bit] = Action(bit, RIGHT, put)
        self.set_rules(read, y, found)
        self.current = rest
        self._erase(x)
        self.rewind(x, y)

    def _erase(self, x: int) -> None:
        """Erase the bits at and right of the head."""
        after = self.new_state()
        erase = {bit: Action(BLANK, RIGHT, self.current) for bit in BITS}
        self.set_rules(self.current, x, erase | {BLANK: Action(BLANK, STAY, after)})
        self.current = after

    def constant(self, x: int, value: int) -> None:
        """X := a constant."""
        while value:
            after = self.new_state()
            bit = ONE if value & 1 else ZERO
            self.set_rules(self.current, x, {symbol: Action(bit, RIGHT, after) for symbol in (BLANK, *BITS)})
            self.current, value = after, value >> 1
        self._erase(x)
        self.rewind(x)

    def add(self, x: int, y: int) -> None:
        """X := x + y, for different tapes."""
        last = self._column_by_column(x, y, -1)
        self._carry(x, last[1], ZERO, ONE)
        self._merge(last[0])
        self.rewind(x, y)

    def subtract(self, x: int, y: int) -> None:
        """X := x - y, for different tapes; the machine gets stuck if y is larger."""
        last = self._column_by_column(x, y, 1)
        self._carry(x, last[1], ONE, ZERO)
        self._merge(last[0])
        self._strip(x)
        self.rewind(x, y)

    def _column_by_column(self, x: int, y: int, sign: int) -> tuple[int, int]:
        """Add (sign -1) or subtract (1) the bits of y; return the states at the end of y, by carry."""
        reads = (self.current, self.new_state())
        ends = (self.new_state(), self.new_state())
        puts = [self.new_state() for _ in range(3)]
        for carry, read in enumerate(reads):
            found = {bit: Action(bit, RIGHT, puts[value + carry]) for value, bit in enumerate(BITS)}
            self.set_rules(read, y, found | {BLANK: Action(BLANK, STAY, ends[carry])})
        for amount, put in enumerate(puts):
            rules: RuleTable = {}
            for value, bit in ((0, ZERO), (1, ONE), (0, BLANK)):
                total = value - sign * amount
                carried = int(total < 0 if sign > 0 else total > 1)
                rules[bit] = Action(BITS[total & 1], RIGHT, reads[carried])
            if sign > 0:
                rules[BLANK] = Action(BLANK, STAY, STUCK)
            self.set_rules(put, x, rules)
        self.current = ends[0]
        return ends

    def _carry(self, x: int, start: int, stops: int, passes: int) -> None:
        """Propagate a carry (or borrow) along x, starting in a state: the first bit ``stops`` becomes ``passes``."""
        after = self.new_state()
        empty = Action(ONE, STAY, after) if stops == ZERO else Action(BLANK, STAY, STUCK)
        rules = {stops: Action(passes, STAY, after), passes: Action(stops, RIGHT, start), BLANK: empty}
        self.set_rules(start, x, rules)
        self.current = after

    def _merge(self, other: int) -> None:
        """Merge another state into the current one."""
        here, self.current = self.current, other
        self.jump(here)

    def _strip(self, x: int) -> None:
        """Erase leading zeros."""
        top, after = self.new_state(), self.new_state()
        forward = {bit: Action(bit, RIGHT, self.current) for bit in BITS}
        self.set_rules(self.current, x, forward | {BLANK: Action(BLANK, LEFT, top)})
        stop = {symbol: Action(symbol, STAY, after) for symbol in (ONE, END)}
        self.set_rules(top, x, stop | {ZERO: Action(BLANK, LEFT, top)})
        self.current = after

    def increment(self, x: int) -> None:
        """X := x + 1."""
        self._carry(x, self.current, ZERO, ONE)
        self.rewind(x)

    def decrement(self, x: int) -> None:
        """X := x - 1; the machine gets stuck if x is 0."""
        self._carry(x, self.current, ONE, ZERO)
        self._strip(x)
        self.rewind(x)

    def double(self, x: int) -> None:
        """X := 2 x."""
        holds, after = (self.current, self.new_state()), self.new_state()
        for bit, held in zip(BITS, holds, strict=True):
            moved = {read: Action(bit, RIGHT, holds[value]) for value, read in enumerate(BITS)}
            self.set_rules(held, x, moved | {BLANK: Action(ONE if bit == ONE else BLANK, STAY, after)})
        self.current = after
        self.rewind(x)

    def halve(self, x: int) -> None:
        """X := ⌊x / 2⌋."""
        after = self.new_state()
        holds = {symbol: self.new_state() for symbol in (BLANK, *BITS)}
        forward = {bit: Action(bit, RIGHT, self.current) for bit in BITS}
        self.set_rules(self.current, x, forward | {BLANK: Action(BLANK, LEFT, holds[BLANK])})
        for held, state in holds.items():
            moved = {bit: Action(held, LEFT, holds[bit]) for bit in BITS}
            self.set_rules(state, x, moved | {END: Action(END, RIGHT, after)})
        self.current = after

    def compare(self, x: int, y: int) -> tuple[int, int, int]:
        """Compare; return the states in which x is less than, equal to and greater than y."""
        less, equal, greater = outcomes = (self.new_state(), self.new_state(), self.new_state())
        reads = [self.new_state(), self.current, self.new_state()]
        for order, read in enumerate(reads):
            found: RuleTable = {}
            for value, bit in enumerate(BITS):
                judge = self.new_state()
                found[bit] = Action(bit, RIGHT, judge)
                rules = {
                    other: Action(other, RIGHT, reads[order if own == value else 2 * own])
                    for own, other in enumerate(BITS)
                }
                self.set_rules(judge, x, rules | {BLANK: Action(BLANK, STAY, less)})
            ended = self.new_state()
            longer = {bit: Action(bit, STAY, greater) for bit in BITS}
            self.set_rules(ended, x, longer | {BLANK: Action(BLANK, STAY, outcomes[order])})
            self.set_rules(read, y, found | {BLANK: Action(BLANK, STAY, ended)})
        exits = []
        for outcome in (less, equal, greater):
            self.current = outcome
            self.rewind(x, y)
            exits.append(self.current)
        return exits[0], exits[1], exits[2]

    def branch(self, x: int, wanted: Collection[int]) -> tuple[int, int]:
        """Branch; return the states in which the lowest cell of x is a wanted symbol, and in which it is not.

        It is ONE if x is odd, and one of BITS if x is positive.
        """
        yes, no = self.new_state(), self.new_state()
        every = (BLANK, *BITS)
        self.set_rules(
            self.current, x, {symbol: Action(symbol, STAY, yes if symbol in wanted else no) for symbol in every}
        )
        return yes, no

    def emit_text(self, text: str) -> None:
        """Append a text to the output."""
        for character in text:
            self.jump(self.new_state(), character)

    def emit_number(self, x: int) -> None:
        """Append a number to the output, in binary."""
        forward, back, after = self.new_state(), self.new_state(), self.new_state()
        bits = {bit: Action(bit, STAY, forward) for bit in BITS}
        self.set_rules(self.current, x, bits | {BLANK: Action(BLANK, STAY, after, "0")})
        on = {bit: Action(bit, RIGHT, forward) for bit in BITS}
        self.set_rules(forward, x, on | {BLANK: Action(BLANK, LEFT, back)})
        printed = {bit: Action(bit, LEFT, back, str(value)) for value, bit in enumerate(BITS)}
        self.set_rules(back, x, printed | {END: Action(END, RIGHT, after)})
        self.current = after

    def read_unary(self, x: int) -> None:
        """X := the number of ones that follow on the input tape."""
        self.constant(x, 0)
        read, count, after = self.current, self.new_state(), self.new_state()
        ends = {symbol: Action(symbol, STAY, after) for symbol in (BLANK, SEPARATOR)}
        self.set_rules(read, INPUT, ends | {ONE: Action(ONE, RIGHT, count)})
        self.current = count
        self.increment(x)
        self.jump(read)
        self.current = after

    def read_binary(self, x: int) -> None:
        """X := the number that follows on the input tape after a separator."""
        self.constant(x, 0)
        first, read, after = self.current, self.new_state(), self.new_state()
        self.set_rules(first, INPUT, {SEPARATOR: Action(SEPARATOR, RIGHT, read)})
        ends = {symbol: Action(symbol, STAY, after) for symbol in (BLANK, SEPARATOR)}
        count = {bit: self.new_state() for bit in BITS}
        self.set_rules(read, INPUT, ends | {bit: Action(bit, RIGHT, count[bit]) for bit in BITS})
        for bit in BITS:
            self.current = count[bit]
            self.double(x)
            if bit == ONE:
                self.increment(x)
            self.jump(read)
        self.current = after
