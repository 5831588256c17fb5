"""What the words of a data set should be like, and how many of which kind are still wanted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil
from typing import TypeAlias

from softmachine.engines.inputs.row import Judged
from softmachine.support.errors import UsageError

Group: TypeAlias = tuple[Judged, ...]
"""A word, or a pair of near misses."""


@dataclass(frozen=True)
class Wishes:
    """What the words of a data set should be like.

    Args:
        balance: Half of them are accepted and half rejected.
        near_misses: They come in pairs, one edit apart, of which one is accepted and one rejected.
        long_traces: At least this share of them, of either verdict if these are balanced, has a long trace.
    """

    balance: bool = False
    near_misses: bool = False
    long_traces: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.long_traces <= 1:
            raise UsageError(f"a share of long traces is between 0 and 1, and not {self.long_traces}")

    @property
    def by_verdict(self) -> bool:
        """Whether so many words of either verdict are wanted."""
        return self.balance or self.near_misses

    def __bool__(self) -> bool:
        return self.by_verdict or self.long_traces > 0


class Quota:
    """How many words are still wanted, of either verdict if that matters, and how many of them may be short.

    Args:
        count: How many are wanted in all.
        wishes: What they should be like.
    """

    def __init__(self, count: int, wishes: Wishes) -> None:
        self.by_verdict = wishes.by_verdict
        halves = {"accept": count - count // 2, "reject": count // 2}
        self.wanted = Counter(halves if self.by_verdict else {"": count})
        self.room = self.wanted.copy()
        self.short = Counter({kind: size - ceil(size * wishes.long_traces) for kind, size in self.wanted.items()})

    @property
    def lacking(self) -> list[str]:
        """The verdicts of which there are not enough yet."""
        return [kind for kind, size in self.room.items() if size]

    def takes(self, group: Group) -> bool:
        """Whether these words are all wanted; then they are counted."""
        kinds = Counter(map(self._kind, group))
        short = Counter(self._kind(each) for each in group if not each.is_long)
        if not (kinds <= self.room and short <= self.short):
            return False
        self.room.subtract(kinds)
        self.short.subtract(short)
        return True

    def only_long(self, verdict: str) -> bool:
        """Whether there are enough words of a verdict with short traces."""
        return not self.short[verdict if self.by_verdict else ""]

    def _kind(self, judged: Judged) -> str:
        return judged.verdict if self.by_verdict else ""
