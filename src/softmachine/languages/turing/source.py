"""What the readers and writers of all formats of Turing machines share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from softmachine.errors import Place, SourceError, UsageError
from softmachine.languages.turing.machine import TuringMachine

LARGEST_SOURCE = 1 << 20
"""Characters. People write machines of a few thousand; whatever is longer is not a machine, or not meant well."""


def check_size(text: str, source: str) -> None:
    """Refuse a source that is far too long before a parser spends minutes on it.

    Raises:
        SourceError: If it is.
    """
    if len(text) > LARGEST_SOURCE:
        raise SourceError(
            f"this is {len(text):,} characters long; a machine may be described in at most {LARGEST_SOURCE:,}",
            place=Place(source),
        )


def name_of(source: str) -> str | None:
    """What to call a machine that does not say its name: its file without folder and extension, if it has a file."""
    return None if source.startswith("<") else PurePath(source).stem or None


def refuse(machine: TuringMachine, format_name: str, obstacles: Iterator[str]) -> None:
    """Say why a format cannot express a machine, if it cannot.

    Raises:
        UsageError: If there are obstacles.
    """
    reasons = "".join(f"\n  - {obstacle}" for obstacle in obstacles)
    if reasons:
        raise UsageError(f"{machine.name!r} cannot be written in the {format_name} format:{reasons}")
