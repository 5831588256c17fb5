"""Random Turing machines: with several tapes, missing rules and unusual symbols; and finite automata."""

from __future__ import annotations

import random
from itertools import product

from softmachine.languages.turing import Rule, TapeConvention, TuringMachine
from softmachine.testing.randomness import Seed, generator

MOVES = {"L": -1, "S": 0, "R": 1}
"""Moves, and the number of cells that the head moves by."""
LONG_NAMES = ("x", "one", "#", "é", "a'", "null", "0x1F", "□□")
"""Names of symbols that need quotes or escapes in some format."""


def random_turing_machine(
    rng: Seed, *, tapes: int = 1, symbols: int = 3, states: int = 4, tape: TapeConvention = TapeConvention.TWO_WAY
) -> TuringMachine:
    """Draw a machine; some rules may be missing, and one machine in three has symbols with longer names.

    Args:
        rng: The random generator, or a seed.
        tapes: The number of tapes.
        symbols: The number of symbols, including the blank.
        states: The number of states; up to two of them accept or reject.
        tape: The convention for a head that moves left of cell 0.
    """
    rng = generator(rng)
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


def grown_machine(rng: Seed, *, tapes: int, symbols: int, tape: TapeConvention, rules: int) -> TuringMachine:
    """Draw a machine with many symbols or tapes and few rules whose run on the empty input is long.

    A complete table would have states · symbols^tapes rules, almost all of them unused. Here rules are added where a
    run needs them. Of twelve such machines, the one with the most rules is returned: the others soon repeat themselves.

    Args:
        rng: The random generator, or a seed.
        tapes: The number of tapes.
        symbols: The number of symbols, including the blank.
        tape: The convention for a head that moves left of cell 0.
        rules: The maximum number of rules.
    """
    rng = generator(rng)
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
    rng: random.Random, names: tuple[str, ...], states: tuple[str, ...], tapes: int, tape: TapeConvention, most: int
) -> list[Rule]:
    """Rules for the run on the empty input: where the run needs one, a random rule is added, up to ``most``."""
    grown: dict[tuple[str, tuple[str, ...]], Rule] = {}
    cells: list[dict[int, str]] = [{} for _ in range(tapes)]
    heads, state = [0] * tapes, states[0]
    for _ in range(10 * most):
        read = tuple(cell.get(head, "_") for cell, head in zip(cells, heads, strict=True))
        if (state, read) not in grown:
            if len(grown) == most:
                break
            write, move = (tuple(rng.choices(some, k=tapes)) for some in (names, "LLRRS"))
            grown[state, read] = Rule(state, read, write, move, rng.choice(states))
        rule = grown[state, read]
        for cell, head, symbol in zip(cells, heads, rule.write, strict=True):
            cell[head] = symbol
        heads = [head + MOVES[move] for head, move in zip(heads, rule.move, strict=True)]
        if tape is TapeConvention.STAY:
            heads = [max(head, 0) for head in heads]
        elif tape is not TapeConvention.TWO_WAY and min(heads) < 0:
            break
        state = rule.next
    return list(grown.values())


def random_automaton(rng: Seed) -> TuringMachine:
    """Draw a finite automaton: a machine that moves right over its input and decides at the first blank or earlier."""
    rng = generator(rng)
    running = ["p", "q", "r"][: rng.randint(1, 3)]
    letters = ("a", "b", "c")[: rng.randint(1, 3)]
    rules = [
        Rule(state, (letter,), (letter,), ("R",), rng.choice([*running, *running, "yes", "no"]))
        for state in running
        for letter in letters
        if rng.random() < 0.9
    ]
    ends = [Rule(state, ("_",), ("_",), (rng.choice("LRS"),), rng.choice(["yes", "no"])) for state in running]
    return TuringMachine(
        name="automaton",
        states=(*running, "yes", "no"),
        alphabet=letters,
        symbols=(*letters, "_"),
        blank="_",
        rules=(*rules, *ends),
        start=rng.choice([*running, *running, "yes", "no"]),
        accept=("yes",),
        reject=("no",),
        tape=TapeConvention.TWO_WAY,
    )


def random_reader(rng: Seed) -> TuringMachine:
    """Draw a machine that moves both ways and never changes its tape; it may leave its input or run forever."""
    rng = generator(rng)
    running = ["p", "q"][: rng.randint(1, 2)]
    letters = ("a", "b")[: rng.randint(1, 2)]
    rules = [
        Rule(state, (symbol,), (symbol,), (rng.choice("LRS"),), rng.choice([*running, "yes", "no"]))
        for state in running
        for symbol in (*letters, "_")
        if rng.random() < 0.9
    ]
    return TuringMachine(
        name="reader",
        states=(*running, "yes", "no"),
        alphabet=letters,
        symbols=(*letters, "_"),
        blank="_",
        rules=tuple(rules),
        start="p",
        accept=("yes",),
        reject=("no",),
        tape=rng.choice(list(TapeConvention)),
    )
