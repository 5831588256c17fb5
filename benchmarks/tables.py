"""Ternary machines as tables: tokens a second of the fast engine, and how many times as many as the dense engine's.

Run with ``python benchmarks/tables.py``. Both engines are measured in turn in one run, in seconds of the processor;
what counts are the ratios. "Again" is a second run in the same memory, as segments have it; the first one lets arrays
grow. Every token is compared with the interpreter's.
"""

from __future__ import annotations

import time
from itertools import islice

import numpy as np
from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.codec import DecoderCodec
from softmachine.engines.dense.decode import decode
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast import FastEngine

MACHINES = (("binary-counter", "", 1024), ("binary-counter", "", 4096), ("busy-beaver-4", "", 256))
FEW = 100


def row(name: str, word: str, length: int) -> list[str]:
    """Tokens a second of one machine."""
    model = sm.compile(name, "ternary", length=length)
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    prompt, engine = codec.prompt(word), FastEngine(model.weights)
    run = engine.start(prompt.tokens, codec.stops)
    run.prepare()
    began = time.process_time()
    run.go(length - 2)
    first = run.read / (time.process_time() - began)
    said = list(run.said_since(length))
    if said[: length - 8] != list(islice(codec.expected(word, length), length - 8))[: len(said)]:
        raise SystemExit(f"{name} does not say what the interpreter says")
    codes = np.array([run.tokens[k] for k in range(len(prompt.tokens))])
    run.again(codes)
    began = time.process_time()
    run.go(length - 2)
    again = run.read / (time.process_time() - began)
    began = time.process_time()
    few = sum(1 for _ in islice(decode(DenseEngine(model.weights), prompt, codec.stops), FEW))
    dense = few / (time.process_time() - began)
    return [name, f"{length:,}", f"{first:,.0f}", f"{again:,.0f}", f"{dense:,.0f}", f"{again / dense:,.0f}"]


def main() -> None:
    table = Table(*("machine", "context", "tokens/s", "again", "dense", "× dense"))
    for name, word, length in MACHINES:
        table.add_row(*row(name, word, length))
    Console().print(table)


if __name__ == "__main__":
    main()
