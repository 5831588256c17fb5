"""Progress on standard error: that something is being done, and how much of it."""

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
def working(what: str, output: Output) -> Iterator[Tell]:
    """Say what is being done, if it takes a while; the returned function says it more exactly."""
    with noted(what):
        yield from _working(what, output)


def _working(what: str, output: Output) -> Iterator[Tell]:
    if not output.progress:
        yield nobody
        return
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    spinner = Spinner("dots", what)
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
def bar(what: str, total: float, output: Output) -> Iterator[Callable[[int], None]]:
    """A bar that the returned function moves on by so many; the total may be infinite."""
    with noted(what):
        yield from _bar(what, total, output)


def _bar(what: str, total: float, output: Output) -> Iterator[Callable[[int], None]]:
    if not output.progress:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=output.err, transient=True) as progress:
        task = progress.add_task(what, total=total if math.isfinite(total) else None)
        yield lambda count: progress.advance(task, count)


def counted(items: Iterable[Item], advance: Callable[[int], None]) -> Iterator[Item]:
    """The items one by one; a bar moves on when one is done with."""
    for item in items:
        yield item
        advance(1)
