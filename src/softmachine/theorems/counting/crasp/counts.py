"""Attention heads of C-RASP: counts as averages over the past or over a relation; :mod:`.theorem` has the proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from softmachine.ir import Signal, attend, constant, stack
from softmachine.languages.crasp import Count, TermComparison, linear_counts
from softmachine.languages.crasp.relations import related_positions
from softmachine.languages.temporal import And, BooleanConstant, Formula, Not, Or
from softmachine.support.errors import ConstructionError
from softmachine.theorems.counting.crasp.boolean import TruthValue
from softmachine.theorems.counting.crasp.linear_counts import EMPTY_SUM, CountSum, CraspNames
from softmachine.transformer.attention import AVERAGE_HARD, Weighting, softmax_weighting
from softmachine.transformer.features import Logarithm
from softmachine.transformer.features import Relation as PositionRelation
from softmachine.transformer.head_view import HeadView, midpoint

RELATION_NAME = "R"
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

    step: ClassVar[Fraction] = Fraction(1)

    def value(self, key: int, query: int) -> int:
        """1 if the key is in the row of the query."""
        return int(query > 0 and key in related_positions(query))


@dataclass(frozen=True)
class CountHeads:
    """The heads of one nesting depth of counts.

    Args:
        symbols: The token, one-hot.
        start: A bit: 1 at position 0.
        truth_values: The truth values of the formulas that are counted.
        names: The names of sums.
        soft: Whether attention is softmax; otherwise it is average-hard. Uniform attention is both.
        exact_bits: Whether true is 1; otherwise it is 1/(i+1), which cannot be counted.
    """

    symbols: Signal
    start: Signal
    truth_values: Mapping[Formula, TruthValue]
    names: CraspNames
    soft: bool
    exact_bits: bool

    def mean_over_past(self, depth: int, comparisons: Iterable[TermComparison]) -> dict[CountSum, Signal]:
        """One head for all sums of ordinary counts, each divided by i+1; at the first depth, also 1/(i+1)."""
        ordinary = [comparison for comparison in comparisons if not _is_through_relation(comparison)]
        sums = {CountSum.of_comparison(comparison).with_positive_sign: comparison for comparison in ordinary}
        summands = {of: self.summand(of, comparison) for of, comparison in sums.items()}
        if depth == 1:
            summands[EMPTY_SUM] = self.start
        if not summands:
            return {}
        name, labels = "mean" if depth == 1 else f"mean at depth {depth}", [*map(self.names.name_of_sum, summands)]
        counted = {f"{name}[{label}]": label for label, of in zip(labels, summands, strict=True) if of != EMPTY_SUM}
        means = attend(
            name,
            value=stack(*summands.values()).with_labels(labels),
            weighting=softmax_weighting() if self.soft else AVERAGE_HARD,
            explains=partial(_explain_sums, labels=counted),
        )
        return {of: means[k] for k, of in enumerate(summands)}

    def ordinary_sides(self, comparison: TermComparison, means: Mapping[CountSum, Signal]) -> tuple[Signal, Signal]:
        """Two numbers for T ~ 0: the first positive iff T ≥ 0, the second iff T ≤ 0. Neither is near 0.

        Raises:
            ConstructionError: If there is no construction for a comparison of counts through a relation.
        """
        if _is_through_relation(comparison):
            return self.relative_sides(comparison, means[EMPTY_SUM])
        of = CountSum.of_comparison(comparison)
        return _half_integer_sides(
            of.sign * means[of.with_positive_sign], linear_counts(comparison)[1], means[EMPTY_SUM]
        )

    def relative_sides(self, comparison: TermComparison, share: Signal) -> tuple[Signal, Signal]:
        """The same for counts through R only, or for one of them against one ordinary count."""
        terms, number = linear_counts(comparison)
        for _, count in terms:
            if count.relation not in (None, RELATION_NAME):
                raise ConstructionError(
                    f"there is no construction for counts through {count.relation!r} in {str(comparison)!r}",
                    hint=f"only counts through {RELATION_NAME} are supported, since it relates a position with few "
                    f"others",
                )
        if all(count.relation for _, count in terms):
            return _half_integer_sides(*self.mean_over_relation(comparison))
        if len(terms) == 2 and not number and {factor for factor, _ in terms} == {1, -1}:
            ordered = sorted(terms, key=lambda term: term[1].relation is None)
            inverse = {factor: self.inverse_count(count, comparison) for factor, count in ordered}
            # The larger count has the smaller inverse.
            return inverse[-1] - inverse[1] + share * HALF, inverse[1] - inverse[-1] + share * HALF
        raise ConstructionError(
            f"there is no construction for {str(comparison)!r}: counts through {RELATION_NAME} can be compared with "
            f"each "
            "other, or a single one with a single ordinary count",
        )

    def mean_over_relation(self, comparison: TermComparison) -> tuple[Signal, int, Signal]:
        """Counts through R only: the mean over R and the start token, the constant, and the unit 1/(|R|+1)."""
        of, number = CountSum.of_comparison(comparison), linear_counts(comparison)[1]
        found = attend(
            f"mean over {RELATION_NAME} and start: {of}",
            query=constant(1),
            key=self.start,
            value=stack(self.summand(of, comparison), self.start).with_labels(["sum", "start"]),
            bias=InRelation(),
            weighting=self.sharp_weighting(of.max_contribution + abs(number) + 1),
            gap=1,
        )
        return found["sum"], number, found["start"]

    def inverse_count(self, count: Count, comparison: TermComparison) -> Signal:
        """1/(m+1) for a count m: the weight of the start token, which ties with the m counted keys."""
        return attend(
            f"1/(#{count.relation or ''}[{count.formula}]+1)",
            query=constant(1),
            key=self.counted_bit(count, comparison) + (2 if count.relation else 1) * self.start,
            value=self.start,
            bias=InRelation() if count.relation else None,
            weighting=self.sharp_weighting(1),
            gap=1,
        )

    def sharp_weighting(self, largest: int) -> Weighting:
        """Softmax with nearly all weight on the best keys, for values up to ``largest``; λ grows by 1 per doubling."""
        return softmax_weighting(Logarithm(SHARPNESS + (largest - 1).bit_length())) if self.soft else AVERAGE_HARD

    def summand(self, of: CountSum, comparison: TermComparison) -> Signal:
        """The summand at a position: the sum of each count's coefficient times its formula's truth value."""
        total = constant(0)
        for factor, count in of.terms:
            total = total + factor * self.counted_bit(count, comparison)
        return total

    def counted_bit(self, count: Count, comparison: TermComparison) -> Signal:
        """A bit: whether a count's formula holds; 0 at the start token."""
        truth = self.truth_values[count.formula]
        if isinstance(truth, Signal) and not self.exact_bits:
            raise ConstructionError(
                f"with ReLU alone and no bound on the length, {str(count.formula)!r} cannot be counted in "
                f"{str(comparison)!r}: its truth value is 1/(i+1), not 1",
                hint="use Heaviside units (crasp), or a bound on the length (crasp-relu-max-length)",
            )
        holds = truth if isinstance(truth, Signal) else self.symbols.sum_of_labels(truth)
        return holds - int(_holds_at_start(count.formula)) * self.start


def _explain_sums(view: HeadView, labels: Mapping[str, str]) -> str | None:
    """Explain the sums that a mean represents, given the label of each coordinate."""
    seen, sums = len(view.visible), list[str]()
    for name, label in labels.items():
        total = midpoint(view.added[name]) * seen if name in view.added else Fraction(1, 2)
        if total.denominator == 1:
            sums.append(f"{label} {'to' if sums else 'adds up to'} {total}")
    return f"over {seen:,} positions, {', '.join(sums)}" if sums and len(view.chosen) == seen else None


def _half_integer_sides(mean: Signal, number: int, unit: Signal) -> tuple[Signal, Signal]:
    """T + 1/2 and 1/2 - T in multiples of ``unit``, from T - c in multiples of ``unit``, and c."""
    return mean + (number + HALF) * unit, (HALF - number) * unit - mean


def _is_through_relation(comparison: TermComparison) -> bool:
    return any(count.relation is not None for _, count in linear_counts(comparison)[0])


def _holds_at_start(formula: Formula) -> bool:
    """Whether a formula holds at the start token, where there is no symbol and every count is 0."""
    match formula:
        case BooleanConstant(value):
            return value
        case Not(of):
            return not _holds_at_start(of)
        case And(operands):
            return all(map(_holds_at_start, operands))
        case Or(operands):
            return any(map(_holds_at_start, operands))
        case TermComparison():
            return formula.relation.holds(linear_counts(formula)[1], 0)
    return False
