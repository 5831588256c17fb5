"""``softmachine uniform``: Turing machines that print a family of transformers, and their work space."""

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
        metavar="FAMILY",
        help="A family of transformers, or a source that is a family of circuits. Default: list all families.",
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
    """Print a family of transformers by Turing machines; measure space.

    The family is n ↦ T_n. One machine prints the weights from 1ⁿ, one the position features from 1ⁿ and i (Definition
    A.5 of Svete et al. 2026), and one decides which gates are connected; for a source that is a family, one prints its
    circuits. The output is compared with that of `compile`, or with the circuit, and the cells of the work tapes are
    counted.

    Exit status: 0 the outputs are equal; 1 they differ.
    """
    from softmachine.cli.output import bar
    from softmachine.studies.uniformity import FAMILIES, measured

    if family is None:
        _list(FAMILIES, output)
        return Status.DONE
    chosen = _find_family(family)
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
        _print_measurements(chosen, found, output)
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


def _find_family(name: str) -> UniformFamily | WrittenFamily:
    """Return the family of this name, or that of a source."""
    from softmachine import api
    from softmachine.languages.family import Family
    from softmachine.studies.uniformity import FAMILIES, WrittenFamily, family_named
    from softmachine.support.errors import SoftmachineError

    if name in {each.name for each in FAMILIES}:
        return family_named(name)
    try:
        source = api.load(name)
    except SoftmachineError:
        return family_named(name)  # raises an error that lists all names
    return WrittenFamily(source) if isinstance(source, Family) else family_named(name)


def _programs(family: UniformFamily | WrittenFamily, output: Output) -> None:
    from inspect import getsource

    from softmachine.studies.uniformity import UniformFamily, circuit_families

    if isinstance(family, UniformFamily):
        sources = {"weights": getsource(family.weights), "features": getsource(family.features)}
        sources |= {"circuits": getsource(type(family.given[0]))} if family.circuit else {}
    else:
        sources = {"circuit": circuit_families.program(family.source)}
        sources |= {name: getsource(each) for name, each in family.programs.items()}
    if output.as_json:
        output.answer({"family": family.name, "programs": sources})
        return
    output.say("\n".join(sources.values()).rstrip("\n"))


def _print_measurements(family: UniformFamily | WrittenFamily, found: list[Measured], output: Output) -> None:
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
        output.say(f"\nmaximum cells added by doubling n: {', '.join(growth)} (constant if the space is O(log n))")
    if not any(each.differences for each in found):
        runs = sum(use.runs for each in found for use in each.uses.values())
        reference = "the circuits" if names == ["circuit"] else "the output of compile"
        output.say(f"the output of all {runs:,} runs equals {reference}", style="green")


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
