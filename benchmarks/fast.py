"""Speed of the fast engine: tokens per second by length, for three machines, hard and soft.

Run with ``python benchmarks/fast.py``. Everything is measured in one run, on one core, in seconds of that core. Compare
the ratios to the dense engine and to the interpreter.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import subprocess
import sys
import time

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.fast import FastEngine
from softmachine.languages.turing import TuringMachine, execute
from softmachine.theorems.codec import DecoderCodec

MACHINES = {
    "busy beaver 5": "busy-beaver-5",
    "binary counter": "binary-counter",
    "bouncer": "1RB1LA_1LA1RB",
}
LENGTHS = (10**4, 10**5, 10**6, 10**7)
DENSE_STEPS = 1_000
SHARPNESS = 64


def fast(engine: FastEngine, model: Model, steps: int) -> tuple[float, float]:
    """Tokens per second, and bytes per token besides the token itself."""
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    prompt = codec.prompt("").tokens
    engine.start(prompt, codec.is_stop_token).run_until(1)  # compiles
    run = engine.start(prompt, codec.is_stop_token)
    began = time.process_time()
    run.run_until(len(prompt) + steps)
    seconds = time.process_time() - began
    return run.positions_read / seconds, run.memory.size / run.positions_read


def interpreted(machine: TuringMachine, steps: int) -> float:
    """Steps per second of the compiled loop."""
    execute(machine, "", max_steps=100_000)
    began = time.process_time()
    done = execute(machine, "", max_steps=steps).steps
    return done / (time.process_time() - began)


MEMORY = """
import pathlib, sys, time
import softmachine as sm
theorem, steps = sys.argv[1], int(sys.argv[2])
model = sm.compile("busy-beaver-5", theorem)
began = time.process_time()
run = sm.run(model, "", engine="fast", max_steps=steps)
# Not ru_maxrss: that includes the process that started this one.
status = dict(line.split(":") for line in pathlib.Path("/proc/self/status").read_text().splitlines())
print(run.steps, len(run.tokens), max(run.segments, default=len(run.tokens)), time.process_time() - began,
      status["VmHWM"].split()[0])
"""


def memory(console: Console) -> None:
    """Peak memory of all of busy beaver 5 through the API, beyond that of a run of one step."""
    table = Table(title="all of busy beaver 5, one process each")
    for heading in ("theorem", "steps", "tokens", "longest context", "seconds", "peak", "of that the run"):
        table.add_column(heading, justify="right")
    for theorem in ("turing-average-hard", "turing-average-hard-summary"):
        found = {}
        for steps in (1, 10**8):
            command = [sys.executable, "-c", MEMORY, theorem, str(steps)]
            words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            found[steps] = [float(word) for word in words]
        done, tokens, longest, seconds, peak = found[10**8]
        table.add_row(
            theorem,
            f"{done:,.0f}",
            f"{tokens:,.0f}",
            f"{longest:,.0f}",
            f"{seconds:.1f}",
            f"{peak / 1024:.0f} MB",
            f"{(peak - found[1][-1]) / 1024:.0f} MB",
        )
    console.print(table)


def main() -> None:
    console = Console(width=110)
    table = Table(title="fast engine, one core")
    for heading in (
        "machine",
        "attention",
        "tokens",
        "tokens/s",
        "× dense",
        "of interpreter",
        "bytes/token",
        "ready in",
    ):
        table.add_column(heading, justify="right")
    for name, source in MACHINES.items():
        machine = sm.load(source)
        assert isinstance(machine, TuringMachine)
        hard = sm.compile(machine)
        soft = sm.soften(hard, length=1000, sharpness=SHARPNESS)[0]
        plain = interpreted(machine, LENGTHS[-1])
        for attention, model in (("hard", hard), ("soft", soft)):
            began = time.process_time()
            sm.run(model, "", engine="dense", max_steps=DENSE_STEPS)
            dense = DENSE_STEPS / (time.process_time() - began)
            began = time.process_time()
            engine = FastEngine(model.weights)
            fast(engine, model, 1)
            ready = time.process_time() - began
            for steps in LENGTHS:
                speed, bytes_each = fast(engine, model, steps)
                table.add_row(
                    name,
                    attention,
                    f"{steps:,}",
                    f"{speed:,.0f}",
                    f"{speed / dense:,.0f}",
                    f"1/{plain / speed:.1f}",
                    f"{1 + bytes_each:.2f}",
                    f"{ready:.2f} s",
                )
    console.print(table)
    console.print(f"dense: {DENSE_STEPS:,} tokens in float64; interpreter: the compiled loop, {LENGTHS[-1]:,} steps")
    memory(console)


if __name__ == "__main__":
    main()
