"""Views of a finished run: one step as text or as a picture, all steps as a table, or an HTML page.

The step is selected by a position argument: a step, a position, or the last one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size

from softmachine import api
from softmachine.cli.output import Output, escape_unprintable, require_svg, spinner
from softmachine.support.errors import FixHint, UsageError
from softmachine.support.text import pluralize
from softmachine.theorems.codec import DecoderCodec

if TYPE_CHECKING:
    from softmachine.compiler.model import Model
    from softmachine.engines.result import Run
    from softmachine.inspection import Inspection
    from softmachine.inspection.svg import Picture


_POSITION_PATTERN = re.compile(r"(@?)(-?\d{1,18})")


@dataclass(frozen=True)
class PositionArg:
    """A position selector.

    Args:
        number: The number; negative ones count from the end.
        is_step: Whether it is a step of the source language; without steps, it is a position.
    """

    number: int = -1
    is_step: bool = False

    @staticmethod
    def parse(text: str) -> PositionArg:
        """Parse a step like "12", a position like "@30", or "last".

        Raises:
            UsageError: If the text is none of these.
        """
        if text == "last":
            return PositionArg()
        found = _POSITION_PATTERN.fullmatch(text)
        if not found:
            raise UsageError(
                f"{text!r} is not a step", hint="write a step number of the trace, @N for position N, or last"
            )
        return PositionArg(int(found[2]), is_step=not found[1])

    def resolve(self, inspection: Inspection) -> int:
        """The selected position of a run.

        Raises:
            UsageError: If the run does not have it.
        """
        decodes = isinstance(inspection.run.model.codec, DecoderCodec)
        if self.is_step and decodes and self.number >= 0:
            return inspection.position_of_step(self.number)
        return inspection.resolve_position(self.number)


STEP, ATTENTION = "step", "attention"
MAX_ROWS = 400
"""Maximum rows of a table; each is computed with all of its scores."""


@dataclass(frozen=True)
class StepOption:
    """A view of a step or a table, shown after a run.

    Args:
        position: The position.
        explains: Whether to explain it as text.
        picture: The file of a picture, if any.
        subject: The subject of the picture: "step", "attention", or "attention:" and the name of a head.
        table: Whether to show the theorem's table.
    """

    position: PositionArg
    explains: bool
    picture: Path | None = None
    subject: str = STEP
    table: bool = False

    @staticmethod
    def from_options(explain: str | None, picture: Path | None, of: str | None, *, table: bool = False) -> StepOption:
        """Return the view that the options define.

        Raises:
            UsageError: If they are invalid.
        """
        if of is not None and picture is None:
            raise UsageError(
                "--svg-of requires --svg",
                hint=FixHint("add --svg FILE, or leave it out", svg_of=None),
            )
        if of is not None and of != STEP and of.partition(":")[0] != ATTENTION:
            raise UsageError(
                f"unknown subject of a picture: {of!r}",
                hint=FixHint("use {}, attention or attention:HEAD; `softmachine show` draws the model", svg_of=STEP),
            )
        if picture is not None:
            require_svg(picture)
        spot = PositionArg() if explain is None else PositionArg.parse(explain)
        return StepOption(spot, explain is not None, picture, of or STEP, table)

    @property
    def head(self) -> str | None:
        """The head whose attention is drawn; None for all heads."""
        return self.subject.partition(":")[2] or None

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
        from softmachine.inspection.explanations import activations_to_json, format_activations
        from softmachine.inspection.trace_table import iterate_rows

        answer: dict[str, object] = {}
        with spinner("computing activations in exact arithmetic", output):
            inspection = api.inspect(run)
            position = self.position.resolve(inspection)
            moment = inspection.at(position) if self.explains else None
            found = list(iterate_rows(inspection, MAX_ROWS)) if self.table else []
            if self.picture is not None:
                self._draw(inspection, position).save(self.picture)
        if moment is not None and output.as_json:
            answer["explain"] = activations_to_json(moment, run.model)
        elif moment is not None:
            output.print(f"\n{format_activations(moment, run.model)}")
        if self.table and output.as_json:
            answer["table"] = found
        elif self.table:
            _print_table(found, len(inspection), output)
        if self.picture is not None and output.as_json:
            answer["svg"] = str(self.picture)
        elif self.picture is not None and not output.quiet:
            output.print(f"wrote {self.picture}")
        return answer

    def _draw(self, inspection: Inspection, position: int) -> Picture:
        from softmachine.inspection.svg import draw_attention, draw_step

        if self.subject == STEP:
            return draw_step(inspection, position)
        return draw_attention(inspection, self.head, position)


def _print_table(rows: list[dict[str, str]], positions: int, output: Output) -> None:
    """Print the rows in columns, and the number of omitted ones."""
    shown = [{title: escape_unprintable(entry) for title, entry in row.items()} for row in rows]
    widths = {title: max(cell_len(title), *(cell_len(row[title]) for row in shown)) for title in shown[0]}
    output.print("")
    for row in ({title: title for title in widths}, *shown):
        output.print("  ".join(set_cell_size(row[title], widths[title]) for title in widths).rstrip())
    if len(rows) < positions:
        output.print(f"… {pluralize(positions - len(rows), 'more position')}")


@dataclass(frozen=True)
class PageOption:
    """The page of a run, written after it.

    Args:
        file: The file.
        position: The position at which it opens, if given.
        command: The command that creates it, shown on the page.
    """

    explains: ClassVar[bool] = False
    """Whether it explains a position as text."""
    file: Path
    position: PositionArg | None
    command: str

    @staticmethod
    def from_options(file: Path | None, at: str | None, command: str) -> PageOption:
        """Return the page that the options define.

        Raises:
            UsageError: If they are invalid.
        """
        if file is None:
            raise UsageError(
                "--html-at requires --html",
                hint=FixHint("name the file of the page, for example {}", html="run.html"),
            )
        api.require_page_file(file)
        return PageOption(file, None if at is None else PositionArg.parse(at), command)

    def require(self, model: Model) -> None:
        """Every model has a page."""

    def show(self, run: Run, output: Output) -> dict[str, object]:
        """Write the page; return its name as JSON data."""
        with spinner("writing the page", output):
            position = None if self.position is None else self.position.resolve(api.inspect(run))
            api.page(run, self.file, position=position, command=self.command)
        if not output.as_json and not output.quiet:
            output.print(f"wrote {self.file}")
        return {"html": str(self.file)}


def format_command(source: str, word: str | None, options: Mapping[str, object]) -> str:
    """Return a command that creates the page, with a default file name."""
    named = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    wanted = {name: value for name, value in named.items() if value is not None and value is not False}
    given = [name if value is True else f"{name}={value}" for name, value in wanted.items()]
    words = ["softmachine", "run", source, *([] if word is None else [word]), *given, "--html", "run.html"]
    return escape_unprintable(shlex.join(words))  # a file name need not be UTF-8
