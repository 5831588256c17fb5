"""Output: results on standard output, as text or one JSON object; progress and messages on standard error.

Progress is shown as a spinner or a bar.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TypeVar

from rich.console import Console

from softmachine.support.files import require_creatable, require_suffix
from softmachine.support.progress import ProgressCallback, annotate_memory_errors, ignore_progress
from softmachine.support.text import escape_unprintable, pluralize

__all__ = ["Output", "print_json", "escape_unprintable", "require_svg"]


MIN_WIDTH = 20


class _Console(Console):
    """A console for plain text: no markup, emoji or highlighting; a broken pipe raises an error."""

    def __init__(self, file: IO[str]) -> None:
        super().__init__(file=file, markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 - rich calls this in its exception handler


@dataclass(frozen=True)
class Output:
    """The output of a command.

    Args:
        as_json: Whether standard output is one JSON object.
        quiet: Whether to print only the answer.
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
        """Whether standard output is a terminal that can be redrawn."""
        return sys.stdout.isatty() and not (self.as_json or self.quiet or self.out.is_dumb_terminal)

    @property
    def progress(self) -> bool:
        """Whether progress may be shown on standard error."""
        return sys.stderr.isatty() and not (self.quiet or self.err.is_dumb_terminal)

    @property
    def width(self) -> int:
        """Maximum columns of a line."""
        return max(self.out.width, MIN_WIDTH)

    def print(self, text: str, style: str | None = None) -> None:
        """Print text; long lines are not wrapped."""
        self.out.print(escape_unprintable(text), style=style, soft_wrap=True)

    def print_columns(self, rows: Sequence[Sequence[str]]) -> None:
        """Print a table with right-aligned columns."""
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            self.print("  ".join(entry.rjust(wide) for entry, wide in zip(row, widths, strict=True)))

    def warn_of_limit(self, max_steps: int) -> None:
        """Warn that a run reached the step limit."""
        self.warn(
            f"stopped after {pluralize(max_steps, 'step')}; for a longer run: --max-steps {10 * max_steps or 1000}"
        )

    def warn(self, message: str) -> None:
        """Print a message on standard error."""
        self.err.print(escape_unprintable(message), style="yellow", soft_wrap=True)

    def print_json(self, result: Mapping[str, object]) -> None:
        """Print the result as one JSON object."""
        print_json(result)


def print_json(result: Mapping[str, object]) -> None:
    """Print one JSON object, in ASCII if standard output cannot encode its characters."""
    text = json.dumps(result, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = json.dumps(result, indent=2)
    print(text)


def require_svg(file: Path) -> None:
    """Validate the file of a picture before the work.

    Raises:
        UsageError: If it has another extension or exists, or its folder does not.
    """
    require_suffix(file, ".svg")
    require_creatable(file)


Item = TypeVar("Item")
SPINNER_DELAY = 0.5
"""Seconds before anything is shown."""


@contextmanager
def spinner(title: str, output: Output) -> Iterator[ProgressCallback]:
    """Show a spinner during long work; yields a function that updates its text."""
    with annotate_memory_errors(title):
        yield from _working(title, output)


def _working(title: str, output: Output) -> Iterator[ProgressCallback]:
    if not output.progress:
        yield ignore_progress
        return
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    spinner = Spinner("dots", title)
    due = time.perf_counter() + SPINNER_DELAY
    with Live(
        get_renderable=lambda: spinner if time.perf_counter() >= due else Text(),
        console=output.err,
        refresh_per_second=10,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield lambda doing: spinner.update(text=Text(doing))


@contextmanager
def bar(title: str, total: float, output: Output) -> Iterator[Callable[[int], None]]:
    """Show a bar; yields a function that advances it. The total may be infinite."""
    with annotate_memory_errors(title):
        yield from _bar(title, total, output)


def _bar(title: str, total: float, output: Output) -> Iterator[Callable[[int], None]]:
    if not output.progress:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=output.err, transient=True) as progress:
        task = progress.add_task(title, total=total if math.isfinite(total) else None)
        yield lambda count: progress.advance(task, count)


def advance_after_each(items: Iterable[Item], advance: Callable[[int], None]) -> Iterator[Item]:
    """Yield the items, and advance a bar after each."""
    for item in items:
        yield item
        advance(1)
