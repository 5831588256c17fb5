"""Progress callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Tell = Callable[[str], None]
"""Progress callback: takes a short description of the current activity."""
Item = TypeVar("Item")


def nobody(_doing: str) -> None:
    """Progress callback that does nothing."""


def told(items: Sequence[Item], doing: str, tell: Tell) -> Iterator[Item]:
    """Yield the items and report each by its number: "verifying: input 3 of 40"."""
    for number, item in enumerate(items, 1):
        tell(f"{doing} {number:,} of {len(items):,}")
        yield item


@contextmanager
def noted(doing: str) -> Iterator[None]:
    """Add a note on the current activity to a MemoryError raised in the block."""
    try:
        yield
    except MemoryError as error:
        error.add_note(doing)
        raise
