"""``softmachine atlas``: the expressivity of padded transformers by regime, and commands that demonstrate it."""

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

    from softmachine.studies.measure.atlas import Claim, Demonstration, Regime

    Marks = dict[tuple[Claim, Demonstration], str]

TITLES = {
    "lower": "Lower bound (⊇): languages of the class, compiled and run",
    "uniform": "Uniformity: machines print the family, and their space is measured",
    "upper": "Upper bound (⊆, cited): one transformer as a circuit of the class",
}
LEGEND = """
Orders of growth (Θ), with polynomial padding; d ≥ 1. L and FO: the circuits are
L-uniform or FO-uniform.
[1 a A]  the demonstrations above of the lower bound, uniformity and upper bound
⊆ 4.2  the upper bound is Lemma 4.2 of Svete et al. 2026; ⊆ †: as cited at †
–  too little volume (precision × width) for a natural class
†  both bounds are cited: Merrill and Sabharwal 2025a
The demonstrations are members of a family; the proofs for all members are in
Svete, Merrill, Cotterell and Sabharwal, Revisiting Padded Transformer
Expressivity, 2026 (this is its Figure 1). At logarithmic precision, softmax
recognises all languages of average-hard attention (Lemma 3.1 of Svete et al.
2026, which does not state the converse):
      softmachine rewrite "Q_a since Q_b" --as softmax-fixed-point --up-to 5
FO-uniform circuits are measured as L-uniform ones: for d ≥ 1 that is the same."""

MIN_WIDTH = 80
"""Columns that the table needs."""
EXAMPLES = """[dim]Examples:[/]
  softmachine atlas
  softmachine atlas --json"""


def command(
    *,
    output: Output,
) -> None:
    """Print the circuit classes of padded transformers, by regime.

    A regime is given by depth, precision, width and uniformity. The numbers below a class refer to the demonstrations
    of its lower bound, uniformity and upper bound, listed below the table; the rest is cited.
    """
    from softmachine.studies.measure.atlas import ATLAS, iterate_demonstrations

    if output.as_json:
        output.print_json({"cells": [{**asdict(cell), "witnessed": list(cell.witnessed)} for cell in ATLAS]})
        return
    marks = _number_witnesses(iterate_demonstrations(ATLAS))
    output.out.width = max(output.width, MIN_WIDTH)
    output.out.print(_table(ATLAS, marks))
    if output.quiet:
        return
    last = ""
    for (claim, witness), mark in marks.items():
        if claim != last:
            output.print(f"{'' if not last else chr(10)}{TITLES[claim]}")
            last = claim
        output.print(f"[{mark}] {witness.construction}{f', {witness.note}' if witness.note else ''}")
        output.print(f"      {witness.command}")
    output.print(LEGEND)


def _number_witnesses(found: Iterable[tuple[Claim, Demonstration]]) -> Marks:
    """Number the witnesses: digits for lower bounds, small letters for uniformity, capitals for upper bounds."""
    fresh = {"lower": map(str, count(1)), "uniform": iter(ascii_lowercase), "upper": iter(ascii_uppercase)}
    return {(claim, witness): next(fresh[claim]) for claim, witness in found}


def _table(cells: tuple[Regime, ...], marks: Marks) -> Table:
    """Tabulate the classes: a row per depth and precision, a column per uniformity and width."""
    from rich import box
    from rich.table import Table

    columns = list(dict.fromkeys((cell.uniformity, cell.width) for cell in cells))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("\ndepth", "\nprecision", *(f"{uniformity}\nwidth {width}" for uniformity, width in columns)):
        table.add_column(title, no_wrap=True)
    for depth, precision in dict.fromkeys((cell.depth, cell.precision) for cell in cells):
        here = [cell for cell in cells if (cell.depth, cell.precision) == (depth, precision)]
        row = {(cell.uniformity, cell.width): _format_cell(cell, marks) for cell in here}
        table.add_row(depth, precision, *(row[column] for column in columns))
    return table


def _format_cell(cell: Regime, marks: Marks) -> Text:
    """Format a class with its witnesses and its upper bound."""
    from rich.text import Text

    if not cell.languages:
        return Text("–", style="dim")
    name = cell.languages.replace("-uniform", "") + (" †" if cell.cited else "")
    every = list(marks)
    shown = [
        _format_marks([(every.index((claim, each)), marks[claim, each]) for each in cell.witnesses[claim]])
        for claim in cell.witnesses
    ]
    bound = "†" if cell.cited else cell.upper.replace("Lemma ", "")
    return Text(f"{name}\n[{' '.join(shown)}]\n⊆ {bound}", style="bold")


def _format_marks(found: Sequence[tuple[int, str]]) -> str:
    """Format marks of witnesses as a range or a list; a dash if there are none."""
    if not found:
        return "–"
    is_range = len(found) > 1 and all(after == before + 1 for (before, _), (after, _) in pairwise(found))
    return f"{found[0][1]}-{found[-1][1]}" if is_range else ",".join(mark for _, mark in found)
