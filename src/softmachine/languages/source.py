"""What all source languages have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable


@runtime_checkable
class Source(Protocol):
    """An object of a source language: a machine, a formula, a program."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols an input may have."""

    def word(self, text: str | Iterable[str]) -> tuple[str, ...]:
        """An input as symbols."""
