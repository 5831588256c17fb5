"""What the tokens of chapter 8 with summaries mean, and where a run is that is written in them."""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.codec import Prompt
from softmachine.languages.turing import Action, Configuration, Verdict
from softmachine.theorems.shared.turing_tokens import Given

START, SUMMARY = "INP", "SUMM"


@dataclass(frozen=True)
class Start:
    """What stands at position 0, and where a summary begins."""

    summary: bool


@dataclass(frozen=True)
class Begin:
    """The end of a prompt: the run goes on in this state."""

    state: str


@dataclass(frozen=True)
class Column:
    """A cell of every tape: its symbols, and which heads are further to the right."""

    symbols: tuple[str, ...]
    before: tuple[bool, ...]


Meaning = Start | Begin | Column | Given | Action | Verdict


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
