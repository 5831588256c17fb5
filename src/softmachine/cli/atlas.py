"""``softmachine atlas``: what padded transformers can compute, regime by regime, and the commands that show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import count, pairwise
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING

from softmachine.cli.output import Output

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from softmachine.studies.measure.atlas import Cell, Claim, Witness

    Marks = dict[tuple[Claim, Witness], str]

TITLES = {
    "lower": "All of the class is recognised: compiled and run",
    "uniform": "By a uniform family: machines print it, and their space is measured",
    "upper": "Nothing else is recognised (cited, ⊆): one transformer as a circuit of the class",
}
LEGEND = """
Orders of growth (Θ), with polynomial padding; d ≥ 1. L and FO: the circuits are
L-uniform or FO-uniform.
[1 a A]  what runs of the three claims above: all of the class, uniform, nothing else
⊆ 4.2  nothing else is recognised, by Lemma 4.2 of the paper; ⊆ †: as cited at †
–  too little volume (precision × width) for a natural class
†  all of the class, and nothing else: cited, Merrill and Sabharwal 2025a
What runs are members of a family; proofs for all members are in Svete, Merrill,
Cotterell and Sabharwal, Revisiting Padded Transformer Expressivity, 2026 (this
is its Figure 1). At logarithmic precision, softmax recognises what average-hard
attention does (Lemma 3.1, which does not state the converse):
      softmachine rewrite "Q_a since Q_b" --as softmax-fixed-point --up-to 5
FO-uniform circuits are measured as L-uniform ones: for d ≥ 1 that is the same."""

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

    Below each class stand the numbers of what is witnessed of it: that all of it is recognised, by a uniform family,
    and nothing else. The commands that show it are listed below the table; the rest is cited.
    """
    from softmachine.studies.measure.atlas import ATLAS, all_witnesses

    if output.as_json:
        output.answer({"cells": [{**asdict(cell), "witnessed": list(cell.witnessed)} for cell in ATLAS]})
        return
    marks = _marks(all_witnesses(ATLAS))
    output.out.width = max(output.width, NARROWEST)
    output.out.print(_table(ATLAS, marks))
    if output.quiet:
        return
    told = ""
    for (claim, witness), mark in marks.items():
        if claim != told:
            output.say(f"{'' if not told else chr(10)}{TITLES[claim]}")
            told = claim
        output.say(f"[{mark}] {witness.construction}{f', {witness.note}' if witness.note else ''}")
        output.say(f"      {witness.command}")
    output.say(LEGEND)


def _marks(found: Iterable[tuple[Claim, Witness]]) -> Marks:
    """For every witness its number, small letter or capital, by what it is a witness of."""
    fresh = {"lower": map(str, count(1)), "uniform": iter(ascii_lowercase), "upper": iter(ascii_uppercase)}
    return {(claim, witness): next(fresh[claim]) for claim, witness in found}


def _table(cells: tuple[Cell, ...], marks: Marks) -> Table:
    """The figure: a row for each depth and precision, a column for each uniformity and width."""
    from rich import box
    from rich.table import Table

    columns = list(dict.fromkeys((cell.uniformity, cell.width) for cell in cells))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("\ndepth", "\nprecision", *(f"{uniformity}\nwidth {width}" for uniformity, width in columns)):
        table.add_column(title, no_wrap=True)
    for depth, precision in dict.fromkeys((cell.depth, cell.precision) for cell in cells):
        here = [cell for cell in cells if (cell.depth, cell.precision) == (depth, precision)]
        row = {(cell.uniformity, cell.width): _entry(cell, marks) for cell in here}
        table.add_row(depth, precision, *(row[column] for column in columns))
    return table


def _entry(cell: Cell, marks: Marks) -> Text:
    """The class, and below it what is witnessed of each claim, and which result is the upper bound."""
    from rich.text import Text

    if not cell.languages:
        return Text("–", style="dim")
    name = cell.languages.replace("-uniform", "") + (" †" if cell.cited else "")
    every = list(marks)
    shown = [
        _stretch([(every.index((claim, each)), marks[claim, each]) for each in cell.witnesses[claim]])
        for claim in cell.witnesses
    ]
    bound = "†" if cell.cited else cell.upper.replace("Lemma ", "")
    return Text(f"{name}\n[{' '.join(shown)}]\n⊆ {bound}", style="bold")


def _stretch(found: Sequence[tuple[int, str]]) -> str:
    """The marks of witnesses, each with its place in the list; a dash if there are none."""
    if not found:
        return "–"
    together = len(found) > 1 and all(after == before + 1 for (before, _), (after, _) in pairwise(found))
    return f"{found[0][1]}-{found[-1][1]}" if together else ",".join(mark for _, mark in found)
