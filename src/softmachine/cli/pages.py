"""``run --html``: write the page of a run to a file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from softmachine import api as showing
from softmachine.cli.output import Output, printable
from softmachine.cli.progress import working
from softmachine.inspection.spot import Spot
from softmachine.support.errors import Remedy, UsageError

if TYPE_CHECKING:
    from softmachine.compiler.model import Model
    from softmachine.engines.result import Run


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
