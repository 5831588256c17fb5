"""Random Turing machines for property tests, determined by the seed."""

from __future__ import annotations

import random
from itertools import product

from softmachine.languages.turing import Rule, Tape, TuringMachine

MOVES = {"L": -1, "S": 0, "R": 1}
LONG_NAMES = ("x", "one", "#", "é", "a'", "null", "0x1F", "□□")


def random_machine(
    rng: random.Random, *, tapes: int = 1, symbols: int = 3, states: int = 4, tape: Tape = Tape.TWO_WAY
) -> TuringMachine:
    """A machine with the given numbers of symbols (including the blank) and states (two of them may accept or reject).

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


def grown_machine(rng: random.Random, *, tapes: int, symbols: int, tape: Tape, rules: int) -> TuringMachine:
    """A machine with many symbols or tapes that does not stop at once, although it has few rules.

    A complete machine would have states · symbols^tapes rules, nearly all unused. Here rules are added along a run; of
    12 candidates the one with the most rules is returned, because most others soon loop.
    """
    names = ("_", *(f"s{number}" for number in range(symbols - 1)))
    states = tuple(f"q{number}" for number in range(rng.randint(2, 6)))
    grown = max((_grown(rng, names, states, tapes, tape, rules) for _ in range(12)), key=len)
    return TuringMachine(
        name=f"grown {tapes}x{symbols}x{len(states)}",
        states=states,
        alphabet=names[1:],
        symbols=names,
        blank="_",
        rules=tuple(grown),
        start=states[0],
        accept=(),
        reject=(),
        tape=tape,
        tapes=tapes,
    )


def _grown(
    rng: random.Random, names: tuple[str, ...], states: tuple[str, ...], tapes: int, tape: Tape, max_rules: int
) -> list[Rule]:
    """Rules for the run on the empty input: a random one is added whenever none applies, up to ``max_rules``."""
    grown: dict[tuple[str, tuple[str, ...]], Rule] = {}
    cells: list[dict[int, str]] = [{} for _ in range(tapes)]
    heads, state = [0] * tapes, states[0]
    for _ in range(10 * max_rules):
        read = tuple(cell.get(head, "_") for cell, head in zip(cells, heads, strict=True))
        if (state, read) not in grown:
            if len(grown) == max_rules:
                break
            write, move = (tuple(rng.choices(some, k=tapes)) for some in (names, "LLRRS"))
            grown[state, read] = Rule(state, read, write, move, rng.choice(states))
        rule = grown[state, read]
        for cell, head, symbol in zip(cells, heads, rule.write, strict=True):
            cell[head] = symbol
        heads = [head + MOVES[move] for head, move in zip(heads, rule.move, strict=True)]
        if tape is Tape.STAY:
            heads = [max(head, 0) for head in heads]
        elif tape is not Tape.TWO_WAY and min(heads) < 0:
            break
        state = rule.next
    return list(grown.values())


def random_word(rng: random.Random, machine: TuringMachine, length: int) -> tuple[str, ...]:
    """A random input of this length."""
    return tuple(rng.choices(machine.alphabet, k=length))
