"""Cost of verification: fast runs with and without ``--verify``, in one process on one core.

Run with ``python benchmarks/verify.py [STEPS]`` (by default 10^8; the goal is stated for 10^9). Compare
ratios.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import resource
import sys
import time

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.run import RunSession

MACHINES = {
    "busy beaver 5": ("busy-beaver-5", "turing-average-hard"),
    "binary counter": ("binary-counter", "turing-average-hard"),
    "bouncer": ("1RB1LA_1LA1RB", "turing-average-hard"),
    "busy beaver 5, summaries": ("busy-beaver-5", "turing-average-hard-summary"),
    "binary counter, summaries": ("binary-counter", "turing-average-hard-summary"),
}
WARM_UP = 200_000


def speed(model: Model, steps: int, *, verify: bool) -> float:
    """Return the tokens per processor second, from the first piece to the last; a verified run must agree."""
    running = RunSession(model, "", engine="fast", max_steps=steps, verify=verify)
    began = time.process_time()
    for _ in running.chunks():
        pass
    seconds = time.process_time() - began
    verifier = running.verifier
    assert verifier is None or (verifier.difference is None and verifier.compared == len(running.tokens))
    return len(running.tokens) / seconds


def main(steps: int) -> None:
    table = Table("run", "tokens/s", "with --verify", "ratio", title=f"{steps:,} steps")
    for name, (source, theorem) in MACHINES.items():
        model = sm.compile(source, theorem)
        for verify in (False, True):
            speed(model, WARM_UP, verify=verify)  # compiles
        plain, verified = (speed(model, steps, verify=verify) for verify in (False, True))
        table.add_row(name, f"{plain:,.0f}", f"{verified:,.0f}", f"{verified / plain:.2f}")
    console = Console()
    console.print(table)
    console.print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**8)
