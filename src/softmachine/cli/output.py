"""Where results go: standard output for people or as one JSON object, standard error for progress and messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from rich.console import Console

from softmachine.support.files import require_new, require_suffix
from softmachine.support.text import many, printable

__all__ = ["Output", "print_json", "printable", "require_svg"]

NARROWEST = 20


class _Console(Console):
    """A console of plain text: no markup, no emoji, no highlighting; a broken pipe is an error like any other."""

    def __init__(self, file: IO[str]) -> None:
        super().__init__(file=file, markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 - rich calls this while it handles the error


@dataclass(frozen=True)
class Output:
    """How a command answers.

    Args:
        as_json: Whether standard output is one JSON object.
        quiet: Whether only the answer is wanted.
    """

    as_json: bool = False
    quiet: bool = False

    @cached_property
    def out(self) -> Console:
        """Standard output."""
        return _Console(sys.stdout)

    @cached_property
    def err(self) -> Console:
        """Standard error."""
        return _Console(sys.stderr)

    @property
    def live(self) -> bool:
        """Whether standard output is a screen that may be redrawn."""
        return sys.stdout.isatty() and not (self.as_json or self.quiet or self.out.is_dumb_terminal)

    @property
    def progress(self) -> bool:
        """Whether progress may be shown on standard error."""
        return sys.stderr.isatty() and not (self.quiet or self.err.is_dumb_terminal)

    @property
    def width(self) -> int:
        """How many columns a line may have."""
        return max(self.out.width, NARROWEST)

    def say(self, text: str, style: str | None = None) -> None:
        """Print for people; long lines are left to the terminal, and to whoever reads the pipe."""
        self.out.print(printable(text), style=style, soft_wrap=True)

    def columns(self, rows: Sequence[Sequence[str]]) -> None:
        """Print rows of texts below one another, each column as wide as its widest text."""
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            self.say("  ".join(entry.rjust(wide) for entry, wide in zip(row, widths, strict=True)))

    def warn_of_limit(self, max_steps: int) -> None:
        """Say that a run was stopped, and how to let it go on."""
        self.warn(
            f"stopped after {many(max_steps, 'step')}; to let it run longer: --max-steps {10 * max_steps or 1000}"
        )

    def warn(self, message: str) -> None:
        """Say something on standard error."""
        self.err.print(printable(message), style="yellow", soft_wrap=True)

    def answer(self, result: Mapping[str, object]) -> None:
        """Print the one JSON object."""
        print_json(result)


def print_json(result: Mapping[str, object]) -> None:
    """Print one JSON object, in ASCII if standard output cannot take its characters."""
    text = json.dumps(result, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = json.dumps(result, indent=2)
    print(text)


def require_svg(file: Path) -> None:
    """Complain before the work about a file that a picture cannot be written to.

    Raises:
        UsageError: If it has another ending, exists already, or there is no folder for it.
    """
    require_suffix(file, ".svg")
    require_new(file)
