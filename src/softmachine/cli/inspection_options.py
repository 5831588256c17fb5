"""The options of ``run`` that inspect a finished run: one step, a picture, a table, a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from softmachine.cli.options import OptionGroup, file_option, switch_option, value_option

if TYPE_CHECKING:
    from softmachine.cli.run_views import PageOption, StepOption


@dataclass(frozen=True)
class InspectOptions(OptionGroup):
    """Options of the inspection of a run."""

    explain: Annotated[
        str | None,
        value_option(
            "STEP",
            "Explain one step of the run: its number in the trace, [b]@N[/] for position N (the only form for models "
            "that answer in one pass), or [b]last[/].",
            "--explain",
        ),
    ] = None
    svg: Annotated[
        Path | None,
        file_option("Draw the step of --explain, or the last one, to FILE as SVG, with its attention.", "--svg"),
    ] = None
    svg_of: Annotated[
        str | None,
        value_option(
            "WHAT",
            "Subject of --svg: [b]step[/], [b]attention[/] (of all heads at every position) or [b]attention:HEAD[/] "
            "(of one head).",
            "--svg-of",
        ),
    ] = None
    table: Annotated[
        bool,
        switch_option(
            "Print the theorem's table of the run, one row per position, as read from the residual stream: for "
            "turing-average-hard the state, the written symbol, the move, the head and the symbol under it.",
            "--table",
        ),
    ] = False
    html: Annotated[
        Path | None,
        file_option("Write a self-contained page of the run to FILE, with all activations, for a browser."),
    ] = None
    html_at: Annotated[
        str | None,
        value_option("STEP", "With --html: the step at which the page opens; of a long run, the centre of its window."),
    ] = None

    def views(self, source: str, word: str | None, made_with: dict[str, object]) -> list[StepOption | PageOption]:
        """Return the requested views, whose modules are imported only then.

        Args:
            source: The source, as given.
            word: The input, as given.
            made_with: The options of the command that a page shows.

        Raises:
            UsageError: If the options are invalid.
        """
        found: list[StepOption | PageOption] = []
        if self.explain is not None or self.svg is not None or self.svg_of is not None or self.table:
            from softmachine.cli.run_views import StepOption

            found.append(StepOption.from_options(self.explain, self.svg, self.svg_of, table=self.table))
        if self.html is not None or self.html_at is not None:
            from softmachine.cli.run_views import PageOption, format_command

            command = format_command(source, word, {**made_with, "html_at": self.html_at})
            found.append(PageOption.from_options(self.html, self.html_at, command))
        return found
