"""RASP programs of the zoo: compile time, size of the models, and the largest length at which they are right.

Run with ``python benchmarks/rasp.py [LENGTH] [NAME …]``. Random words of lengths 1, 2, 4, … up to LENGTH (by default
128; loops up to 16) are compared with the reference interpreter. The goal is a compile time below 0.2 seconds.

If the package ``tracr`` is installed, its library programs for length, histogram and reverse are measured on the same
words; its models are compiled for a length, and size and compile time are for the length tried.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import random
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.languages import rasp, zoo

LOOPS = ("addition-loop-rasp", "parity-loop-rasp", "sort-loop-rasp", "subleq-rasp")
OTHERS = {"length-rasp": "make_length", "histogram-rasp": "make_hist", "reverse-rasp": "make_reverse"}
"""Name in the zoo → name in Tracr's library."""
WORDS = 3
"""Random words of each length."""
PATIENCE = 60.0
"""Seconds after which Tracr is not tried on longer words."""


def main(longest: int, names: Sequence[str]) -> None:
    table = Table(title="RASP: hard attention, float64; right on random words up to a length")
    for heading in ("program", "compile", "layers", "heads", "width", "parameters", "right up to"):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    for name in names:
        source = sm.load(name)
        assert isinstance(source, rasp.RaspProgram)
        sm.compile(source)  # what is imported on the way is not counted
        began = time.perf_counter()
        model = sm.compile(source)
        seconds = time.perf_counter() - began
        weights = model.weights
        right = largest(min(longest, 16) if name in LOOPS else longest, lambda n, m=model: ours(m, n))  # type: ignore[misc]
        sizes = (len(weights.layers), len(weights.heads), weights.width, f"{weights.parameter_count:,}")
        table.add_row(name, f"{1000 * seconds:.0f} ms", *map(str, sizes), right)
        if name in OTHERS and find_spec("tracr") is not None:
            table.add_row(f"  tracr: {OTHERS[name]}", *theirs(source, OTHERS[name], longest))
    Console(width=120).print(table)


def largest(longest: int, is_right: Callable[[int], bool]) -> str:
    """Return the largest of the lengths 1, 2, 4, … up to which all words are right."""
    length, right = 1, 0
    while length <= longest and is_right(length):
        right, length = length, 2 * length
    return f"{right}" if length <= longest else f"{right} (the largest tried)"


def ours(model: sm.Model, length: int) -> bool:
    """Return whether our model is right on random words of a length."""
    return sm.check(model, sample=WORDS, length=length).holds


def theirs(source: rasp.RaspProgram, maker: str, longest: int) -> tuple[str, ...]:
    """Return the same for Tracr, whose models are compiled for a length: the figures of the largest right one."""
    compiling, lib = import_module("tracr.compiler.compiling"), import_module("tracr.compiler.lib")
    dialect = import_module("tracr.rasp.rasp")
    facts: tuple[str, ...] = ("–",) * 5
    spent = 0.0

    def is_right(length: int) -> bool:
        nonlocal facts, spent
        if spent > PATIENCE:
            return False
        make = getattr(lib, maker)
        program = make(dialect.tokens) if maker == "make_reverse" else make()
        began = time.perf_counter()
        model = compiling.compile_rasp_to_model(
            program, vocab=set(source.alphabet), max_seq_len=length, compiler_bos="BOS"
        )
        spent = time.perf_counter() - began
        holds = all(tracr_output(model, word) == expected(source, word) for word in random_words(source, length))
        if holds:
            parameters = sum(array.size for part in model.params.values() for array in part.values())
            facts = (f"{1000 * spent:.0f} ms", str(model.model_config.num_layers), "–", "–", f"{parameters:,}")
        return holds

    right = largest(longest, is_right)
    return (*facts, right)


def tracr_output(model: Any, word: Sequence[str]) -> list[str]:
    """Return the output of a Tracr model at the letters, as text."""
    return [str(value) for value in model.apply(["BOS", *word]).decoded[1:]]


def expected(source: rasp.RaspProgram, word: Sequence[str]) -> list[str]:
    return [str(value) for value in rasp.run(source, word)]


def random_words(source: rasp.RaspProgram, length: int) -> list[tuple[str, ...]]:
    choose = random.Random(length)
    return [tuple(choose.choice(source.alphabet) for _ in range(length)) for _ in range(WORDS)]


if __name__ == "__main__":
    every = tuple(entry.name for entry in zoo.list_entries() if entry.file.startswith("rasp/"))
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 128, sys.argv[2:] or every)
