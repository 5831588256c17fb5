"""Temporal logic with counting in a transformer without position features: hard attention and layer norm.

A member of the fully uniform families of Figure 1 of "Revisiting Padded Transformer Expressivity", which cites Merrill
and Sabharwal: weights, position encoding and temperature are the same at every length, and the precision only has to
suffice to distinguish scores. Layer norm applies to parts of the vector (footnote 11 there), in feed-forward networks.
Departures from that paper: hidden units are normalised where (11e) normalises the output; attention has no layer norm
around it as in (11d); and the stabilizer ε of section B.3 is 0, since with ε > 0 the norm of (x, -x) is not a sign and
the layer-norm hash depends on more than a ratio. Previous, next, since and until are masked unique-hard heads (section
4.3 of "Simulating Hard Attention Using Soft Attention"). Counts:

- Uniform attention gives c/(i+1), and for the start token 1/(i+1); with the anticausal mask, c/(n-i+1) and 1/(n-i+1).
- A comparison of counts is the sign of one number, T/(i+1) shifted by half a unit, and the sign is the layer norm of
  that number and its negative. Counts of both directions in one comparison have no common unit and are rejected.
- A predicate of a count is read at the position of that number, found by the layer-norm hash: φ(c/(i+1), 1/(i+1)) is
  φ(c, 1), and position j has φ(j/(j+1), 1/(j+1)).

Needs: no position features but the formula's own predicates; layer norm. Exact arithmetic supports comparisons, whose
norms are ±1; hashes are irrational and need float64 or interval arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from softmachine.ir import Program, Signal, attend, constant, named, norm
from softmachine.ir.gadgets import gate
from softmachine.ir.gadgets.integers import compare_by_signs
from softmachine.ir.gadgets.lookup import lookup_by_hash
from softmachine.ir.ranges import BIT
from softmachine.languages import temporal as logic
from softmachine.languages.linear import LinearExpression, Relation
from softmachine.languages.temporal import Formula, Specification
from softmachine.support.errors import ConstructionError, FixHint
from softmachine.theorems.cost import Cost
from softmachine.theorems.logic.temporal.induction import build_program
from softmachine.theorems.logic.temporal.theorem import COUNTS, PREDICATES, WIDTH
from softmachine.theorems.logic.temporal_unique_hard import HEADS, LAYERS, UniqueHardHeads, positionless_theorem
from softmachine.theorems.theorem import Requirements
from softmachine.transformer.attention import Mask
from softmachine.transformer.head_view import explain_sum

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class LayerNormHeads(UniqueHardHeads):
    """Masked unique-hard attention, and counts by uniform attention and layer norm."""

    def fetch_at_count(self, name: str, count: logic.Count, of: Signal, read: Signal) -> Signal:
        """``read`` at the position whose number is the count, found by the layer-norm hash."""
        share, per = self._share(name, count, of), self._inverse_visible(count)
        place_per = self._inverse_visible(logic.LeftCount(count.formula))
        seen = Mask.CAUSAL if isinstance(count, logic.LeftCount) else Mask.ALL
        return lookup_by_hash(name, share, per, 1 - place_per, place_per, read, seen)

    def compare_counts(
        self, name: str, difference: LinearExpression[logic.Count], relation: Relation, known: Mapping[Formula, Signal]
    ) -> Signal:
        """Whether a sum of counts is in the relation to 0: the sign of its mean, by layer norm of (x, -x)."""
        unit = self._inverse_visible(difference.terms[0][1]) if difference.terms else constant(1)
        total = difference.constant * unit
        for factor, count in difference.terms:
            total = total + factor * self._share(f"{name}: {count.formula}", count, known[count.formula])
        above = self._is_positive(f"{name}: at least", total + HALF * unit)
        below = self._is_positive(f"{name}: at most", HALF * unit - total)
        return named(name, compare_by_signs(relation, above, below, constant(1)).with_range(BIT))

    def _is_positive(self, name: str, number: Signal) -> Signal:
        """Whether a nonzero number is positive."""
        return named(name, (HALF * (1 + norm(f"{name}: sign", number))).with_range(BIT))

    def _share(self, name: str, count: logic.Count, value: Signal) -> Signal:
        """A count divided by the number of visible positions."""
        if isinstance(count, logic.LeftCount):
            value, mask = gate(f"counted in {name}", value, blockers=self.start), Mask.CAUSAL
        else:
            mask = Mask.ANTICAUSAL
        return attend(f"mean of {name}", value=value, mask=mask, explains=partial(explain_sum, name=name))

    def _inverse_visible(self, count: logic.Count) -> Signal:
        """1 over the number of visible positions: the mean of a bit that is 1 at exactly one of them."""
        if isinstance(count, logic.LeftCount):
            return attend("1/(i+1)", value=self.start, mask=Mask.CAUSAL)
        return attend("1/(n-i+1)", value=self.last, mask=Mask.ANTICAUSAL)


def signals(specification: Specification) -> Program:
    """A transformer that outputs at every position whether the formula holds there.

    Raises:
        ConstructionError: If a comparison has counts of both directions.
    """
    return build_program(specification, LayerNormHeads, _require_one_direction)


def _require_one_direction(formula: Formula) -> None:
    if isinstance(formula, logic.CountComparison) and len({type(count) for _, count in formula.difference.terms}) > 1:
        raise ConstructionError(
            f"counts of both directions have no common unit without position features, as in {str(formula)!r}",
            hint=FixHint("use {}", theorem="temporal-encoder"),
        )


THEOREMS = (
    positionless_theorem(
        "temporal-layer-norm",
        "fully uniform: temporal logic with counting by hard attention and layer norm, without position features",
        "Revisiting Padded Transformer Expressivity, Figure 1 (†), layer norm without ε; Merrill and Sabharwal 2025",
        Requirements("no position features but the formula's own predicates", remark="layer norm"),
        Cost({}, {"heads": HEADS + COUNTS + PREDICATES + 2, "layers": LAYERS, "width": WIDTH}),
        signals=lambda codec, _: signals(codec.source),
        steps=(
            "Symbols are looked up from the token; Boolean operators are units of a feed-forward layer.",
            "previous, next, since and until are masked unique-hard heads.",
            "A comparison of counts is the sign of a mean, computed by layer norm of the pair (x, -x).",
            "A predicate of a count is read at the position found by the layer-norm hash.",
        ),
        rank=10,
    ),
)
