"""Random nondeterministic logspace machines."""

from __future__ import annotations

from softmachine.languages.logspace import LogspaceMachine, Rule
from softmachine.testing.randomness import Seed, generator

MOVES = {"<": "SR", ">": "LS"}
"""The moves at the two ends of a tape; elsewhere a head moves in both directions."""


def random_logspace_machine(rng: Seed) -> LogspaceMachine:
    """Draw a machine over a and b with one or two states, one work cell and up to two choices in a configuration."""
    rng = generator(rng)
    states = ["p", "q"][: rng.randint(1, 2)]
    rules = []
    for state in states:
        for reads in ("<", "a", "b", ">"):
            for work in ("<", "1", "_", ">"):
                for _ in range(rng.choice([0, 0, 1, 1, 2])):
                    move = rng.choice(MOVES.get(reads, "LSR"))
                    work_move = rng.choice(MOVES.get(work, "LSR"))
                    written = work if work in "<>" else rng.choice("1_")
                    after = rng.choice([*states, *states, "yes"])
                    rules.append(Rule(state, reads, work, after, written, move, work_move))
    return LogspaceMachine(
        name="guessing",
        alphabet=("a", "b"),
        work_symbols=("1",),
        log_factor=0,
        extra_cells=1,
        start="p",
        accept=("yes",),
        rules=tuple(rules),
    )
