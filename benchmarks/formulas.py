"""Checking a formula on every word of length 16: the batched transformer against the evaluator in plain Python.

"bounds for each word" is the same check without error bounds shared by a batch. Run with
``python benchmarks/formulas.py``. Measured in one run; compare ratios.
"""

from __future__ import annotations

import one_core  # noqa: F401

# isort: split

import sys
import time
from itertools import islice, product

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.check import check_inputs
from softmachine.engines.dense.engine import DenseEngine
from softmachine.languages.temporal import Specification, truth_values

FORMULAS = [
    "Q_a since Q_b",
    "prev prev Q_a",
    "once (Q_a and prev Q_b)",
    "#<[Q_a] >= 2*#>[Q_b]",
    "odd(#<[Q_a]) and always (Q_a -> once Q_b)",
]
LENGTH = 16


def checked(model: Model, most: int, *, together: bool = True) -> float:
    """Return the processor seconds of a check, with or without error bounds shared by a batch.

    What it prepares once is prepared before.
    """
    engine = DenseEngine(model.weights)
    if not together:
        vars(engine)["_together"] = None
    for count in (256, most):
        began = time.process_time()
        report = check_inputs(model, islice(product("ab", repeat=LENGTH), count), arithmetic=engine)
        assert report.holds
    return time.process_time() - began


def main(most: int) -> None:
    table = Table(title=f"{most:,} words of length {LENGTH}, with the comparison")
    for heading in ("formula", "attention", "seconds", "words/s", "of plain Python", "of bounds for each word"):
        table.add_column(heading, justify="left" if heading == "formula" else "right")
    for text in FORMULAS:
        source = sm.load(text)
        assert isinstance(source, Specification)
        source = source.with_symbols("ab")
        began = time.process_time()
        for word in islice(product("ab", repeat=LENGTH), most):
            truth_values(source, word)
        plain = time.process_time() - began
        for attention in ("hard", "soft"):
            model = sm.compile(source, attention=attention)
            seconds, alone = checked(model, most), checked(model, most, together=False)
            ratios = f"{plain / seconds:.2f}", f"{alone / seconds:.2f}"
            table.add_row(text, attention, f"{seconds:.1f}", f"{most / seconds:,.0f}", *ratios)
    Console().print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2**LENGTH)
