"""Constraints on the words of a data set, and the quotas that remain to be filled."""

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
    """Constraints on the words of a data set.

    Args:
        balance: Half of the words are accepted and half are rejected.
        near_misses: Words come in pairs, one edit apart, one accepted and one rejected.
        long_traces: The minimal fraction of words with a long trace, for each verdict if these are balanced.
    """

    balance: bool = False
    near_misses: bool = False
    long_traces: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.long_traces <= 1:
            raise UsageError(f"the fraction of long traces must be between 0 and 1, not {self.long_traces}")

    @property
    def by_verdict(self) -> bool:
        """Whether each verdict has its own quota."""
        return self.balance or self.near_misses

    def __bool__(self) -> bool:
        return self.by_verdict or self.long_traces > 0


class Quota:
    """The number of words still needed, per verdict if required, and how many of them may have short traces.

    Args:
        count: The total number of words.
        wishes: The constraints.
    """

    def __init__(self, count: int, wishes: Wishes) -> None:
        self.by_verdict = wishes.by_verdict
        halves = {"accept": count - count // 2, "reject": count // 2}
        self.wanted = Counter(halves if self.by_verdict else {"": count})
        self.room = self.wanted.copy()
        self.short = Counter({kind: size - ceil(size * wishes.long_traces) for kind, size in self.wanted.items()})

    @property
    def lacking(self) -> list[str]:
        """The verdicts whose quota is not filled."""
        return [kind for kind, size in self.room.items() if size]

    def takes(self, group: Group) -> bool:
        """Whether the quota has space for all these words; if so, they are counted."""
        kinds = Counter(map(self._kind, group))
        short = Counter(self._kind(each) for each in group if not each.is_long)
        if not (kinds <= self.room and short <= self.short):
            return False
        self.room.subtract(kinds)
        self.short.subtract(short)
        return True

    def only_long(self, verdict: str) -> bool:
        """Whether only words with long traces of this verdict are needed."""
        return not self.short[verdict if self.by_verdict else ""]

    def _kind(self, judged: Judged) -> str:
        return judged.verdict if self.by_verdict else ""
