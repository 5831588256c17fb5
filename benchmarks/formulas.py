"""Checking a formula on every word of length 16: the batched transformer against the evaluator in plain Python.

Run with ``python benchmarks/formulas.py``. Measured in one run; what counts are the ratios.
"""

from __future__ import annotations

import sys
import time
from itertools import islice, product

from rich.console import Console
from rich.table import Table

import softmachine as sm
from softmachine.engines.check import check_words
from softmachine.languages.temporal import Specification, truth

FORMULAS = ["Q_a since Q_b", "prev prev Q_a", "#<[Q_a] >= 2*#>[Q_b]", "odd(#<[Q_a]) and always (Q_a -> once Q_b)"]
LENGTH = 16


def main(most: int) -> None:
    table = Table(title=f"{most:,} words of length {LENGTH}, with the comparison")
    for heading in ("formula", "attention", "seconds", "words/s", "of plain Python"):
        table.add_column(heading, justify="left" if heading == "formula" else "right")
    for text in FORMULAS:
        source = sm.load(text)
        assert isinstance(source, Specification)
        source = source.extended("ab")
        began = time.perf_counter()
        for word in islice(product("ab", repeat=LENGTH), most):
            truth(source, word)
        plain = time.perf_counter() - began
        for attention in ("hard", "soft"):
            model = sm.compile(source, attention=attention)
            report = check_words(model, islice(product("ab", repeat=LENGTH), most))
            assert report.holds
            seconds = report.seconds
            table.add_row(text, attention, f"{seconds:.1f}", f"{most / seconds:,.0f}", f"{plain / seconds:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2**LENGTH)
