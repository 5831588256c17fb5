"""Translation of Turing machines to counter machines: Minsky's reduction, for letter-bounded inputs.

M. Minsky, "Computation: Finite and Infinite Machines" (1967), chapter 11. The tape is represented by two stacks: the
cells to the left of the head and the cells to its right; the cell under the head is part of the state. A stack is a
number in base k, the number of symbols: pushing multiplies it by k and adds a digit, popping divides it by k. Both are
loops that move a counter into an empty one, so the counters change roles with every step of the Turing machine, instead
of being moved back.

There are three differences from the textbook:

- The digits are 1 … k, not 0 … k-1 (bijective numeration), so 0 is the empty stack and visited blank cells are
  represented. An empty left stack is the left end of the tape, as one-way tapes require; an empty right stack means
  unvisited cells, which are taken from the input counters when the head reaches them, so no loading phase is needed.
- Loops take strides of 1, 2, 4, … (see `transfer_loop`), so that the cost of a step of the Turing machine is not the
  value of the counters but the number of ones in their binary representation.
- A rule that does not move the head costs nothing: it is evaluated when the machine is built.

A run of a machine that halts without a verdict (it has no accepting states) is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from softmachine.languages.counter.condition import Condition, make_comparison
from softmachine.languages.counter.machine import CounterMachine, Transition
from softmachine.languages.temporal.formula import TRUE
from softmachine.languages.temporal.structure import conjunction
from softmachine.languages.turing import TapeConvention, TuringMachine
from softmachine.languages.turing import Verdict as TuringVerdict
from softmachine.support.errors import ConstructionError

POWERS_OF_TWO = tuple(1 << exponent for exponent in range(8))
"""Strides with which a loop over a counter below 256 takes one step per 1 in its binary representation."""


def conjoin(*conditions: Condition | None) -> Condition:
    """The conjunction of the conditions that are not None."""
    return conjunction(condition for condition in conditions if condition is not None)


def transfer_loop(
    state: str,
    source: str,
    target: str | None,
    strides: Sequence[int],
    *,
    divisor: int = 1,
    factor: int = 1,
    remainder: int = 0,
    condition: Condition | None = None,
) -> Iterator[Transition]:
    """The loop in a state that moves a counter to another one: target += factor · ⌊(source - rest) / divisor⌋.

    As long as source ≥ divisor + rest, it subtracts divisor · d from the source and adds factor · d to the target,
    where d is the largest possible stride. The remainder in the source, less than divisor + rest, is left to the
    caller. With the strides 1, 2, 4, … the loop is logarithmic up to twice the largest stride; with 1 alone it is
    Minsky's.

    Args:
        state: The state of the loop.
        source: The counter to decrease.
        target: The counter to increase; None to discard the amount.
        strides: The possible values of d; 1 must be among them.
        divisor: Decrease of the source per unit.
        factor: Increase of the target per unit.
        remainder: Minimum remainder in the source.
        condition: Additional condition for every iteration.
    """
    above: Condition | None = None
    for stride in sorted(strides, reverse=True):
        least = divisor * stride + remainder
        gain = () if target is None else ((target, factor * stride),)
        test = conjoin(make_comparison(source, ">=", least), above, condition)
        yield Transition(state, test, ((source, -divisor * stride), *gain), state)
        above = make_comparison(source, "<", least)


ACCEPT, REJECT, FOREVER = "accept", "reject", "forever"


def build_counter_machine(
    machine: TuringMachine,
    *,
    letters: Sequence[str] | None = None,
    work_counters: int = 3,
    strides: Sequence[int] = POWERS_OF_TWO,
) -> CounterMachine:
    """Build the counter machine that simulates a Turing machine on words a₁^n₁ a₂^n₂ … aₘ^nₘ.

    It has m input counters and 3 work counters: the two stacks and a temporary one. Words of another shape are
    rejected, regardless of the Turing machine.

    Cost: a step of the Turing machine that moves the head takes 2 steps, plus one for every stride in the two stacks.
    With 4 work counters it takes 1 step less, and the machine has a third fewer states.

    Args:
        machine: A Turing machine with one tape.
        letters: The letters of inputs, in order; by default the input alphabet.
        work_counters: 3, or 4 for shorter runs.
        strides: The possible decrements of a loop per step; 1 must be among them.

    Raises:
        ConstructionError: If the machine has more than one tape, or an argument is invalid.
    """
    chosen = machine.alphabet if letters is None else tuple(letters)
    unknown = [letter for letter in chosen if letter not in machine.alphabet]
    if unknown:
        raise ConstructionError(f"{unknown[0]!r} is not in the input alphabet of {machine.name!r}")
    reduction = CounterMachineBuilder(machine, chosen, work_counters, strides, loaded=False)
    start = reduction.start_state(0)
    return reduction.build(start, order=len(chosen) > 1)


@dataclass(frozen=True)
class CounterRoles:
    """The roles of the counters during a head move: each stack moves to another counter.

    Args:
        pushed: The counter of the stack behind the head.
        popped: The counter of the stack ahead of it.
        pushed_to: The new counter of the pushed stack.
        popped_to: The new counter of the popped stack; with 3 work counters the old one of the pushed stack.
        next_arrangement: Index of the arrangement after the move.
    """

    pushed: str
    popped: str
    pushed_to: str
    popped_to: str
    next_arrangement: int


class CounterMachineBuilder:
    """Builder of the counter machine of a Turing machine.

    An arrangement assigns counters to the two stacks; the others are 0 between head moves. With 3 work counters there
    are 3 arrangements: (left, right) is in counters (a, a+1), modulo 3. With 4 there are 2: counters (0, 1) or (2, 3).

    Args:
        machine: The Turing machine.
        letters: The input counters.
        work_counters: Number of work counters.
        strides: The possible decrements of a loop per step.
        loaded: Whether the whole input is on the right stack when the machine starts.
    """

    def __init__(
        self,
        machine: TuringMachine,
        letters: tuple[str, ...],
        work_counters: int,
        strides: Sequence[int],
        *,
        loaded: bool,
    ) -> None:
        if machine.tapes != 1:
            raise ConstructionError(
                f"{machine.name!r} has {machine.tapes} tapes; the translation to counter machines requires one tape",
                hint="rewrite the machine with one tape",
            )
        if work_counters not in (3, 4):
            raise ConstructionError(f"{work_counters} work counters are not supported", hint="use 3 or 4")
        if 1 not in strides or min(strides) < 1:
            raise ConstructionError(f"the strides {tuple(strides)} do not reach every number", hint="include 1")
        self.machine = machine
        self.letters = letters
        self.strides = tuple(dict.fromkeys(strides))
        self.loaded = loaded
        self.work = fresh_names(work_counters, letters)
        self.digit = {symbol: number for number, symbol in enumerate(machine.symbols, start=1)}
        self.transitions: list[Transition] = []
        self._sweeps: dict[tuple[str, str, int], str] = {}
        self._ends: set[str] = set()

    def counter_roles(self, move: str, arrangement: int) -> CounterRoles:
        """The roles of the counters when the head moves L or R."""
        if len(self.work) == 3:
            left, right, free = (self.work[(arrangement + offset) % 3] for offset in range(3))
            after = (arrangement + (2 if move == "R" else 1)) % 3
            pushed, popped = (left, right) if move == "R" else (right, left)
            return CounterRoles(pushed, popped, free, pushed, after)
        here, there = self.work[2 * arrangement :][:2], self.work[2 - 2 * arrangement :][:2]
        behind, ahead = (0, 1) if move == "R" else (1, 0)
        return CounterRoles(here[behind], here[ahead], there[behind], there[ahead], 1 - arrangement)

    def right_stack(self, arrangement: int) -> str:
        """The counter of the right stack."""
        return self.counter_roles("R", arrangement).popped

    def start_state(self, arrangement: int) -> str:
        """The state in which the head moves to cell 0; the left stack is empty."""
        if self.machine.start in self.machine.halting_states:
            return self._verdict_state(self.machine.start)
        state = f"start_{arrangement}"
        self._pop_state(state, "R", self.machine.start, arrangement, first=True)
        return state

    def build(self, start: str, *, order: bool) -> CounterMachine:
        """Build the counter machine with all reachable states."""
        made = 0
        while made < len(self._sweeps):
            (move, state, arrangement), name = list(self._sweeps.items())[made]
            self._push_state(name, move, state, arrangement)
            made += 1
        if FOREVER in self._ends:
            self.transitions.append(Transition(FOREVER, TRUE, (), FOREVER))
        return CounterMachine(
            name=self.machine.name,
            alphabet=self.letters,
            work_counters=self.work,
            has_ordered_letters=order,
            start=start,
            accept=(ACCEPT,) if ACCEPT in self._ends else (),
            reject=(REJECT,) if REJECT in self._ends else (),
            transitions=tuple(self.transitions),
        )

    def _push_state(self, name: str, move: str, state: str, arrangement: int) -> None:
        """Push the symbol that the head leaves, which is already in the new counter of the pushed stack; then pop."""
        roles = self.counter_roles(move, arrangement)
        base = len(self.digit)
        self.transitions += transfer_loop(name, roles.pushed, roles.pushed_to, self.strides, factor=base)
        pushed = make_comparison(roles.pushed, "=", 0)
        if roles.popped_to != roles.pushed:
            self._pop_state(name, move, state, arrangement, when=pushed)
            return
        popping = f"pop_{name}"
        self.transitions.append(Transition(name, pushed, (), popping))
        self._pop_state(popping, move, state, arrangement)

    def _pop_state(
        self, name: str, move: str, state: str, arrangement: int, *, when: Condition | None = None, first: bool = False
    ) -> None:
        """Pop the stack ahead of the head, and apply the rule of the Turing machine for the symbol."""
        roles = self.counter_roles(move, arrangement)
        base, popped = len(self.digit), roles.popped
        left_end: bool | None = True if first else (False if move == "R" else None)
        if self.loaded or not first:
            loop = transfer_loop(name, popped, roles.popped_to, self.strides, divisor=base, remainder=1, condition=when)
            self.transitions += loop
            for symbol, digit in self.digit.items():
                test = conjoin(make_comparison(popped, "=", digit), when)
                self._add_arrival(name, test, ((popped, -digit),), state, symbol, roles.next_arrangement, left_end)
        if move == "L" and self.machine.tape is not TapeConvention.TWO_WAY:
            return  # the left stack is not empty, since otherwise the head would not have moved
        for input_test, updates, symbol in self._unvisited_cells(move):
            test = conjoin(make_comparison(popped, "=", 0), input_test, when)
            self._add_arrival(name, test, updates, state, symbol, roles.next_arrangement, left_end)

    def _unvisited_cells(self, move: str) -> Iterator[tuple[Condition | None, tuple[tuple[str, int], ...], str]]:
        """The possible contents of an unvisited cell: a test, the updates of the input counters, and the symbol."""
        before: tuple[Condition, ...] = ()
        for letter in self.letters if move == "R" and not self.loaded else ():
            yield conjoin(*before, make_comparison(letter, ">=", 1)), ((letter, -1),), letter
            before += (make_comparison(letter, "=", 0),)
        yield (conjoin(*before) if before else None), (), self.machine.blank

    def _add_arrival(
        self,
        name: str,
        test: Condition,
        updates: tuple[tuple[str, int], ...],
        state: str,
        symbol: str,
        arrangement: int,
        left_end: bool | None,
    ) -> None:
        """Add the transitions for a state of the Turing machine and the symbol under the head.

        Args:
            name: The source state of the transitions.
            test: The condition that the symbol is there.
            updates: The updates that remove it.
            state: The state of the Turing machine.
            symbol: The symbol under the head.
            arrangement: The arrangement of the stacks.
            left_end: Whether the head is at the left end of a one-way tape; None if the left stack must be tested.
        """
        seen = set()
        while (state, symbol) not in seen:
            seen.add((state, symbol))
            rule = None if state in self.machine.halting_states else self.machine.find_rule(state, (symbol,))
            if rule is None:
                self.transitions.append(Transition(name, test, updates, self._verdict_state(state)))
                return
            written, move = rule.write[0], rule.move[0]
            if move == "L" and self.machine.tape is not TapeConvention.TWO_WAY and left_end is None:
                left = self.counter_roles("R", arrangement).pushed
                self._add_arrival(
                    name, conjoin(test, make_comparison(left, "=", 0)), updates, state, symbol, arrangement, True
                )
                test, left_end = conjoin(test, make_comparison(left, ">=", 1)), False
            if move == "L" and self.machine.tape is not TapeConvention.TWO_WAY and left_end:
                if self.machine.tape is TapeConvention.ERROR:
                    self.transitions.append(Transition(name, test, updates, self._verdict_state(state)))
                    return
                move = "S"
            if move != "S" and rule.next not in self.machine.halting_states:
                push = (self.counter_roles(move, arrangement).pushed_to, self.digit[written])
                target = self._moving_state(move, rule.next, arrangement)
                self.transitions.append(Transition(name, test, merge_updates(*updates, push), target))
                return
            state, symbol = rule.next, written
        self._ends.add(FOREVER)
        self.transitions.append(Transition(name, test, updates, FOREVER))

    def _moving_state(self, move: str, state: str, arrangement: int) -> str:
        """The state in which the head moves; the Turing machine is in the given state after the move."""
        name = f"{'left' if move == 'L' else 'right'}_{arrangement}_{state}"
        return self._sweeps.setdefault((move, state, arrangement), name)

    def _verdict_state(self, state: str) -> str:
        end = REJECT if self.machine.verdict(state) is TuringVerdict.REJECT else ACCEPT
        self._ends.add(end)
        return end


def merge_updates(*updates: tuple[str, int]) -> tuple[tuple[str, int], ...]:
    """Combine updates of the same counter."""
    changes: dict[str, int] = {}
    for name, change in updates:
        changes[name] = changes.get(name, 0) + change
    return tuple((name, change) for name, change in changes.items() if change)


def fresh_names(count: int, used: Iterable[str]) -> tuple[str, ...]:
    """Unused names for counters: x, y, z, w, with underscores if necessary."""
    known, names = set(used), []
    for name in "xyzw"[:count]:
        while name in known:
            name += "_"  # noqa: PLW2901
        names.append(name)
    return tuple(names)
