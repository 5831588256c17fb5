"""``softmachine atlas``: what padded transformers can compute, regime by regime, and the commands that show it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from softmachine.cli.output import Output

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from softmachine.measure.atlas import Cell, Witness

LEGEND = """
Orders of growth (Θ), with polynomial padding; d ≥ 1. L and FO: the circuits are
L-uniform or FO-uniform. Hard and soft attention give the same (Lemma 3.1).
[n]  runs: a construction for any circuit of the class (L AC⁰, L TC⁰, TC^d), or
     steps of the proof (AC^d), or members of the class (fully uniform, FO TC⁰).
     That the families are uniform is cited.
–  too little volume (precision × width) for a natural class
†  cited: Merrill and Sabharwal 2025a
Upper bounds are cited: Lemmas 4.2 and 5.2 of Svete, Merrill, Cotterell and
Sabharwal, Revisiting Padded Transformer Expressivity, 2026 (this is Figure 1).
Their constructions run: a transformer in fixed point becomes a threshold circuit
      softmachine circuit 'Q_a since Q_b' --inputs 3 --arithmetic fixed:3"""

NARROWEST = 80
"""Columns that the table takes; in fewer, the classes could not be read."""
EXAMPLES = """[dim]Examples:[/]
  softmachine atlas
  softmachine atlas --json"""


def command(
    *,
    output: Output,
) -> None:
    """Print the map of padded transformers: depth, precision, width and uniformity, and the circuit class of each.

    Where something of a lower bound runs, its number stands in the cell, and below the table is what it is and a
    command that runs it; the other bounds, and uniformity, are cited.
    """
    from softmachine.measure.atlas import ATLAS

    if output.as_json:
        output.answer({"cells": [{**asdict(cell), "witnessed": cell.witnessed} for cell in ATLAS]})
        return
    witnesses = list(dict.fromkeys(witness for cell in ATLAS for witness in cell.lower))
    output.out.width = max(output.width, NARROWEST)
    output.out.print(_table(ATLAS, witnesses))
    if output.quiet:
        return
    for number, witness in enumerate(witnesses, 1):
        output.say(f"[{number}] {witness.construction}{f', {witness.note}' if witness.note else ''}")
        output.say(f"      {witness.command}")
    output.say(LEGEND)


def _table(cells: tuple[Cell, ...], witnesses: list[Witness]) -> Table:
    """The figure: a row for each depth and precision, a column for each uniformity and width."""
    from rich import box
    from rich.table import Table

    columns = list(dict.fromkeys((cell.uniformity, cell.width) for cell in cells))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("\ndepth", "\nprecision", *(f"{uniformity}\nwidth {width}" for uniformity, width in columns)):
        table.add_column(title, no_wrap=True)
    for depth, precision in dict.fromkeys((cell.depth, cell.precision) for cell in cells):
        here = [cell for cell in cells if (cell.depth, cell.precision) == (depth, precision)]
        row = {(cell.uniformity, cell.width): _entry(cell, witnesses) for cell in here}
        table.add_row(depth, precision, *(row[column] for column in columns))
    return table


def _entry(cell: Cell, witnesses: list[Witness]) -> Text:
    """The class, and what shows that all of it is recognised."""
    from rich.text import Text

    if not cell.languages:
        return Text("–", style="dim")
    numbers = [witnesses.index(witness) + 1 for witness in cell.lower]
    run = len(numbers) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1))
    shown = f"{numbers[0]}-{numbers[-1]}" if run else ", ".join(map(str, numbers))
    text = f"{cell.languages.replace('-uniform', '')} {f'[{shown}]' if shown else '†'}"
    return Text(text, style="bold" if cell.witnessed else "dim")
