"""Speed of the dense engine in several arithmetics, and of the interpreter.

Run with ``python benchmarks/dense.py``. Everything is measured in one run on one core; compare ratios.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import time
from itertools import islice
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense import decoding
from softmachine.engines.dense.decoding import decode_segments
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import float_softmax
from softmachine.engines.numerics.float import Float
from softmachine.languages import zoo
from softmachine.languages.turing import TuringMachine, execute
from softmachine.support.errors import ConstructionError
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec

STEPS = 2000
MACHINE = "busy-beaver-5"
LETTERS = 3
SOFT = (
    (MACHINE, "", STEPS // 4),
    (MACHINE, "", STEPS),
    (f"{MACHINE}, turing-average-hard-summary", "", STEPS // 4),
    ("binary-counter", "", STEPS // 2),
    ("prime-counter", "a" * 31, STEPS),
    ("power-of-two-crasp", "a" * 128, STEPS),
    ("copy-rasp, rasp-generate", "ab" * 60 + "|", STEPS),
)
"""Softmax models, with inputs and the maximum number of tokens."""


def decode(model: Model, arithmetic: str, steps: int) -> float:
    """Return the tokens per second of a run with this number of steps."""
    return sm.run(model, "", arithmetic=arithmetic, max_steps=steps, engine="dense").tokens_per_second


def interpret(machine: TuringMachine, steps: int) -> float:
    """Steps per second of the plain interpreter, the trace included."""
    began = time.perf_counter()
    execute(machine, "", max_steps=steps, trace=True)
    return steps / (time.perf_counter() - began)


def compile_all() -> tuple[float, str]:
    """Return the longest compile time of a zoo entry, and its name; some need a length."""
    times = []
    for entry in zoo.list_entries():
        machine = entry.load()
        began = time.process_time()
        try:
            sm.compile(machine)
        except ConstructionError:
            sm.compile(machine, length=LETTERS)
        times.append((time.process_time() - began, entry.name))
    return max(times)


def softened(name: str) -> Model:
    """Build a softmax model that the fast engine does not prove hard at the lengths run here."""
    source, _, theorem = name.partition(", ")
    if theorem == "rasp-generate":
        return sm.compile(source, theorem, attention="soft", length=300)
    return sm.soften(sm.compile(source, theorem or None), length=300)[0]


def soft_decoding(model: Model, word: str, steps: int) -> tuple[float, list[str]]:
    """Return the processor seconds of a run with this number of tokens, and the tokens."""
    codec, engine = model.codec, DenseEngine(model.weights)
    assert isinstance(codec, DecoderCodec)
    prompt = codec.prompt(word)
    began = time.process_time()
    if isinstance(codec, SegmentedCodec):
        marks = codec.is_stop_token, codec.begins_segment, codec.ends_segment
        tokens = [emitted.token for emitted in islice(decode_segments(engine, prompt, *marks), steps)]
    else:
        tokens = list(islice(decoding.decode(engine, prompt, codec.is_stop_token), steps))
    return time.process_time() - began, tokens


def soft_table() -> Table:
    """Compare softmax with bounds for all keys, token by token, with the implemented method."""
    table = Table(title="dense engine, softmax, float64, seconds of one core")
    for heading in ("model", "tokens", "one by one", "all keys bounded", "as it is", "ratio", "ratio"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for name, word, steps in SOFT:
        model = softened(name)
        soft_decoding(model, word, 50)  # fills caches
        now, tokens = soft_decoding(model, word, steps)
        with patch.object(float_softmax, "MIN_PRUNED_KEYS", 1 << 60):
            bounded, as_expected = soft_decoding(model, word, steps)
            with patch.object(Float, "is_draft_efficient", False):
                alone, one_by_one = soft_decoding(model, word, steps)
        if not tokens == as_expected == one_by_one:
            raise SystemExit(f"{name}: the runs differ")
        times = f"{alone:.2f}", f"{bounded:.2f}", f"{now:.2f}"
        table.add_row(name, f"{len(tokens):,}", *times, f"{alone / now:.1f}", f"{bounded / now:.1f}")
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
    console = Console(width=110)
    console.print(table)
    console.print(soft_table())
    seconds, name = compile_all()
    console.print(f"slowest compile of {len(zoo.list_entries())} entries of the zoo: {name}, {seconds:.2f} s")


if __name__ == "__main__":
    main()
