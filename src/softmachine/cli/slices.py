"""``softmachine slices``: the Myhill–Nerode classes of a language, length by length."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.models import noted, say_notes
from softmachine.cli.options import file
from softmachine.cli.output import Output
from softmachine.errors import UsageError

if TYPE_CHECKING:
    from softmachine.measure.fitting import Fit
    from softmachine.measure.slices import Slice

EXAMPLES = """[dim]Examples:[/]
  softmachine slices palindrome --up-to 12
  softmachine slices majority-crasp --up-to 12 --plot majority.png
  softmachine slices "#<[Q_a] > #<[Q_b]" --up-to 10 --json"""


UpTo = Annotated[
    int, typer.Option("--up-to", metavar="N", min=1, help="The largest length; all words of each length are tried.")
]
MaxSteps = Annotated[
    int, typer.Option("--max-steps", metavar="N", min=1, help="How many steps a run on a word may take.")
]
Plot = Annotated[Path | None, file("Draw the classes against the length (PNG or SVG).")]


def command(
    source: options.Source,
    *,
    up_to: UpTo = 10,
    max_steps: MaxSteps = 1_000_000,
    plot: Plot = None,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    journal: options.JournalFile = None,
    output: Output,
) -> None:
    """Count the states that an automaton needs for the words of one length, and see how the number grows.

    What C-RASP recognises, with or without chain of thought, has polynomially many (without relative counts).
    """
    from softmachine import api
    from softmachine.cli.progress import bar
    from softmachine.languages.source import Source
    from softmachine.measure.slices import Slice, describe, draw_slices, growth, table
    from softmachine.model import Model
    from softmachine.sweeps.slices import slices
    from softmachine.workers import crew_of

    item = api.load(source, format_name)
    language, notes = (item.source, item.notes) if isinstance(item, Model) else (item, ())
    if alphabet is not None:
        language = api.extended(language, alphabet)
    if not isinstance(language, Source):
        raise UsageError(f"{source!r} does not say what it was made from")
    crew, found = crew_of(workers, cluster), list[Slice]()
    made = slices(language, range(1, up_to + 1), max_steps, crew=crew, journal=journal, tell=output.warn)
    with bar("lengths", up_to, output) as advance:
        for each in made:
            found.append(each)
            advance(1)
    if plot is not None:
        draw_slices(language.name, found, plot)
    if output.as_json:
        drawn = {} if plot is None else {"plot": str(plot)}
        output.answer(_answer(language.name, found, growth(found)) | drawn | noted(notes))
        return
    if not output.quiet:
        output.say(f"{language}\n")
    output.say(table(found))
    output.say(describe(found))
    if plot is not None and not output.quiet:
        output.say(f"plot written to {plot}")
    say_notes(notes, output)


def _answer(name: str, found: list[Slice], grown: Fit | None) -> dict[str, object]:
    from softmachine.measure.slices import FITTED

    return {
        "name": name,
        "slices": [
            {"length": each.length, "words": each.words, "classes": each.total, "by_prefix_length": list(each.classes)}
            for each in found
        ],
        "growth": None
        if grown is None
        else {
            "law": str(grown.law),
            "fitted": FITTED,
            "degree": grown.degree,
            "power_error": grown.power_error,
            "base": grown.base,
            "exponential_error": grown.exponential_error,
            "from": grown.first,
            "to": grown.last,
        },
    }
