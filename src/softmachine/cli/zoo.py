"""``softmachine zoo``: what comes with it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli.names import zoo_names
from softmachine.cli.output import Output
from softmachine.support.errors import SourceError
from softmachine.support.text import many

if TYPE_CHECKING:
    from rich.table import Table

    from softmachine.languages.zoo import Entry, Sample

EXAMPLES = """[dim]Examples:[/]
  softmachine zoo
  softmachine zoo universal"""

LONGEST_EXAMPLE = 12


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", show_default=False, autocompletion=zoo_names, help="One entry, to see all of it."
        ),
    ] = None,
    *,
    output: Output,
) -> None:
    """List the machines that come with softmachine; or show one: what it does, its source, and runs of it."""
    from softmachine.languages import zoo

    chosen = zoo.entries() if name is None else (_find(name),)
    if output.as_json:
        output.answer({"entries": [_answer(entry, whole=name is not None) for entry in chosen]})
    elif name is not None:
        _show(chosen[0], output)
    elif output.quiet:
        output.say("\n".join(entry.name for entry in chosen))
    else:
        output.out.print(_table(chosen))


def _find(name: str) -> Entry:
    from softmachine.languages import zoo

    entry = zoo.find(name)
    if entry is None:
        close = zoo.suggest(name)
        hint = f"did you mean {' or '.join(close)}?" if close else "`softmachine zoo` lists what comes with it"
        raise SourceError(f"{name!r} is not in the zoo", hint=hint)
    return entry


def _answer(entry: Entry, *, whole: bool) -> dict[str, object]:
    from dataclasses import asdict

    samples = [asdict(sample) for sample in entry.samples]
    more = {"source": entry.read()} if whole else {}
    return {"name": entry.name, "about": entry.about, "file": entry.file, "samples": samples, **more}


def _show(entry: Entry, output: Output) -> None:
    if not output.quiet:
        output.say(f"{entry.name}: {entry.about}\n")
    output.say(entry.read().rstrip("\n"))
    if not output.quiet:
        output.say("\nRuns of it:")
        for sample in entry.samples:
            output.say(f"  {_call(entry, sample)}")
            output.say(f"      {_outcome(sample)}")


def _table(entries: tuple[Entry, ...]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it does")
    table.add_column("for example", overflow="fold")
    for entry in entries:
        table.add_row(entry.name, entry.about, _example(entry))
    return table


def _example(entry: Entry) -> str:
    """The sample that says most in little space: an input, and what becomes of it."""

    def interest(sample: Sample) -> tuple[bool, bool, int]:
        return len(sample.input) <= LONGEST_EXAMPLE, sample.verdict != "reject", sample.steps

    sample = max(entry.samples, key=interest)
    left = f"{sample.steps:,} steps" if sample.output is None else sample.output
    result = f"{sample.verdict} {left}" if sample.verdict else "goes on"
    return f"{sample.input or '(empty)'} → {result}".rstrip()


def _call(entry: Entry, sample: Sample) -> str:
    limit = [] if sample.max_steps is None else ["--max-steps", str(sample.max_steps)]
    dashes = ["--"] if sample.input.startswith("-") else []
    return shlex.join(["softmachine", "run", entry.name, *limit, *dashes, sample.input])


def _outcome(sample: Sample) -> str:
    left = "" if sample.output is None else f", leaves {sample.output!r}"
    return f"{sample.verdict or 'still running'} after {many(sample.steps, 'step')}{left}"
