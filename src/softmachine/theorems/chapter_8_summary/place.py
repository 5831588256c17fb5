"""Where a run with summaries is, and what summaries are made of."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.languages.turing import Configuration
from softmachine.theorems.codec import Prompt

SUMMARY = "SUMM"


@dataclass(frozen=True)
class Begin:
    """The end of a prompt: the run goes on in this state."""

    state: str


@dataclass(frozen=True)
class Column:
    """A cell of every tape: its symbols, and which heads are further to the right."""

    symbols: tuple[str, ...]
    before: tuple[bool, ...]


@dataclass
class Place:
    """Where a run is, and the cells in use: those of the input, and wherever a head has been.

    Args:
        now: The configuration.
        low: The first cell in use.
        high: The cell after the last one in use.
        prompt: What the present segment started on.
        ended: Whether nothing more is said.
    """

    now: Configuration
    low: int
    high: int
    prompt: Prompt
    ended: bool = False

    @property
    def pace(self) -> int:
        """A segment of so many actions is summarised."""
        return 3 * (len(self.prompt.tokens) - 1)

    def use(self, first: int, last: int) -> None:
        """Let these cells, and those in between, be in use."""
        self.low, self.high = min(self.low, first), max(self.high, last + 1)
