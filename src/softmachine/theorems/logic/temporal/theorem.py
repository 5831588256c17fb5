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

In names of position features, the paper's i is i+1 here and its n is n+1. Features that differ by a constant factor or
an added constant count as one: the weights absorb both.

Costs are operator counts and nesting depths of the core form (``core``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from softmachine.ir import Program
from softmachine.languages import temporal as logic
from softmachine.languages.temporal import (
    Formula,
    Specification,
    TemporalOperator,
    find_fragment,
    subformulas,
    to_core,
)
from softmachine.support.errors import ConstructionError, FixHint
from softmachine.theorems.cost import Cost, Expression, parameter
from softmachine.theorems.logic.temporal.codec import TemporalCodec
from softmachine.theorems.logic.temporal.heads import Masking, TemporalHeads, Variant
from softmachine.theorems.logic.temporal.induction import PositionPredicate, build_program
from softmachine.theorems.theorem import CheckpointSupport, Requirements, Theorem, TourStep
from softmachine.transformer.features import (
    I_PLUS_ONE,
    N_PLUS_ONE,
    RECIPROCAL,
    REMAINING,
    Alternating,
    Feature,
    I,
    Monomial,
)

_PAPER_NAMES = {
    I_PLUS_ONE * N_PLUS_ONE**-1: "i/n",
    N_PLUS_ONE: "n",
    I_PLUS_ONE**2: "i²",
    I: "i",
    I**2: "i²",
    I * N_PLUS_ONE: "i·n",
}
_PAPER_NAMES |= {I**2 * N_PLUS_ONE: "i²n", I * N_PLUS_ONE**-1: "i/n (numbered from 0)"}
_PAPER_NAMES_FOR_COUNTS = {RECIPROCAL: "1/i", 1 / REMAINING: "1/(n-i+1)"}


def paper_name(specification: Specification, feature: Feature) -> str | None:
    """The paper's name of a position feature of a formula's model; None if the theorem does not use it.

    Theorem 20 of Yang et al. 2024 has 1/i and 1/(n-i+1), for counts; Theorem 16 has 1/i, for since. Elsewhere the paper
    derives them from (-1)^i by Proposition 11, as the ``-paper-positions`` theorems do here.
    """
    match feature:
        case PositionPredicate():
            return "θ"
        case Alternating():
            return "(-1)^i"
        case Monomial():
            plain = feature * (1 / feature.factor)
            return _PAPER_NAMES.get(plain) or (
                _PAPER_NAMES_FOR_COUNTS.get(plain) if _may_use(specification, plain) else None
            )
    return None


def _may_use(specification: Specification, feature: Monomial) -> bool:
    used = find_fragment(to_core(specification.formula)).operators
    counts = bool(used & {TemporalOperator.LEFT_COUNT, TemporalOperator.RIGHT_COUNT})
    alone = (
        feature == RECIPROCAL
        and TemporalOperator.SINCE in used
        and not used & {TemporalOperator.PREVIOUS, TemporalOperator.FIRST}
    )
    return counts or alone


_SYMBOLS_STEP = TourStep(
    "Which symbol is here?",
    "Symbols are looked up from the token, one-hot; position 0 holds a start token, at which no formula counts. "
    "Boolean operators are units of a feed-forward layer.",
    ("symbol",),
)
_NEIGHBOURS_STEP = TourStep(
    "Previous and next",
    "The nearest even and the nearest odd position are found, and of these the one that is not here "
    "(Theorems 12 and 13 of Yang et al. 2024). Nearness is a small term of the score that (-1)^i overrules (Lemma 8 of "
    "Yang et al. 2024).",
    ("(-1)^i", "first", "prev …"),
)
_WITNESS_STEP = TourStep(
    "Which position decides since and until?",
    "The nearest position where the left side fails or the right side holds (Theorems 15 and 16 of Yang et al. 2024): "
    "the head finds it (Lemma 8 of Yang et al. 2024) and retrieves the truth value of the right side there.",
    ("decides …", "i/(n+1)"),
)
_COUNTS_STEP = TourStep(
    "How many?",
    "Uniform attention gives the fraction of positions that count, c/(i+1). A lookup among the positions recovers c "
    "(Theorems 20 and 21, Lemma 7 of Yang et al. 2024), and comparisons of counts are units.",
    ("mean of …", "counted in …", "#…"),
)
_ROUNDING_STEP = TourStep(
    "Round it",
    "Softmax may be off by 1/4 at the stated scale (Lemma 6 of Yang et al. 2024); two units after the "
    "head give the right bit (Lemma 9 of Yang et al. 2024). With hard attention nothing changes.",
    ("Q_…", "prev …"),
)
PROPOSITION_11_STEP = TourStep(
    "Where am I?",
    "The mean of (-1)^j is ±1 where a position sees only itself, and at most 1/3 elsewhere: that marks the first and "
    "the last position, and the mean of the mark is 1/i and 1/(n-i+1) (Proposition 11 of "
    "Yang et al. 2024).",
    ("parity mean …", "start from …", "last…", "1/(i+1)", "1/(n-i+1)"),
)
_UNIQUE_STEP = TourStep(
    "Which position is nearest?",
    "The rightmost of the best positions before, or the leftmost of those after: masked unique-hard attention needs "
    "no position features (section 4.3 of Yang et al. 2024). The previous position is the rightmost of all before.",
    ("decides …", "prev …", "next …", "has …"),
)
TOUR = (_SYMBOLS_STEP, _NEIGHBOURS_STEP, _WITNESS_STEP, _COUNTS_STEP, _ROUNDING_STEP)
TOUR_WITHOUT_COUNTS = (_SYMBOLS_STEP, _NEIGHBOURS_STEP, _WITNESS_STEP, _ROUNDING_STEP)
UNIQUE_HARD_TOUR = (_SYMBOLS_STEP, _UNIQUE_STEP, _ROUNDING_STEP)


_COUNTING = (logic.CountComparison, logic.NumericalPredicate)
_TEMPORAL = (logic.Previous, logic.Next, logic.Since, logic.Until)


def _subformulas(codec: Any) -> tuple[Formula, ...]:
    return subformulas(to_core(codec.source.formula))


def _operator_count(symbol: str, meaning: str, *kinds: type[Formula]) -> Expression:
    """The number of subformulas of the given kinds."""
    return parameter(symbol, meaning, lambda codec: sum(isinstance(part, kinds) for part in _subformulas(codec)))


def nesting_depth(parts: Iterable[Formula], *kinds: type[Formula]) -> int:
    """The nesting depth of operators of the given kinds; ``parts`` lists all subformulas, operands first."""
    depth: dict[Formula, int] = {}
    for part in parts:
        own = isinstance(part, kinds) and bool(part.parts)
        depth[part] = max((depth[inner] for inner in part.parts), default=0) + own
    return max(depth.values())


def _operator_depth(symbol: str, meaning: str, *kinds: type[Formula]) -> Expression:
    return parameter(symbol, meaning, lambda codec: nesting_depth(_subformulas(codec), *kinds))


def _count_predicates(codec: Any) -> int:
    return sum(isinstance(part, logic.NumericalPredicate) and bool(part.parts) for part in _subformulas(codec))


def _count_counts(codec: Any) -> int:
    sums = [len(part.difference.terms) for part in _subformulas(codec) if isinstance(part, logic.CountComparison)]
    return sum(sums) + _count_predicates(codec)


_SIZE = _operator_count("|φ|", "subformulas", Formula)
WITNESSES = _operator_count("S", "operators since and until", logic.Since, logic.Until)
NEIGHBOURS = _operator_count("P", "operators previous and next", logic.Previous, logic.Next)
COUNTS = parameter("C", "counts", _count_counts)
DEPTH = _operator_depth("D", "nesting depth of temporal operators and counts", *_TEMPORAL, *_COUNTING)
COUNT_DEPTH = _operator_depth("E", "nesting depth of counts", *_COUNTING)
PREDICATES = parameter("M", "predicates of counts", _count_predicates)
ENDS = _operator_count("F", "number of the atoms first and last that occur (at most 2)", logic.First, logic.Last)
POINTWISE = _operator_depth("B", "nesting depth of and and or", logic.And, logic.Or) + ENDS
WIDTH = 5 * (_SIZE + COUNTS) + parameter("|Σ|", "symbols", lambda codec: len(codec.source.alphabet)) + 5


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
    return build_program(
        specification, lambda start: TemporalHeads(variant, start), lambda part: require_visible(part, variant)
    )


def require_visible(formula: Formula, variant: Variant) -> None:
    """Raise ConstructionError if a future-masked transformer cannot evaluate a formula."""
    counts = [count for _, count in formula.difference.terms] if isinstance(formula, logic.CountComparison) else []
    number = formula.argument if isinstance(formula, logic.NumericalPredicate) else None
    for part in (formula, number, *counts) if variant.masking is Masking.MASKED else ():
        if isinstance(part, logic.Last | logic.Next | logic.Until | logic.RightCount):
            raise ConstructionError(
                f"a future-masked transformer cannot evaluate {str(formula)!r}, which depends on later positions",
                hint=FixHint("use {}; to export it, --to bert", theorem="temporal-encoder"),
            )
        if isinstance(part, logic.NumericalPredicate) and part.depends_on_length:
            raise ConstructionError(
                f"a future-masked transformer cannot evaluate {str(formula)!r}, which depends on the length",
                hint=FixHint("use {}; to export it, --to bert", theorem="temporal-encoder"),
            )
        if isinstance(part, logic.LeftCount) and variant.unbounded_positions:
            raise ConstructionError(
                f"no construction is known for the counts of {str(formula)!r} in a future-masked transformer at "
                "temperature 1",
                hint="use variant (a), temporal-masked",
            )


HEADS = WITNESSES + 2 * NEIGHBOURS + 2 * COUNTS
LAYERS = 2 * DEPTH + COUNT_DEPTH + POINTWISE


def variant_theorem(
    name: str,
    statement: str,
    reference: str,
    needs: Requirements,
    rank: int,
    masking: Masking,
    *,
    unbounded_positions: bool = False,
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
        codec=lambda source, _: TemporalCodec(source, masking is Masking.ENCODER),
        signals=lambda codec, attention: signals(
            codec.source, Variant(masking, attention == "soft", unbounded_positions)
        ),
        steps=STEPS,
        tour=TOUR_WITHOUT_COUNTS if unbounded_positions and masking is Masking.MASKED else TOUR,
        paper_feature_name=paper_name,
        features=(PositionPredicate,),
        checkpoints=CheckpointSupport(bidirectional=False) if rank == 2 else None,
        rank=rank,
    )


THEOREMS = (
    variant_theorem(
        "temporal-encoder",
        "Theorems 12, 15, 20 of Yang et al. 2024: temporal logic with counting, by an encoder given the length",
        "Theorems 12, 15 and 20",
        Requirements(
            "bounded position features (i and i² for counts)", "O(n), the smallest of all", length_note="the length"
        ),
        1,
        Masking.ENCODER,
    ),
    variant_theorem(
        "temporal-masked",
        "Theorems 13, 16, 21 of Yang et al. 2024: past temporal logic with counting, future-masked, for every length",
        "Theorems 13, 16 and 21",
        Requirements(
            "1/(i+1), (-1)^i (i and i² for counts)",
            "O(i²)",
            length_note="independent of the input length",
            remark="only past operators",
        ),
        2,
        Masking.MASKED,
    ),
    variant_theorem(
        "temporal-encoder-unbounded-positions",
        "Theorems 12, 15, 20 (b) of Yang et al. 2024: temperature 1, position features that grow with the length",
        "Theorems 12, 15 and 20, variant (b)",
        Requirements("position features that grow like n, for counts like n³", "1", length_note="the length"),
        3,
        Masking.ENCODER,
        unbounded_positions=True,
    ),
    variant_theorem(
        "temporal-masked-unbounded-positions",
        "Theorems 13, 16 (b) of Yang et al. 2024: temperature 1, growing position features, future-masked, no counts",
        "Theorems 13 and 16, variant (b)",
        Requirements(
            "position features that grow like i²",
            "1",
            length_note="independent of the input length",
            remark="only past operators, no counts",
        ),
        4,
        Masking.MASKED,
        unbounded_positions=True,
    ),
)
