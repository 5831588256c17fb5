"""Progress on standard error: a spinner or a bar."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from softmachine.cli.output import Output
from softmachine.support.progress import Tell, nobody, noted

Item = TypeVar("Item")
PATIENCE = 0.5
"""Seconds before anything is shown."""


@contextmanager
def working(title: str, output: Output) -> Iterator[Tell]:
    """Show a spinner during long work; yields a function that updates its text."""
    with noted(title):
        yield from _working(title, output)


def _working(title: str, output: Output) -> Iterator[Tell]:
    if not output.progress:
        yield nobody
        return
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    spinner = Spinner("dots", title)
    due = time.perf_counter() + PATIENCE
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
    with noted(title):
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


def counted(items: Iterable[Item], advance: Callable[[int], None]) -> Iterator[Item]:
    """Yield the items, and advance a bar after each."""
    for item in items:
        yield item
        advance(1)
