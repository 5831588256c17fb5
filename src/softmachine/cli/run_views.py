"""Views of a finished run: one step as text or as a picture, or all steps as a table.

``run --html``: write the page of a run to a file.

Position argument of the command line: a step, a position, or the last one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from softmachine import api as showing
from softmachine.cli.output import Output, printable, require_svg, working
from softmachine.inspection.inspection import Inspection
from softmachine.support.errors import Remedy, UsageError
from softmachine.support.text import many
from softmachine.theorems.codec import DecoderCodec

if TYPE_CHECKING:
    from softmachine.compiler.model import Model
    from softmachine.engines.result import Run
    from softmachine.inspection import Inspection
    from softmachine.inspection.svg import Picture


_WRITTEN = re.compile(r"(@?)(-?\d{1,18})")


@dataclass(frozen=True)
class Spot:
    """A position selector.

    Args:
        number: The number; negative ones count from the end.
        is_step: Whether it is a step of the source language; without steps, it is a position.
    """

    number: int = -1
    is_step: bool = False

    @staticmethod
    def parse(text: str) -> Spot:
        """Parse a step like "12", a position like "@30", or "last".

        Raises:
            UsageError: If the text is none of these.
        """
        if text == "last":
            return Spot()
        found = _WRITTEN.fullmatch(text)
        if not found:
            raise UsageError(
                f"{text!r} is not a step", hint="write a step number of the trace, @N for position N, or last"
            )
        return Spot(int(found[2]), is_step=not found[1])

    def of(self, inspection: Inspection) -> int:
        """The selected position of a run.

        Raises:
            UsageError: If the run does not have it.
        """
        decodes = isinstance(inspection.run.model.codec, DecoderCodec)
        if self.is_step and decodes and self.number >= 0:
            return inspection.position_of(self.number)
        return inspection.index(self.number)


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
        from softmachine.inspection.svg.attention import require_head
        from softmachine.inspection.trace_table import require_columns

        if self.table:
            require_columns(model)
        if self.head is not None:
            require_head(model.weights, self.head)

    def show(self, run: Run, output: Output) -> dict[str, object]:
        """Write the picture and print the texts of the view; with --json, return them."""
        from softmachine import api as showing
        from softmachine.inspection.explanations import explained, explanation
        from softmachine.inspection.trace_table import rows

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


@dataclass(frozen=True)
class Paging:
    """The page of a run, written after it.

    Args:
        file: The file.
        spot: The position at which it opens, if given.
        command: The command that creates it, shown on the page.
    """

    file: Path
    spot: Spot | None
    command: str

    @staticmethod
    def wanted(file: Path | None, at: str | None, command: str) -> Paging:
        """Return the page that the options define.

        Raises:
            UsageError: If they are invalid.
        """
        if file is None:
            raise UsageError(
                "--html-at requires --html",
                hint=Remedy("name the file of the page, for example {}", html="run.html"),
            )
        showing.require_page_file(file)
        return Paging(file, None if at is None else Spot.parse(at), command)

    def require(self, model: Model) -> None:
        """Every model has a page."""

    def show(self, run: Run, output: Output) -> dict[str, object]:
        """Write the page; return its name as JSON data."""
        with working("writing the page", output):
            position = None if self.spot is None else self.spot.of(showing.inspect(run))
            showing.page(run, self.file, position=position, command=self.command)
        if not output.as_json and not output.quiet:
            output.say(f"wrote {self.file}")
        return {"html": str(self.file)}


def command_of(source: str, word: str | None, options: Mapping[str, object]) -> str:
    """Return a command that creates the page, with a default file name."""
    named = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    wanted = {name: value for name, value in named.items() if value is not None and value is not False}
    given = [name if value is True else f"{name}={value}" for name, value in wanted.items()]
    words = ["softmachine", "run", source, *([] if word is None else [word]), *given, "--html", "run.html"]
    return printable(shlex.join(words))  # a file name need not be UTF-8
