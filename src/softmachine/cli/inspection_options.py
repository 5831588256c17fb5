"""The options of ``run`` that inspect a finished run: one step, a picture, a table, a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from softmachine.cli.groups import Group
from softmachine.cli.options import file, switch, value

if TYPE_CHECKING:
    from softmachine.cli.run_views import Looking, Paging


@dataclass(frozen=True)
class Inside(Group):
    """Options of the inspection of a run."""

    explain: Annotated[
        str | None,
        value(
            "STEP",
            "Explain one step of the run: its number in the trace, [b]@N[/] for position N (the only form for models "
            "that answer in one pass), or [b]last[/].",
            "--explain",
        ),
    ] = None
    svg: Annotated[
        Path | None,
        file("Draw the step of --explain, or the last one, to FILE as SVG, with its attention.", "--svg"),
    ] = None
    svg_of: Annotated[
        str | None,
        value(
            "WHAT",
            "Subject of --svg: [b]step[/], [b]attention[/] (of all heads at every position) or [b]attention:HEAD[/] "
            "(of one head).",
            "--svg-of",
        ),
    ] = None
    table: Annotated[
        bool,
        switch(
            "Print the theorem's table of the run, one row per position, as read from the residual stream: for "
            "turing-average-hard the state, the written symbol, the move, the head and the symbol under it.",
            "--table",
        ),
    ] = False
    html: Annotated[
        Path | None,
        file("Write a self-contained page of the run to FILE, with all activations, for a browser."),
    ] = None
    html_at: Annotated[
        str | None,
        value("STEP", "With --html: the step at which the page opens; of a long run, the centre of its window."),
    ] = None

    def views(self, source: str, word: str | None, made_with: dict[str, object]) -> list[Looking | Paging]:
        """Return the requested views, whose modules are imported only then.

        Args:
            source: The source, as given.
            word: The input, as given.
            made_with: The options of the command that a page shows.

        Raises:
            UsageError: If the options are invalid.
        """
        found: list[Looking | Paging] = []
        if self.explain is not None or self.svg is not None or self.svg_of is not None or self.table:
            from softmachine.cli.run_views import Looking

            found.append(Looking.wanted(self.explain, self.svg, self.svg_of, table=self.table))
        if self.html is not None or self.html_at is not None:
            from softmachine.cli.run_views import Paging, command_of

            command = command_of(source, word, {**made_with, "html_at": self.html_at})
            found.append(Paging.wanted(self.html, self.html_at, command))
        return found
