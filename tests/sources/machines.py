"""Random Turing machines for property tests, each decided by its seed alone."""

from __future__ import annotations

import random
from itertools import product

from softmachine.languages.turing import Rule, Tape, TuringMachine

LONG_NAMES = ("x", "one", "#", "é", "a'", "null", "0x1F", "□□")


def random_machine(
    rng: random.Random, *, tapes: int = 1, symbols: int = 3, states: int = 4, tape: Tape = Tape.TWO_WAY
) -> TuringMachine:
    """A machine with so many symbols (the blank among them) and states (two of them may accept or reject).

    Some rules are missing, some moves are S, and in one machine of three some symbols have longer names.
    """
    names = ["_", *(str(number) for number in range(symbols - 1))]
    if rng.random() < 1 / 3:
        names = ["_", *(LONG_NAMES + tuple(f"s{number}" for number in range(symbols)))[: symbols - 1]]
    state_names = [f"q{number}" for number in range(states)]
    endings = state_names[1:][-2:] if rng.random() < 0.8 else []
    accept, reject = tuple(endings[:1]), tuple(endings[1:] if rng.random() < 0.7 else [])
    density = rng.choice([0.6, 0.9, 1.0])

    def rule(state: str, read: tuple[str, ...]) -> Rule:
        write = tuple(rng.choice(names) for _ in range(tapes))
        move = tuple(rng.choice(["L", "R", "R", "S"]) for _ in range(tapes))
        return Rule(state, read, write, move, rng.choice(state_names))

    return TuringMachine(
        name=f"random {tapes}x{symbols}x{states}",
        states=tuple(state_names),
        alphabet=tuple(names[1:] if rng.random() < 0.7 else names[1 : max(2, symbols - 1)]),
        symbols=tuple(names),
        blank="_",
        rules=tuple(
            rule(state, read)
            for state in state_names
            if state not in accept + reject
            for read in product(names, repeat=tapes)
            if rng.random() < density
        ),
        start=state_names[0],
        accept=accept,
        reject=reject,
        tape=tape,
        tapes=tapes,
    )


def random_word(rng: random.Random, machine: TuringMachine, length: int) -> tuple[str, ...]:
    """An input of so many symbols."""
    return tuple(rng.choices(machine.alphabet, k=length))
