"""State of a run with summaries, and the tokens of summaries."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.languages.turing import Configuration
from softmachine.theorems.codec import Prompt

SUMMARY = "SUMM"


@dataclass(frozen=True)
class Begin:
    """The end of a prompt: the run resumes in this state."""

    state: str


@dataclass(frozen=True)
class Column:
    """A cell of every tape: its symbols, and which heads are further to the right."""

    symbols: tuple[str, ...]
    before: tuple[bool, ...]


@dataclass
class Place:
    """The state of a run, and the cells in use: those of the input, and those that a head has visited.

    Args:
        now: The configuration.
        low: The first cell in use.
        high: The cell after the last one in use.
        prompt: The prompt of the current segment.
        ended: Whether the run has ended.
    """

    now: Configuration
    low: int
    high: int
    prompt: Prompt
    ended: bool = False

    @property
    def pace(self) -> int:
        """The number of actions after which a segment is summarised."""
        return 3 * (len(self.prompt.tokens) - 1)

    def use(self, first: int, last: int) -> None:
        """Mark these cells, and those in between, as in use."""
        self.low, self.high = min(self.low, first), max(self.high, last + 1)
