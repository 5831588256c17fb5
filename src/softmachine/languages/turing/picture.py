"""Turing machines to look at: tapes as text, with the cell under the head in brackets, and rules as an HTML table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import accumulate

from softmachine.languages.turing.configuration import Action, Configuration
from softmachine.languages.turing.machine import MOVES, Rule, TuringMachine

WINDOW = 30
"""So many cells to each side of the head are shown."""
AHEAD = 100_000
"""The columns of a trace make room for the cells that so many steps reach."""
MOST_COLUMNS = 24
"""So many readings are shown in a table."""


def tape_line(configuration: Configuration, tape: int, first: int = 0, window: int = WINDOW) -> str:
    """One tape from cell ``first`` on (or further left, if it is written), the cell under the head in brackets."""
    cells, head = configuration.cells[tape], configuration.heads[tape]
    contents = configuration.tapes[tape]
    first, last = min(first, contents.first, head), max(contents.first + len(contents.symbols) - 1, head)
    left, right = max(first, head - window), min(last, head + window)
    shown = []
    for cell in range(left, right + 1):
        symbol = cells.get(cell, configuration.blank)
        symbol = "␣" if symbol == " " else symbol
        shown.append(f"[{symbol}]" if cell == head else f" {symbol} ")
    return f"{'…' if left > first else ' '}{''.join(shown)}{'…' if right < last else ''}"


def configuration_lines(configuration: Configuration, first: int = 0) -> Iterator[str]:
    """The step, the state and the first tape in one line; further tapes below it."""
    for tape in range(len(configuration.cells)):
        label = f"{configuration.steps:>6}  {configuration.state:<10}" if tape == 0 else " " * 18
        yield f"{label}{tape_line(configuration, tape, first)}".rstrip()


def trace_lines(machine: TuringMachine, word: Iterable[str], actions: Sequence[Action]) -> Iterator[str]:
    """Every configuration of a run, from the start on: one text each, a line a tape, the cells below each other."""
    configuration = Configuration.initial(machine, word)
    seen = actions[:AHEAD]
    leftmost = min(min(accumulate((MOVES[a.move[k]] for a in seen), initial=0)) for k in range(machine.tapes))
    yield "\n".join(configuration_lines(configuration, leftmost))
    for action in actions:
        configuration.apply(action)
        yield "\n".join(configuration_lines(configuration, leftmost))


def machine_table(machine: TuringMachine) -> str:
    """A table of the machine's rules: a row a state, a column a reading, in the cells what to write, move and go to."""
    readings = list(dict.fromkeys(rule.read for rule in machine.rules))
    if machine.tapes == 1:
        readings = [(symbol,) for symbol in machine.symbols]
    shown = readings[:MOST_COLUMNS]
    header = "".join(f"<th>{_code(read)}</th>" for read in shown) + ("<th>…</th>" if len(readings) > len(shown) else "")
    rows = "".join(
        f"<tr><th>{escape(state)}{_marks(machine, state)}</th>"
        + "".join(f"<td>{_cell(machine.rule(state, read))}</td>" for read in shown)
        + "</tr>"
        for state in machine.states
    )
    return (
        f"<table><caption>{escape(str(machine))}</caption>"
        f"<thead><tr><th>state</th>{header}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _marks(machine: TuringMachine, state: str) -> str:
    marks = [
        mark
        for mark, group in (("start", (machine.start,)), ("accept", machine.accept), ("reject", machine.reject))
        if state in group
    ]
    return f" <small>{', '.join(marks)}</small>" if marks else ""


def _cell(rule: Rule | None) -> str:
    return "" if rule is None else f"{_code(rule.write)} {' '.join(rule.move)} {escape(rule.next)}"


def _code(symbols: tuple[str, ...]) -> str:
    # A blank that is a blank should be seen.
    return " ".join(f"<code>{escape(symbol if symbol.strip() else '␣')}</code>" for symbol in symbols)
