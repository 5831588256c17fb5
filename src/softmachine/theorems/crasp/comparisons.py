"""Comparisons of counts in C-RASP: averages over the past, or over a relation, and the signs of their differences.

Why this is right, what it needs and what it costs is said in :mod:`.crasp`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from softmachine.errors import ConstructionError
from softmachine.languages.crasp import Comparison, Count, counted
from softmachine.languages.linear import Relation
from softmachine.languages.temporal import And, Constant, Formula, Not, Or
from softmachine.signals import Signal, attend, constant, stack
from softmachine.theorems.crasp.sums import Names, Sum
from softmachine.theorems.crasp.truth import Sign, Truth, Truths
from softmachine.theorems.crasp.variant import InRelation, Variant

RELATIVE = "R"
HALF = Fraction(1, 2)


class Comparisons:
    """The truth values of comparisons, given those of what they count.

    Args:
        variant: Which transformer.
        truths: How truth values are made.
        start: A bit: whether this is position 0.
        names: What sums are called.
        known: The truth values of what is counted; whoever asks for comparisons adds to them.
    """

    def __init__(
        self, variant: Variant, truths: Truths, start: Signal, names: Names, known: Mapping[Formula, Truth]
    ) -> None:
        self.variant = variant
        self.truths = truths
        self.start = start
        self.names = names
        self.known = known

    def at_depth(self, depth: int, comparisons: list[Comparison]) -> Iterator[tuple[Comparison, Truth]]:
        """The comparisons of one depth, with their truth values."""
        ordinary = [comparison for comparison in comparisons if not _through_relation(comparison)]
        sums = {Sum.of(comparison).positive: comparison for comparison in ordinary}
        values = {self.names.sum(of): self.summand(of, comparison) for of, comparison in sums.items()}
        if depth == 1:
            values["start"] = self.start
        if values:
            name = "mean" if depth == 1 else f"mean at depth {depth}"
            summands = stack(*values.values()).labelled(values)
            means = attend(name, value=summands, weighting=self.variant.uniform())
            self.truths.share = means["start"] if depth == 1 else self.truths.share
        for comparison in comparisons:
            if _through_relation(comparison):
                yield comparison, self.relative(comparison)
            else:
                of = Sum.of(comparison)
                mean = of.sign * means[self.names.sum(of.positive)]
                yield comparison, self.compared(comparison, mean, self.truths.share)

    def summand(self, of: Sum, comparison: Comparison) -> Signal:
        """What is added up over the positions: each count's formula times its coefficient."""
        total = constant(0)
        for factor, count in of.terms:
            total = total + factor * self.counted(count, comparison)
        return total

    def counted(self, count: Count, comparison: Comparison) -> Signal:
        """A bit: whether a count's formula holds; 0 at the start token."""
        truth = self.known[count.of]
        if truth.signal is not None and self.variant.sign is Sign.RELU:
            raise ConstructionError(
                f"with ReLU alone and without a bound on the length, {str(count.of)!r} cannot be counted in "
                f"{str(comparison)!r}: its truth value is 1/(i+1), not 1",
                hint="use Heaviside units (crasp), or a bound on the length (crasp-relu-bounded)",
            )
        holds = self.truths.letters.among(truth.tokens) if truth.signal is None else truth.signal
        return holds - int(_at_start(count.of)) * self.start

    def compared(self, comparison: Comparison, mean: Signal, unit: Signal) -> Truth:
        """The truth value of T ~ 0, from (T - c) units and the unit."""
        number = counted(comparison)[1]
        return self.decided(comparison, mean + (number + HALF) * unit, (HALF - number) * unit - mean)

    def decided(self, comparison: Comparison, above: Signal, below: Signal) -> Truth:
        """The truth value of T ~ 0, from numbers that are positive iff T ≥ 0, and iff T ≤ 0."""
        truths, relation = self.truths, comparison.relation
        at_least, at_most = self.names.comparison(comparison)
        if relation in (Relation.AT_LEAST, Relation.LESS):
            found = truths.not_negative(at_least, above)
            return found if relation is Relation.AT_LEAST else truths.negation(found)
        if relation in (Relation.AT_MOST, Relation.GREATER):
            found = truths.not_negative(at_most, below)
            return found if relation is Relation.AT_MOST else truths.negation(found)
        one, other = truths.not_negative(at_least, above), truths.not_negative(at_most, below)
        return truths.both_or_neither(one, other, negated=relation is Relation.UNEQUAL)

    def relative(self, comparison: Comparison) -> Truth:
        """A comparison with counts through R: of these alone, or of one with one ordinary count.

        Raises:
            ConstructionError: If it is of another form, or through another relation.
        """
        terms, number = counted(comparison)
        for _, count in terms:
            if count.relation not in (None, RELATIVE):
                raise ConstructionError(
                    f"there is no construction for counts through {count.relation!r} in {str(comparison)!r}",
                    hint=f"only for {RELATIVE}, since it relates a position with few others",
                )
        if all(count.relation for _, count in terms):
            return self.through_relation(comparison)
        through = [(factor, count) for factor, count in terms if count.relation]
        ordinary = [(factor, count) for factor, count in terms if not count.relation]
        if len(through) == len(ordinary) == 1 and not number and {through[0][0], ordinary[0][0]} == {1, -1}:
            part, whole = self.inverse(through[0][1], comparison), self.inverse(ordinary[0][1], comparison)
            more, fewer = (part, whole) if through[0][0] == 1 else (whole, part)
            half = self.truths.share * HALF  # the larger count has the smaller inverse
            return self.decided(comparison, fewer - more + half, more - fewer + half)
        raise ConstructionError(
            f"there is no construction for {str(comparison)!r}: counts through {RELATIVE} can be compared with one "
            "another, or a single one with a single ordinary count",
        )

    def through_relation(self, comparison: Comparison) -> Truth:
        """Counts through R alone: in units of 1/(|R|+1), averaged over R and the start token."""
        of, number = Sum.of(comparison), counted(comparison)[1]
        found = attend(
            f"mean over {RELATIVE} and start: {of}",
            query=constant(1),
            key=self.start,
            value=stack(self.summand(of, comparison), self.start).labelled(["sum", "start"]),
            bias=InRelation(),
            weighting=self.variant.sharp(of.largest + abs(number) + 1),
            gap=1,
        )
        return self.compared(comparison, found["sum"], found["start"])

    def inverse(self, count: Count, comparison: Comparison) -> Signal:
        """1/(m+1) for a count m: the weight of the start token, where the best keys are it and what is counted."""
        holds = self.counted(count, comparison)
        of = str(count.of)
        return attend(
            f"1/(#{count.relation or ''}[{of}]+1)",
            query=constant(1),
            key=holds + (2 if count.relation else 1) * self.start,
            value=self.start,
            bias=InRelation() if count.relation else None,
            weighting=self.variant.sharp(1),
            gap=1,
        )


def _through_relation(comparison: Comparison) -> bool:
    return any(count.relation is not None for _, count in counted(comparison)[0])


def _at_start(formula: Formula) -> bool:
    """Whether a formula holds before the first position, where there is no symbol and every count is 0."""
    match formula:
        case Constant(value):
            return value
        case Not(of):
            return not _at_start(of)
        case And(operands):
            return all(map(_at_start, operands))
        case Or(operands):
            return any(map(_at_start, operands))
        case Comparison():
            return formula.relation.holds(counted(formula)[1], 0)
    return False
