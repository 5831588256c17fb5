"""What came of a run, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from softmachine.cli.models import model_line
from softmachine.cli.output import Output, printable
from softmachine.text import many

if TYPE_CHECKING:
    from softmachine.cli.watching import Watched
    from softmachine.engines.run import Run

COLOURS = {"accept": "bold green", "reject": "bold red", "halt": "bold cyan"}
MOST_LINES = 4
"""So many lines of a long tape are shown."""


def show_run(run: Run, output: Output, watched: Watched) -> None:
    """Below the tape on a screen, what came of the run; else how it went as well, if that was not printed before."""
    if watched.on_screen:
        output.out.print(_table(run, output.width, watched.interrupted))
        return
    went, _, summary = run.text().rpartition("\n")
    from softmachine.engines.result import UNFINISHED

    if run.verdict is None:
        summary = summary.replace(UNFINISHED, _unfinished(watched.interrupted), 1)
    output.say(summary if output.quiet or watched.traced or not went else f"{went}\n{summary}")


def _unfinished(interrupted: bool) -> str:
    return "interrupted" if interrupted else "step limit reached"


def _table(run: Run, width: int, interrupted: bool) -> Table:
    table = Table.grid(padding=(0, 2))
    verdict = run.verdict or _unfinished(interrupted)
    table.add_row(
        Text("verdict", style="dim"),
        Text.assemble((verdict, COLOURS.get(verdict, "bold yellow")), f" after {many(run.steps, 'step')}"),
    )
    table.add_row(Text("tape", style="dim"), _cut(printable(run.output), MOST_LINES * (width - 9)))
    speed = f"{len(run.tokens):,}, {run.tokens_per_second:,.0f} a second ({run.engine} engine, {run.arithmetic})"
    table.add_row(Text("tokens", style="dim"), Text(speed))
    if len(run.segments) > 1:
        parts = f"{len(run.segments):,}, with contexts of at most {max(run.segments):,} tokens"
        table.add_row(Text("segments", style="dim"), Text(parts))
    if run.note:
        table.add_row(Text("note", style="dim"), Text(run.note))
    table.add_row(Text("model", style="dim"), Text(model_line(run.model.weights)))
    return table


def _cut(text: str, most: int) -> Text:
    """As much of a tape as fits, and how long it is if that is not all."""
    if not text:
        return Text("(blank)", style="dim")
    if len(text) <= most:
        return Text(text, overflow="fold")
    length = f" … {len(text):,} characters"
    return Text.assemble(text[: most - len(length)], (length, "dim"), overflow="fold")
