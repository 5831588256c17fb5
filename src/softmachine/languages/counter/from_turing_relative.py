"""Translation of Turing machines to counter machines for arbitrary words, given by the relative encoding.

The counts of its letters do not determine a word. The relative encoding represents the positions of each letter by a
number: β(x) is x in binary without its leading ones and the first 0, and the number Xᵢ of the letter aᵢ has
β(Xᵢ) = wᵢ 1 0…0, where wᵢ has a 1 exactly at the positions of aᵢ. The 1 after wᵢ is the end mark: without it β would
determine wᵢ only up to trailing zeros.

    abb      X    in binary    β(X)     w
    a       41       101001    1001     100
    b       78      1001110    01110    011

The counter machine reads the numbers by halving them: first each one until its end mark is the remainder, then all of
them once per letter of the word, from last to first. In every such round exactly one number has remainder 1, and its
letter is pushed on the right stack of `softmachine.languages.counter.from_turing`; if none has, the 0 in front of the
word is reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softmachine.languages.counter.condition import make_comparison
from softmachine.languages.counter.from_turing import POWERS_OF_TWO, CounterMachineBuilder, conjoin, transfer_loop
from softmachine.languages.counter.machine import CounterMachine, Transition
from softmachine.languages.turing import TuringMachine
from softmachine.support.errors import ConstructionError

MAX_LETTERS = 32


def build_relative_counter_machine(
    machine: TuringMachine, *, work_counters: int = 4, strides: Sequence[int] = POWERS_OF_TWO
) -> CounterMachine:
    """Build the counter machine that simulates a Turing machine on a word given by its relative encoding.

    Its input counters, named after the letters, must start with the numbers of the encoding (see
    `softmachine.languages.crasp.relations.encode_word`), so it is run with `execute_from`. It has 4 work counters, or
    3, for longer runs. With numbers that do not encode a word, the run gets stuck.

    Cost, for a word of n letters over an alphabet of m: reading takes (n + 1)·m halving loops, one more for every end
    mark and every zero after it, and n pushing loops, each with one step per stride in the number; then every step of
    the Turing machine is as in `build_counter_machine`.

    Args:
        machine: A Turing machine with one tape.
        work_counters: 4, or 3 for longer runs.
        strides: The possible decrements of a loop per step; 1 must be among them.

    Raises:
        ConstructionError: If the machine has more than one tape, or an argument is invalid.
    """
    if len(machine.alphabet) > MAX_LETTERS:
        raise ConstructionError(
            f"the alphabet of {machine.name!r} has {len(machine.alphabet)} letters; the relative encoding, "
            f"whose numbers double with every letter, supports at most {MAX_LETTERS}"
        )
    reduction = CounterMachineBuilder(machine, machine.alphabet, work_counters, strides, loaded=True)
    loader = _LoaderBuilder(reduction)
    start = loader.strip_state(1) if machine.alphabet else reduction.start_state(0)
    return reduction.build(start, order=False)


class _LoaderBuilder:
    """Builder of the part of the machine that reads the numbers.

    The number of the i-th letter is in slot i or i-1; slot 0 is a work counter. So there is always an empty slot next
    to a number that is to be halved, and after a round all numbers have moved by one slot, alternately down and up. The
    right stack alternates likewise between its counters of arrangements 0 and 1.
    """

    def __init__(self, builder: CounterMachineBuilder) -> None:
        self.reduction = builder
        self.letters = builder.letters
        self.slots = (builder.work[0], *builder.letters)
        self._made: set[str] = set()

    def strip_state(self, letter: int) -> str:
        """The state that strips trailing zeros and the end mark from a number, and moves it one slot down."""
        if letter > len(self.letters):
            return self._round_state(0, 0, 0)
        upper, lower = self.slots[letter], self.slots[letter - 1]
        down, up, back = (f"strip_{letter}_{phase}" for phase in ("down", "up", "back"))
        after = self.strip_state(letter + 1)
        self._add(
            *self._add_halving_loop(down, upper, lower),
            Transition(down, make_comparison(upper, "=", 1), ((upper, -1),), after),
            Transition(down, conjoin(make_comparison(upper, "=", 0), make_comparison(lower, ">=", 1)), (), up),
            *self._add_halving_loop(up, lower, upper),
            Transition(up, make_comparison(lower, "=", 1), ((lower, -1),), back),
            Transition(up, conjoin(make_comparison(lower, "=", 0), make_comparison(upper, ">=", 1)), (), down),
            *transfer_loop(back, upper, lower, self.reduction.strides),
            Transition(back, make_comparison(upper, "=", 0), (), after),
        )
        return down

    def _round_state(self, arrangement: int, index: int, found: int) -> str:
        """The state that halves the number at an index of a round; ``found`` is the letter with remainder 1, or 0.

        In rounds of arrangement 0 the numbers move up, beginning with the last letter; in rounds of arrangement 1 down,
        beginning with the first. In the first state of a round the right stack is moved to its new counter first.
        """
        name = f"round_{arrangement}_{index}_{found}"
        if name in self._made:
            return name
        self._made.add(name)
        count = len(self.letters)
        letter = count - index if arrangement == 0 else index + 1
        lower, upper = self.slots[letter - 1], self.slots[letter]
        source, target = (lower, upper) if arrangement == 0 else (upper, lower)
        when = None
        if index == 0:
            stack, old = (self.reduction.right_stack(number) for number in (arrangement, 1 - arrangement))
            base = len(self.reduction.digit)
            self._add(*transfer_loop(name, old, stack, self.reduction.strides, factor=base))
            when = make_comparison(old, "=", 0)
        self._add(*transfer_loop(name, source, target, self.reduction.strides, divisor=2, condition=when))
        for bit in (0, 1):
            if bit and found:
                continue
            seen = letter if bit else found
            took = ((source, -1),) if bit else ()
            last = index + 1 == count
            after, push = (
                self._after_round(arrangement, seen) if last else (self._round_state(arrangement, index + 1, seen), ())
            )
            self._add(Transition(name, conjoin(make_comparison(source, "=", bit), when), (*took, *push), after))
        return name

    def _after_round(self, arrangement: int, found: int) -> tuple[str, tuple[tuple[str, int], ...]]:
        """The state after a round, and the update that pushes the found letter on the right stack."""
        if found:
            digit = self.reduction.digit[self.letters[found - 1]]
            return self._round_state(1 - arrangement, 0, 0), ((self.reduction.right_stack(1 - arrangement), digit),)
        start = self.reduction.start_state(arrangement)
        if arrangement == 0:
            return start, ()
        spare = self.slots[0]  # it contains the leading ones of the first number
        self._add(
            *transfer_loop("clear", spare, None, self.reduction.strides),
            Transition("clear", make_comparison(spare, "=", 0), (), start),
        )
        return "clear", ()

    def _add_halving_loop(self, state: str, source: str, target: str) -> Iterator[Transition]:
        return transfer_loop(state, source, target, self.reduction.strides, divisor=2)

    def _add(self, *transitions: Transition) -> None:
        self.reduction.transitions += transitions
