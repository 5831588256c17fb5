"""How fast every Turing machine of the zoo decodes, on an input that makes it run for long.

Run with ``python benchmarks/machines.py [OTHER_SRC]``. Seconds are those of one core. Everything is measured in one
run, the decoder and the compiled interpreter in turn; the tokens are compared. OTHER_SRC is the ``src`` folder of
another checkout: then each machine is measured there as well, in turn, and what counts is the ratio of both.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine import zoo
from softmachine.bench.result import ROUNDS, alternately, ratio
from softmachine.codec import DecoderCodec
from softmachine.engines.fast import FastEngine
from softmachine.languages.turing import TuringMachine, execute

LINEAR = 500_000
INPUTS = {
    "increment": "1" * LINEAR,
    "decrement": "1" + "0" * LINEAR,
    "binary-addition": "1" * 700 + "+" + "1" * 700,
    "binary-multiplication": "1" * 60 + "*" + "1" * 60,
    "divisible-by-three": "10" * LINEAR,
    "collatz-step": "1" * LINEAR,
    "collatz": "1" * 250,
    "binary-to-unary": "1" * 11,
    "unary-to-binary": "1" * 40_000,
    "power-of-two": "1" * 2**15,
    "prime": "1" * 211,
    "unary-multiplication": "1" * 30 + "*" + "1" * 500,
    "unary-subtraction": "1" * 2000 + "-" + "1" * 1000,
    "palindrome": "ab" * 700 + "ba" * 700,
    "equality": "01" * 500 + "#" + "01" * 500,
    "anbncn": "a" * 1000 + "b" * 1000 + "c" * 1000,
    "balanced-parentheses": "(" * 1000 + ")" * 1000,
    "dyck-2": "([" * 500 + "])" * 500,
    "parity": "10" * LINEAR,
    "bit-inversion": "10" * LINEAR,
    "copy": "abb" * 400,
    "sort-bits": "10" * 1000,
    "two-tape-palindrome": "ab" * 100_000 + "ba" * 100_000,
    "two-tape-copy": "abb" * 100_000,
    "three-tape-addition": "10" * 200_000 + "+" + "11" * 200_000,
    "busy-beaver-4": "1" * 150_001,
    "busy-beaver-2x3": "12222" * 200,
    "universal": ";1Rss,1R;1Lss,0Rsss;1Lsss,1Lsss#" + "01" * 10,
    "collatz-tag-system": "a" * 27,
    "rule-110": "1",
}
"""Where the empty input is not long enough."""
STEPS, FIRST, BEGINNING = 1_000_000, 5_000, 100_000
AT_ONCE = ("busy-beaver-2", "busy-beaver-3")
"""These halt after at most 6 and 21 steps, on every input: there is nothing to measure."""


def seconds(work: Callable[[], object]) -> float:
    """How long something takes on one core."""
    began = time.process_time()
    work()
    return time.process_time() - began


def interpreted(machine: TuringMachine, word: str) -> float:
    """Steps a second of the compiled loop after its beginning, in which it reads the input and gets going."""
    done = execute(machine, word, max_steps=STEPS).steps
    short, long = alternately(*(partial(execute, machine, word, max_steps=most) for most in (BEGINNING, STEPS)))
    return (done - BEGINNING) / max(long - short, 1e-9)


def measured(name: str) -> dict[str, float]:
    """What one machine takes, at best of some rounds.

    Raises:
        AssertionError: If a token is not the interpreter's.
    """
    machine, word = sm.load(name), INPUTS.get(name, "")
    assert isinstance(machine, TuringMachine)
    model = sm.compile(machine)
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    engine, prompt, most = FastEngine(model.weights), codec.prompt(word).tokens, codec.token_limit(STEPS)
    ready = seconds(lambda: engine.start(prompt[:1], codec.stops).go(1))
    found = {"symbols": len(machine.symbols), "tapes": machine.tapes, "input": len(word), "ready": ready}
    best = {"reading": float("inf"), "first": float("inf"), "others": float("inf")}
    for _ in range(ROUNDS):
        run = engine.start(prompt, codec.stops)
        ends = (len(prompt), len(prompt) + FIRST, len(prompt) + most)
        for part, end in zip(("reading", "first", "others"), ends, strict=True):
            best[part] = min(best[part], seconds(lambda run=run, end=end: run.go(end)))  # type: ignore[misc]
    said = list(run.said_since(most))
    assert said == list(codec.expected(word, STEPS)), f"{name} does not say what the interpreter says"
    found |= {"tokens": len(said), "interpreter": interpreted(machine, word)}
    found |= {"reading": len(prompt) / best["reading"], "first": FIRST / best["first"]}
    return found | {"others": (len(said) - FIRST) / best["others"]}


def elsewhere(source: Path, name: str) -> dict[str, float]:
    """The same with the code of a checkout, in a process of its own."""
    command = [sys.executable, __file__, "--only", name]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, float] = json.loads(printed)
    return found


def main(other: Path | None) -> None:
    """Print a table."""
    headings = ("machine", "symbols", "tapes", "input", "tokens", "read/s", "first 5,000/s", "tokens/s", "× interpreter")
    table = Table(title="Turing machines of the zoo, one core", show_lines=False)
    for heading in (*headings, "of the other")[: None if other else -1]:
        table.add_column(heading, justify="right")
    for entry in zoo.entries():
        if not entry.file.startswith("turing/") or entry.name in AT_ONCE:
            continue
        found = elsewhere(Path(sm.__file__).parents[1], entry.name) if other else measured(entry.name)
        row = [entry.name, *(f"{found[part]:,.0f}" for part in ("symbols", "tapes", "input", "tokens"))]
        row += [f"{found[part] / 1e6:.1f} M" for part in ("reading", "first", "others")]
        row += [ratio(found["others"] / found["interpreter"])]
        if other:
            there = elsewhere(other, entry.name)
            row += [f"{found['others'] / there['others']:.2f}"]
        table.add_row(*row)
    Console(width=140).print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--only"]:
        print(json.dumps(measured(sys.argv[2])))
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
