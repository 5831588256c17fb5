"""Speed of causal programs of selectors: counts, and counts of counts, by groups of keys that are found by hash.

Run with ``python benchmarks/groups.py``. Both engines are measured alternately in one run, in seconds of one core.
The dense engine computes every score, so that it is measured on fewer tokens; its time grows with their square.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import random
import string
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))  # the programs are those of the tests

from tests.sources.selectors import SINK, Number, Selectors

from softmachine.compiler import compile_program
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.fast import FastEngine
from softmachine.ir import Program
from softmachine.transformer.attention import Mask

TOKENS, FEW, TURNS = 100_000, 1_000, 3
SELECTORS = {count: Selectors(Mask.CAUSAL, tuple(string.ascii_lowercase[:count])) for count in (3, 26)}


def seconds(run: Callable[[], object]) -> float:
    """Return the seconds of one core that a call takes."""
    began = time.process_time()
    run()
    return time.process_time() - began


def total_of_same_count(selectors: Selectors) -> Number:
    """The number of positions of the same count with the first letter: a sum over a group, and its size."""
    count = selectors.histogram()
    return selectors.total("firsts", selectors.alphabet[0], (count, count))


def same_pair_and_count(selectors: Selectors) -> Number:
    """The positions with the same letter, previous letter and count."""
    count = selectors.histogram()
    letter, before = selectors.letter, selectors.before
    return selectors.width("same", (letter, letter), (before, before), (count, count))


PROGRAMS: dict[str, Callable[[Selectors], Number]] = {
    "histogram so far": Selectors.histogram,
    "double histogram": Selectors.double_histogram,
    "triple histogram": lambda selectors: _again(selectors, selectors.double_histogram()),
    "sum over a count": total_of_same_count,
    "rank by frequency": Selectors.rank,
    "induction (pairs)": Selectors.pairs,
    "pairs and counts": same_pair_and_count,
}


def _again(selectors: Selectors, number: Number) -> Number:
    return selectors.width("again", (number, number))


def row(name: str, letters: int, program: Program, *, decodes: bool) -> list[str]:
    """Return the tokens per second of both engines, the best of several rounds."""
    weights = compile_program(program)
    word = [SINK, *random.Random(1).choices(SELECTORS[letters].alphabet, k=TOKENS)]
    fast, dense = FastEngine(weights), DenseEngine(weights)

    def run() -> None:
        if decodes:
            fast.start(word[:2]).run_until(TOKENS)
        else:
            fast.argmax_outputs(word)

    ready = seconds(lambda: fast.argmax_outputs(word[:200]))
    rates = [(TOKENS / seconds(run), FEW / seconds(lambda: dense.predict([word[:FEW]]))) for _ in range(TURNS)]
    ahead, behind = max(rate for rate, _ in rates), max(rate for _, rate in rates)
    kinds = [kind for _, _, kind, _ in fast.code.explanation()]
    found = kinds.count("groups of matching keys")
    cells = (f"{ahead:,.0f}", f"{behind:,.0f}", f"{ahead / behind:,.0f}", f"{len(kinds)}", f"{found}", f"{ready:.1f} s")
    return [name, str(letters), *cells]


def main() -> None:
    table = Table(
        *("program", "letters", "tokens/s", "dense", "× dense", "heads", "matching", "ready in"),
        title=f"{TOKENS:,} tokens; dense: {FEW:,} tokens in float64",
    )
    for letters, selectors in SELECTORS.items():
        for name, program in PROGRAMS.items():
            table.add_row(*row(name, letters, selectors.output_program(program(selectors), 9), decodes=False))
        decoder = selectors.decoder(selectors.double_histogram())
        table.add_row(*row("decoder", letters, decoder, decodes=True))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
