"""How fast the dense engine decodes, side by side with itself in other arithmetics and with the interpreter.

Run with ``python benchmarks/dense.py``. Everything is measured in one run on one core; what counts are the ratios.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
from itertools import islice
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine import zoo
from softmachine.arithmetic import floating, nearest
from softmachine.codec import DecoderCodec
from softmachine.engines.dense import decode as decoding
from softmachine.engines.dense.engine import DenseEngine
from softmachine.languages.turing import TuringMachine, execute
from softmachine.model import Model

STEPS = 2000
MACHINE = "busy-beaver-5"


def decode(model: Model, arithmetic: str, steps: int) -> float:
    """Tokens per second of a run of so many steps."""
    return sm.run(model, "", arithmetic=arithmetic, max_steps=steps, engine="dense").tokens_per_second


def interpret(machine: TuringMachine, steps: int) -> float:
    """Steps per second of the plain interpreter, the trace included."""
    began = time.perf_counter()
    execute(machine, "", max_steps=steps, trace=True)
    return steps / (time.perf_counter() - began)


def compile_all() -> tuple[float, str]:
    """The longest time that a machine of the zoo takes to compile, and which one."""
    times = []
    for entry in zoo.entries():
        machine = entry.load()
        began = time.perf_counter()
        sm.compile(machine)
        times.append((time.perf_counter() - began, entry.name))
    return max(times)


def soft_table() -> Table:
    """Softmax that is not proved hard: with bounds for all keys, and with bounds for those that are near."""
    model = sm.soften(MACHINE, length=300)[0]
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    table = Table(title=f"dense engine, {MACHINE} by softmax, float64, seconds of one core")
    for heading in ("steps", "all keys bounded", "near keys bounded", "ratio"):
        table.add_column(heading, justify="right")
    for steps in (STEPS // 4, STEPS):
        times = []
        for many in (1 << 60, nearest.MANY_KEYS):
            with patch.object(floating, "MANY_KEYS", many):
                engine, prompt = DenseEngine(model.weights), codec.prompt("")
                began = time.process_time()
                for _ in islice(decoding.decode(engine, prompt, codec.stops, ()), steps):
                    pass
                times.append(time.process_time() - began)
        before, now = times
        table.add_row(f"{steps:,}", f"{before:.2f}", f"{now:.2f}", f"{before / now:.1f}")
    return table


def main() -> None:
    machine = sm.load(MACHINE)
    assert isinstance(machine, TuringMachine)
    model = sm.compile(machine)
    plain = interpret(machine, STEPS)
    rows = [
        ("float64", STEPS, decode(model, "float64", STEPS)),
        ("float64", STEPS // 10, decode(model, "float64", STEPS // 10)),
        ("float32", STEPS // 10, decode(model, "float32", STEPS // 10)),
        ("exact", STEPS // 10, decode(model, "exact", STEPS // 10)),
    ]
    table = Table(title=f"dense engine, {MACHINE}, one core")
    for heading in ("arithmetic", "steps", "tokens/s", "of float64", "of the interpreter"):
        table.add_column(heading, justify="right")
    for arithmetic, steps, speed in rows:
        table.add_row(arithmetic, f"{steps:,}", f"{speed:,.0f}", f"{speed / rows[0][2]:.2f}", f"{speed / plain:.5f}")
    console = Console()
    console.print(table)
    console.print(soft_table())
    seconds, name = compile_all()
    console.print(f"slowest compile of {len(zoo.entries())} zoo machines: {name}, {seconds:.2f} s")


if __name__ == "__main__":
    main()
