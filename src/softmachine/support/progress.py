"""Progress callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

ProgressCallback = Callable[[str], None]
"""Progress callback: takes a short description of the current activity."""
Item = TypeVar("Item")


def ignore_progress(_activity: str) -> None:
    """Progress callback that does nothing."""


def with_progress(items: Sequence[Item], activity: str, progress: ProgressCallback) -> Iterator[Item]:
    """Yield the items and report each by its number: "verifying: input 3 of 40"."""
    for number, item in enumerate(items, 1):
        progress(f"{activity} {number:,} of {len(items):,}")
        yield item


@contextmanager
def annotate_memory_errors(activity: str) -> Iterator[None]:
    """Add a note on the current activity to a MemoryError raised in the block."""
    try:
        yield
    except MemoryError as error:
        error.add_note(activity)
        raise
