"""``softmachine uniform``: machines that print a family of transformers, and how much space they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli.options import Status
from softmachine.cli.output import Output

if TYPE_CHECKING:
    from softmachine.uniform import Measured, UniformFamily

EXAMPLES = """[dim]Examples:[/]
  softmachine uniform
  softmachine uniform and-or-tree --up-to 64
  softmachine uniform connectivity --program"""


Family = Annotated[
    str | None, typer.Argument(metavar="[FAMILY]", help="The family; without one, all families are listed.")
]
UpTo = Annotated[int | None, typer.Option("--up-to", metavar="N", min=2, help="The largest n.")]
ShowProgram = Annotated[
    bool, typer.Option("--program", help="Print the programs of the machines, and do not run them.")
]


def command(
    family: Family = None,
    *,
    up_to: UpTo = None,
    program: ShowProgram = False,
    output: Output,
) -> int:
    """Print a family n ↦ T_n of transformers by Turing machines, and measure the cells of their work tapes.

    One machine prints the weights from 1ⁿ, one the position features from 1ⁿ and i (Definition A.5), and one decides
    which gates are wired. What they print is compared with what `compile` makes. Exit status 0: it is the same, 1: not.
    """
    from softmachine.cli.progress import bar
    from softmachine.uniform import FAMILIES, family_named, measured

    if family is None:
        _list(FAMILIES, output)
        return Status.DONE
    chosen = family_named(family)
    if program:
        _programs(chosen, output)
        return Status.DONE
    sizes = chosen.sizes(up_to or chosen.usual)
    found = []
    with bar("sizes", len(sizes), output) as advance:
        for n in sizes:
            found.append(measured(chosen, n))
            advance(1)
    wrong = [difference for each in found for difference in each.differences]
    if output.as_json:
        output.answer(_answer(chosen, found))
    else:
        _tell(chosen, found, output)
        for difference in wrong:
            output.say(f"  {difference}", style="red")
    return Status.FAILS if wrong else Status.DONE


def _list(families: tuple[UniformFamily, ...], output: Output) -> None:
    if output.as_json:
        output.answer({"families": [{"name": each.name, "statement": each.statement} for each in families]})
        return
    wide = max(len(each.name) for each in families)
    for each in families:
        output.say(f"{each.name.ljust(wide)}  {each.statement} ({each.theorem})")


def _programs(family: UniformFamily, output: Output) -> None:
    from inspect import getsource

    sources = {"weights": getsource(family.weights), "features": getsource(family.features)}
    if family.circuits is not None:
        sources["circuits"] = getsource(type(family.circuits))
    if output.as_json:
        output.answer({"family": family.name, "programs": sources})
        return
    output.say("\n".join(sources.values()))


def _tell(family: UniformFamily, found: list[Measured], output: Output) -> None:
    from softmachine.uniform import per_doubling

    names = list(found[0].uses)
    if not output.quiet:
        first, second = family.machines
        output.say(f"{family.name}: {family.statement} ({family.theorem})")
        output.say(
            f"M₁ prints the weights ({first.states:,} states, {first.tapes} work tapes), "
            f"M₂ the position features ({second.states:,} states, {second.tapes} work tapes)\n"
        )
    rows = [["n", "⌈log₂ n⌉", "characters", *(f"cells, {name}" for name in names), "steps"]]
    for each in found:
        cells = [f"{use.cells:,}" for use in each.uses.values()]
        steps = max(use.steps for use in each.uses.values())
        rows.append([f"{each.n:,}", str(each.logarithm), f"{each.printed:,}", *cells, f"{steps:,}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        output.say("  ".join(entry.rjust(wide) for entry, wide in zip(row, widths, strict=True)))
    growth = [f"{name} {more}" for name in names if (more := per_doubling(found, name)) is not None]
    if growth:
        output.say(f"\ncells that a doubling of n adds at most: {', '.join(growth)} (O(log n) is a constant at each)")
    if not any(each.differences for each in found):
        runs = sum(use.runs for each in found for use in each.uses.values())
        output.say(f"all that was printed, in {runs:,} runs, is what compile makes", style="green")


def _answer(family: UniformFamily, found: list[Measured]) -> dict[str, object]:
    from softmachine.uniform import per_doubling

    machines = dict(zip(("weights", "features"), family.machines, strict=True))
    return {
        "family": family.name,
        "theorem": family.theorem,
        "machines": {name: {"states": each.states, "tapes": each.tapes} for name, each in machines.items()},
        "sizes": [
            {
                "n": each.n,
                "logarithm": each.logarithm,
                "characters": each.printed,
                "differences": list(each.differences),
                **{name: {"cells": use.cells, "steps": use.steps, "runs": use.runs} for name, use in each.uses.items()},
            }
            for each in found
        ],
        "per_doubling": {name: per_doubling(found, name) for name in found[0].uses},
    }
