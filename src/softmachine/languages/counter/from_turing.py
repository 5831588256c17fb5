"""Turing machine → counter machine: Minsky's reduction, for letter-bounded inputs and for the relative encoding.

M. Minsky, "Computation: Finite and Infinite Machines" (1967), chapter 11. The tape is two stacks: the cells to the left
of the head and the cells to its right; the cell under the head is in the state. A stack is a number in base k, the
number of symbols: pushing multiplies it by k and adds a digit, popping divides it by k. Both are loops that move a
counter into an empty one, so the counters change their roles with every step of the Turing machine, instead of being
moved back.

Three things differ from the textbook:

- The digits are 1 … k, not 0 … k-1 (bijective numeration), so 0 is the empty stack and every visited cell is seen. An
  empty left stack is the left end of the tape, which is what one-way tapes need; an empty right stack means cells that
  no head has visited, and these are taken from the input counters when the head gets there: nothing is loaded.
- Loops take strides of 1, 2, 4, … (see `softmachine.languages.counter.macros`), so that a step of the Turing machine
  takes not as many steps as the counters are large, but as many as they have ones in binary.
- A rule that does not move the head costs nothing: what follows it is known when the machine is made.

A run of a machine that halts without a verdict (it has no accepting states) is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from softmachine.languages.counter.condition import Condition, compare
from softmachine.languages.counter.machine import CounterMachine, Transition
from softmachine.languages.counter.macros import POWERS_OF_TWO, both, transfer
from softmachine.languages.temporal.formula import TRUE
from softmachine.languages.turing import Tape, TuringMachine
from softmachine.languages.turing import Verdict as TuringVerdict
from softmachine.support.errors import ConstructionError

ACCEPT, REJECT, FOREVER = "accept", "reject", "forever"


def counter_machine(
    machine: TuringMachine,
    *,
    letters: Sequence[str] | None = None,
    work_counters: int = 3,
    strides: Sequence[int] = POWERS_OF_TWO,
) -> CounterMachine:
    """The counter machine that does with a₁^n₁ a₂^n₂ … aₘ^nₘ what a Turing machine does with that word.

    It has m input counters and 3 work counters: the two stacks and the one they move through. Words of another shape
    are rejected, whatever the Turing machine does with them.

    Cost: a step of the Turing machine that moves the head takes 2 steps, and one for every stride that the two stacks
    are made of. With 4 work counters it takes 1 step less, and the machine has a third less states.

    Args:
        machine: A Turing machine with one tape.
        letters: The letters that inputs are made of, in their order; by default those of its alphabet.
        work_counters: 3, or 4 for shorter runs.
        strides: How far a loop may go in one step, 1 among them.

    Raises:
        ConstructionError: If the machine has more than one tape, or an argument makes no sense.
    """
    chosen = machine.alphabet if letters is None else tuple(letters)
    unknown = [letter for letter in chosen if letter not in machine.alphabet]
    if unknown:
        raise ConstructionError(f"{unknown[0]!r} is not in the input alphabet of {machine.name!r}")
    reduction = Reduction(machine, chosen, work_counters, strides, loaded=False)
    start = reduction.start(0)
    return reduction.finish(start, order=len(chosen) > 1)


@dataclass(frozen=True)
class Roles:
    """Which counter does what while the head moves: the pushed stack goes to one counter, the popped to another.

    Args:
        pushed: The stack behind the head.
        popped: The stack ahead of it.
        pushed_to: Where the pushed stack ends up.
        popped_to: Where the popped stack ends up; with 3 work counters the one that the pushed stack was in.
        after: The number of the arrangement that the stacks are in then.
    """

    pushed: str
    popped: str
    pushed_to: str
    popped_to: str
    after: int


class Reduction:
    """A Turing machine on its way to a counter machine.

    An arrangement says which counters hold the two stacks; the others are empty whenever the head stands. With 3 work
    counters there are 3 arrangements: (left, right) is in counters (a, a+1), modulo 3. With 4 there are 2: counters
    (0, 1) or (2, 3).

    Args:
        machine: The Turing machine.
        letters: The counters of the input.
        work_counters: How many more there are.
        strides: How far a loop may go in one step.
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
                f"{machine.name!r} has {machine.tapes} tapes; a counter machine can be made of one with a single tape",
                hint="write the machine with one tape",
            )
        if work_counters not in (3, 4):
            raise ConstructionError(f"{work_counters} work counters are not possible", hint="there may be 3 or 4")
        if 1 not in strides or min(strides) < 1:
            raise ConstructionError(f"the strides {tuple(strides)} do not reach every number", hint="1 must be in them")
        self.machine = machine
        self.letters = letters
        self.strides = tuple(dict.fromkeys(strides))
        self.loaded = loaded
        self.work = fresh_names(work_counters, letters)
        self.digit = {symbol: number for number, symbol in enumerate(machine.symbols, start=1)}
        self.transitions: list[Transition] = []
        self._sweeps: dict[tuple[str, str, int], str] = {}
        self._ends: set[str] = set()

    def roles(self, move: str, arrangement: int) -> Roles:
        """Who does what when the head moves L or R."""
        if len(self.work) == 3:
            left, right, free = (self.work[(arrangement + offset) % 3] for offset in range(3))
            after = (arrangement + (2 if move == "R" else 1)) % 3
            pushed, popped = (left, right) if move == "R" else (right, left)
            return Roles(pushed, popped, free, pushed, after)
        here, there = self.work[2 * arrangement :][:2], self.work[2 - 2 * arrangement :][:2]
        behind, ahead = (0, 1) if move == "R" else (1, 0)
        return Roles(here[behind], here[ahead], there[behind], there[ahead], 1 - arrangement)

    def right_stack(self, arrangement: int) -> str:
        """The counter of the right stack."""
        return self.roles("R", arrangement).popped

    def start(self, arrangement: int) -> str:
        """The state in which the head goes to cell 0; the left stack is empty."""
        if self.machine.start in self.machine.final:
            return self._verdict(self.machine.start)
        state = f"start_{arrangement}"
        self._pop(state, "R", self.machine.start, arrangement, first=True)
        return state

    def finish(self, start: str, *, order: bool) -> CounterMachine:
        """The counter machine, with all states that can be reached."""
        made = 0
        while made < len(self._sweeps):
            (move, state, arrangement), name = list(self._sweeps.items())[made]
            self._sweep(name, move, state, arrangement)
            made += 1
        if FOREVER in self._ends:
            self.transitions.append(Transition(FOREVER, TRUE, (), FOREVER))
        return CounterMachine(
            name=self.machine.name,
            alphabet=self.letters,
            work_counters=self.work,
            order=order,
            start=start,
            accept=(ACCEPT,) if ACCEPT in self._ends else (),
            reject=(REJECT,) if REJECT in self._ends else (),
            transitions=tuple(self.transitions),
        )

    def _sweep(self, name: str, move: str, state: str, arrangement: int) -> None:
        """The head moves: the symbol that it leaves, which is already where the pushed stack will be, is pushed."""
        roles = self.roles(move, arrangement)
        base = len(self.digit)
        self.transitions += transfer(name, roles.pushed, roles.pushed_to, self.strides, factor=base)
        pushed = compare(roles.pushed, "=", 0)
        if roles.popped_to != roles.pushed:
            self._pop(name, move, state, arrangement, when=pushed)
            return
        popping = f"pop_{name}"
        self.transitions.append(Transition(name, pushed, (), popping))
        self._pop(popping, move, state, arrangement)

    def _pop(
        self, name: str, move: str, state: str, arrangement: int, *, when: Condition | None = None, first: bool = False
    ) -> None:
        """The stack ahead of the head is popped, and what the Turing machine does with the symbol is done."""
        roles = self.roles(move, arrangement)
        base, popped = len(self.digit), roles.popped
        left_end: bool | None = True if first else (False if move == "R" else None)
        if self.loaded or not first:
            loop = transfer(name, popped, roles.popped_to, self.strides, divisor=base, rest=1, when=when)
            self.transitions += loop
            for symbol, digit in self.digit.items():
                test = both(compare(popped, "=", digit), when)
                self._arrive(name, test, ((popped, -digit),), state, symbol, roles.after, left_end)
        if move == "L" and self.machine.tape is not Tape.TWO_WAY:
            return  # the left stack is not empty, or else the head had not moved
        for input_test, updates, symbol in self._unvisited(move):
            test = both(compare(popped, "=", 0), input_test, when)
            self._arrive(name, test, updates, state, symbol, roles.after, left_end)

    def _unvisited(self, move: str) -> Iterator[tuple[Condition | None, tuple[tuple[str, int], ...], str]]:
        """What may be in a cell that no head has visited: a test, what is taken from the input, and the symbol."""
        before: tuple[Condition, ...] = ()
        for letter in self.letters if move == "R" and not self.loaded else ():
            yield both(*before, compare(letter, ">=", 1)), ((letter, -1),), letter
            before += (compare(letter, "=", 0),)
        yield (both(*before) if before else None), (), self.machine.blank

    def _arrive(
        self,
        name: str,
        test: Condition,
        updates: tuple[tuple[str, int], ...],
        state: str,
        symbol: str,
        arrangement: int,
        left_end: bool | None,
    ) -> None:
        """Transitions for the head having arrived at a symbol in a state.

        Args:
            name: The state they leave.
            test: When the symbol is there.
            updates: What takes it off.
            state: The state of the Turing machine.
            symbol: The symbol under the head.
            arrangement: Where the stacks are then.
            left_end: Whether the head is at the left end of a one-way tape; None if the left stack must be asked.
        """
        seen = set()
        while (state, symbol) not in seen:
            seen.add((state, symbol))
            rule = None if state in self.machine.final else self.machine.rule(state, (symbol,))
            if rule is None:
                self.transitions.append(Transition(name, test, updates, self._verdict(state)))
                return
            written, move = rule.write[0], rule.move[0]
            if move == "L" and self.machine.tape is not Tape.TWO_WAY and left_end is None:
                left = self.roles("R", arrangement).pushed
                self._arrive(name, both(test, compare(left, "=", 0)), updates, state, symbol, arrangement, True)
                test, left_end = both(test, compare(left, ">=", 1)), False
            if move == "L" and self.machine.tape is not Tape.TWO_WAY and left_end:
                if self.machine.tape is Tape.ERROR:
                    self.transitions.append(Transition(name, test, updates, self._verdict(state)))
                    return
                move = "S"
            if move != "S" and rule.next not in self.machine.final:
                push = (self.roles(move, arrangement).pushed_to, self.digit[written])
                target = self._moving(move, rule.next, arrangement)
                self.transitions.append(Transition(name, test, merged(*updates, push), target))
                return
            state, symbol = rule.next, written
        self._ends.add(FOREVER)
        self.transitions.append(Transition(name, test, updates, FOREVER))

    def _moving(self, move: str, state: str, arrangement: int) -> str:
        """The state in which the head moves, and the Turing machine is in a state already."""
        name = f"{'left' if move == 'L' else 'right'}_{arrangement}_{state}"
        return self._sweeps.setdefault((move, state, arrangement), name)

    def _verdict(self, state: str) -> str:
        end = REJECT if self.machine.verdict(state) is TuringVerdict.REJECT else ACCEPT
        self._ends.add(end)
        return end


def merged(*updates: tuple[str, int]) -> tuple[tuple[str, int], ...]:
    """The updates, every counter once."""
    changes: dict[str, int] = {}
    for name, change in updates:
        changes[name] = changes.get(name, 0) + change
    return tuple((name, change) for name, change in changes.items() if change)


def fresh_names(count: int, taken: Iterable[str]) -> tuple[str, ...]:
    """Names for counters that are not taken: x, y, z, w, or with underscores."""
    known, names = set(taken), []
    for name in "xyzw"[:count]:
        while name in known:
            name += "_"  # noqa: PLW2901
        names.append(name)
    return tuple(names)
