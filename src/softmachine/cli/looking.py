"""What ``run`` shows of the inside of a run: one step as text, or as a picture; or all steps as a table."""

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
MOST_ROWS = 400
"""A table has no more rows: every one is computed with all of its scores."""


@dataclass(frozen=True)
class Looking:
    """What is to be shown after a run.

    Args:
        spot: Where to look.
        told: Whether it is told as text.
        picture: The file for a picture, if one is wanted.
        of: What it is a picture of: "step", "attention", or "attention:" and the name of a head.
        table: Whether the worked table is shown.
    """

    spot: Spot
    told: bool
    picture: Path | None = None
    of: str = STEP
    table: bool = False

    @staticmethod
    def wanted(explain: str | None, picture: Path | None, of: str | None, *, table: bool = False) -> Looking:
        """What the options ask for.

        Raises:
            UsageError: If they cannot be followed; it is said before the run.
        """
        if of is not None and picture is None:
            raise UsageError(
                "--svg-of says what the picture of --svg shows",
                hint=Remedy("name its file, or leave it out", svg_of=None),
            )
        if of is not None and of != STEP and of.partition(":")[0] != ATTENTION:
            raise UsageError(
                f"there is no picture of {of!r}",
                hint=Remedy("use {}, attention or attention:HEAD; `softmachine show` draws the board", svg_of=STEP),
            )
        if picture is not None:
            require_svg(picture)
        spot = Spot() if explain is None else Spot.parse(explain)
        return Looking(spot, explain is not None, picture, of or STEP, table)

    @property
    def head(self) -> str | None:
        """The one head whose attention is drawn, if it is one."""
        return self.of.partition(":")[2] or None

    def require(self, model: Model) -> None:
        """Complain before the run about a head or a table that the model does not have.

        Raises:
            UsageError: If so.
        """
        from softmachine.inspection.svg.pattern import require_head
        from softmachine.inspection.table import require_columns

        if self.table:
            require_columns(model)
        if self.head is not None:
            require_head(model.weights, self.head)

    def show(self, run: Run, output: Output) -> dict[str, object]:
        """Look into a run: write the picture, say what is to be said, or give it as JSON has it."""
        from softmachine import api as showing
        from softmachine.inspection.explaining import explained, explanation
        from softmachine.inspection.table import rows

        answer: dict[str, object] = {}
        with working("looking inside, in exact arithmetic", output):
            inspection = showing.inspect(run)
            position = self.spot.of(inspection)
            moment = inspection.at(position) if self.told else None
            found = list(rows(inspection, MOST_ROWS)) if self.table else []
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
    """The rows, each in its columns; and how many more there would be."""
    shown = [{title: printable(entry) for title, entry in row.items()} for row in rows]
    widths = {title: max(cell_len(title), *(cell_len(row[title]) for row in shown)) for title in shown[0]}
    output.say("")
    for row in ({title: title for title in widths}, *shown):
        output.say("  ".join(set_cell_size(row[title], widths[title]) for title in widths).rstrip())
    if len(rows) < positions:
        output.say(f"… {many(positions - len(rows), 'more position')}")
