"""Formulas as decisions: tests of running sums, each of which says where to go on.

After a known token every formula about the token alone is true or false, and what remains of a body is a chain of
comparisons of sums with numbers. All of them are asked as: is the sum in an interval?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from softmachine.errors import ConstructionError
from softmachine.languages.crasp.formula import Comparison
from softmachine.languages.linear import Relation
from softmachine.languages.temporal.formula import And, Constant, Formula, Not, Or

LOWEST, HIGHEST = -(10**60), 10**60
"""No sum is ever outside: coefficients are at most 10^18."""
MOST_TESTS = 1 << 17

Test: TypeAlias = tuple[int, int, int, int, int]
"""The number of a sum; the lowest and the highest value for a yes; and what follows upon yes and no: another test, or
if it is negative, the outcome (-1 is outcome 0, -2 is outcome 1, and so on)."""


@dataclass(frozen=True)
class Decision:
    """Tests, of which the first one is asked first.

    Args:
        tests: The tests.
        start: The first test, 0, or an outcome if nothing is to be asked.
    """

    tests: tuple[Test, ...]
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
        return frozenset(test[0] for test in self.tests)


def decide(
    cases: Iterable[tuple[Formula, int]],
    otherwise: int,
    known: Callable[[Formula], bool | None],
    sums: Mapping[Comparison, tuple[int, int]],
) -> Decision:
    """The decision for the outcome of the first formula that is true.

    Args:
        cases: Formulas of a core and their outcomes.
        otherwise: The outcome if none is true.
        known: The truth of formulas that is known beforehand.
        sums: For every comparison the sum on its left side and the constant that the sum leaves out.

    Raises:
        ConstructionError: If there would be too many tests.
    """
    return _Jumps(known, sums).decision(list(cases), otherwise)


class _Jumps:
    """Tests at labels. Labels of outcomes are negative; a label may stand for another one."""

    def __init__(self, known: Callable[[Formula], bool | None], sums: Mapping[Comparison, tuple[int, int]]) -> None:
        self.known = known
        self.sums = sums
        self.tests: dict[int, Test] = {}
        self.same: dict[int, int] = {}
        self.labels = 0

    def decision(self, cases: list[tuple[Formula, int]], otherwise: int) -> Decision:
        start = self._label()
        label = start
        waiting: list[tuple[Formula, int, int, int]] = []
        for formula, outcome in cases:
            following = self._label()
            waiting.append((formula, label, -1 - outcome, following))
            label = following
        self.same[label] = -1 - otherwise
        while waiting:
            waiting += self._place(*waiting.pop())
        return self._arranged(start)

    def _label(self) -> int:
        if self.labels >= MOST_TESTS:
            raise ConstructionError(
                f"the rules of this program unfold to more than {MOST_TESTS:,} tests after one token",
                hint="names inside of names multiply; use fewer of them in one another",
            )
        self.labels += 1
        return self.labels - 1

    def _place(self, formula: Formula, label: int, yes: int, no: int) -> list[tuple[Formula, int, int, int]]:
        """Let a formula be decided at a label, and say what remains to be placed for that."""
        truth = self.known(formula)
        if truth is not None:
            self.same[label] = yes if truth else no
            return []
        match formula:
            case Constant(value):
                self.same[label] = yes if value else no
                return []
            case Not(of):
                return [(of, label, no, yes)]
            case And(operands):
                labels = [label, *(self._label() for _ in operands[1:])]
                return [
                    (each, at, then, no) for each, at, then in zip(operands, labels, [*labels[1:], yes], strict=True)
                ]
            case Or(operands):
                labels = [label, *(self._label() for _ in operands[1:])]
                return [
                    (each, at, yes, then) for each, at, then in zip(operands, labels, [*labels[1:], no], strict=True)
                ]
            case Comparison(relation=relation):
                which, constant = self.sums[formula]
                low, high = _interval(relation, -constant)
                targets = (no, yes) if relation is Relation.UNEQUAL else (yes, no)
                self.tests[label] = (which, low, high, *targets)
                return []
            case _:
                raise TypeError(f"{type(formula).__name__} does not occur in a core")

    def _arranged(self, start: int) -> Decision:
        """The tests that can be reached, in the order in which they are."""

        def real(label: int) -> int:
            while label in self.same:
                label = self.same[label]
            return label

        order: dict[int, int] = {}
        waiting = [real(start)]
        while waiting:
            label = waiting.pop()
            if label >= 0 and label not in order:
                order[label] = len(order)
                waiting += [real(target) for target in reversed(self.tests[label][3:])]

        def address(label: int) -> int:
            found = real(label)
            return found if found < 0 else order[found]

        tests = (self.tests[label] for label in order)
        return Decision(
            tuple((which, low, high, address(yes), address(no)) for which, low, high, yes, no in tests),
            address(start),
        )


def _interval(relation: Relation, number: int) -> tuple[int, int]:
    """The numbers that compare so with a number; for unequal ones, those that do not."""
    match relation:
        case Relation.LESS:
            return LOWEST, number - 1
        case Relation.AT_MOST:
            return LOWEST, number
        case Relation.EQUAL | Relation.UNEQUAL:
            return number, number
        case Relation.AT_LEAST:
            return number, HIGHEST
        case Relation.GREATER:
            return number + 1, HIGHEST
