"""Linear temporal logic in a transformer, by masked unique-hard attention, with no position features at all.

Section 4.3 of "Simulating Hard Attention Using Soft Attention", after Yang, Chiang and Angluin, "Masked hard-attention
transformers recognize exactly the star-free languages": a head that takes the rightmost of the best keys before a
position, or the leftmost of those behind it, needs no term for nearness. The previous position is the rightmost of all
that are strictly before.

Needs: nothing of positions but the masks, and the predicates of the formula.
Softmax takes the place of its heads with a term that breaks ties, which certificates give them (Lemma 8): that is
Corollary 17, and Corollary 18 if only the past is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from softmachine.ir import Program, Signal, attend, constant
from softmachine.ir.gadgets import any_of, gate, rounded
from softmachine.languages import temporal as logic
from softmachine.languages.linear import Linear, Relation
from softmachine.languages.temporal import Formula, Specification, core, fragment
from softmachine.support.errors import ConstructionError, Remedy
from softmachine.theorems.cost import Cost
from softmachine.theorems.temporal.cost import DEPTH, ENDS, NEIGHBOURS, POINTWISE, WIDTH, WITNESSES
from softmachine.theorems.temporal.encoding import paper_name
from softmachine.theorems.temporal.induction import PositionPredicate, program_of
from softmachine.theorems.temporal.telling import UNIQUE_HARD, tell
from softmachine.theorems.temporal.theorem import PAPER
from softmachine.theorems.temporal.tokens import TemporalCodec
from softmachine.theorems.theorem import Needs, Theorem
from softmachine.transformer.attention import LEFTMOST_HARD, RIGHTMOST_HARD, Mask


@dataclass(frozen=True)
class UniqueHeads:
    """Leftmost- and rightmost-hard attention behind masks.

    Args:
        start: A bit: whether this is the start token.
    """

    start: Signal

    @property
    def first(self) -> Signal:
        """Whether this is position 1: nothing but the start token is before it."""
        return ~self._strictly("some before", ~self.start, Mask.PAST)

    @property
    def last(self) -> Signal:
        """Whether this is position n: it sees nothing behind it, and gets 0."""
        return ~self._strictly("some behind", ~self.start, Mask.FUTURE)

    def neighbour(self, name: str, of: Signal, mask: Mask) -> Signal:
        """Previous: the rightmost of all positions before; next: the leftmost of all behind."""
        if mask is Mask.CAUSAL:
            return self._strictly(name, gate(f"{name}: not at the start", of, off=self.start), Mask.PAST)
        return self._strictly(name, of, Mask.FUTURE)

    def witness(self, name: str, holding: Signal, reached: Signal, mask: Mask) -> Signal:
        """Since and until: the nearest position with ¬φ or ψ decides; if there is none, this one, where ψ fails."""
        decider = any_of(f"decides {name}", ~holding, reached)
        key = gate(f"{name}: not at the start", decider, off=self.start)
        weighting = RIGHTMOST_HARD if mask is Mask.CAUSAL else LEFTMOST_HARD
        found = attend(name, query=constant(1), key=key, value=reached, mask=mask, weighting=weighting, gap=1)
        return rounded(f"{name} rounded", found)

    def at_count(self, name: str, count: logic.Count, of: Signal, read: Signal) -> Signal:
        """Never asked for: :func:`_require_no_count` refuses counts."""
        raise NotImplementedError

    def comparison(
        self, name: str, difference: Linear[logic.Count], relation: Relation, known: Mapping[Formula, Signal]
    ) -> Signal:
        """Never asked for, either."""
        raise NotImplementedError

    def _strictly(self, name: str, read: Signal, mask: Mask) -> Signal:
        """What ``read`` is at the nearest position strictly before or behind; 0 if there is none."""
        weighting = RIGHTMOST_HARD if mask is Mask.PAST else LEFTMOST_HARD
        return rounded(f"{name} rounded", attend(name, value=read, mask=mask, weighting=weighting))


def signals(specification: Specification) -> Program:
    """A transformer that says at every position whether the formula holds there.

    Raises:
        ConstructionError: If the formula counts.
    """
    return program_of(specification, UniqueHeads, _require_no_count)


def _require_no_count(formula: Formula) -> None:
    """Complain of counts: what unique-hard attention recognises is in AC⁰, and counting is not."""
    if isinstance(formula, logic.Comparison) or (
        isinstance(formula, logic.Predicate) and not isinstance(formula.number, logic.Position)
    ):
        raise ConstructionError(
            f"unique-hard attention cannot count, as {str(formula)!r} does",
            hint=Remedy("use {}", theorem="temporal-encoder"),
        )


positionless = partial(
    Theorem,
    source=Specification,
    attentions=("hard",),
    codec=lambda source, _: TemporalCodec(source, not fragment(core(source.formula)).past),
    guide=UNIQUE_HARD,
    tells=tell,
    encoding=paper_name,
    features=(PositionPredicate,),
)
"""A theorem of unique-hard attention, which has no position features but the formula's own predicates."""

HEADS = WITNESSES + NEIGHBOURS + ENDS
LAYERS = 3 * DEPTH + POINTWISE

THEOREMS = (
    positionless(
        "unique-hard",
        "section 4.3: linear temporal logic by masked unique-hard attention, no position features",
        f"{PAPER}, section 4.3; Masked hard-attention transformers recognize exactly the star-free languages",
        Needs("no position features but the formula's own predicates", also="no counts"),
        Cost({}, {"heads": HEADS, "layers": LAYERS, "width": WIDTH}),
        signals=lambda codec, _: signals(codec.source),
        steps=(
            "Symbols are looked up from the token; Boolean operators are units of a feed-forward layer.",
            "previous is the rightmost of all positions before, next the leftmost of all behind.",
            "since and until: the nearest position where the one holds or the other does not says which it was.",
            "For softmax, a term of the scores breaks ties (Lemma 8), and truth values are rounded (Lemma 9).",
        ),
        rank=9,
    ),
)
