"""Ternary machines as tables: tokens a second of the fast engine, the dense engine, and the reference interpreter.

Run with ``python benchmarks/tables.py``. All are measured in turn in one run, in seconds of the processor; what counts
are the ratios. "First" is a run of a model that was never run before: blocks learn their answers, and arrays grow.
"Again" are more runs in the same memory; for summaries, first is the first tenth of the tokens, and again the others,
in segments that go on in the same memory. Every token is compared with the interpreter's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.codec import DecoderCodec, SegmentedCodec
from softmachine.engines.dense.decode import decode
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast import FastEngine
from softmachine.engines.fast.segments import SegmentedPass
from softmachine.model import Model

MACHINES = (
    ("binary-counter", "", 1024),
    ("binary-counter", "", 4096),
    ("busy-beaver-4", "", 256),
    ("palindrome", "abbaabbaabba", 1024),
)
FEW, MANY, SECONDS = 100, 40_000, 1.0
COLUMNS = ("machine", "theorem", "context", "tokens", "first", "again", "dense", "interpreter", "× dense", "× int.")


class Stopwatch:
    """Seconds of the processor, and how many tokens were said in them."""

    def __init__(self) -> None:
        self.seconds, self.tokens = 0.0, 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let it run."""
        began = time.process_time()
        yield
        self.seconds += time.process_time() - began

    @property
    def speed(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds


def compared(said: list[str], codec: DecoderCodec[Any], word: str, length: int) -> Stopwatch:
    """How fast the interpreter is; what was said is what it says."""
    watch = Stopwatch()
    with watch.running():
        expected = list(islice(codec.expected(word, length), len(said)))
    if said[: len(expected)] != expected or len(expected) < len(said) - 8:
        raise SystemExit("the model does not say what the interpreter says")
    watch.tokens = len(expected)
    return watch


def dense(model: Model, codec: DecoderCodec[Any], word: str) -> Stopwatch:
    """How fast the dense engine is."""
    watch = Stopwatch()
    with watch.running():
        watch.tokens = sum(1 for _ in islice(decode(DenseEngine(model.weights), codec.prompt(word), codec.stops), FEW))
    return watch


def in_one_context(name: str, word: str, length: int) -> list[str]:
    """Tokens a second of one machine."""
    model = sm.compile(name, "ternary", length=length)
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    run = FastEngine(model.weights).start(codec.prompt(word).tokens, codec.stops)
    run.prepare()
    first, again = Stopwatch(), Stopwatch()
    with first.running():
        run.go(length - 2)
    first.tokens = run.read
    said = list(run.said_since(length))
    codes = np.array([run.tokens[k] for k in range(run.prompt)])
    while again.seconds < SECONDS:
        with again.running():
            run.again(codes)
            run.go(length - 2)
        again.tokens += run.read
        assert list(run.said_since(length)) == said
    slow = compared(said, codec, word, length)
    return [name, "ternary", f"{length:,}", f"{len(said):,}", *speeds(first, again, dense(model, codec, word), slow)]


def in_segments(name: str, word: str, length: int) -> list[str]:
    """The same with summaries."""
    model = sm.compile(name, "ternary-summary", length=length)
    codec = model.codec
    assert isinstance(codec, SegmentedCodec)
    run = SegmentedPass(FastEngine(model.weights), codec, codec.prompt(word).tokens, most_steps=MANY)
    run.prepare()
    first, again = Stopwatch(), Stopwatch()
    with first.running():
        run.advance(MANY // 10)
    first.tokens = len(run.said)
    with again.running():
        run.advance(MANY - first.tokens)
    again.tokens = len(run.said) - first.tokens
    said = list(run.said)
    slow = compared(said, codec, word, len(said))
    longest = f"{max(run.segments):,} of {length:,}"
    return [name, "summary", longest, f"{len(said):,}", *speeds(first, again, dense(model, codec, word), slow)]


def speeds(first: Stopwatch, again: Stopwatch, dense: Stopwatch, interpreter: Stopwatch) -> list[str]:
    """All speeds, and the ratios."""
    ratios = [f"{again.speed / dense.speed:,.0f}", f"{again.speed / interpreter.speed:,.2f}"]
    return [*(f"{watch.speed:,.0f}" for watch in (first, again, dense, interpreter)), *ratios]


def main() -> None:
    table = Table(*COLUMNS)
    for machine in MACHINES:
        table.add_row(*in_one_context(*machine))
    table.add_row(*in_segments("binary-counter", "", 4096))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
