"""Speed of chains of thought of C-RASP programs, and their length by the relative encoding.

Run with ``python benchmarks/counting.py``. Everything is measured in one run on one core; compare ratios.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import time
from itertools import product

from rich.console import Console
from rich.table import Table

from softmachine.languages import counter, crasp
from softmachine.languages.crasp.from_counter import build_counter_program
from softmachine.languages.crasp.from_turing_relative import build_turing_program
from softmachine.languages.turing import TuringMachine
from softmachine.theorems.read_source import read_source

PARITY = "alphabet a b\nP := #[Q_a] - 2*#[Q_t]\nACC <- P = 0\nREJ <- P = 1\nt <- P >= 2"
HALVING = """
input a
counters x
start h
accept yes
reject no
h: a >= 2 -> h: a -= 2, x += 1
h: a = 1 and x = 0 -> yes
h: a = 0 and x >= 1 -> m
h: else -> no
m: x >= 1 -> m: x -= 1, a += 1
m: x = 0 -> h
"""


def speed(program: crasp.CraspProgram, word: str) -> tuple[int, float]:
    """Return the tokens of a chain of thought, and the tokens per second, input included."""
    crasp.run(program, word)
    began = time.perf_counter()
    tokens = len(crasp.run(program, word).tokens)
    return tokens, (tokens + len(word)) / (time.perf_counter() - began)


def palindrome() -> crasp.CraspProgram:
    machine = read_source("palindrome")
    assert isinstance(machine, TuringMachine)
    return build_turing_program(machine)


def main() -> None:
    programs = {
        "parity": (crasp.parse(PARITY), "ab" * 100_000),
        "power of two, by a counter machine": (build_counter_program(counter.parse(HALVING)), "a" * 2**16),
        "palindrome, by a Turing machine": (palindrome(), "ab" * 6),
    }
    table = Table("program", "rules", "tokens", "tokens/s", title="chains of thought")
    for name, (program, word) in programs.items():
        tokens, rate = speed(program, word)
        table.add_row(name, str(len(program.rules)), f"{tokens:,}", f"{rate:,.0f}")
    console = Console()
    console.print(table)
    lengths = Table("length", "fewest tokens", "most tokens", title="palindromes by the relative encoding")
    recogniser = palindrome()
    for length in range(8):
        found = [len(crasp.run(recogniser, word).tokens) for word in product("ab", repeat=length)]
        lengths.add_row(str(length), f"{min(found):,}", f"{max(found):,}")
    console.print(lengths)


if __name__ == "__main__":
    main()
