"""Facts: what is proved about a number at every position of every input up to a length.

A fact is an interval, a step and, if they are few, the set of values: the reduced product of intervals, congruences
and finite sets of abstract interpretation. A *step* is a number of which all values are multiples. It may depend on the
position i, the length n and the number of keys that tie in a head; *difference* is the same for differences of two
values, so that 3/2, 5/2, 7/2 have the step 1/2 and the difference 1.

All facts are about lengths up to one number N, and are data: rationals, exponents, names of heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, inf, lcm
from typing import cast

from softmachine.ir.signal import Node
from softmachine.transformer.features import Monomial

ZERO, ONE = Fraction(0), Fraction(1)
INFINITY = cast(Fraction, inf)
"""The bound of a number of which none is known; sums and products with rationals are defined."""
MAX_VALUES = 40
"""Maximal number of values that are listed."""

MAX_SUMS = 4 * MAX_VALUES
"""Maximal number of values of a sum that are enumerated."""


def common_step(numbers: Iterable[Fraction]) -> Fraction:
    """The largest rational of which all numbers are integer multiples; 0 if all are 0."""
    nonzero = [number for number in numbers if number]
    over = lcm(*(number.denominator for number in nonzero))
    return Fraction(gcd(*(number.numerator * (over // number.denominator) for number in nonzero)), over)


@dataclass(frozen=True)
class Step:
    """factor · (i+1)^-a · (n+1)^-b · (n-i+1)^-c / Π counts; 0 means that there is one value, or only the value 0.

    Args:
        factor: A nonnegative rational.
        next: a; it may be negative, as b and c may.
        length: b.
        rest: c.
        counts: Heads; the count of a head is the number of keys that tie for its maximum.
    """

    factor: Fraction
    next: int = 0
    length: int = 0
    rest: int = 0
    counts: frozenset[Node] = frozenset()

    def __repr__(self) -> str:
        """Of heads the names only: queries and keys share forms, which grow exponentially as text."""
        counts = sorted(head.name for head in self.counts)
        return f"Step({self.factor}, next={self.next}, length={self.length}, rest={self.rest}, counts={counts})"

    @property
    def is_constant(self) -> bool:
        """Whether it is the same at all positions and lengths."""
        return not (self.next or self.length or self.rest or self.counts)

    @property
    def is_same_at_all_positions(self) -> bool:
        """Whether it depends on the length only."""
        return not (self.next or self.rest or self.counts)

    def scale(self, factor: Fraction) -> Step:
        """The step of the numbers times a factor."""
        return replace(self, factor=self.factor * abs(factor)) if factor else NO_STEP

    def join(self, other: Step) -> Step:
        """A step of the numbers of both; also of their sums."""
        if not self.factor or not other.factor:
            return other if not self.factor else self
        powers = (max(self.next, other.next), max(self.length, other.length), max(self.rest, other.rest))
        return Step(common_step([self.factor, other.factor]), *powers, self.counts | other.counts)

    def product(self, other: Step) -> Step | None:
        """The step of products; None if it would have the square of a count."""
        if not self.factor or not other.factor:
            return NO_STEP
        if self.counts & other.counts:
            return None
        powers = (self.next + other.next, self.length + other.length, self.rest + other.rest)
        return Step(self.factor * other.factor, *powers, self.counts | other.counts)

    def divides(self, other: Step) -> bool:
        """Whether the other step is always a multiple of this one."""
        if not other.factor or not self.factor:
            return not other.factor
        fewer = other.next <= self.next and other.length <= self.length and other.rest <= self.rest
        return fewer and other.counts <= self.counts and (other.factor / self.factor).denominator == 1

    def minimum(self, positions: int) -> Fraction:
        """A lower bound at all of some number of positions, if it does not depend on n."""
        return self.factor / Fraction(positions) ** (max(self.next, 0) + len(self.counts))

    def lower_bound(self) -> Fraction | Monomial:
        """The step with every count replaced by its largest value: n+1, the number of all positions."""
        length = -self.length - len(self.counts)
        if self.next or length or self.rest:
            return Monomial(self.factor, next=-self.next, length=length, rest=-self.rest)
        return self.factor


NO_STEP = Step(ZERO)


def join_steps(steps: Iterable[Step | None]) -> Step | None:
    """The join of steps; None, which means that nothing is known, if one is."""
    total: Step | None = NO_STEP
    for step in steps:
        total = None if total is None or step is None else total.join(step)
    return total


@dataclass(frozen=True)
class Fact:
    """What is known of a number.

    Args:
        low: Its smallest possible value.
        high: Its largest possible value.
        step: All values are multiples of it; None if nothing is known.
        difference: Differences of two values of one length are multiples of it; None if nothing is known.
        values: All values, in order, if they are few.
        exact: A positive step that every value is equal to, such as 1/(i+1); None if there is none.
    """

    low: Fraction
    high: Fraction
    step: Step | None = None
    difference: Step | None = None
    values: tuple[Fraction, ...] | None = None
    exact: Step | None = None

    @staticmethod
    def of(values: Iterable[Fraction]) -> Fact:
        """The fact that a number is one of these."""
        listed = list(values)
        over = lcm(*(value.denominator for value in listed))
        return Fact.of_quotients((value.numerator * (over // value.denominator) for value in listed), over)

    @staticmethod
    def of_quotients(numerators: Iterable[int], denominator: int) -> Fact:
        """The fact that a number is one of these."""
        listed = sorted(set(numerators))
        ends, steps = (listed[0], listed[-1]), (gcd(*listed), gcd(*(number - listed[0] for number in listed)))
        low, high, step, difference = (Fraction(x, denominator) for x in (*ends, *steps))
        values = tuple(Fraction(x, denominator) for x in listed) if len(listed) <= MAX_VALUES else None
        return Fact(low, high, Step(step), Step(difference), values)

    @property
    def is_constant(self) -> bool:
        """Whether there is only one value."""
        return self.values is not None and len(self.values) == 1

    @property
    def is_bit(self) -> bool:
        """Whether it is 0 or 1."""
        return self.values is not None and set(self.values) <= {ZERO, ONE}

    @property
    def size(self) -> Fraction:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    @property
    def difference_at_one_length(self) -> Step | None:
        """The step of the differences of values at two positions of an input; None if it depends on the positions."""
        step = self.difference if self.difference is not None else self.step
        return step if step is not None and step.is_same_at_all_positions else None

    def product(self, other: Fact) -> Fact:
        """What is known of the product with another number; its differences are not followed."""
        step = None if self.step is None or other.step is None else self.step.product(other.step)
        if INFINITY in (self.size, other.size):
            return Fact(-INFINITY, INFINITY, step)
        corners = [x * y for x in (self.low, self.high) for y in (other.low, other.high)]
        return Fact(min(corners), max(corners), step)

    def join(self, other: Fact) -> Fact:
        """What is known of a number that is one or the other."""
        if self.values is not None and other.values is not None:
            return Fact.of(self.values + other.values)
        step = join_steps([self.step, other.step])
        return Fact(min(self.low, other.low), max(self.high, other.high), step, step)

    def widen(self, other: Fact, positions: int) -> Fact:
        """An upper bound of this fact and a later one: bounds that grow go to the next threshold, steps end at 1."""
        if other == self:
            return self
        thresholds = [ZERO, ONE, Fraction(positions), Fraction(positions**2), Fraction(2**64), INFINITY]
        high = other.high if other.high <= self.high else min(t for t in thresholds if t >= other.high)
        low = other.low if other.low >= self.low else -min(t for t in thresholds if t >= -other.low)
        step = other.step
        if step is not None and step != self.step:
            whole = step.is_constant and step.factor.denominator == 1
            step = Step(ONE) if whole else None
        return Fact(low, high, step, step)

    def narrow(self, other: Fact) -> Fact:
        """What is known of a number of which both facts hold; the steps of this one, where it has them."""
        if self.values is not None or other.values is not None:
            return self if self.values is not None else other
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Fact(low, high, self.step or other.step, self.difference or other.difference)


def sum_facts(parts: Sequence[tuple[Fraction, Fact]], constant: Fraction) -> Fact:
    """What is known of a weighted sum and a constant."""
    if all(fact.values is not None for _, fact in parts):
        over = lcm(constant.denominator, *(w.denominator * v.denominator for w, f in parts for v in f.values or ()))
        values = {int(constant * over)}
        for weight, fact in parts:
            scaled = weight.numerator * (over // weight.denominator)
            more = [scaled * value.numerator // value.denominator for value in fact.values or ()]
            values = {before + value for before in values for value in more}
            if len(values) > MAX_SUMS:
                break
        else:
            return Fact.of_quotients(values, over)
    low = high = constant
    for weight, fact in parts:
        below, above = (fact.low, fact.high) if weight > 0 else (fact.high, fact.low)
        low, high = low + weight * below, high + weight * above
    steps = (None if fact.step is None else fact.step.scale(weight) for weight, fact in parts)
    differences = (None if fact.difference is None else fact.difference.scale(weight) for weight, fact in parts)
    single = parts[0][1].exact if len(parts) == 1 and parts[0][0] > 0 and not constant else None
    exact = None if single is None else single.scale(parts[0][0])
    return Fact(low, high, join_steps([Step(abs(constant)), *steps]), join_steps(differences), exact=exact)
