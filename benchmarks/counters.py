"""Steps per second of counter machines: the compiled loop against the interpreter in plain Python.

Run with ``python benchmarks/counters.py``. Seconds are those of the processor, on one core.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import sys
import time

from rich.console import Console
from rich.table import Table

from softmachine.languages import zoo
from softmachine.languages.counter import CounterMachine, build_counter_machine, execute_from, parse
from softmachine.languages.turing import TuringMachine

PLAIN_STEPS = 200_000
MOVING = """
input a
counters x
start forth
forth: a >= 1 -> forth: a -= 1, x += 1
forth: a = 0 -> back
back: x >= 1 -> back: x -= 1, a += 1
back: x = 0 -> forth
"""


def prime() -> CounterMachine:
    path = zoo._folder().joinpath("counter", "prime.cm")
    return parse(path.read_text(encoding="utf-8"), name="prime")


def busy_beaver() -> CounterMachine:
    entry = zoo.find_entry("busy-beaver-5")
    assert entry is not None
    machine = entry.load()
    assert isinstance(machine, TuringMachine)
    return build_counter_machine(machine)


def main(steps: int) -> None:
    table = Table(title=f"{steps:,} steps, {PLAIN_STEPS:,} in plain Python")
    for heading in ("machine", "transitions", "compiled steps/s", "plain steps/s", "ratio"):
        table.add_column(heading, justify="left" if heading == "machine" else "right")
    for machine, start in ((parse(MOVING, name="moving"), 1000), (prime(), 19_997), (busy_beaver(), 0)):
        counters = {machine.counters[0]: start}
        execute_from(machine, counters, max_steps=20_000)  # the loop is compiled, or read from the cache
        began = time.process_time()
        compiled = execute_from(machine, counters, max_steps=steps)
        fast = compiled.steps / (time.process_time() - began)
        began = time.process_time()
        plain = execute_from(machine, counters, max_steps=PLAIN_STEPS, trace=True)
        slow = plain.steps / (time.process_time() - began)
        ratio = f"{fast / slow:,.0f}"
        table.add_row(machine.name, str(len(machine.transitions)), f"{fast:,.0f}", f"{slow:,.0f}", ratio)
    Console().print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000)
