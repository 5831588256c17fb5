"""Time of compilation by counters, and of the fast engine's analysis, for machines of growing size.

Run with ``python benchmarks/compiling.py``. Everything is measured in one run, in seconds of one core. Compare ratios:
seconds per rule stay constant if the time is linear.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import random
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.engines.fast import FastEngine
from softmachine.languages.turing import Rule, TapeConvention, TuringMachine

STATES = (20, 40, 80, 160, 320)
SYMBOLS = ("_", "0", "1", "2")
COUNTERS = ("turing-counter", "turing-counter-relative-bias")
MACHINES = ("palindrome", "binary-multiplication", "universal")


def machine(states: int) -> TuringMachine:
    """A random machine with four symbols and all rules."""
    rng, names = random.Random(states), tuple(f"q{number}" for number in range(states))
    return TuringMachine(
        name=f"random {states}",
        states=names,
        alphabet=SYMBOLS[1:],
        symbols=SYMBOLS,
        blank="_",
        rules=tuple(
            Rule(state, (read,), (rng.choice(SYMBOLS),), (rng.choice("LR"),), rng.choice(names))
            for state in names
            for read in SYMBOLS
        ),
        start=names[0],
        accept=(),
        reject=(),
        tape=TapeConvention.TWO_WAY,
        tapes=1,
    )


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds of one core that a call takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def analysis() -> Table:
    """Seconds to compile by ``turing-average-hard``, and from the weights to the fast engine's code, before numba."""
    table = Table(title="chapter 8, one tape")
    for heading in ("rules", "compile", "analysis", "of 80 rules, a rule"):
        table.add_column(heading, justify="right")
    first = 0.0
    for states in STATES:
        source = machine(states)
        rules = len(source.rules)
        models = [sm.compile(source)]
        compiled = seconds(lambda source=source: sm.compile(source))  # type: ignore[misc]
        analysed = seconds(lambda models=models: FastEngine(models[0].weights))  # type: ignore[misc]
        first = first or analysed / rules
        table.add_row(f"{rules:,}", f"{compiled:.2f}", f"{analysed:.2f}", f"{analysed / rules / first:.2f}")
    return table


def counters() -> Table:
    """Seconds to compile machines of the zoo by counters."""
    table = Table(title="compiling by counters")
    for heading in ("machine", "rules", *COUNTERS):
        table.add_column(heading, justify="right")
    for name in MACHINES:
        source = sm.load(name)
        assert isinstance(source, TuringMachine)
        times = [seconds(lambda source=source, by=by: sm.compile(source, theorem=by)) for by in COUNTERS]  # type: ignore[misc]
        table.add_row(name, f"{len(source.rules):,}", *(f"{each:.2f}" for each in times))
    return table


if __name__ == "__main__":
    console = Console()
    console.print(analysis())
    console.print(counters())
