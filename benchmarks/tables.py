"""Ternary machines as tables: tokens per second of the fast engine, the dense engine, and the reference interpreter.

Run with ``python benchmarks/tables.py [OTHER_SRC]``, where OTHER_SRC is the ``src`` folder of another checkout. Each
machine has its own process (with another checkout two, alternately). All times are processor seconds; compare ratios.
"First" is the first run of a model in its process, in which memo tables are filled and arrays grow. Preparation
(machine code, memory for the context) precedes the first token and is not included, as in the speed that
``softmachine run`` prints. "Again" are further runs in the same memory; for summaries, "first" is the first tenth of
the tokens, and "again" the rest, in segments that reuse the same memory. Only generated tokens are counted; the time
includes reading the input, except in "decoding", which is the first run after its input is read. Every token is
compared with the interpreter's.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense.decoding import decode
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast import FastEngine
from softmachine.engines.fast.segments import SegmentedPass
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec


@dataclass(frozen=True)
class Case:
    """A machine, its input, and the context of its model."""

    name: str
    word: str = ""
    length: int = 4096
    theorem: str = "turing-ternary"


UNIVERSAL = ";1Rss,1R;1Lss,0Rsss;1Lsss,1Lsss#"
CASES = (
    Case("binary-counter", length=1024),
    Case("binary-counter"),
    Case("busy-beaver-4", length=256),
    Case("busy-beaver-5"),
    Case("palindrome", "ab" * 16 + "ba" * 16),
    Case("parity", "10" * 600),
    Case("universal", UNIVERSAL),
    Case("two-tape-copy", "abb" * 200),
    Case("three-tape-addition", "10" * 120 + "+" + "11" * 120),
    Case("binary-counter", theorem="turing-ternary-summary"),
    Case("busy-beaver-5", theorem="turing-ternary-summary"),
    Case("universal", UNIVERSAL, theorem="turing-ternary-summary"),
)
FEW, MANY, SECONDS = 100, 40_000, 1.0
COLUMNS = ("machine", "theorem", "context", "tokens", "first", "decoding", "again", "dense")
RATIOS = ("× dense, first", "again", "× int.")
COMPARED = ("× other, first", "again")


class Stopwatch:
    """Processor seconds, and the number of tokens generated."""

    def __init__(self) -> None:
        self.seconds, self.tokens = 0.0, 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run and measure."""
        began = time.process_time()
        yield
        self.seconds += time.process_time() - began

    @property
    def speed(self) -> float:
        """Tokens per second."""
        return self.tokens / self.seconds


def compare_with_interpreter(tokens: list[str], codec: DecoderCodec[Any], word: str, length: int) -> Stopwatch:
    """Return the speed of the interpreter, after comparing the tokens with it."""
    next(iter(codec.expected(word, length)))  # compiles
    watch = Stopwatch()
    with watch.running():
        expected = list(islice(codec.expected(word, length), len(tokens)))
    if tokens[: len(expected)] != expected or len(expected) < len(tokens) - 8:
        raise SystemExit("the model differs from the interpreter")
    watch.tokens = len(expected)
    return watch


def dense(model: Model, codec: DecoderCodec[Any], word: str) -> Stopwatch:
    """Return the speed of the dense engine."""
    watch = Stopwatch()
    with watch.running():
        watch.tokens = sum(
            1 for _ in islice(decode(DenseEngine(model.weights), codec.prompt(word), codec.is_stop_token), FEW)
        )
    return watch


def in_one_context(case: Case) -> dict[str, float]:
    """Return the tokens per second of one machine."""
    model = sm.compile(case.name, case.theorem, length=case.length)
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    run = FastEngine(model.weights).start(codec.prompt(case.word).tokens, codec.is_stop_token)
    run.reserve(case.length)
    run.prepare()
    first, decoding, again = Stopwatch(), Stopwatch(), Stopwatch()
    with first.running():
        run.run_until(run.prompt_length - 1)
        with decoding.running():
            run.run_until(case.length - 2)
    tokens = list(run.output(case.length))
    first.tokens = decoding.tokens = len(tokens)
    codes = np.array([run.tokens[k] for k in range(run.prompt_length)])
    while again.seconds < SECONDS:
        with again.running():
            run.restart(codes)
            run.run_until(case.length - 2)
        again.tokens += len(tokens)
        assert list(run.output(case.length)) == tokens
    slow = compare_with_interpreter(tokens, codec, case.word, case.length)
    return collect_speeds(first, decoding, again, dense(model, codec, case.word), slow, run.token_count)


def in_segments(case: Case) -> dict[str, float]:
    """Return the same with summaries."""
    model = sm.compile(case.name, case.theorem, length=case.length)
    codec = model.codec
    assert isinstance(codec, SegmentedCodec)
    prompt = codec.prompt(case.word).tokens
    run = SegmentedPass(FastEngine(model.weights), codec, prompt, max_steps=MANY, max_positions=case.length)
    run.prepare()
    first, again = Stopwatch(), Stopwatch()
    with first.running():
        run.advance(MANY // 10)
    first.tokens = len(run.output_tokens)
    with again.running():
        run.advance(MANY - first.tokens)
    again.tokens = len(run.output_tokens) - first.tokens
    tokens = list(run.output_tokens)
    slow = compare_with_interpreter(tokens, codec, case.word, len(tokens))
    return collect_speeds(first, first, again, dense(model, codec, case.word), slow, max(run.segments))


def collect_speeds(
    first: Stopwatch, decoding: Stopwatch, again: Stopwatch, dense: Stopwatch, slow: Stopwatch, context: int
) -> dict[str, float]:
    """Return all speeds, the number of tokens, and the length of the context."""
    speeds = {"first": first.speed, "decoding": decoding.speed, "again": again.speed, "dense": dense.speed}
    return speeds | {"interpreter": slow.speed, "tokens": slow.tokens, "context": context}


def elsewhere(source: Path, number: int) -> dict[str, float]:
    """Measure a case in its own process, with the softmachine of a checkout."""
    command = [sys.executable, __file__, "--only", str(number)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, float] = json.loads(printed)
    return found


def row(case: Case, found: dict[str, float], other: dict[str, float] | None) -> list[str]:
    """Return the row of a case."""
    cells = [case.name, case.theorem, f"{found['context']:,.0f} of {case.length:,}"]
    cells += [f"{found[part]:,.0f}" for part in ("tokens", "first", "decoding", "again", "dense")]
    cells += [f"{found[part] / found['dense']:,.0f}" for part in ("first", "again")]
    cells += [f"{found['again'] / found['interpreter']:.2f}"]
    return cells + [f"{found[part] / other[part]:.2f}" for part in ("first", "again") if other]


def main(other: Path | None = None) -> None:
    here = Path(sm.__file__).parents[1]
    table = Table(
        *COLUMNS, *RATIOS, *(COMPARED if other else ()), title="ternary machines: tokens per second of one core"
    )
    for number, case in enumerate(CASES):
        found = elsewhere(here, number)
        table.add_row(*row(case, found, elsewhere(other, number) if other else None))
    Console(width=170).print(table)


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["--only"]:
        chosen = CASES[int(given[1])]
        print(json.dumps((in_one_context if chosen.theorem == "turing-ternary" else in_segments)(chosen)))
    else:
        main(Path(given[0]) if given else None)
