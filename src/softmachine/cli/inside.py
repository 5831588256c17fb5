"""The options of ``run`` that look into it when it has ended: a step, a picture, a table, a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from softmachine.cli.groups import Group
from softmachine.cli.options import file, switch, value

if TYPE_CHECKING:
    from softmachine.cli.looking import Looking
    from softmachine.cli.pages import Paging


@dataclass(frozen=True)
class Inside(Group):
    """What is to be seen of the inside of a run."""

    explain: Annotated[
        str | None,
        value(
            "STEP",
            "Afterwards, tell what happened inside of the model at a step: as the trace counts them, [b]@N[/] for "
            "position N (models that answer at once have only these), or [b]last[/].",
            "--explain",
        ),
    ] = None
    svg: Annotated[
        Path | None,
        file("Draw that step, or the last one, to FILE as SVG: who looked where.", "--svg"),
    ] = None
    svg_of: Annotated[
        str | None,
        value(
            "WHAT",
            "What --svg draws: [b]step[/], [b]attention[/] (what all heads chose at every position) or "
            "[b]attention:HEAD[/] (what one of them did).",
            "--svg-of",
        ),
    ] = None
    table: Annotated[
        bool,
        switch(
            "Afterwards, print the worked table of the theorem, a row for each position: for chapter-8 the state q, "
            "the symbol b that was written, the move m, the head h and the symbol a under it, read off the residual "
            "stream.",
            "--table",
        ),
    ] = False
    html: Annotated[
        Path | None,
        file("Write a page to FILE that shows the run from the inside; a browser opens it, and it needs nothing else."),
    ] = None
    html_at: Annotated[
        str | None,
        value("STEP", "With --html: where the page opens, and what it has a window around if the run is long."),
    ] = None

    def views(self, source: str, word: str | None, made_with: dict[str, object]) -> list[Looking | Paging]:
        """What is to be shown, and only then imported; what cannot be is said before the run.

        Args:
            source: What is run.
            word: The input.
            made_with: The options that a page says it was made with.
        """
        found: list[Looking | Paging] = []
        if self.explain is not None or self.svg is not None or self.svg_of is not None or self.table:
            from softmachine.cli.looking import Looking

            found.append(Looking.wanted(self.explain, self.svg, self.svg_of, table=self.table))
        if self.html is not None or self.html_at is not None:
            from softmachine.cli.pages import Paging, command_of

            command = command_of(source, word, {**made_with, "html_at": self.html_at})
            found.append(Paging.wanted(self.html, self.html_at, command))
        return found
