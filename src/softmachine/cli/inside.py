"""The options of ``run`` that look into it when it has ended: a step, a picture, a table, a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

from softmachine.cli.groups import Group
from softmachine.cli.options import file, switch, value

if TYPE_CHECKING:
    from softmachine.cli.output import Output
    from softmachine.engines.result import Run
    from softmachine.model import Model

Explained = Annotated[
    str | None,
    value(
        "STEP",
        "Afterwards, tell what happened inside of the model at a step: as the trace counts them, [b]@N[/] for position "
        "N (models that answer at once have only these), or [b]last[/].",
        "--explain",
    ),
]
Picture = Annotated[Path | None, file("Draw that step, or the last one, to FILE as SVG: who looked where.", "--svg")]
PictureOf = Annotated[
    str | None,
    value(
        "WHAT",
        "What --svg draws: [b]step[/], [b]attention[/] (what all heads chose at every position) or "
        "[b]attention:HEAD[/] (what one of them did).",
        "--svg-of",
    ),
]
Tabled = Annotated[
    bool,
    switch(
        "Afterwards, print the worked table of the theorem, a row for each position: for chapter-8 the state q, the "
        "symbol b that was written, the move m, the head h and the symbol a under it, read off the residual stream.",
        "--table",
    ),
]
Html = Annotated[
    Path | None,
    file("Write a page to FILE that shows the run from the inside; a browser opens it, and it needs nothing else."),
]
HtmlAt = Annotated[
    str | None,
    value("STEP", "With --html: where the page opens, and what it has a window around if the run is long."),
]


class View(Protocol):
    """A way to look into a run when it has ended."""

    def require(self, model: Model) -> None:
        """Complain before the run about what cannot be shown of the model."""

    def show(self, run: Run, output: Output) -> dict[str, object]:
        """Look into a run: write or say what is to be seen; what of it JSON has."""


@dataclass(frozen=True)
class Inside(Group):
    """What is to be seen of the inside of a run."""

    explain: Explained = None
    svg: Picture = None
    svg_of: PictureOf = None
    table: Tabled = False
    html: Html = None
    html_at: HtmlAt = None

    def views(self, source: str, word: str | None, made_with: dict[str, object]) -> list[View]:
        """What is to be shown, and only then imported; what cannot be is said before the run.

        Args:
            source: What is run.
            word: The input.
            made_with: The options that a page says it was made with.
        """
        found: list[View] = []
        if self.explain is not None or self.svg is not None or self.svg_of is not None or self.table:
            from softmachine.cli.looking import Looking

            found.append(Looking.wanted(self.explain, self.svg, self.svg_of, table=self.table))
        if self.html is not None or self.html_at is not None:
            from softmachine.cli.pages import Paging, command_of

            command = command_of(source, word, {**made_with, "html_at": self.html_at})
            found.append(Paging.wanted(self.html, self.html_at, command))
        return found
