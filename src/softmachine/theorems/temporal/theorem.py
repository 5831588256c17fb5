"""Temporal logic with counting in a transformer, with hard attention or with softmax at a stated temperature.

Theorems 12 (previous, next), 15 (since, until) and 20 (counts) of "Simulating Hard Attention Using Soft Attention" for
encoders, which know the length n; Theorems 13, 16 and 21 for future-masked transformers, which do not. Position 0 holds
a start token. It is the paper's position 1 for the bounds, so that its n is n+1 here; it holds no formula, which
removes the cases of count 0 and of θ(0) that the paper gets wrong.

Every head retrieves a truth value or a number that is within 1/4 of the right one under softmax at the stated scale
(Lemmas 6 to 8), and the feed-forward layer behind it rounds to the right one (Lemma 9). With hard attention the value
is exact and rounding changes nothing.

Needs: for an encoder the position features i/(n+1), (-1)^i, 1/(i+1), 1/(n-i+1), and i, i² for counts, and scale O(n);
for a future-masked transformer 1/(i+1), (-1)^i, and i, i² for counts, and scale O(i²). Only what a formula uses is
there. In the theorems' variant (b) the scale is 1, and features grow in its place.
Costs: one head for since and until, two for previous, next and each count; one attention layer for each of these that
is nested, two for counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from softmachine.errors import ConstructionError, Remedy
from softmachine.languages import temporal as logic
from softmachine.languages.temporal import Formula, Specification, core, subformulas
from softmachine.languages.temporal.predicates import holds
from softmachine.signals import Program, Signal, attend, constant, named, position, recogniser, relu, stack
from softmachine.signals.gadgets import all_of, any_of, gate, rounded
from softmachine.signals.gadgets.integers import compared
from softmachine.signals.kinds import BIT
from softmachine.signals.primitives import Fall, one_hot
from softmachine.theorems.shared.special_tokens import START, unused
from softmachine.theorems.temporal.telling import GUIDE, WITHOUT_COUNTS, tell
from softmachine.theorems.temporal.tokens import TemporalCodec
from softmachine.theorems.theorem import Needs, Stock, Theorem
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax
from softmachine.transformer.features import I_SQUARED, INVERSE, LENGTH, NEXT, REST, Alternating, Feature, I

GAMMA = 3
"""The scaled gap: 4e^-3 < 1/4."""


@dataclass(frozen=True)
class PositionPredicate(Feature):
    """Whether a unary predicate of the logic holds of the position."""

    predicate: str
    parameters: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The predicate and its parameters."""
        return f"predicate({','.join(map(str, (self.predicate, *self.parameters)))})"

    def value(self, i: int, n: int) -> int:
        """1 if it holds."""
        del n
        return int(holds(self.predicate, i, self.parameters))


class Vision(StrEnum):
    """What a position sees."""

    ENCODER = "encoder"
    """All positions, and the length."""
    MASKED = "masked"
    """The positions up to its own, and nothing of the length."""


@dataclass(frozen=True)
class Variant:
    """Which theorem to use.

    Args:
        vision: What a position sees.
        soft: Whether attention is softmax, or hard.
        unbounded: The theorems' variant (b): temperature 1 and position features that grow, in place of (a), a low
            temperature and bounded ones.
    """

    vision: Vision
    soft: bool
    unbounded: bool = False

    def weighting(self, scale: Feature) -> Weighting:
        """Softmax at this scale (in variant (b) at scale 1), or hard attention, which needs none."""
        return softmax(1 if self.unbounded else scale) if self.soft else AVERAGE_HARD


def signals(specification: Specification, variant: Variant) -> Program:
    """A transformer that says at every position whether the formula holds there.

    Raises:
        ConstructionError: If such a transformer cannot say it.
    """
    formula, start = core(specification.formula), unused(START, specification.alphabet)
    tokens = (start, *specification.alphabet)
    letters = one_hot("symbol", tokens)
    heads = _Heads(variant, letters[start])
    known: dict[Formula, Signal] = {}
    for part in subformulas(formula):
        _require_sight(part, variant)
        known[part] = _truth(part, known, letters, heads)
    return recogniser(specification.name, tokens, known[formula])


def _truth(formula: Formula, known: Mapping[Formula, Signal], letters: Signal, heads: _Heads) -> Signal:
    """A bit at every position, right at positions 1 … n: whether a formula of the core holds, given its parts."""
    name, of = str(formula), [known[part] for part in formula.parts]
    match formula:
        # Step 1. Symbols, positions and Boolean operators.
        case logic.Symbol(symbol):
            return letters[symbol]
        case logic.Constant(value):
            return constant(int(value))
        case logic.First():
            return _first()
        case logic.Last():
            return _last()
        case logic.Predicate(number=logic.Position()):
            return position(PositionPredicate(formula.name, formula.parameters))
        case logic.Not():
            return ~of[0]
        case logic.And():
            return all_of(name, *of)
        case logic.Or():
            return any_of(name, *of)
        # Step 2. Previous and next.
        case logic.Previous():
            return heads.neighbour(name, of[0], Mask.CAUSAL, beyond=_first())
        case logic.Next():
            return heads.neighbour(name, of[0], Mask.ANTICAUSAL, beyond=_last())
        # Step 3. Since and until.
        case logic.Since():
            return heads.witness(name, of[0], of[1], Mask.CAUSAL)
        case logic.Until():
            return heads.witness(name, of[0], of[1], Mask.ANTICAUSAL)
        # Step 4. Counts: a predicate is read where the count points to, and sums of counts are compared with 0.
        case logic.Predicate(number=logic.LeftCount() | logic.RightCount() as count):
            predicate = position(PositionPredicate(formula.name, formula.parameters))
            return rounded(name, heads.at_count(name, count, known[count.of], predicate))
        case logic.Comparison(difference=difference):
            total = constant(difference.constant)
            weight = sum(abs(factor) for factor, _ in difference.terms)
            for factor, count in difference.terms:
                label = f"#{'<' if isinstance(count, logic.LeftCount) else '>'}[{count.of}]"
                total = total + factor * heads.at_count(label, count, known[count.of], position(I), weight)
            return compared(name, total, formula.relation, constant(1))
    raise ConstructionError(f"there is no construction for {name!r}")


def _require_sight(formula: Formula, variant: Variant) -> None:
    """Complain where a formula depends on what a future-masked transformer cannot know."""
    counts = [count for _, count in formula.difference.terms] if isinstance(formula, logic.Comparison) else []
    number = formula.number if isinstance(formula, logic.Predicate) else None
    for part in (formula, number, *counts) if variant.vision is Vision.MASKED else ():
        if isinstance(part, logic.Last | logic.Next | logic.Until | logic.RightCount):
            raise ConstructionError(
                f"a future-masked transformer cannot say whether {str(formula)!r} holds: it depends on later positions",
                hint=Remedy("use {}; to export it, --to bert", theorem="temporal-encoder"),
            )
        if isinstance(part, logic.LeftCount) and variant.unbounded:
            raise ConstructionError(
                f"no future-masked transformer at temperature 1 is known for the counts of {str(formula)!r}",
                hint="use variant (a), temporal-masked",
            )


def _first() -> Signal:
    """Whether this is position 1: there 1/(i+1) is 1/2, later at most 1/3."""
    six = 6 * position(INVERSE)
    return named("first", (relu("first: from 1/3", six - 2) - relu("first: from 1/2", six - 3)).known(BIT))


def _last() -> Signal:
    """Whether this is position n: there 1/(n-i+1) is 1, before at most 1/2."""
    return relu("last", 2 * position(1 / REST) - 1).known(BIT)


@dataclass(frozen=True)
class _Heads:
    """The attention of the theorems.

    Args:
        variant: Which of them.
        start: A bit: whether this is the start token.
    """

    variant: Variant
    start: Signal

    def nearest(self, name: str, prefer: Signal, read: Signal, mask: Mask) -> Signal:
        """What ``read`` is at the nearest position that is preferred most (Lemma 8), rounded.

        ``prefer`` has values that differ by at least 1, of which the term for nearness takes at most a half.
        """
        if self.variant.vision is Vision.MASKED:
            near, gap, scale = -position(INVERSE), 1 / NEXT**2, GAMMA * NEXT**2
        else:
            ramp = position(I * LENGTH**-1) * Fraction(1, 2)
            near = ramp if mask is Mask.CAUSAL else -ramp
            gap, scale = Fraction(1, 2) / LENGTH, 2 * GAMMA * LENGTH
        found = attend(
            name,
            query=position(scale) if self.variant.unbounded else constant(1),
            key=prefer + near,
            value=read,
            mask=mask,
            weighting=self.variant.weighting(scale),
            gap=Fraction(GAMMA) if self.variant.unbounded else gap,
            single=True,
            fall=Fall.LINEAR,
        )
        # Step 5. Rounding.
        return rounded(f"{name} rounded", found)

    def witness(self, name: str, holding: Signal, reached: Signal, mask: Mask) -> Signal:
        """Since and until (Theorems 15, 16): the nearest position with ¬φ or ψ decides: it holds iff ψ does there."""
        decider = any_of(f"decides {name}", ~holding, reached)
        return self.nearest(name, decider - 2 * self.start, reached, mask)

    def neighbour(self, name: str, of: Signal, mask: Mask, beyond: Signal) -> Signal:
        """Previous and next (Theorems 12, 13): the nearest even and the nearest odd position; of these, the other."""
        sign = position(Alternating())
        even = self.nearest(f"{name}: nearest even", sign * Fraction(1, 2), of, mask)
        odd = self.nearest(f"{name}: nearest odd", sign * Fraction(-1, 2), of, mask)
        here_even = ((1 + sign) * Fraction(1, 2)).known(BIT)
        from_even = gate(f"{name} from even", even, off=stack(here_even, beyond))
        from_odd = gate(f"{name} from odd", odd, off=stack(~here_even, beyond))
        return named(name, (from_even + from_odd).known(BIT))

    def at_count(self, name: str, count: logic.Count, of: Signal, read: Signal, weight: int = 1) -> Signal:
        """What ``read`` is at the position whose number is a count (Theorems 20 and 21, Lemma 7).

        Uniform attention gives the count's share of the positions seen; a lookup undoes the share. The start token
        makes position 0 there to be found. ``weight`` is how much an error of the result will be amplified.
        """
        if isinstance(count, logic.LeftCount):
            mask, seen, counted = Mask.CAUSAL, Mask.CAUSAL, gate(f"counted in {name}", of, off=self.start)
            per, scale = INVERSE, GAMMA * weight * NEXT
        else:
            mask, seen, counted = Mask.ANTICAUSAL, Mask.ALL, of
            per, scale = 1 / REST, GAMMA * weight * REST
        uniform = softmax() if self.variant.soft else AVERAGE_HARD
        share = attend(f"share of {name}", value=counted, mask=mask, weighting=uniform)
        # The table of all j and j²; in variant (b) what is a scale otherwise is a factor here.
        factor = GAMMA * weight * LENGTH
        numbers = [factor * I, factor * I_SQUARED] if self.variant.unbounded else [I, I_SQUARED]
        return attend(
            name,
            query=stack(2 * share, -position(per)),
            key=stack(*map(position, numbers)),
            value=read,
            mask=seen,
            weighting=self.variant.weighting(scale),
            gap=Fraction(GAMMA * weight) if self.variant.unbounded else per,
            single=True,
            fall=Fall.QUADRATIC,
        )


def _theorem(
    name: str, statement: str, reference: str, needs: Needs, rank: int, vision: Vision, *, unbounded: bool = False
) -> Theorem:
    return Theorem(
        name,
        statement,
        f"Simulating Hard Attention Using Soft Attention, {reference}",
        needs,
        "one head for since and until, two for previous, next and each count; one layer for each that is nested, two "
        "for counts; width O(|φ|)",
        Specification,
        ("hard", "soft"),
        codec=lambda source, _: TemporalCodec(source, vision is Vision.ENCODER),
        signals=lambda codec, attention: signals(codec.source, Variant(vision, attention == "soft", unbounded)),
        steps=(
            "Symbols are looked up from the token; Boolean operators are units of a feed-forward layer.",
            "previous and next: the nearest position is found, and its truth value retrieved.",
            "since and until: the nearest position where the one holds or the other does not says which it was.",
            "A count is a mean times i+1: the number is found by a lookup among the positions.",
            "Behind every head the truth value is rounded, so that softmax may be off by 1/4.",
        ),
        guide=WITHOUT_COUNTS if unbounded and vision is Vision.MASKED else GUIDE,
        tells=tell,
        features=(PositionPredicate,),
        stock=Stock(ahead=False) if rank == 2 else None,
        rank=rank,
    )


THEOREMS = (
    _theorem(
        "temporal-encoder",
        "Theorems 12, 15, 20: temporal logic with counting, by an encoder that knows the length",
        "Theorems 12, 15 and 20",
        Needs("bounded position features (i and i² where it counts)", "O(n), the mildest of all", first="the length"),
        1,
        Vision.ENCODER,
    ),
    _theorem(
        "temporal-masked",
        "Theorems 13, 16, 21: past temporal logic with counting, future-masked, for every length",
        "Theorems 13, 16 and 21",
        Needs(
            "1/(i+1), (-1)^i (i and i² where it counts)", "O(i²)", first="nothing of the length", also="only the past"
        ),
        2,
        Vision.MASKED,
    ),
    _theorem(
        "temporal-encoder-unbounded",
        "Theorems 12, 15, 20, variant (b): temperature 1, position features that grow with the length",
        "Theorems 12, 15 and 20, variant (b)",
        Needs("position features that grow like n, where it counts like n³", "1", first="the length"),
        3,
        Vision.ENCODER,
        unbounded=True,
    ),
    _theorem(
        "temporal-masked-unbounded",
        "Theorems 13, 16, variant (b): temperature 1, position features that grow, future-masked, no counts",
        "Theorems 13 and 16, variant (b)",
        Needs(
            "position features that grow like i²",
            "1",
            first="nothing of the length",
            also="only the past, no counts",
        ),
        4,
        Vision.MASKED,
        unbounded=True,
    ),
)
