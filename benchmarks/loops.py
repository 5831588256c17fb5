"""Circuits and graphs in loops: all scores of all iterations, against incremental attention with deduplicated rows.

Run with ``python benchmarks/loops.py [--large]``. Both methods are measured alternately in one run, in processor
seconds, and must give the answers of the evaluator; compare ratios. ``--large``
adds 32 vertices, and 1,092 and 5,220 gates, for which all scores of all iterations would take too long: they are
compared with iterations that keep only the chosen keys, a few queries at a time.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import random
import resource
import sys
import time
from collections.abc import Sequence
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense import acceleration
from softmachine.engines.dense.acceleration import caches, incremental_attention
from softmachine.languages.circuit import Circuit, evaluate, multiplier
from softmachine.languages.graph import Graph

NEVER = 1 << 60


def answers(model: Model, word: str, first: int) -> tuple[float, Sequence[str]]:
    """Return the seconds of a run and its output, with deduplication of rows from this number of positions on."""
    acceleration.MIN_DEDUPLICATED_POSITIONS = caches.MIN_REUSED_POSITIONS = first
    began = time.process_time()
    tokens = sm.run(model, word, yes=True).tokens
    return time.process_time() - began, tokens


def row(name: str, model: Model, word: str, *, both: bool) -> list[str]:
    """Return the row of a model: positions, the seconds of both methods, their ratio, and the peak memory."""
    quick, outputs = answers(model, word, 128)
    plain = "", ""
    if both:
        seconds, expected = answers(model, word, NEVER)
        if tuple(outputs) != tuple(expected):
            raise SystemExit(f"{name}: the answers differ")
        plain = f"{seconds:.2f}", f"{seconds / quick:.1f}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return [name, f"{len(outputs):,}", f"{quick:.2f}", *plain, f"{peak:,} MB"]


def multiplied(bits: int) -> tuple[Circuit, Model, str]:
    """Return a multiplier, its model, and a random input on which the model is checked."""
    source, chooser = multiplier(bits), random.Random(bits)
    model, word = sm.compile(source, "circuit-and-or-not"), "".join(chooser.choices("01", k=source.width))
    acceleration.MIN_DEDUPLICATED_POSITIONS = caches.MIN_REUSED_POSITIONS = 128
    if sm.run(model, word, yes=True).output != evaluate(source, word):
        raise SystemExit(f"the product of {word} is wrong")
    return source, model, word


def circuit(bits: int) -> list[str]:
    """Measure a multiplier on a random input."""
    source, model, word = multiplied(bits)
    return row(f"multiplier, {bits} bits, depth {source.depth}", model, word, both=True)


def gates() -> Table:
    """Compare caching of all near-best keys with caching of only the chosen ones, for two multipliers."""
    table = Table(*("gates", "positions", "seconds", "of the first", "only picks", "ratio", "peak so far"))
    first = None
    for bits in (14, 30):
        source, model, word = multiplied(bits)
        quick, outputs = answers(model, word, 128)
        with patch.multiple(incremental_attention, MAX_KEPT_PAIRS=0, MIN_QUERIES=48):
            plain, expected = answers(model, word, 128)
        if tuple(outputs) != tuple(expected):
            raise SystemExit(f"{source}: the answers differ")
        first = first or quick
        times = f"{quick:.2f}", f"{quick / first:.1f}", f"{plain:.2f}", f"{plain / quick:.1f}"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        table.add_row(f"{len(source.gates):,}", f"{len(outputs):,}", *times, f"{peak:,} MB")
    return table


def graph(vertices: int, *, both: bool) -> list[str]:
    """Measure a random graph with one edge from each vertex."""
    chooser, names = random.Random(vertices), tuple(f"v{k}" for k in range(vertices))
    edges = tuple((name, chooser.choice(names)) for name in names)
    model = sm.compile(Graph(name="random", vertices=names, edges=edges))
    return row(f"graph of {vertices} vertices", model, "v0 v1", both=both)


def main(*, large: bool) -> None:
    table = Table(*("model", "positions", "seconds", "every score", "ratio", "peak so far"))
    sm.run(sm.compile("full-adder"), "101")  # what is imported only once
    for bits in (4, 8, 11):
        table.add_row(*circuit(bits))
    for vertices in (8, 16):
        table.add_row(*graph(vertices, both=True))
    if large:
        table.add_row(*graph(32, both=False))
    console = Console(width=110)
    console.print(table)
    if large:
        console.print(gates())


if __name__ == "__main__":
    main(large="--large" in sys.argv[1:])
