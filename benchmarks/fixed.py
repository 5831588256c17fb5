"""Fixed point against the other arithmetics: one pass of a formula's transformer, hard and soft.

Run with ``python benchmarks/fixed.py``. Measured in one run on one core; compare ratios.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import time

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.engines.dense.engine import DenseEngine
from softmachine.languages.temporal import Specification

FORMULA = "#<[Q_a] >= 2*#>[Q_b]"
LENGTH = 200
NUMBERS = (
    "float64",
    "fixed:8",
    "fixed:15",
    "fixed:16",
    "fixed:24",
    "fixed:31",
    "fixed:8:24",
    "fixed:32",
    "exact",
    "ball",
)
"""F_15 has products of one word, F_16 of two, F_32 is Python's integers."""


def seconds(engine: DenseEngine, tokens: tuple[str, ...]) -> float:
    """Return the seconds of a pass, the faster of two."""
    times = []
    for _ in range(2):
        began = time.perf_counter()
        engine.residual_stream([tokens], len(tokens) - 1)
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    table = Table(title=f"{FORMULA} on a word of length {LENGTH}: seconds per pass")
    for heading in ("arithmetic", "hard", "soft"):
        table.add_column(heading, justify="left" if heading == "arithmetic" else "right")
    source = sm.load(FORMULA)
    assert isinstance(source, Specification)
    tokens = ("<s>", *("ab" * (LENGTH // 2)))
    for numbers in NUMBERS:
        row = []
        for attention in ("hard", "soft"):
            model = sm.compile(source, attention=attention)
            possible = numbers != "exact" or attention == "hard"
            row.append(f"{seconds(DenseEngine(model.weights, numbers), tokens):.3f}" if possible else "-")
        table.add_row(numbers, *row)
    Console().print(table)


if __name__ == "__main__":
    main()
