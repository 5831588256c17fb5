"""What a run came to, in the terms of its language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run came to.

    Args:
        verdict: "accept", "reject" or "halt"; None if it did not end.
        steps: How many steps of the source language were made.
        output: What is left, as text.
    """

    verdict: str | None
    steps: int
    output: str

    @property
    def halted(self) -> bool:
        """Whether the run ended by itself."""
        return self.verdict is not None

    @property
    def accepted(self) -> bool:
        """Whether the run ended with "accept"."""
        return self.verdict == "accept"

    def trace(self) -> Iterator[str]:
        """What happened: one text for the start and one for each step; empty if there is nothing to show."""
        return iter(())
