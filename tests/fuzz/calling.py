"""The command line with a time limit: every call ends with a documented status and a message."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType

from softmachine.cli import main

SECONDS = 60
"""Time limit of a call."""
STATUSES = (0, 1, 2, 3)


class TooLongError(BaseException):
    """A call took too long. It is no Exception, so that no handler of errors catches it."""


def call(*arguments: str) -> tuple[int, str]:
    """The status and the output; fails on a traceback, an internal error, no output, or after the time limit."""
    output = io.StringIO()
    with within(SECONDS), redirect_stdout(output), redirect_stderr(output):
        status = main(list(arguments))
    text = output.getvalue()
    assert status in STATUSES, (arguments, status, text)
    assert "internal error" not in text, (arguments, text)
    assert "Traceback" not in text, (arguments, text)
    assert text.strip(), arguments
    return status, text


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TooLongError after this many seconds."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooLongError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def contents(folder: Path) -> dict[str, bytes]:
    """The contents of every file in a folder, to compare them later."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
