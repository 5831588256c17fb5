"""Attention heads of C-RASP: counts as averages over the past or over a relation; :mod:`.theorem` has the proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from softmachine.ir import Signal, attend, constant, stack
from softmachine.languages.crasp import Comparison, Count, counted
from softmachine.languages.crasp.relations import row
from softmachine.languages.temporal import And, Constant, Formula, Not, Or
from softmachine.support.errors import ConstructionError
from softmachine.theorems.counting.crasp.boolean import Truth
from softmachine.theorems.counting.crasp.linear_counts import SHARE, CountSum, Names
from softmachine.transformer.attention import AVERAGE_HARD, Weighting, softmax
from softmachine.transformer.features import Logarithm
from softmachine.transformer.features import Relation as PositionRelation

RELATIVE = "R"
SHARPNESS = 4
"""λ: scaled gap between keys in the relation and other keys, per ⌈log₂(i+1)⌉."""
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class InRelation(PositionRelation, stored_name="InRelation"):
    """The indicator [[R]]: 1 where the key is in the query's row of the relative relation R, else 0."""

    @property
    def name(self) -> str:
        """The indicator, in the paper's notation."""
        return "[[R]]"

    def value(self, key: int, query: int) -> int:
        """1 if the key is in the row of the query."""
        return int(query > 0 and key in row(query))


@dataclass(frozen=True)
class Averages:
    """The heads of one nesting depth of counts.

    Args:
        letters: The token, one-hot.
        start: A bit: 1 at position 0.
        known: The truth values of the formulas that are counted.
        names: The names of sums.
        soft: Whether attention is softmax; otherwise it is average-hard. Uniform attention is both.
        bits: Whether true is 1; otherwise it is 1/(i+1), which cannot be counted.
    """

    letters: Signal
    start: Signal
    known: Mapping[Formula, Truth]
    names: Names
    soft: bool
    bits: bool

    def over_past(self, depth: int, comparisons: Iterable[Comparison]) -> dict[CountSum, Signal]:
        """One head for all sums of ordinary counts, each divided by i+1; at the first depth, also 1/(i+1)."""
        ordinary = [comparison for comparison in comparisons if not _through_relation(comparison)]
        sums = {CountSum.of(comparison).positive: comparison for comparison in ordinary}
        summands = {of: self.summand(of, comparison) for of, comparison in sums.items()}
        if depth == 1:
            summands[SHARE] = self.start
        if not summands:
            return {}
        means = attend(
            "mean" if depth == 1 else f"mean at depth {depth}",
            value=stack(*summands.values()).labelled(map(self.names.sum, summands)),
            weighting=softmax() if self.soft else AVERAGE_HARD,
        )
        return {of: means[k] for k, of in enumerate(summands)}

    def sides(self, comparison: Comparison, means: Mapping[CountSum, Signal]) -> tuple[Signal, Signal]:
        """Two numbers for T ~ 0: the first positive iff T ≥ 0, the second iff T ≤ 0. Neither is near 0.

        Raises:
            ConstructionError: If there is no construction for a comparison of counts through a relation.
        """
        if _through_relation(comparison):
            return self.relative_sides(comparison, means[SHARE])
        of = CountSum.of(comparison)
        return _shifted(of.sign * means[of.positive], counted(comparison)[1], means[SHARE])

    def relative_sides(self, comparison: Comparison, share: Signal) -> tuple[Signal, Signal]:
        """The same for counts through R only, or for one of them against one ordinary count."""
        terms, number = counted(comparison)
        for _, count in terms:
            if count.relation not in (None, RELATIVE):
                raise ConstructionError(
                    f"there is no construction for counts through {count.relation!r} in {str(comparison)!r}",
                    hint=f"only counts through {RELATIVE} are supported, since it relates a position with few others",
                )
        if all(count.relation for _, count in terms):
            return _shifted(*self.over_relation(comparison))
        if len(terms) == 2 and not number and {factor for factor, _ in terms} == {1, -1}:
            ordered = sorted(terms, key=lambda term: term[1].relation is None)
            inverse = {factor: self.inverse(count, comparison) for factor, count in ordered}
            # The larger count has the smaller inverse.
            return inverse[-1] - inverse[1] + share * HALF, inverse[1] - inverse[-1] + share * HALF
        raise ConstructionError(
            f"there is no construction for {str(comparison)!r}: counts through {RELATIVE} can be compared with each "
            "other, or a single one with a single ordinary count",
        )

    def over_relation(self, comparison: Comparison) -> tuple[Signal, int, Signal]:
        """Counts through R only: the mean over R and the start token, the constant, and the unit 1/(|R|+1)."""
        of, number = CountSum.of(comparison), counted(comparison)[1]
        found = attend(
            f"mean over {RELATIVE} and start: {of}",
            query=constant(1),
            key=self.start,
            value=stack(self.summand(of, comparison), self.start).labelled(["sum", "start"]),
            bias=InRelation(),
            weighting=self.sharp(of.largest + abs(number) + 1),
            gap=1,
        )
        return found["sum"], number, found["start"]

    def inverse(self, count: Count, comparison: Comparison) -> Signal:
        """1/(m+1) for a count m: the weight of the start token, which ties with the m counted keys."""
        return attend(
            f"1/(#{count.relation or ''}[{count.of}]+1)",
            query=constant(1),
            key=self.counted(count, comparison) + (2 if count.relation else 1) * self.start,
            value=self.start,
            bias=InRelation() if count.relation else None,
            weighting=self.sharp(1),
            gap=1,
        )

    def sharp(self, largest: int) -> Weighting:
        """Softmax with nearly all weight on the best keys, for values up to ``largest``; λ grows by 1 per doubling."""
        return softmax(Logarithm(SHARPNESS + (largest - 1).bit_length())) if self.soft else AVERAGE_HARD

    def summand(self, of: CountSum, comparison: Comparison) -> Signal:
        """The summand at a position: the sum of each count's coefficient times its formula's truth value."""
        total = constant(0)
        for factor, count in of.terms:
            total = total + factor * self.counted(count, comparison)
        return total

    def counted(self, count: Count, comparison: Comparison) -> Signal:
        """A bit: whether a count's formula holds; 0 at the start token."""
        truth = self.known[count.of]
        if isinstance(truth, Signal) and not self.bits:
            raise ConstructionError(
                f"with ReLU alone and no bound on the length, {str(count.of)!r} cannot be counted in "
                f"{str(comparison)!r}: its truth value is 1/(i+1), not 1",
                hint="use Heaviside units (crasp), or a bound on the length (crasp-relu-max-length)",
            )
        holds = truth if isinstance(truth, Signal) else self.letters.among(truth)
        return holds - int(_at_start(count.of)) * self.start


def _shifted(mean: Signal, number: int, unit: Signal) -> tuple[Signal, Signal]:
    """T + 1/2 and 1/2 - T in multiples of ``unit``, from T - c in multiples of ``unit``, and c."""
    return mean + (number + HALF) * unit, (HALF - number) * unit - mean


def _through_relation(comparison: Comparison) -> bool:
    return any(count.relation is not None for _, count in counted(comparison)[0])


def _at_start(formula: Formula) -> bool:
    """Whether a formula holds at the start token, where there is no symbol and every count is 0."""
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
