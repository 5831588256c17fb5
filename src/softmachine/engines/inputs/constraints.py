"""Constraints on the words of a data set, and the quotas that remain to be filled."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil
from typing import TypeAlias

from softmachine.engines.inputs.row import LabelledWord
from softmachine.support.errors import UsageError

WordGroup: TypeAlias = tuple[LabelledWord, ...]
"""A word, or a pair of near misses."""


@dataclass(frozen=True)
class Constraints:
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
        constraints: The constraints.
    """

    def __init__(self, count: int, constraints: Constraints) -> None:
        self.by_verdict = constraints.by_verdict
        halves = {"accept": count - count // 2, "reject": count // 2}
        self.required = Counter(halves if self.by_verdict else {"": count})
        self.remaining = self.required.copy()
        self.remaining_short = Counter(
            {kind: size - ceil(size * constraints.long_traces) for kind, size in self.required.items()}
        )

    @property
    def unfilled(self) -> list[str]:
        """The verdicts whose quota is not filled."""
        return [kind for kind, size in self.remaining.items() if size]

    def accept(self, group: WordGroup) -> bool:
        """Whether the quota has space for all these words; if so, they are counted."""
        kinds = Counter(map(self._kind, group))
        short = Counter(self._kind(each) for each in group if not each.is_long)
        if not (kinds <= self.remaining and short <= self.remaining_short):
            return False
        self.remaining.subtract(kinds)
        self.remaining_short.subtract(short)
        return True

    def needs_long_only(self, verdict: str) -> bool:
        """Whether only words with long traces of this verdict are needed."""
        return not self.remaining_short[verdict if self.by_verdict else ""]

    def _kind(self, judged: LabelledWord) -> str:
        return judged.verdict if self.by_verdict else ""
