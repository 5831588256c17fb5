"""Long work says what it is doing, to whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Tell = Callable[[str], None]
"""Takes a few words on what is being done now."""
Item = TypeVar("Item")


def nobody(_doing: str) -> None:
    """Nobody wants to know."""


def told(items: Sequence[Item], doing: str, tell: Tell) -> Iterator[Item]:
    """The items one by one, each announced by its number: "verifying: input 3 of 40"."""
    for number, item in enumerate(items, 1):
        tell(f"{doing} {number:,} of {len(items):,}")
        yield item


@contextmanager
def noted(doing: str) -> Iterator[None]:
    """If memory runs out inside, the error has a note on what was being done."""
    try:
        yield
    except MemoryError as error:
        error.add_note(doing)
        raise
