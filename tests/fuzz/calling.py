"""The command line under a clock: whatever it is given, it ends, with a status of its own and a message."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType

from softmachine.cli import main

SECONDS = 60
"""Nothing that is refused, and none of what is small, takes longer."""
STATUSES = (0, 1, 2, 3)


class TooLongError(BaseException):
    """A call took too long. No handler of errors takes it for one of its own."""


def call(*arguments: str) -> tuple[int, str]:
    """The status, and what was said; fails if that is a traceback, or an internal error, or nothing within a minute."""
    said = io.StringIO()
    with within(SECONDS), redirect_stdout(said), redirect_stderr(said):
        status = main(list(arguments))
    text = said.getvalue()
    assert status in STATUSES, (arguments, status, text)
    assert "internal error" not in text, (arguments, text)
    assert "Traceback" not in text, (arguments, text)
    assert text.strip(), arguments
    return status, text


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Stop what takes longer."""

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
    """Every file in a folder, to see that none is lost or changed."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
