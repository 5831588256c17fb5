"""What ``run --html`` does: the page of a run, written to a file."""

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
    """A page that is to be written after a run.

    Args:
        file: Where to.
        spot: Where it opens, if that was said.
        command: What makes it, for people.
    """

    file: Path
    spot: Spot | None
    command: str

    @staticmethod
    def wanted(file: Path | None, at: str | None, command: str) -> Paging:
        """What the options ask for.

        Raises:
            UsageError: If they cannot be followed; it is said before the run.
        """
        if file is None:
            raise UsageError(
                "--html-at says where the page of --html opens",
                hint=Remedy("say where it is written, for example {}", html="run.html"),
            )
        showing.require_page_file(file)
        return Paging(file, None if at is None else Spot.parse(at), command)

    def require(self, model: Model) -> None:
        """Every model has a page."""

    def show(self, run: Run, output: Output) -> dict[str, object]:
        """Write the page, and say so, or give it as JSON has it."""
        with working("writing the page", output):
            position = None if self.spot is None else self.spot.of(showing.inspect(run))
            showing.page(run, self.file, position=position, command=self.command)
        if not output.as_json and not output.quiet:
            output.say(f"wrote {self.file}")
        return {"html": str(self.file)}


def command_of(source: str, word: str | None, options: Mapping[str, object]) -> str:
    """The command that makes the page of such a run; where it is written to does not matter."""
    named = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    wanted = {name: value for name, value in named.items() if value is not None and value is not False}
    given = [name if value is True else f"{name}={value}" for name, value in wanted.items()]
    words = ["softmachine", "run", source, *([] if word is None else [word]), *given, "--html", "run.html"]
    return printable(shlex.join(words))  # a file name need not be UTF-8
