"""Views of a finished run: one step as text or as a picture, or all steps as a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from softmachine.cli.output import Output, printable, require_svg
from softmachine.cli.progress import working
from softmachine.inspection.spot import Spot
from softmachine.support.errors import Remedy, UsageError
from softmachine.support.text import many

if TYPE_CHECKING:
    from softmachine.compiler.model import Model
    from softmachine.engines.result import Run
    from softmachine.inspection import Inspection
    from softmachine.inspection.svg import Picture

STEP, ATTENTION = "step", "attention"
MAX_ROWS = 400
"""Maximum rows of a table; each is computed with all of its scores."""


@dataclass(frozen=True)
class Looking:
    """A view of a step or a table, shown after a run.

    Args:
        spot: The position.
        told: Whether to explain it as text.
        picture: The file of a picture, if any.
        of: The subject of the picture: "step", "attention", or "attention:" and the name of a head.
        table: Whether to show the theorem's table.
    """

    spot: Spot
    told: bool
    picture: Path | None = None
    of: str = STEP
    table: bool = False

    @staticmethod
    def wanted(explain: str | None, picture: Path | None, of: str | None, *, table: bool = False) -> Looking:
        """Return the view that the options define.

        Raises:
            UsageError: If they are invalid.
        """
        if of is not None and picture is None:
            raise UsageError(
                "--svg-of requires --svg",
                hint=Remedy("add --svg FILE, or leave it out", svg_of=None),
            )
        if of is not None and of != STEP and of.partition(":")[0] != ATTENTION:
            raise UsageError(
                f"unknown subject of a picture: {of!r}",
                hint=Remedy("use {}, attention or attention:HEAD; `softmachine show` draws the model", svg_of=STEP),
            )
        if picture is not None:
            require_svg(picture)
        spot = Spot() if explain is None else Spot.parse(explain)
        return Looking(spot, explain is not None, picture, of or STEP, table)

    @property
    def head(self) -> str | None:
        """The head whose attention is drawn; None for all heads."""
        return self.of.partition(":")[2] or None

    def require(self, model: Model) -> None:
        """Validate the view before the run.

        Raises:
            UsageError: If the model lacks the head or the table.
        """
        from softmachine.inspection.svg.pattern import require_head
        from softmachine.inspection.table import require_columns

        if self.table:
            require_columns(model)
        if self.head is not None:
            require_head(model.weights, self.head)

    def show(self, run: Run, output: Output) -> dict[str, object]:
        """Write the picture and print the texts of the view; with --json, return them."""
        from softmachine import api as showing
        from softmachine.inspection.explaining import explained, explanation
        from softmachine.inspection.table import rows

        answer: dict[str, object] = {}
        with working("computing activations in exact arithmetic", output):
            inspection = showing.inspect(run)
            position = self.spot.of(inspection)
            moment = inspection.at(position) if self.told else None
            found = list(rows(inspection, MAX_ROWS)) if self.table else []
            if self.picture is not None:
                self._drawn(inspection, position).save(self.picture)
        if moment is not None and output.as_json:
            answer["explain"] = explained(moment, run.model)
        elif moment is not None:
            output.say(f"\n{explanation(moment, run.model)}")
        if self.table and output.as_json:
            answer["table"] = found
        elif self.table:
            _say_table(found, len(inspection), output)
        if self.picture is not None and output.as_json:
            answer["svg"] = str(self.picture)
        elif self.picture is not None and not output.quiet:
            output.say(f"wrote {self.picture}")
        return answer

    def _drawn(self, inspection: Inspection, position: int) -> Picture:
        from softmachine.inspection.svg import attention_picture, step_picture

        if self.of == STEP:
            return step_picture(inspection, position)
        return attention_picture(inspection, self.head, position)


def _say_table(rows: list[dict[str, str]], positions: int, output: Output) -> None:
    """Print the rows in columns, and the number of omitted ones."""
    shown = [{title: printable(entry) for title, entry in row.items()} for row in rows]
    widths = {title: max(cell_len(title), *(cell_len(row[title]) for row in shown)) for title in shown[0]}
    output.say("")
    for row in ({title: title for title in widths}, *shown):
        output.say("  ".join(set_cell_size(row[title], widths[title]) for title in widths).rstrip())
    if len(rows) < positions:
        output.say(f"… {many(positions - len(rows), 'more position')}")
