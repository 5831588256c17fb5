"""A circuit of 160 gates and 36 inputs, in both layouts, with hard and soft attention, in floats and in fixed point.

Run with ``python benchmarks/circuits.py [INPUTS]``. Every output is compared with the evaluator of circuits. The goal
is less than 60 seconds per input.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import random
import sys
import time

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.numerics.fixed_point_array import min_bits
from softmachine.languages.circuit import Circuit, evaluate


def main(inputs: int) -> None:
    source = sm.load("interrupt-controller")
    assert isinstance(source, Circuit)
    choose = random.Random(0)
    words = ["".join(choose.choice("01") for _ in range(source.width)) for _ in range(inputs)]
    table = Table(title=f"{source}: {inputs} random inputs")
    for heading in ("theorem", "attention", "arithmetic", "positions", "width", "right", "seconds an input"):
        table.add_column(heading, justify="right")
    for theorem in ("circuit-and-or-not", "circuit-threshold"):
        for attention in ("hard", "soft"):
            model = sm.compile(source, theorem, attention=attention)
            for arithmetic in ("float64", f"fixed:{smallest_bits(model)}"):
                began = time.perf_counter()
                runs = [sm.run(model, word, arithmetic=arithmetic) for word in words]
                seconds = (time.perf_counter() - began) / inputs
                right = sum(run.output == evaluate(source, word) for run, word in zip(runs, words, strict=True))
                numbers = (str(len(runs[0].tokens)), str(model.weights.width), f"{right} of {inputs}", f"{seconds:.1f}")
                table.add_row(theorem, attention, arithmetic, *numbers)
    Console(width=120).print(table)


def smallest_bits(model: Model) -> int:
    """The smallest b such that all weights are in F_b."""
    return max(min_bits(value) or 0 for matrix in model.weights.matrices for _, _, value in matrix.entries())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
