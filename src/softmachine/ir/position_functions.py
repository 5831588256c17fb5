"""Position functions: numbers that the position alone decides, in closed form, so that they hold for every length.

A function is given by its values at the first positions and, from there on, by a + b/(i+1), where i modulo a period
decides a and b. Sums, units and means of functions without b are such functions again: the mean of (-1)^j over j ≤ i is
1/(i+1) if i is even, else 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import floor, lcm

from softmachine.ir.facts import ONE, ZERO, Fact, Step, common_step
from softmachine.transformer.features import RECIPROCAL, Feature, Monomial

MAX_PERIOD = 64
"""Maximal period, and maximal number of positions with values of their own."""


@dataclass(frozen=True)
class PositionFunction:
    """A function of the position i.

    Args:
        start: The values at the first positions.
        cycle: From there on, the value is a + b/(i+1), where (a, b) is the entry i modulo the number of entries.
    """

    start: tuple[Fraction, ...]
    cycle: tuple[tuple[Fraction, Fraction], ...]

    @staticmethod
    def of_feature(feature: Feature) -> PositionFunction | None:
        """A periodic feature, or a multiple of 1/(i+1)."""
        if isinstance(feature, Monomial) and feature * (1 / feature.factor) == RECIPROCAL:
            return PositionFunction((), ((ZERO, feature.factor),))
        period = None if feature.needs_length else feature.period
        if period is None or period > MAX_PERIOD:
            return None
        return PositionFunction((), tuple((feature.at(i), ZERO) for i in range(period)))

    @staticmethod
    def sum(parts: Sequence[tuple[Fraction, PositionFunction]], constant: Fraction) -> PositionFunction | None:
        """A weighted sum and a constant."""
        period = lcm(*(len(part.cycle) for _, part in parts))
        length = max((len(part.start) for _, part in parts), default=0)
        if period > MAX_PERIOD:
            return None
        start = (constant + sum((w * part.at(i) for w, part in parts), ZERO) for i in range(length))
        cycle = []
        for r in range(period):
            entries = [(w, part.cycle[r % len(part.cycle)]) for w, part in parts]
            cycle.append(
                (constant + sum((w * a for w, (a, _) in entries), ZERO), sum((w * b for w, (_, b) in entries), ZERO))
            )
        return PositionFunction(tuple(start), tuple(cycle))

    def at(self, i: int) -> Fraction:
        """The value at a position."""
        a, b = self.cycle[i % len(self.cycle)]
        return self.start[i] if i < len(self.start) else a + b / (i + 1)

    def apply(self, activation: str) -> PositionFunction | None:
        """A hidden unit of it: max(0, x) if the activation is "relu", else whether x ≥ 0.

        The sign of a + b/(i+1) is that of a where i+1 > -b/a.
        """
        length = max(len(self.start), *(floor(-b / a) if a else 0 for a, b in self.cycle))
        if length > MAX_PERIOD:
            return None
        is_relu, one, none = activation == "relu", (ONE, ZERO), (ZERO, ZERO)
        cycle = tuple((pair if is_relu else one) if (pair[0] or pair[1]) > 0 else none for pair in self.cycle)
        if not is_relu:
            cycle = tuple(one if pair == none else new for pair, new in zip(self.cycle, cycle, strict=True))
        values = map(self.at, range(length))
        return PositionFunction(tuple(max(x, ZERO) if is_relu else Fraction(x >= 0) for x in values), cycle)

    def mean(self) -> PositionFunction | None:
        """The mean over all positions up to i; None if it is no such function.

        The sum over j ≤ i of a periodic function is A(i+1) + B, where A is its mean and i modulo the period decides B.
        """
        if any(b for _, b in self.cycle):
            return None
        first, period = len(self.start), len(self.cycle)
        average = sum((a for a, _ in self.cycle), ZERO) / period
        sums = list(accumulate(map(self.at, range(first + period))))
        rests = {i % period: sums[i] - average * (i + 1) for i in range(first, first + period)}
        start = tuple(sums[i] / (i + 1) for i in range(first))
        return PositionFunction(start, tuple((average, rests[r]) for r in range(period)))

    @property
    def is_start(self) -> bool:
        """Whether it is 1 at position 0, and 0 elsewhere."""
        return self.at(0) == 1 and not any(self.start[1:]) and not any(a or b for a, b in self.cycle)

    @property
    def coefficients(self) -> tuple[Fraction, Fraction] | None:
        """(a, b), if the value is a + b/(i+1) at all positions."""
        a, b = self.cycle[0]
        same = all(entry == (a, b) for entry in self.cycle)
        return (a, b) if same and all(x == a + b / (i + 1) for i, x in enumerate(self.start)) else None

    def fact(self, positions: int) -> Fact:
        """What is known of the value at all positions of inputs with at most some number of positions."""
        first, period = min(len(self.start), positions), len(self.cycle)
        values = set(self.start[:positions])
        ends = {positions - 1 - k for k in range(period)} | {first + k for k in range(period)}
        values |= {self.at(i) for i in ends if first <= i < positions}
        if not any(b for _, b in self.cycle):
            return Fact.of(values)
        scaled = (x * (i + 1) for i, x in enumerate(self.start[:positions]))
        step = Step(common_step([*scaled, *(x for entry in self.cycle for x in entry)]), next=1)
        exact = step if self.coefficients == (ZERO, step.factor) else None
        return Fact(min(values), max(values), step, step, exact=exact)
