"""Linear temporal logic in a transformer, by masked unique-hard attention, without position features.

Section 4.3 of "Simulating Hard Attention Using Soft Attention", after Yang, Chiang and Angluin, "Masked hard-attention
transformers recognize exactly the star-free languages": a head that attends to the rightmost of the best keys before a
position, or to the leftmost of those after it, needs no term for nearness. The previous position is the rightmost of
all that are strictly before.

Needs: no position features but the predicates of the formula; strict masks.
Certificates replace these heads by softmax heads with a term that breaks ties (Lemma 8 of Yang et al. 2024): that is
Corollary 17, and Corollary 18 if formulas refer to the past only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from softmachine.ir import Program, Signal, attend, constant
from softmachine.ir.gadgets import any_of, gate, round_unit_bit
from softmachine.languages import temporal as logic
from softmachine.languages.linear import LinearExpression, Relation
from softmachine.languages.temporal import Formula, Specification, find_fragment, to_core
from softmachine.support.errors import ConstructionError, FixHint
from softmachine.theorems.cost import Cost
from softmachine.theorems.logic.temporal.codec import TemporalCodec
from softmachine.theorems.logic.temporal.induction import PositionPredicate, build_program
from softmachine.theorems.logic.temporal.theorem import (
    DEPTH,
    ENDS,
    NEIGHBOURS,
    PAPER,
    POINTWISE,
    UNIQUE_HARD_TOUR,
    WIDTH,
    WITNESSES,
    paper_name,
)
from softmachine.theorems.theorem import Requirements, Theorem
from softmachine.transformer.attention import LEFTMOST_HARD, RIGHTMOST_HARD, Mask
from softmachine.transformer.head_view import HeadExplanation


@dataclass(frozen=True)
class UniqueHardHeads:
    """Masked leftmost- and rightmost-hard attention.

    Args:
        start: A bit: 1 at the start token.
    """

    start: Signal

    @property
    def first(self) -> Signal:
        """A bit: 1 at position 1, which has only the start token before it."""
        return ~self._fetch_strictly("has previous symbol", ~self.start, Mask.PAST)

    @property
    def last(self) -> Signal:
        """A bit: 1 at position n, which sees no later position, so that its head returns 0."""
        return ~self._fetch_strictly("has next symbol", ~self.start, Mask.FUTURE)

    def fetch_neighbour(self, name: str, of: Signal, mask: Mask) -> Signal:
        """Previous: the rightmost of all earlier positions; next: the leftmost of all later ones."""
        if mask is Mask.CAUSAL:
            return self._fetch_strictly(name, gate(f"{name}: not at the start", of, blockers=self.start), Mask.PAST)
        return self._fetch_strictly(name, of, Mask.FUTURE)

    def fetch_witness(
        self, name: str, holding: Signal, reached: Signal, mask: Mask, explains: HeadExplanation
    ) -> Signal:
        """Since and until: ψ at the nearest position with ¬φ or ψ; if there is none, at this one, where ψ fails."""
        decider = any_of(f"decides {name}", ~holding, reached)
        key = gate(f"{name}: not at the start", decider, blockers=self.start)
        weighting = RIGHTMOST_HARD if mask is Mask.CAUSAL else LEFTMOST_HARD
        found = attend(
            name, query=constant(1), key=key, value=reached, mask=mask, weighting=weighting, gap=1, explains=explains
        )
        return round_unit_bit(f"{name} rounded", found)

    def fetch_at_count(self, name: str, count: logic.Count, of: Signal, read: Signal) -> Signal:
        """Unreachable: counts are rejected before heads are built."""
        raise NotImplementedError

    def compare_counts(
        self, name: str, difference: LinearExpression[logic.Count], relation: Relation, known: Mapping[Formula, Signal]
    ) -> Signal:
        """Unreachable, likewise."""
        raise NotImplementedError

    def _fetch_strictly(self, name: str, read: Signal, mask: Mask) -> Signal:
        """``read`` at the nearest position strictly before or after; 0 if there is none."""
        weighting = RIGHTMOST_HARD if mask is Mask.PAST else LEFTMOST_HARD
        role = "the position before" if mask is Mask.PAST else "the position after"
        found = attend(name, value=read, mask=mask, weighting=weighting, explains=role)
        return round_unit_bit(f"{name} rounded", found)


def signals(specification: Specification) -> Program:
    """A transformer that outputs at every position whether the formula holds there.

    Raises:
        ConstructionError: If the formula contains counts.
    """
    return build_program(specification, UniqueHardHeads, _require_no_counts)


def _require_no_counts(formula: Formula) -> None:
    """Raise ConstructionError for counts: unique-hard attention recognises only languages in AC⁰."""
    if isinstance(formula, logic.CountComparison) or (
        isinstance(formula, logic.NumericalPredicate) and not isinstance(formula.argument, logic.Position)
    ):
        raise ConstructionError(
            f"unique-hard attention cannot count, as {str(formula)!r} does",
            hint=FixHint("use {}", theorem="temporal-encoder"),
        )


positionless_theorem = partial(
    Theorem,
    source=Specification,
    attentions=("hard",),
    codec=lambda source, _: TemporalCodec(source, not find_fragment(to_core(source.formula)).is_past_only),
    tour=UNIQUE_HARD_TOUR,
    paper_feature_name=paper_name,
    features=(PositionPredicate,),
)
"""Makes a theorem about unique-hard attention without position features but the formula's own predicates."""

HEADS = WITNESSES + NEIGHBOURS + ENDS
LAYERS = 3 * DEPTH + POINTWISE

THEOREMS = (
    positionless_theorem(
        "temporal-unique-hard",
        "section 4.3 of Yang et al. 2024: linear temporal logic by masked unique-hard attention, no position features",
        f"{PAPER}, section 4.3; Masked hard-attention transformers recognize exactly the star-free languages",
        Requirements("no position features but the formula's own predicates", remark="no counts"),
        Cost({}, {"heads": HEADS, "layers": LAYERS, "width": WIDTH}),
        signals=lambda codec, _: signals(codec.source),
        steps=(
            "Symbols are looked up from the token; Boolean operators are units of a feed-forward layer.",
            "previous is the rightmost of all earlier positions, next the leftmost of all later ones.",
            "φ since ψ, φ until ψ: a head finds the nearest position where φ fails or ψ holds, and retrieves ψ there.",
            "For softmax, a score term breaks ties, and truth values are rounded (Lemmas 8, 9 of Yang et al. 2024).",
        ),
        rank=9,
    ),
)
