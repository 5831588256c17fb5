"""Temporal logic with counting in a transformer, with hard attention or with softmax at a stated temperature.

Theorems 12 (previous, next), 15 (since, until) and 20 (counts) of "Simulating Hard Attention Using Soft Attention"
(Yang et al. 2024) for encoders, which are given the length n; Theorems 13, 16 and 21 for future-masked transformers,
which are not. Position 0 holds a start token. For the bounds it is the paper's position 1, so that the paper's n is n+1
here; formulas are not evaluated there, which removes the cases of count 0 and of θ(0) that are wrong in the paper.

Under softmax at the stated scale every head retrieves a truth value or a number within 1/4 of the exact one (Lemmas 6
to 8), and the feed-forward layer after it rounds to the exact one (Lemma 9). With hard attention the value is exact and
rounding changes nothing.

Needs: for an encoder the position features i/(n+1), (-1)^i, 1/(i+1), 1/(n-i+1), and i, i² for counts, and scale O(n);
for a future-masked transformer 1/(i+1), (-1)^i, and i, i² for counts, and scale O(i²). A model has only those that its
formula uses. In variant (b) of the theorems the scale is 1, and growing features take its place.
"""

from __future__ import annotations

from softmachine.ir import Program
from softmachine.languages import temporal as logic
from softmachine.languages.temporal import Formula, Specification
from softmachine.support.errors import ConstructionError, Remedy
from softmachine.theorems.cost import Cost
from softmachine.theorems.temporal.cost import COUNT_DEPTH, COUNTS, DEPTH, NEIGHBOURS, POINTWISE, WIDTH, WITNESSES
from softmachine.theorems.temporal.encoding import paper_name
from softmachine.theorems.temporal.heads import Heads, Variant, Vision
from softmachine.theorems.temporal.induction import PositionPredicate, program_of
from softmachine.theorems.temporal.telling import GUIDE, WITHOUT_COUNTS, tell
from softmachine.theorems.temporal.tokens import TemporalCodec
from softmachine.theorems.theorem import Needs, Stock, Theorem

PAPER = "Simulating Hard Attention Using Soft Attention"
STEPS = (
    "Symbols are looked up from the token; Boolean operators are units of a feed-forward layer.",
    "previous and next: a head finds the adjacent position and retrieves its truth value.",
    "φ since ψ, φ until ψ: a head finds the nearest position where φ fails or ψ holds, and retrieves ψ there.",
    "A count is a mean times i+1: a lookup among the positions recovers the integer.",
    "The truth value that a head retrieves is rounded, so that softmax may be off by 1/4.",
)


def signals(specification: Specification, variant: Variant) -> Program:
    """A transformer that outputs at every position whether the formula holds there.

    Raises:
        ConstructionError: If the variant does not support the formula.
    """
    return program_of(specification, lambda start: Heads(variant, start), lambda part: require_sight(part, variant))


def require_sight(formula: Formula, variant: Variant) -> None:
    """Raise ConstructionError if a future-masked transformer cannot evaluate a formula."""
    counts = [count for _, count in formula.difference.terms] if isinstance(formula, logic.Comparison) else []
    number = formula.number if isinstance(formula, logic.Predicate) else None
    for part in (formula, number, *counts) if variant.vision is Vision.MASKED else ():
        if isinstance(part, logic.Last | logic.Next | logic.Until | logic.RightCount):
            raise ConstructionError(
                f"a future-masked transformer cannot evaluate {str(formula)!r}, which depends on later positions",
                hint=Remedy("use {}; to export it, --to bert", theorem="temporal-encoder"),
            )
        if isinstance(part, logic.Predicate) and part.of_length:
            raise ConstructionError(
                f"a future-masked transformer cannot evaluate {str(formula)!r}, which depends on the length",
                hint=Remedy("use {}; to export it, --to bert", theorem="temporal-encoder"),
            )
        if isinstance(part, logic.LeftCount) and variant.unbounded:
            raise ConstructionError(
                f"no construction is known for the counts of {str(formula)!r} in a future-masked transformer at "
                "temperature 1",
                hint="use variant (a), temporal-masked",
            )


HEADS = WITNESSES + 2 * NEIGHBOURS + 2 * COUNTS
LAYERS = 2 * DEPTH + COUNT_DEPTH + POINTWISE


def variant_theorem(
    name: str, statement: str, reference: str, needs: Needs, rank: int, vision: Vision, *, unbounded: bool = False
) -> Theorem:
    """The theorem of one variant."""
    return Theorem(
        name,
        statement,
        f"{PAPER}, {reference}",
        needs,
        Cost({}, {"heads": HEADS, "layers": LAYERS, "width": WIDTH}),
        Specification,
        ("hard", "soft"),
        codec=lambda source, _: TemporalCodec(source, vision is Vision.ENCODER),
        signals=lambda codec, attention: signals(codec.source, Variant(vision, attention == "soft", unbounded)),
        steps=STEPS,
        guide=WITHOUT_COUNTS if unbounded and vision is Vision.MASKED else GUIDE,
        tells=tell,
        encoding=paper_name,
        features=(PositionPredicate,),
        stock=Stock(ahead=False) if rank == 2 else None,
        rank=rank,
    )


THEOREMS = (
    variant_theorem(
        "temporal-encoder",
        "Theorems 12, 15, 20 of Yang et al. 2024: temporal logic with counting, by an encoder given the length",
        "Theorems 12, 15 and 20",
        Needs("bounded position features (i and i² for counts)", "O(n), the smallest of all", first="the length"),
        1,
        Vision.ENCODER,
    ),
    variant_theorem(
        "temporal-masked",
        "Theorems 13, 16, 21 of Yang et al. 2024: past temporal logic with counting, future-masked, for every length",
        "Theorems 13, 16 and 21",
        Needs(
            "1/(i+1), (-1)^i (i and i² for counts)",
            "O(i²)",
            first="independent of the input length",
            also="only past operators",
        ),
        2,
        Vision.MASKED,
    ),
    variant_theorem(
        "temporal-encoder-unbounded-positions",
        "Theorems 12, 15, 20 (b) of Yang et al. 2024: temperature 1, position features that grow with the length",
        "Theorems 12, 15 and 20, variant (b)",
        Needs("position features that grow like n, for counts like n³", "1", first="the length"),
        3,
        Vision.ENCODER,
        unbounded=True,
    ),
    variant_theorem(
        "temporal-masked-unbounded-positions",
        "Theorems 13, 16 (b) of Yang et al. 2024: temperature 1, growing position features, future-masked, no counts",
        "Theorems 13 and 16, variant (b)",
        Needs(
            "position features that grow like i²",
            "1",
            first="independent of the input length",
            also="only past operators, no counts",
        ),
        4,
        Vision.MASKED,
        unbounded=True,
    ),
)
