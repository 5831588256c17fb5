"""Memory and speed of long runs by the number of steps, for runs of many steps and for long tapes.

Run with ``python benchmarks/long_runs.py [STEPS]``, by default up to 10^8 steps; 1000000000 takes several minutes.
Every run has its own process. Seconds are those of one core. Compare ratios: memory per token, and the time per token
relative to the shortest run.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import json
import subprocess
import sys

from rich.console import Console
from rich.table import Table

MACHINES = {"binary counter": "binary-counter", "bouncer": "1RB1LA_1LA1RB", "to the right": "1RA1RA"}
"""The tape of the last one grows by a cell per step, that of the first one by a few cells in total."""
LEAST = 10**6

ONE_RUN = """
import json, sys, time
import softmachine as sm
from softmachine.engines.run import RunSession

def peak():
    # Not ru_maxrss: that includes the process that started this one.
    lines = (line.split() for line in open("/proc/self/status"))
    return next(int(line[1]) for line in lines if line[0] == "VmHWM:") / 1e3

model, steps = sm.compile(sys.argv[1]), int(sys.argv[2])
RunSession(model, "", engine="fast", max_steps=1).result()
for _ in (short := RunSession(model, "", engine="fast", max_steps=100_000)).chunks():
    pass
short.result()  # everything is compiled
start, began = peak(), time.process_time()
for _ in (run := RunSession(model, "", engine="fast", max_steps=steps)).chunks():
    pass
decoded, middle = peak(), time.process_time()
found = run.result()  # which compares every token with the interpreter's
print(json.dumps({
    "tokens": len(found.tokens), "cells": len(found.output), "decoding": middle - began,
    "reading": time.process_time() - middle, "start": start, "decoded": decoded, "peak": peak(),
}))
"""


def main(most: int) -> None:
    """Print a table."""
    table = Table(title="long runs, one process each", show_lines=False)
    for column in (
        "machine",
        "tokens",
        "cells",
        "ns a token",
        "× the shortest",
        "ns to read",
        "peak",
        "of that the run",
    ):
        table.add_column(column, justify="right")
    table.add_column("bytes a token", justify="right")
    for name, source in MACHINES.items():
        first, steps = 0.0, LEAST
        while steps <= most:
            command = [sys.executable, "-c", ONE_RUN, source, str(steps)]
            found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
            tokens, pace = found["tokens"], found["decoding"] / found["tokens"] * 1e9
            first, own = first or pace, found["peak"] - found["start"]
            cells = (name, f"{tokens:,}", f"{found['cells']:,}", f"{pace:.1f}", f"{pace / first:.2f}")
            memory = (f"{found['peak']:,.0f} MB", f"{own:,.0f} MB", f"{own * 1e6 / tokens:.3f}")
            table.add_row(*cells, f"{found['reading'] / tokens * 1e9:.1f}", *memory)
            steps *= 10
    Console(width=140).print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**8)
