"""Time of lift against that of compile, for every entry of the zoo.

Run with ``python benchmarks/lifting.py [ENTRY …]``. Seconds are those of the processor, on one core: of all theorems
and kinds of attention of an entry together, at the smallest length that is recorded. Lift takes at most twice the time
of compile, which is measured without the signals.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import gc
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.compiler import compile_program
from softmachine.ir import lift
from softmachine.languages import zoo
from softmachine.languages.source import Source
from softmachine.theorems import applicable_theorems
from softmachine.theorems.theorem import Theorem

LENGTH = 10
OTHER_LENGTHS = {
    **dict.fromkeys(("circuit-evaluator", "circuit-evaluator-threshold"), 1024),
    **dict.fromkeys(("uniform-circuits", "uniform-circuits-threshold", "nl-configuration-graph"), 1),
    **dict.fromkeys(("nl-configuration-graph-unpruned",), 1),
    "turing-configuration-graph": 2,
}
"""Lengths that weights are made for, if they depend on one."""
LIMIT = 2
"""The largest ratio that is allowed."""
REPEATS = 3
Result = TypeVar("Result")


def measure(work: Callable[[], Result]) -> tuple[float, Result]:
    """The least seconds of a few calls, without collecting garbage, and the last result."""
    best = float("inf")
    gc.disable()
    for _ in range(REPEATS):
        began = time.process_time()
        result = work()
        best = min(best, time.process_time() - began)
    gc.enable()
    return best, result


def times(source: Source, theorem: Theorem, attention: str) -> tuple[float, float] | None:
    """The seconds of compile and of lift; None if the theorem refuses the source."""
    length = OTHER_LENGTHS.get(theorem.name, LENGTH) if theorem.length else None
    try:
        program = theorem.signals(theorem.build_codec(source, length), attention)
    except sm.SoftmachineError:
        return None
    compiling, weights = measure(lambda: compile_program(program))
    lifting, _ = measure(lambda: lift(weights, position_count=program.position_count))
    return compiling, lifting


def main(names: list[str]) -> None:
    table = Table(title=f"lift against compile, {REPEATS} repetitions")
    for heading in ("entry", "models", "compile s", "lift s", "ratio", "largest ratio", "of"):
        table.add_column(heading, justify="left" if heading in ("entry", "of") else "right")
    over, total = 0, [0.0, 0.0]
    for name in names or zoo.names():
        source = sm.load(name)
        assert isinstance(source, Source)
        cases = [(theorem, attention) for theorem in applicable_theorems(source) for attention in theorem.attentions]
        found = {f"{t.name}, {a}": seconds for t, a in cases if (seconds := times(source, t, a)) is not None}
        if not found:
            continue
        compiling, lifting = (sum(column) for column in zip(*found.values(), strict=True))
        worst = max(found, key=lambda case: found[case][1] / found[case][0])
        total = [total[0] + compiling, total[1] + lifting]
        over += lifting > LIMIT * compiling
        largest = found[worst][1] / found[worst][0]
        row = (f"{compiling:.3f}", f"{lifting:.3f}", f"{lifting / compiling:.2f}", f"{largest:.2f}")
        table.add_row(name, str(len(found)), *row, worst)
    console = Console(width=130)
    console.print(table)
    console.print(f"all: {total[1] / total[0]:.2f}; {over} entries above {LIMIT}")


if __name__ == "__main__":
    main(sys.argv[1:])
