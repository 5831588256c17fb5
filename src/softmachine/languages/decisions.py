"""Boolean combinations of comparisons as decisions: tests of sums, each of which says where to go on.

Comparisons are all asked as: is the sum in an interval? What is known beforehand is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from softmachine.languages.linear import Relation
from softmachine.languages.temporal.formula import And, Formula, Not, Or
from softmachine.support.errors import ConstructionError

LOWEST, HIGHEST = -(10**60), 10**60
"""No sum is ever outside: numbers are at most 10^18."""
MOST_TESTS = 1 << 17

Compared: TypeAlias = tuple[int, Relation, int]
"""The number of a sum, and how it compares with what."""
Test: TypeAlias = tuple[int, int, int, int, int]
"""The number of a sum; the lowest and the highest value for a yes; and what follows upon yes and no: another test, or
if it is negative, the outcome (-1 is outcome 0, -2 is outcome 1, and so on)."""


@dataclass(frozen=True)
class Decision:
    """Tests of sums.

    Args:
        tests: The tests, by their labels.
        start: The label of the first test, or an outcome if nothing is to be asked.
    """

    tests: Mapping[int, Test]
    start: int

    def outcome(self, sums: list[int]) -> int:
        """What is decided for these sums."""
        at = self.start
        while at >= 0:
            which, low, high, yes, no = self.tests[at]
            at = yes if low <= sums[which] <= high else no
        return -1 - at

    @property
    def sums(self) -> frozenset[int]:
        """The sums that are asked for."""
        return frozenset(test[0] for test in self.tests.values())


def decide(
    cases: Sequence[tuple[Formula, int]],
    otherwise: int,
    known: Callable[[Formula], bool | None],
    sums: Mapping[Formula, Compared],
) -> Decision:
    """The decision for the outcome of the first formula that is true.

    Args:
        cases: Formulas, made of comparisons and what is known with not, and, or; and their outcomes.
        otherwise: The outcome if none is true.
        known: The truth of formulas that is known beforehand, constants among them.
        sums: What every comparison compares.

    Raises:
        ConstructionError: If there would be too many tests.
    """
    jumps = _Jumps(known, sums)
    start = -1 - otherwise
    for formula, outcome in reversed(cases):
        start = jumps.label(formula, -1 - outcome, start)
    start = jumps.resolved(start)
    tests: dict[int, Test] = {}
    waiting = [start]
    while waiting:
        label = waiting.pop()
        if label >= 0 and label not in tests:
            which, low, high, yes, no = jumps.tests[label]
            targets = jumps.resolved(yes), jumps.resolved(no)
            tests[label] = which, low, high, *targets
            waiting += targets
    return Decision(tests, start)


class _Jumps:
    """What is to be decided at labels, and where to go then. Outcomes are negative labels."""

    def __init__(self, known: Callable[[Formula], bool | None], sums: Mapping[Formula, Compared]) -> None:
        self.known = known
        self.sums = sums
        self.tests: dict[int, Test] = {}
        self._open: list[tuple[Formula, int, int]] = []

    def label(self, formula: Formula, yes: int, no: int) -> int:
        """A label where a formula is decided."""
        if len(self._open) >= MOST_TESTS:
            raise ConstructionError(
                f"the rules of this program unfold to more than {MOST_TESTS:,} tests after one token",
                hint="names inside of names multiply; use fewer of them in one another",
            )
        self._open.append((formula, yes, no))
        return len(self._open) - 1

    def resolved(self, label: int) -> int:
        """The test or the outcome that a label stands for."""
        while label >= 0 and label not in self.tests:
            formula, yes, no = self._open[label]
            truth = self.known(formula)
            if truth is not None:
                label = yes if truth else no
                continue
            match formula:
                case _ if formula in self.sums:
                    which, relation, number = self.sums[formula]
                    targets = (no, yes) if relation is Relation.UNEQUAL else (yes, no)
                    self.tests[label] = which, *_interval(relation, number), *targets
                case Not(of):
                    self._open[label] = of, no, yes
                case And((first, *rest)):
                    for operand in reversed(rest):
                        yes = self.label(operand, yes, no)
                    self._open[label] = first, yes, no
                case Or((first, *rest)):
                    for operand in reversed(rest):
                        no = self.label(operand, yes, no)
                    self._open[label] = first, yes, no
                case _:
                    raise TypeError(f"{type(formula).__name__} cannot be decided")
        return label


def _interval(relation: Relation, number: int) -> tuple[int, int]:
    """The numbers that compare so with a number; for unequal ones, those that do not."""
    low = LOWEST if relation in (Relation.LESS, Relation.AT_MOST) else number + (relation is Relation.GREATER)
    high = HIGHEST if relation in (Relation.GREATER, Relation.AT_LEAST) else number - (relation is Relation.LESS)
    return low, high
