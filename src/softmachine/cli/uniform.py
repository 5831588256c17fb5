"""``softmachine uniform``: Turing machines that print a family of transformers, and their work space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli.options import Status, switch_option, value_option
from softmachine.cli.output import Output

if TYPE_CHECKING:
    from softmachine.studies.uniformity import RuleFamily, SpaceMeasurement, UniformFamily

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
UpTo = Annotated[int | None, value_option("N", "The largest n.", "--up-to", minimum=2)]
ShowProgram = Annotated[bool, switch_option("Print the programs of the machines instead of running them.", "--program")]


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
    from softmachine.studies.uniformity import FAMILIES, measure_space

    if family is None:
        _list(FAMILIES, output)
        return Status.OK
    chosen = _find_family(family)
    if program:
        _programs(chosen, output)
        return Status.OK
    sizes = chosen.sizes(up_to or chosen.default_n)
    found = []
    with bar("sizes", len(sizes), output) as advance:
        for n in sizes:
            found.append(measure_space(chosen, n))
            advance(1)
    wrong = [difference for each in found for difference in each.differences]
    if output.as_json:
        output.print_json(_answer(chosen, found))
    else:
        _print_measurements(chosen, found, output)
        for difference in wrong:
            output.print(f"  {difference}", style="red")
    return Status.DOES_NOT_HOLD if wrong else Status.OK


def _list(families: tuple[UniformFamily, ...], output: Output) -> None:
    if output.as_json:
        output.print_json({"families": [{"name": each.name, "statement": each.statement} for each in families]})
        return
    wide = max(len(each.name) for each in families)
    for each in families:
        output.print(f"{each.name.ljust(wide)}  {each.statement} ({each.theorem})")


def _find_family(name: str) -> UniformFamily | RuleFamily:
    """Return the family of this name, or that of a source."""
    from softmachine import api
    from softmachine.languages.family import CircuitFamily
    from softmachine.studies.uniformity import FAMILIES, RuleFamily, find_family
    from softmachine.support.errors import SoftmachineError

    if name in {each.name for each in FAMILIES}:
        return find_family(name)
    try:
        source = api.load(name)
    except SoftmachineError:
        return find_family(name)  # raises an error that lists all names
    return RuleFamily(source) if isinstance(source, CircuitFamily) else find_family(name)


def _programs(family: UniformFamily | RuleFamily, output: Output) -> None:
    from inspect import getsource

    from softmachine.studies.uniformity import UniformFamily, circuit_families

    if isinstance(family, UniformFamily):
        sources = {"weights": getsource(family.weights), "features": getsource(family.features)}
        sources |= {"circuits": getsource(type(family.arguments[0]))} if family.circuit else {}
    else:
        sources = {"circuit": circuit_families.generate_program(family.source)}
        sources |= {name: getsource(each) for name, each in family.programs.items()}
    if output.as_json:
        output.print_json({"family": family.name, "programs": sources})
        return
    output.print("\n".join(sources.values()).rstrip("\n"))


def _print_measurements(family: UniformFamily | RuleFamily, found: list[SpaceMeasurement], output: Output) -> None:
    from softmachine.studies.uniformity import growth_per_doubling

    names = list(found[0].uses)
    if not output.quiet:
        output.print(f"{family.name}: {family.statement} ({family.theorem})")
        sizes = [
            f"{name} ({each.num_states:,} states, {each.num_tapes} tapes)" for name, each in family.machines.items()
        ]
        output.print(f"machines: {', '.join(sizes)}\n")
    rows = [["n", "⌈log₂ n⌉", "printed", *(f"cells, {name}" for name in names), "steps"]]
    for each in found:
        cells = [f"{use.cells:,}" for use in each.uses.values()]
        steps, printed = (
            max(counts) for counts in zip(*((u.steps, u.printed) for u in each.uses.values()), strict=True)
        )
        rows.append([f"{each.n:,}", str(each.ceil_log_n), f"{printed:,}", *cells, f"{steps:,}"])
    output.print_columns(rows)
    growth = [f"{name} {more}" for name in names if (more := growth_per_doubling(found, name)) is not None]
    if growth:
        output.print(f"\nmaximum cells added by doubling n: {', '.join(growth)} (constant if the space is O(log n))")
    if not any(each.differences for each in found):
        runs = sum(use.runs for each in found for use in each.uses.values())
        reference = "the circuits" if names == ["circuit"] else "the output of compile"
        output.print(f"the output of all {runs:,} runs equals {reference}", style="green")


def _answer(family: UniformFamily | RuleFamily, found: list[SpaceMeasurement]) -> dict[str, object]:
    from dataclasses import asdict

    from softmachine.studies.uniformity import growth_per_doubling

    return {
        "family": family.name,
        "theorem": family.theorem,
        "machines": {
            name: {"states": each.num_states, "tapes": each.num_tapes} for name, each in family.machines.items()
        },
        "sizes": [
            {
                "n": each.n,
                "logarithm": each.ceil_log_n,
                "differences": list(each.differences),
                **{name: asdict(use) for name, use in each.uses.items()},
            }
            for each in found
        ],
        "per_doubling": {name: growth_per_doubling(found, name) for name in found[0].uses},
    }
