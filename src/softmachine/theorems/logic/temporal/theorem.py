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

Names of position features in "Simulating Hard Attention Using Soft Attention" (Yang et al. 2024).

The paper numbers positions from 1; its first position is our start token at position 0, so that its i is i+1 here and
its n is n+1. Features that differ by a constant factor or an added constant count as one: the weights absorb both.

Guided tour of one position of a formula, and explanations of its heads.

Cost parameters of temporal formulas: operator counts and nesting depths of the core form (``core``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from softmachine.ir import Program
from softmachine.languages import temporal as logic
from softmachine.languages.temporal import Formula, Operator, Since, Specification, Until, core, fragment, subformulas
from softmachine.support.errors import ConstructionError, Remedy
from softmachine.theorems.cost import Cost, Expression, parameter
from softmachine.theorems.logic.temporal.codec import TemporalCodec
from softmachine.theorems.logic.temporal.heads import Heads, Variant, Vision
from softmachine.theorems.logic.temporal.induction import PositionPredicate, program_of
from softmachine.theorems.theorem import Guide, Needs, Stock, Theorem
from softmachine.transformer.features import INVERSE, LENGTH, NEXT, REST, Alternating, Feature, I, Monomial
from softmachine.transformer.head_view import Enclosure, Sight

_ALWAYS = {NEXT * LENGTH**-1: "i/n", LENGTH: "n", NEXT**2: "i²", I: "i", I**2: "i²", I * LENGTH: "i·n"}
_ALWAYS |= {I**2 * LENGTH: "i²n", I * LENGTH**-1: "i/n (numbered from 0)"}
_COUNTING = {INVERSE: "1/i", 1 / REST: "1/(n-i+1)"}


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
            return _ALWAYS.get(plain) or (_COUNTING.get(plain) if _may_have(specification, plain) else None)
    return None


def _may_have(specification: Specification, feature: Monomial) -> bool:
    used = fragment(core(specification.formula)).operators
    counts = bool(used & {Operator.LEFT_COUNT, Operator.RIGHT_COUNT})
    alone = feature == INVERSE and Operator.SINCE in used and not used & {Operator.PREVIOUS, Operator.FIRST}
    return counts or alone


_SYMBOLS = Guide(
    "Which symbol is here?",
    "Symbols are looked up from the token, one-hot; position 0 holds a start token, at which no formula counts. "
    "Boolean operators are units of a feed-forward layer.",
    ("symbol",),
)
_NEIGHBOURS = Guide(
    "Previous and next",
    "The nearest even and the nearest odd position are found, and of these the one that is not here "
    "(Theorems 12 and 13 of Yang et al. 2024). Nearness is a small term of the score that (-1)^i overrules (Lemma 8 of "
    "Yang et al. 2024).",
    ("(-1)^i", "first", "prev …"),
)
_WITNESS = Guide(
    "Which position decides since and until?",
    "The nearest position where the left side fails or the right side holds (Theorems 15 and 16 of Yang et al. 2024): "
    "the head finds it (Lemma 8 of Yang et al. 2024) and retrieves the truth value of the right side there.",
    ("decides …", "i/(n+1)"),
)
_COUNTS = Guide(
    "How many?",
    "Uniform attention gives the fraction of positions that count, c/(i+1). A lookup among the positions recovers c "
    "(Theorems 20 and 21, Lemma 7 of Yang et al. 2024), and comparisons of counts are units.",
    ("mean of …", "counted in …", "#…"),
)
_ROUNDING = Guide(
    "Round it",
    "Softmax may be off by 1/4 at the stated scale (Lemma 6 of Yang et al. 2024); two units after the "
    "head give the right bit (Lemma 9 of Yang et al. 2024). With hard attention nothing changes.",
    ("Q_…", "prev …"),
)
PROPOSITION_11 = Guide(
    "Where am I?",
    "The mean of (-1)^j is ±1 where a position sees only itself, and at most 1/3 elsewhere: that marks the first and "
    "the last position, and the mean of the mark is 1/i and 1/(n-i+1) (Proposition 11 of "
    "Yang et al. 2024).",
    ("parity mean …", "start from …", "last…", "1/(i+1)", "1/(n-i+1)"),
)
_UNIQUE = Guide(
    "Which position is nearest?",
    "The rightmost of the best positions before, or the leftmost of those after: masked unique-hard attention needs "
    "no position features (section 4.3 of Yang et al. 2024). The previous position is the rightmost of all before.",
    ("decides …", "prev …", "next …", "has …"),
)
GUIDE = (_SYMBOLS, _NEIGHBOURS, _WITNESS, _COUNTS, _ROUNDING)
WITHOUT_COUNTS = (_SYMBOLS, _NEIGHBOURS, _WITNESS, _ROUNDING)
UNIQUE_HARD = (_SYMBOLS, _UNIQUE, _ROUNDING)


def tell(codec: TemporalCodec, sight: Sight) -> str | None:
    """Explain the value that a head retrieved; None if there is no explanation."""
    name, chosen = sight.name, sight.chosen
    if name.startswith("mean of "):
        return _share(sight)
    if not chosen:
        return None
    there = f"position {chosen[0]:,} ({sight.tokens[chosen[0]]})"
    for parity in ("even", "odd"):
        if name.endswith(f": nearest {parity}"):
            return f"{there} is the nearest {parity} one"
    for formula in subformulas(core(codec.source.formula)):
        if isinstance(formula, Since | Until) and str(formula) == name:
            holding, reached = formula.parts
            if chosen[0] == 0:
                return "there is nothing to see but the start token"
            value = sight.added.get(name)
            if value is None:
                return None
            if float(value) > 0.5:
                return (
                    f"{there} is the nearest where ({holding}) fails or ({reached}) holds, and ({reached}) holds there"
                )
            return (
                f"{there} is the nearest where ({holding}) fails, if it fails anywhere, and ({reached}) does not hold"
            )
    return f"the count is {chosen[0]:,}, which {there} stands for" if "#" in name else None


def _share(sight: Sight) -> str | None:
    """Explain a count, given its mean over the visible positions."""
    share = sight.added.get(sight.name)
    if share is None:
        return None
    seen = len(sight.visible)
    value = share.middle if isinstance(share, Enclosure) else share
    return f"{round(value * seen):,} of the {seen:,} positions that it sees count"


_COST_COUNTING = (logic.Comparison, logic.Predicate)
_TEMPORAL = (logic.Previous, logic.Next, logic.Since, logic.Until)


def _parts(codec: Any) -> tuple[Formula, ...]:
    return subformulas(core(codec.source.formula))


def _number(symbol: str, meaning: str, *kinds: type[Formula]) -> Expression:
    """The number of subformulas of the given kinds."""
    return parameter(symbol, meaning, lambda codec: sum(isinstance(part, kinds) for part in _parts(codec)))


def nesting(parts: Iterable[Formula], *kinds: type[Formula]) -> int:
    """The nesting depth of operators of the given kinds; ``parts`` lists all subformulas, operands first."""
    depth: dict[Formula, int] = {}
    for part in parts:
        own = isinstance(part, kinds) and bool(part.parts)
        depth[part] = max((depth[inner] for inner in part.parts), default=0) + own
    return max(depth.values())


def _depth(symbol: str, meaning: str, *kinds: type[Formula]) -> Expression:
    return parameter(symbol, meaning, lambda codec: nesting(_parts(codec), *kinds))


def _predicates(codec: Any) -> int:
    return sum(isinstance(part, logic.Predicate) and bool(part.parts) for part in _parts(codec))


def _counts(codec: Any) -> int:
    sums = [len(part.difference.terms) for part in _parts(codec) if isinstance(part, logic.Comparison)]
    return sum(sums) + _predicates(codec)


_SIZE = _number("|φ|", "subformulas", Formula)
WITNESSES = _number("S", "operators since and until", logic.Since, logic.Until)
NEIGHBOURS = _number("P", "operators previous and next", logic.Previous, logic.Next)
COUNTS = parameter("C", "counts", _counts)
DEPTH = _depth("D", "nesting depth of temporal operators and counts", *_TEMPORAL, *_COST_COUNTING)
COUNT_DEPTH = _depth("E", "nesting depth of counts", *_COST_COUNTING)
PREDICATES = parameter("M", "predicates of counts", _predicates)
ENDS = _number("F", "number of the atoms first and last that occur (at most 2)", logic.First, logic.Last)
POINTWISE = _depth("B", "nesting depth of and and or", logic.And, logic.Or) + ENDS
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
