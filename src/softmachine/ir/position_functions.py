"""Position functions: numbers that the position alone decides, in closed form, so that they hold for every length.

A function is given by its values at the first positions and, from there on, by a + b/(i+1) + c(i+1), where i modulo a
period decides a, b and c. Sums and units of such functions are such functions again, and so are means of functions with
b = c = 0: the mean of (-1)^j over j ≤ i is 1/(i+1) if i is even, else 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import floor, lcm

from softmachine.ir.facts import ONE, ZERO, Fact, Step, common_step
from softmachine.transformer.features import I_PLUS_ONE, RECIPROCAL, Feature, I, Monomial

MAX_PERIOD = 8
"""Maximal period, and maximal number of positions with values of their own."""
Entry = tuple[Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class PositionFunction:
    """A function of the position i.

    Args:
        start: The values at the first positions.
        cycle: From there on, the value is a + b/(i+1) + c(i+1), for the entry (a, b, c) at i modulo their number.
    """

    start: tuple[Fraction, ...]
    cycle: tuple[Entry, ...]

    @staticmethod
    def of_feature(feature: Feature) -> PositionFunction | None:
        """A periodic feature, or a multiple of i, i+1 or 1/(i+1)."""
        factor = feature.factor if isinstance(feature, Monomial) else ONE
        entries = {I: (-factor, ZERO, factor), I_PLUS_ONE: (ZERO, ZERO, factor), RECIPROCAL: (ZERO, factor, ZERO)}
        if isinstance(feature, Monomial) and feature * (1 / factor) in entries:
            return PositionFunction((), (entries[feature * (1 / factor)],))
        period = None if feature.needs_length else feature.value_period
        if period is None or period > MAX_PERIOD:
            return None
        return PositionFunction((), tuple((feature.at(i), ZERO, ZERO) for i in range(period)))

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
            terms = zip(*([w * x for x in part.cycle[r % len(part.cycle)]] for w, part in parts), strict=True)
            a, b, c = (sum(own, ZERO) for own in terms)
            cycle.append((constant + a, b, c))
        return PositionFunction(tuple(start), tuple(cycle))

    def at(self, i: int) -> Fraction:
        """The value at a position."""
        a, b, c = self.cycle[i % len(self.cycle)]
        return self.start[i] if i < len(self.start) else a + b / (i + 1) + c * (i + 1)

    def apply(self, activation: str) -> PositionFunction | None:
        """A hidden unit of it: max(0, x) if the activation is "relu", else whether x ≥ 0.

        The sign is that of c where (i+1)|c| > |a| + |b|, and without c that of a where (i+1)|a| > |b|.
        """
        ends = ((abs(a) + abs(b)) / abs(c) if c else abs(b / a) if a else ZERO for a, b, c in self.cycle)
        length = max(len(self.start), floor(max(ends)))
        if length > MAX_PERIOD:
            return None
        is_relu, one, none = activation == "relu", (ONE, ZERO, ZERO), (ZERO, ZERO, ZERO)
        cycle = []
        for a, b, c in self.cycle:
            sign = c or a or b
            positive = (a, b, c) if is_relu else one
            cycle.append(positive if sign > 0 or (not sign and not is_relu) else none)
        values = map(self.at, range(length))
        return PositionFunction(tuple(max(x, ZERO) if is_relu else Fraction(x >= 0) for x in values), tuple(cycle))

    def mean(self) -> PositionFunction | None:
        """The mean over all positions up to i; None if it is no such function.

        The sum over j ≤ i of a periodic function is A(i+1) + B, where A is its mean and i modulo the period decides B.
        """
        if not self.is_periodic:
            return None
        first, period = len(self.start), len(self.cycle)
        average = sum((a for a, _, _ in self.cycle), ZERO) / period
        sums = list(accumulate(map(self.at, range(first + period))))
        rests = {i % period: sums[i] - average * (i + 1) for i in range(first, first + period)}
        start = tuple(sums[i] / (i + 1) for i in range(first))
        return PositionFunction(start, tuple((average, rests[r], ZERO) for r in range(period)))

    @property
    def is_periodic(self) -> bool:
        """Whether it is periodic after the first positions."""
        return not any(b or c for _, b, c in self.cycle)

    @property
    def later(self) -> Fraction | None:
        """The value at positions 1, 2, …, if it is one."""
        values = {*self.start[1:], *(a for a, _, _ in self.cycle)}
        return values.pop() if len(values) == 1 and self.is_periodic else None

    @property
    def is_start(self) -> bool:
        """Whether it is 1 at position 0, and 0 elsewhere."""
        return self.later == 0 and self.at(0) == 1

    @property
    def reciprocal(self) -> tuple[Fraction, Fraction] | None:
        """(a, b), if the value is a + b/(i+1) at all positions."""
        a, b, _ = self.cycle[0]
        same = all(entry == (a, b, ZERO) for entry in self.cycle)
        return (a, b) if same and all(x == a + b / (i + 1) for i, x in enumerate(self.start)) else None

    def fact(self, positions: int) -> Fact | None:
        """What is known of the value at the first positions; None if it has a c."""
        if any(c for _, _, c in self.cycle):
            return None
        first, period = min(len(self.start), positions), len(self.cycle)
        values = set(self.start[:positions])
        ends = {positions - 1 - k for k in range(period)} | {first + k for k in range(period)}
        values |= {self.at(i) for i in ends if first <= i < positions}
        if self.is_periodic:
            return Fact.of(values)
        scaled = (x * (i + 1) for i, x in enumerate(self.start[:positions]))
        step = Step(common_step([*scaled, *(x for entry in self.cycle for x in entry)]), next=1)
        exact = step if self.reciprocal == (ZERO, step.factor) else None
        return Fact(min(values), max(values), step, step, exact=exact)
