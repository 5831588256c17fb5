"""Speed of every Turing machine of the zoo on the fast engine, on an input with a long run.

Run with ``python benchmarks/machines.py [OTHER_SRC] [MACHINE…]``. Seconds are those of one core. Each machine is
measured in its own process, together with the compiled interpreter; the tokens are compared. OTHER_SRC is the ``src``
folder of another checkout, which is measured alternately; compare the ratio.

The first tokens of a run fill tables and are therefore reported separately: "5,000" is the speed of the first 5,000,
"others" that of the rest.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.engines.fast import FastEngine
from softmachine.languages import zoo
from softmachine.languages.turing import TuringMachine, execute
from softmachine.theorems.codec import DecoderCodec

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
    "shell-game": "sr" * LINEAR,
    "two-tape-palindrome": "ab" * 100_000 + "ba" * 100_000,
    "two-tape-copy": "abb" * 100_000,
    "three-tape-addition": "10" * 200_000 + "+" + "11" * 200_000,
    "busy-beaver-4": "1" * 150_001,
    "busy-beaver-2x3": "12222" * 200,
    "universal": ";1Rss,1R;1Lss,0Rsss;1Lsss,1Lsss#" + "01" * 10,
    "collatz-tag-system": "a" * 27,
    "rule-110": "1",
}
"""Inputs of machines whose run on the empty input is too short."""
STEPS, FIRST, BEGINNING, ROUNDS = 1_000_000, 5_000, 100_000, 3
AT_ONCE = ("busy-beaver-2", "busy-beaver-3")
"""Machines that halt after at most 6 and 21 steps on every input: too short to measure."""


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds of one core that a call takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def measured(name: str) -> dict[str, float]:
    """Return the tokens per second of one machine, the best of several rounds.

    Raises:
        AssertionError: If a token is not the interpreter's.
    """
    machine, word = sm.load(name), INPUTS.get(name, "")
    assert isinstance(machine, TuringMachine)
    model = sm.compile(machine)
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    engine, prompt, most = FastEngine(model.weights), codec.prompt(word).tokens, codec.max_tokens(STEPS)
    engine.start(prompt[:1], codec.is_stop_token).run_until(1)  # compiles
    steps = execute(machine, word, max_steps=STEPS).steps  # compiles
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        run = engine.start(prompt, codec.is_stop_token)
        work: dict[str, Callable[[], object]] = {
            "reading": lambda run=run: run.run_until(len(prompt)),  # type: ignore[misc]
            "first": lambda run=run: run.run_until(len(prompt) + FIRST),  # type: ignore[misc]
            "others": lambda run=run: run.run_until(len(prompt) + most),  # type: ignore[misc]
            "short": lambda: execute(machine, word, max_steps=BEGINNING),
            "long": lambda: execute(machine, word, max_steps=STEPS),
        }
        for part, action in work.items():
            best[part] = min(best.get(part, float("inf")), seconds(action))
    tokens = list(run.output(most))
    assert tokens == list(codec.expected(word, STEPS)), f"{name} differs from the interpreter"
    return {
        "symbols": len(machine.symbols),
        "tapes": machine.tapes,
        "input": len(word),
        "tokens": len(tokens),
        "reading": len(prompt) / best["reading"],
        "first": FIRST / best["first"],
        "others": (len(tokens) - FIRST) / best["others"],
        # Without the start-up of the interpreter, in which it reads the input.
        "interpreter": (steps - BEGINNING) / max(best["long"] - best["short"], 1e-9),
    }


def elsewhere(source: Path, name: str) -> dict[str, float]:
    """Return the same for another checkout, in its own process."""
    command = [sys.executable, __file__, "--only", name]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, float] = json.loads(printed)
    return found


def main(other: Path | None, names: list[str]) -> None:
    """Print a table."""
    console, here = Console(width=140), Path(sm.__file__).parents[1]
    table = Table(title="Turing machines of the zoo, one core: million tokens per second")
    headings = ["machine", "symbols", "tapes", "input", "tokens", "reading", "first 5,000", "others", "of interpreter"]
    for heading in [*headings, *(["of the other"] if other else [])]:
        table.add_column(heading, justify="right")
    for name in names or [entry.name for entry in zoo.list_entries() if entry.file.startswith("turing/")]:
        if name in AT_ONCE:
            continue
        found = elsewhere(here, name)
        row = [name, *(f"{found[part]:,.0f}" for part in ("symbols", "tapes", "input", "tokens"))]
        row += [f"{found[part] / 1e6:.1f}" for part in ("reading", "first", "others")]
        row += [f"{found['others'] / found['interpreter']:.2f}"]
        row += [f"{found['others'] / elsewhere(other, name)['others']:.2f}"] if other else []
        table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["--only"]:
        print(json.dumps(measured(given[1])))
    elif given and Path(given[0]).is_dir():
        main(Path(given[0]), given[1:])
    else:
        main(None, given)
