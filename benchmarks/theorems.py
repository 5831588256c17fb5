"""Cost of the same runs of a Turing machine by several theorems: depth against precision, measured.

Run with ``python benchmarks/theorems.py [--plot FILE] [--steps N ...] [MACHINE]``. For growing numbers of steps:
the size of the weights, how many significant bits the numbers between sublayers need (measured: formats with fewer
bits stop), tokens per step, the speed of the dense engine, and the position where float32 and bfloat16 fail.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense.decoding import predict_teacher_forced
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Arithmetic
from softmachine.engines.numerics.base import Array, Floats
from softmachine.engines.numerics.low_precision import LowPrecisionFloat, StorageFormat
from softmachine.languages.source import Source
from softmachine.languages.turing import TuringMachine
from softmachine.support.errors import SoftmachineError
from softmachine.theorems.codec import DecoderCodec, Prompt, SegmentedCodec
from softmachine.theorems.turing.ternary.codec import TernaryCodec

NAMES = {
    "turing-average-hard": "average-hard",
    "turing-ternary": "ternary",
    "turing-ternary-summary": "ternary, summaries",
}
MOST_BITS = 53
TIMED = 200
"""Number of tokens for measuring the speed."""


class Significant(LowPrecisionFloat):
    """Numbers with this many significant bits and any exponent."""

    def __init__(self, bits: int) -> None:
        super().__init__("float16")
        self.name = f"{bits} bits"

        def nearest(numbers: Array) -> Floats:
            mantissa, exponent = np.frexp(np.asarray(numbers, dtype=np.float64))
            return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits))

        self.format = StorageFormat(nearest, float("inf"))


@dataclass(frozen=True)
class Row:
    """One theorem on one number of steps."""

    theorem: str
    steps: int
    context: int
    layers: int
    width: int
    parameters: int
    largest_weight: float
    bits: int | None
    tokens_per_step: float
    speed: float
    breaks: dict[str, int | None]


def contexts(codec: DecoderCodec[Source], steps: int) -> list[tuple[Prompt, tuple[str, ...]]]:
    """Return the contexts of a run of the interpreter on the empty input."""
    if isinstance(codec, SegmentedCodec):
        return list(codec.expected_segments("", steps))
    return [(codec.prompt(""), tuple(token for token in codec.expected("", steps) if token is not None))]


def model_for(machine: TuringMachine, theorem: str, steps: int) -> Model:
    """Compile the weights for this number of steps."""
    if theorem == "turing-average-hard":
        return sm.compile(machine)
    for bits in range(4, 25):
        codec = TernaryCodec(machine, bits, theorem == "turing-ternary-summary")
        longest = max(len(prompt.tokens) + len(tokens) for prompt, tokens in contexts(codec, steps))
        if longest <= 1 << bits:
            return sm.compile(machine, theorem, length=1 << bits)
    raise SystemExit(f"{steps} steps do not fit into 2^24 tokens")


def first_failure(model: Model, arithmetic: str | Arithmetic, steps: int) -> int | None:
    """Return the index of the first token that an arithmetic does not decide, or decides wrongly; None without one."""
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    try:
        engine = DenseEngine(model.weights, arithmetic)
    except SoftmachineError:
        return 0
    right = 0
    for prompt, tokens in contexts(codec, steps):
        if not tokens:
            continue
        try:
            for wanted, found in zip(tokens, predict_teacher_forced(engine, prompt, tokens[:-1], 32), strict=True):
                if wanted != found:
                    return right
                right += 1
        except SoftmachineError:
            return right
    return None


def bits_needed(model: Model, steps: int) -> int | None:
    """Return the least number of significant bits with which the run is decided, and right."""
    low, high = 0, MOST_BITS
    if first_failure(model, Significant(high), steps) is not None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if first_failure(model, Significant(middle), steps) is None else (middle, high)
    return high


def speed(model: Model, steps: int) -> float:
    """Tokens per second of the dense engine in float64."""
    from softmachine.engines.run import RunSession

    running = RunSession(model, "", max_steps=steps)
    began = time.process_time()
    count = sum(1 for _ in islice(iter(running), TIMED))
    return count / (time.process_time() - began)


def measure(machine: TuringMachine, theorem: str, steps: int) -> Row:
    """Measure one theorem for one number of steps."""
    model = model_for(machine, theorem, steps)
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    segments = contexts(codec, steps)
    return Row(
        theorem=theorem,
        steps=steps,
        context=max(len(prompt.tokens) + len(tokens) for prompt, tokens in segments),
        layers=len(model.weights.layers),
        width=model.weights.width,
        parameters=model.weights.parameter_count,
        largest_weight=float(model.weights.largest_weight),
        bits=bits_needed(model, steps),
        tokens_per_step=sum(len(tokens) for _, tokens in segments) / steps,
        speed=speed(model, steps),
        breaks={name: first_failure(model, name, steps) for name in ("float32", "bfloat16")},
    )


def table_of(rows: list[Row], machine: TuringMachine) -> Table:
    """Print the rows."""
    table = Table(title=f"{machine.name}: the same run by three theorems")
    headings = "theorem steps context layers width parameters |weight| bits tokens/step tokens/s float32 bfloat16"
    for heading in headings.split():
        table.add_column(heading, justify="left" if heading == "theorem" else "right")
    for row in rows:
        ends = ["holds" if row.breaks[name] is None else f"to {row.breaks[name]}" for name in ("float32", "bfloat16")]
        sizes = (f"{row.steps:,}", f"{row.context:,}", f"{row.layers}", f"{row.width}", f"{row.parameters:,}")
        bits = "more" if row.bits is None else str(row.bits)
        more = (f"{row.largest_weight:g}", bits, f"{row.tokens_per_step:.2f}", f"{row.speed:,.0f}", *ends)
        table.add_row(NAMES[row.theorem], *sizes, *more)
    return table


def plot(rows: list[Row], file: str) -> None:
    """Plot four quantities over the number of steps."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    pictures: list[tuple[str, Callable[[Row], float | None]]] = [
        ("significant bits needed", lambda row: row.bits),
        ("largest context (tokens)", lambda row: row.context),
        ("layers", lambda row: row.layers),
        ("tokens per step", lambda row: row.tokens_per_step),
    ]
    figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
    for axis, (title, value) in zip(axes.flat, pictures, strict=True):
        for theorem, name in NAMES.items():
            own = [row for row in rows if row.theorem == theorem]
            axis.plot([row.steps for row in own], [value(row) for row in own], marker="o", label=name)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("steps of the machine")
        axis.set_title(title)
        axis.set_ylim(bottom=0)
    axes[0][0].legend()
    figure.savefig(file, dpi=110)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("machine", nargs="?", default="binary-counter", help="a machine that runs on the empty input")
    parser.add_argument("--steps", type=int, nargs="+", default=[16, 64, 256, 1024])
    parser.add_argument("--plot", metavar="FILE")
    given = parser.parse_args()
    machine = sm.load(given.machine)
    if not isinstance(machine, TuringMachine):
        raise SystemExit(f"{given.machine} is not a Turing machine")
    rows = [measure(machine, theorem, steps) for theorem in NAMES for steps in given.steps]
    Console(width=140).print(table_of(rows, machine))
    if given.plot:
        plot(rows, given.plot)


if __name__ == "__main__":
    main()
