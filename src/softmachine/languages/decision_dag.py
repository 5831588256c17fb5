"""Boolean combinations of comparisons as decision DAGs.

Every inner node tests whether a sum lies in an interval. Subformulas with a known truth value need no test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from softmachine.languages.linear import Relation
from softmachine.languages.temporal.formula import And, Formula, Not, Or
from softmachine.support.errors import ConstructionError

MIN_SUM, MAX_SUM = -(10**60), 10**60
"""Bounds that no sum exceeds: numbers are at most 10^18."""
MAX_TESTS = 1 << 17

SumComparison: TypeAlias = tuple[int, Relation, int]
"""Index of a sum, relation, and the number that the sum is compared with."""
IntervalTest: TypeAlias = tuple[int, int, int, int, int]
"""Index of a sum; lower and upper end of the interval; successors inside and outside the interval: the label of a test,
or, if negative, an outcome (-1 is outcome 0, -2 is outcome 1, and so on)."""


@dataclass(frozen=True)
class DecisionDag:
    """A decision DAG.

    Args:
        tests: The tests by label.
        start: The label of the first test, or an outcome if no test is needed.
    """

    tests: Mapping[int, IntervalTest]
    start: int

    def outcome(self, sums: list[int]) -> int:
        """The outcome for these values of the sums."""
        at = self.start
        while at >= 0:
            which, low, high, yes, no = self.tests[at]
            at = yes if low <= sums[which] <= high else no
        return -1 - at

    @property
    def sums(self) -> frozenset[int]:
        """The sums that occur in tests."""
        return frozenset(test[0] for test in self.tests.values())


def build_decision_dag(
    cases: Sequence[tuple[Formula, int]],
    default: int,
    known_value: Callable[[Formula], bool | None],
    sums: Mapping[Formula, SumComparison],
) -> DecisionDag:
    """Build the decision DAG whose outcome is that of the first true formula.

    Args:
        cases: Formulas with their outcomes. They combine comparisons and formulas of known value with not, and, or.
        default: The outcome if no formula is true.
        known_value: The truth value of a formula if it is known statically (constants included), otherwise None.
        sums: The sum, relation and number of every comparison.

    Raises:
        ConstructionError: If the DAG exceeds the maximum number of tests.
    """
    jumps = _LazyDag(known_value, sums)
    start = -1 - default
    for formula, outcome in reversed(cases):
        start = jumps.label(formula, -1 - outcome, start)
    start = jumps.resolve(start)
    tests: dict[int, IntervalTest] = {}
    waiting = [start]
    while waiting:
        label = waiting.pop()
        if label >= 0 and label not in tests:
            which, low, high, yes, no = jumps.tests[label]
            targets = jumps.resolve(yes), jumps.resolve(no)
            tests[label] = which, low, high, *targets
            waiting += targets
    return DecisionDag(tests, start)


class _LazyDag:
    """Formulas at labels with their successors, expanded on demand. Outcomes are negative labels."""

    def __init__(self, known_value: Callable[[Formula], bool | None], sums: Mapping[Formula, SumComparison]) -> None:
        self.known = known_value
        self.sums = sums
        self.tests: dict[int, IntervalTest] = {}
        self._open: list[tuple[Formula, int, int]] = []

    def label(self, formula: Formula, yes: int, no: int) -> int:
        """Allocate a label at which a formula is decided."""
        if len(self._open) >= MAX_TESTS:
            raise ConstructionError(
                f"the rules of this program unfold to more than {MAX_TESTS:,} tests after one token",
                hint="nested definitions multiply; reduce the nesting",
            )
        self._open.append((formula, yes, no))
        return len(self._open) - 1

    def resolve(self, label: int) -> int:
        """Expand a label until it is a test or an outcome."""
        while label >= 0 and label not in self.tests:
            formula, yes, no = self._open[label]
            truth = self.known(formula)
            if truth is not None:
                label = yes if truth else no
                continue
            match formula:
                case _ if formula in self.sums:
                    which, relation, number = self.sums[formula]
                    targets = (no, yes) if relation is Relation.NOT_EQUAL else (yes, no)
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
    """The interval of the numbers in this relation to a number; for ``!=``, its complement."""
    low = MIN_SUM if relation in (Relation.LESS, Relation.AT_MOST) else number + (relation is Relation.GREATER)
    high = MAX_SUM if relation in (Relation.GREATER, Relation.AT_LEAST) else number - (relation is Relation.LESS)
    return low, high
