"""Counting inputs as they are tried: a bar on standard error, and Ctrl-C that stops after the one at hand."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from softmachine.cli.output import Output

if TYPE_CHECKING:
    from softmachine.checking import Word


class counted(AbstractContextManager["counted"]):  # noqa: N801 - reads as a function in a with statement
    """Words that are counted on their way to where they are tried.

    The first Ctrl-C lets the input at hand be finished, so that there is a report; the second one stops at once.

    Args:
        words: The words.
        total: How many there are.
        output: Where the bar goes.
    """

    def __init__(self, words: Iterator[Word], total: int, output: Output) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        self.stopped = False
        self._words = words
        self._bar = Progress(
            "checking",
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=output.err,
            transient=True,
            disable=not output.progress,
        )
        self._task = self._bar.add_task("checking", total=total)
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._stop)
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def __iter__(self) -> Iterator[Word]:
        for word in self._words:
            if self.stopped:
                return
            yield word
            self._bar.advance(self._task)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
