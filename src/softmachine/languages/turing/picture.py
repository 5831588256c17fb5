"""Text rendering of tapes and traces: a window of cells, with the one under the head in brackets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from softmachine.languages.turing.configuration import Action, Configuration
from softmachine.languages.turing.machine import MOVES, TuringMachine
from softmachine.support.text import printable

WINDOW = 30
"""Cells shown on each side of the head."""
AHEAD = 100_000
"""Steps scanned for the leftmost cell, which aligns the columns of a trace."""


def tape_line(configuration: Configuration, tape: int, first: int = 0) -> str:
    """One tape, starting at cell ``first`` or at the leftmost non-blank cell, with the head's cell in brackets."""
    cells, head = configuration.cells[tape], configuration.heads[tape]
    contents = configuration.tapes[tape]
    first, last = min(first, contents.first, head), max(contents.first + len(contents.symbols) - 1, head)
    left, right = max(first, head - WINDOW), min(last, head + WINDOW)
    shown = []
    for cell in range(left, right + 1):
        symbol = cells.get(cell, configuration.blank)
        symbol = "␣" if symbol == " " else printable(symbol, keep="")
        shown.append(f"[{symbol}]" if cell == head else f" {symbol} ")
    return f"{'…' if left > first else ' '}{''.join(shown)}{'…' if right < last else ''}"


def configuration_lines(configuration: Configuration, first: int = 0) -> Iterator[str]:
    """The step, the state and the first tape on one line; further tapes below it."""
    for tape in range(len(configuration.cells)):
        label = f"{configuration.steps:>6}  {printable(configuration.state, keep=''):<10}" if tape == 0 else " " * 18
        yield f"{label}{tape_line(configuration, tape, first)}".rstrip()


def trace_lines(machine: TuringMachine, word: Iterable[str], actions: Sequence[Action]) -> Iterator[str]:
    """Every configuration of a run as text, one line per tape, with the cells aligned."""
    configuration = Configuration.initial(machine, word)
    seen = actions[:AHEAD]
    leftmost = min(min(accumulate((MOVES[a.move[k]] for a in seen), initial=0)) for k in range(machine.tapes))
    yield "\n".join(configuration_lines(configuration, leftmost))
    for action in actions:
        configuration.apply(action)
        yield "\n".join(configuration_lines(configuration, leftmost))
