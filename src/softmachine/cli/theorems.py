"""``softmachine theorems``: list all theorems, bundled ones and plug-ins, or show one."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli.options import complete_theorem_name, switch_option
from softmachine.cli.output import Output
from softmachine.support.errors import UsageError
from softmachine.support.text import did_you_mean

if TYPE_CHECKING:
    from rich.table import Table

    from softmachine.theorems import Theorem

EXAMPLES = """[dim]Examples:[/]
  softmachine theorems
  softmachine theorems turing-average-hard
  softmachine theorems --table"""

INDENT = 4
MAX_WIDTH = 100
MIN_TABLE_WIDTH = 80
UNKNOWN = "–"


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            show_default=False,
            autocompletion=complete_theorem_name,
            help="A theorem to show with its statement and steps.",
        ),
    ] = None,
    *,
    table: Annotated[
        bool,
        switch_option(
            "Show only the conditions of softmax: the scale of scores, and the position encoding.", "--table"
        ),
    ] = False,
    output: Output,
) -> None:
    """List all theorems with paper, needs and cost, or show one."""
    from softmachine.theorems import all_theorems

    chosen = all_theorems() if name is None else (_find(name),)
    if output.as_json:
        output.print_json({"theorems": [_answer(theorem, whole=name is not None) for theorem in chosen]})
    elif table:
        output.out.width = max(output.width, MIN_TABLE_WIDTH)
        output.out.print(_table(chosen))
    elif output.quiet:
        output.print("\n".join(theorem.name for theorem in chosen))
    elif name is not None:
        _show_whole(chosen[0], output)
    else:
        _show_all(chosen, output)


def _find(name: str) -> Theorem:
    from softmachine.support.stored_names import THEOREMS
    from softmachine.theorems import all_theorems, get_theorem

    theorem = get_theorem(name)
    if theorem is None:
        known = [item.name for item in all_theorems()]
        hint = did_you_mean(name, known, "`softmachine theorems` lists all theorems", THEOREMS)
        raise UsageError(f"unknown theorem {name!r}", hint=hint)
    return theorem


def _answer(theorem: Theorem, *, whole: bool) -> dict[str, object]:
    answer: dict[str, object] = {
        "name": theorem.name,
        "source": theorem.language,
        "statement": theorem.statement,
        "reference": theorem.reference,
        "attentions": list(theorem.attentions),
        "needs": str(theorem.requirements),
        **_conditions(theorem),
        "cost": str(theorem.cost),
        "length": theorem.length or None,
    }
    guide = [{"title": each.title, "text": each.text, "shows": list(each.highlights)} for each in theorem.tour]
    return {**answer, "steps": list(theorem.steps), "guide": guide, "text": theorem.documentation} if whole else answer


def _conditions(theorem: Theorem) -> dict[str, str | None]:
    """Return the scale of scores (None without softmax), and the position encoding (None if not stated)."""
    from softmachine.theorems import Requirements

    needs = theorem.requirements if isinstance(theorem.requirements, Requirements) else Requirements("")
    return {"scale": needs.scale or None, "positions": needs.positions or None}


def _table(theorems: tuple[Theorem, ...]) -> Table:
    """Tabulate the conditions of theorems, as in Figure 1 of "Simulating Hard Attention Using Soft Attention"."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("theorem", style="bold", no_wrap=True)
    table.add_column("scale 1/τ")
    table.add_column("position encoding")
    for theorem in theorems:
        found = _conditions(theorem)
        none = UNKNOWN if "soft" in theorem.attentions else "hard attention"
        table.add_row(theorem.name, found["scale"] or none, found["positions"] or str(theorem.requirements))
    return table


def _print_facts(theorem: Theorem, output: Output) -> None:
    """Print paper, attention, needs and cost."""
    facts = {
        "paper": theorem.reference,
        "attention": " or ".join(theorem.attentions),
        "needs": str(theorem.requirements),
        "cost": str(theorem.cost),
        "length": theorem.length,
    }
    for label, text in facts.items():
        if text:
            _print_paragraph(f"{label:<11}{text}", output, INDENT + 11)


def _print_paragraph(text: str, output: Output, indent: int) -> None:
    """Print a paragraph with indented continuation lines."""
    lines = wrap(text, min(output.width, MAX_WIDTH), initial_indent=" " * INDENT, subsequent_indent=" " * indent)
    output.print("\n".join(lines))


def _show_all(theorems: tuple[Theorem, ...], output: Output) -> None:
    language = None
    for theorem in theorems:
        if theorem.language != language:
            output.print(f"{'' if language is None else chr(10)}{theorem.language}", style="bold")
            language = theorem.language
        output.print(f"  {theorem.name}")
        _print_facts(theorem, output)


def _show_whole(theorem: Theorem, output: Output) -> None:
    output.print(f"{theorem.name}: {theorem.statement}\n", style="bold")
    _print_facts(theorem, output)
    if theorem.steps:
        output.print("\nSteps")
        for number, step in enumerate(theorem.steps, 1):
            _print_paragraph(f"{number}. {step}", output, INDENT + 3)
    if theorem.tour:
        output.print("\nOne token of a run")
        for each in theorem.tour:
            _print_paragraph(f"{each.title}{'' if each.title.endswith('?') else ':'} {each.text}", output, INDENT + 3)
    output.print(f"\n{theorem.documentation}")
