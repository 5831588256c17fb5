"""``softmachine zoo``: list the bundled sources, search them, or show one."""

from __future__ import annotations

import shlex
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli.options import complete_zoo_name
from softmachine.cli.output import Output
from softmachine.support.errors import SourceError
from softmachine.support.text import did_you_mean, pluralize

if TYPE_CHECKING:
    from softmachine.languages.zoo import SampleRun, ZooEntry

EXAMPLES = """[dim]Examples:[/]
  softmachine zoo
  softmachine zoo universal
  softmachine zoo sort"""

LANGUAGES = {
    "turing": "Turing machines",
    "temporal": "Temporal logic",
    "srasp": "S-RASP programs",
    "counter": "Counter machines",
    "crasp": "C-RASP programs",
    "circuits": "Boolean circuits",
    "graphs": "Graphs",
    "families": "Circuit families",
    "logspace": "Nondeterministic logspace machines",
    "rasp": "RASP programs",
}
"""The titles of the folders of the zoo."""


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            show_default=False,
            autocompletion=complete_zoo_name,
            help="An entry to show, or words to search for in names, descriptions and languages.",
        ),
    ] = None,
    *,
    output: Output,
) -> None:
    """List the bundled sources, search them, or show one with runs."""
    from softmachine.languages import zoo

    whole = None if name is None else zoo.find_entry(name)
    chosen = (whole,) if whole else _search(name or "")
    if output.as_json:
        output.print_json({"entries": [_answer(entry, whole=whole is not None) for entry in chosen]})
    elif whole:
        _show(whole, output)
    elif output.quiet:
        output.print("\n".join(entry.name for entry in chosen))
    else:
        _list(chosen, output)


def _language(entry: ZooEntry) -> str:
    return LANGUAGES[entry.file.partition("/")[0]]


def _search(words: str) -> tuple[ZooEntry, ...]:
    """Return the entries that contain all words.

    Raises:
        SourceError: If there are none; the hint lists similar names.
    """
    from softmachine.languages import zoo

    texts = {entry: f"{entry.name} {entry.about} {_language(entry)}".lower() for entry in zoo.list_entries()}
    found = tuple(entry for entry, text in texts.items() if all(word in text for word in words.lower().split()))
    if not found:
        known = [*zoo.names(), *(word for name in zoo.names() for word in name.split("-"))]
        hint = did_you_mean(words, known, "`softmachine zoo` lists all entries")
        raise SourceError(f"no entry of the zoo matches {words!r}", hint=hint)
    return found


def _answer(entry: ZooEntry, *, whole: bool) -> dict[str, object]:
    from dataclasses import asdict

    samples = [asdict(sample) for sample in entry.samples]
    more = {"source": entry.read_text()} if whole else {}
    return {"name": entry.name, "about": entry.about, "file": entry.file, "samples": samples, **more}


def _show(entry: ZooEntry, output: Output) -> None:
    if not output.quiet:
        output.print(f"{entry.name}: {entry.about}\n")
    output.print(entry.read_text().rstrip("\n"))
    if not output.quiet:
        output.print("\nRuns:")
        for sample in entry.samples:
            output.print(f"  {_call(entry, sample)}")
            output.print(f"      {_outcome(sample)}")


def _list(entries: tuple[ZooEntry, ...], output: Output) -> None:
    """Print names and descriptions, grouped by language."""
    from rich.table import Table

    width = max(len(entry.name) for entry in entries) + 2
    for title, members in groupby(entries, _language):
        output.print(title, style="bold")
        table = Table.grid(padding=(0, 2))
        table.add_column(width=width, no_wrap=True)
        for entry in members:
            table.add_row(f"  {entry.name}", entry.about)
        output.out.print(table)
        output.print("")
    output.print("`softmachine zoo NAME` shows an entry.")


def _call(entry: ZooEntry, sample: SampleRun) -> str:
    limit = [] if sample.max_steps is None else ["--max-steps", str(sample.max_steps)]
    dashes = ["--"] if sample.input.startswith("-") else []
    return shlex.join(["softmachine", "run", entry.name, *limit, *dashes, sample.input])


def _outcome(sample: SampleRun) -> str:
    left = "" if sample.output is None else f", leaves {sample.output!r}"
    return f"{sample.verdict or 'still running'} after {pluralize(sample.steps, 'step')}{left}"
