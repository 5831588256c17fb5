"""``softmachine bench``: speed, as ratios to alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli.options import complete_from
from softmachine.cli.output import Output
from softmachine.support.errors import UsageError
from softmachine.support.text import did_you_mean

if TYPE_CHECKING:
    from softmachine.cli.benchmarks import Result

EXAMPLES = """[dim]Examples:[/]
  softmachine bench
  softmachine bench starting --json"""

NAMES = ("decoding", "checking", "starting")


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        show_default=False,
        autocompletion=complete_from(*NAMES),
        help="Benchmark: decoding, checking or starting. Default: all.",
    ),
]


def command(name: Name = None, *, output: Output) -> None:
    """Measure the speed on one core, in less than a minute.

    Only the ratios are meaningful: each subject and its alternative are measured in turn.
    """
    from softmachine.cli.benchmarks import BENCHMARKS, format_results
    from softmachine.cli.output import spinner

    if name not in (None, *BENCHMARKS):
        raise UsageError(f"unknown benchmark {name!r}", hint=did_you_mean(name or "", BENCHMARKS))
    results: list[Result] = []
    with spinner("measuring", output) as progress:
        for each in BENCHMARKS if name is None else (name,):
            progress(f"measuring: {each}")
            results += BENCHMARKS[each]()
    notes = dict.fromkeys(note for result in results for note in result.notes)
    if output.as_json:
        output.print_json({"results": [result.to_json() for result in results], "notes": list(notes)})
        return
    output.print(format_results(results))
    for note in notes:
        output.print(f"  note: {note}")
