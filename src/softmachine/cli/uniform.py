"""``softmachine uniform``: machines that print a family of transformers, and how much space they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli.options import Status, switch, value
from softmachine.cli.output import Output

if TYPE_CHECKING:
    from softmachine.studies.uniformity import Measured, UniformFamily, WrittenFamily

EXAMPLES = """[dim]Examples:[/]
  softmachine uniform
  softmachine uniform and-or-tree --up-to 64
  softmachine uniform parity-family
  softmachine uniform connectivity --program"""


Family = Annotated[
    str | None,
    typer.Argument(
        metavar="[FAMILY]",
        help="A family of transformers, or a source that is a family of circuits; without one, all are listed.",
    ),
]
UpTo = Annotated[int | None, value("N", "The largest n.", "--up-to", least=2)]
ShowProgram = Annotated[bool, switch("Print the programs of the machines instead of running them.", "--program")]


def command(
    family: Family = None,
    *,
    up_to: UpTo = None,
    program: ShowProgram = False,
    output: Output,
) -> int:
    """Print a family n ↦ T_n of transformers by Turing machines, and measure the cells of their work tapes.

    One machine prints the weights from 1ⁿ, one the position features from 1ⁿ and i (Definition A.5), and one decides
    which gates are wired; of a source that is a family, one prints its circuits. What they print is compared with what
    `compile` makes, or the circuit is. Exit status 0: it is the same, 1: it is not.
    """
    from softmachine.cli.progress import bar
    from softmachine.studies.uniformity import FAMILIES, measured

    if family is None:
        _list(FAMILIES, output)
        return Status.DONE
    chosen = _chosen(family)
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


def _chosen(name: str) -> UniformFamily | WrittenFamily:
    """The family of a name, or that which a source is."""
    from softmachine import api
    from softmachine.languages.family import Family
    from softmachine.studies.uniformity import FAMILIES, WrittenFamily, family_named
    from softmachine.support.errors import SoftmachineError

    if name in {each.name for each in FAMILIES}:
        return family_named(name)
    try:
        source = api.load(name)
    except SoftmachineError:
        return family_named(name)  # which says what there is
    return WrittenFamily(source) if isinstance(source, Family) else family_named(name)


def _programs(family: UniformFamily | WrittenFamily, output: Output) -> None:
    from inspect import getsource

    from softmachine.studies.uniformity import UniformFamily, sourced

    if isinstance(family, UniformFamily):
        sources = {"weights": getsource(family.weights), "features": getsource(family.features)}
        sources |= {"circuits": getsource(type(family.given[0]))} if family.circuit else {}
    else:
        sources = {"circuit": sourced.program(family.source)}
        sources |= {name: getsource(each) for name, each in family.programs.items()}
    if output.as_json:
        output.answer({"family": family.name, "programs": sources})
        return
    output.say("\n".join(sources.values()).rstrip("\n"))


def _tell(family: UniformFamily | WrittenFamily, found: list[Measured], output: Output) -> None:
    from softmachine.studies.uniformity import per_doubling

    names = list(found[0].uses)
    if not output.quiet:
        output.say(f"{family.name}: {family.statement} ({family.theorem})")
        sizes = [f"{name} ({each.states:,} states, {each.tapes} tapes)" for name, each in family.machines.items()]
        output.say(f"machines: {', '.join(sizes)}\n")
    rows = [["n", "⌈log₂ n⌉", "printed", *(f"cells, {name}" for name in names), "steps"]]
    for each in found:
        cells = [f"{use.cells:,}" for use in each.uses.values()]
        steps, printed = (
            max(counts) for counts in zip(*((u.steps, u.printed) for u in each.uses.values()), strict=True)
        )
        rows.append([f"{each.n:,}", str(each.logarithm), f"{printed:,}", *cells, f"{steps:,}"])
    output.columns(rows)
    growth = [f"{name} {more}" for name in names if (more := per_doubling(found, name)) is not None]
    if growth:
        output.say(f"\ncells that a doubling of n adds at most: {', '.join(growth)} (O(log n) is a constant at each)")
    if not any(each.differences for each in found):
        runs = sum(use.runs for each in found for use in each.uses.values())
        what = "what the circuits are" if names == ["circuit"] else "what compile makes"
        output.say(f"all that was printed, in {runs:,} runs, is {what}", style="green")


def _answer(family: UniformFamily | WrittenFamily, found: list[Measured]) -> dict[str, object]:
    from dataclasses import asdict

    from softmachine.studies.uniformity import per_doubling

    return {
        "family": family.name,
        "theorem": family.theorem,
        "machines": {name: {"states": each.states, "tapes": each.tapes} for name, each in family.machines.items()},
        "sizes": [
            {
                "n": each.n,
                "logarithm": each.logarithm,
                "differences": list(each.differences),
                **{name: asdict(use) for name, use in each.uses.items()},
            }
            for each in found
        ],
        "per_doubling": {name: per_doubling(found, name) for name in found[0].uses},
    }
