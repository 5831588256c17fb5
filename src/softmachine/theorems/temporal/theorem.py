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

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from softmachine.errors import ConstructionError
from softmachine.languages.temporal import (
    And,
    Comparison,
    Constant,
    Count,
    First,
    Formula,
    Last,
    LeftCount,
    Next,
    Not,
    Or,
    Position,
    Predicate,
    Previous,
    Relation,
    RightCount,
    Since,
    Specification,
    Symbol,
    Until,
    core,
    subformulas,
)
from softmachine.languages.temporal.predicates import holds
from softmachine.signals import Program, Signal, attend, constant, named, position, recogniser, relu, stack
from softmachine.signals.gadgets import all_of, any_of, gate, rounded
from softmachine.signals.kinds import BIT
from softmachine.signals.primitives import Fall, token
from softmachine.theorems.temporal.tokens import TemporalCodec, start_token
from softmachine.theorems.theorem import Stock, Theorem
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
    """A transformer that says at every position whether the formula holds there."""
    formula = core(specification.formula)
    builder = _Builder(specification, variant)
    for part in subformulas(formula):
        builder.signals[part] = builder.build(part)
    return recogniser(specification.name, builder.tokens, builder.signals[formula])


class _Builder:
    """The signal of each subformula: a bit at every position, right at positions 1 … n."""

    def __init__(self, specification: Specification, variant: Variant) -> None:
        self.start_token = start_token(specification)
        self.tokens = (self.start_token, *specification.alphabet)
        self.variant = variant
        self.signals: dict[Formula, Signal] = {}
        rows = {symbol: tuple(int(symbol == letter) for letter in self.tokens) for symbol in self.tokens}
        self.letters = token("symbol", rows, labels=self.tokens)
        self.start = self.letters[self.start_token]

    def build(self, formula: Formula) -> Signal:
        """The signal of a formula of the core, given those of its parts."""
        name = str(formula)
        of = [self.signals[part] for part in formula.parts]
        match formula:
            case Symbol(symbol):
                return self.letters[symbol]
            case Constant(value):
                return constant(int(value))
            case First():
                return self.first(name)
            case Last():
                return self.last(formula)
            case Not():
                return ~of[0]
            case And():
                return all_of(name, *of)
            case Or():
                return any_of(name, *of)
            case Previous():
                return self.neighbour(name, of[0], Mask.CAUSAL, beyond=self.first("first"))
            case Next():
                return self.neighbour(name, of[0], self.ahead(formula), beyond=self.last(formula))
            case Since():
                return self.witness(name, of[0], of[1], Mask.CAUSAL)
            case Until():
                return self.witness(name, of[0], of[1], self.ahead(formula))
            case Comparison():
                return self.comparison(formula)
            case Predicate(number=Position()):
                return position(_predicate(formula))
            case Predicate(number=LeftCount() | RightCount() as count):
                return rounded(name, self.at_count(name, count, position(_predicate(formula)), formula))
        raise ConstructionError(f"there is no construction for {name!r}")

    def ahead(self, formula: Formula) -> Mask:
        """The mask for later positions; complains where the transformer cannot look there."""
        if self.variant.vision is Vision.MASKED:
            raise ConstructionError(
                f"a future-masked transformer cannot say whether {str(formula)!r} holds: it depends on later positions",
                hint="use the construction temporal-encoder; to export it, --to bert",
            )
        return Mask.ANTICAUSAL

    def first(self, name: str) -> Signal:
        """Whether this is position 1: there 1/(i+1) is 1/2, later at most 1/3."""
        six = 6 * position(INVERSE)
        return named(name, (relu(f"{name}: from 1/3", six - 2) - relu(f"{name}: from 1/2", six - 3)).known(BIT))

    def last(self, formula: Formula) -> Signal:
        """Whether this is position n: there 1/(n-i+1) is 1, before at most 1/2."""
        self.ahead(formula)
        return relu("last", 2 * position(1 / REST) - 1).known(BIT)

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
        kept = [
            gate(f"{name} from {parity}", signal, off=stack(wrong, beyond))
            for parity, signal, wrong in (("even", even, here_even), ("odd", odd, ~here_even))
        ]
        return named(name, (kept[0] + kept[1]).known(BIT))

    def at_count(self, name: str, count: Count, read: Signal, formula: Formula, weight: int = 1) -> Signal:
        """What ``read`` is at the position whose number is a count (Theorems 20 and 21, Lemma 7).

        Uniform attention gives the count's share of the positions seen; a lookup undoes the share. The start token
        makes position 0 there to be found. ``weight`` is how much an error of the result will be amplified.
        """
        of = self.signals[count.of]
        if isinstance(count, LeftCount):
            mask, counted = Mask.CAUSAL, gate(f"counted in {name}", of, off=self.start)
            per, scale = INVERSE, GAMMA * weight * NEXT
        else:
            mask, counted = self.ahead(formula), of
            per, scale = 1 / REST, GAMMA * weight * REST
        uniform = softmax() if self.variant.soft else AVERAGE_HARD
        share = attend(f"share of {name}", value=counted, mask=mask, weighting=uniform)
        return attend(
            name,
            query=stack(2 * share, -position(per)),
            key=self.table(GAMMA * weight, formula),
            value=read,
            mask=Mask.CAUSAL if isinstance(count, LeftCount) else Mask.ALL,
            weighting=self.variant.weighting(scale),
            gap=Fraction(GAMMA * weight) if self.variant.unbounded else per,
            single=True,
            fall=Fall.QUADRATIC,
        )

    def table(self, factor: int, formula: Formula) -> Signal:
        """The positions as a table to look numbers up in: j and j², in variant (b) times a factor and n+1."""
        if not self.variant.unbounded:
            return stack(position(I), position(I_SQUARED))
        if self.variant.vision is Vision.MASKED:
            raise ConstructionError(
                f"no future-masked transformer at temperature 1 is known for the counts of {str(formula)!r}",
                hint="use variant (a), temporal-masked",
            )
        return stack(position(factor * I * LENGTH), position(factor * I_SQUARED * LENGTH))

    def comparison(self, formula: Comparison) -> Signal:
        """A linear comparison of counts: the combination is within 1/4 of an integer, and its sign decides."""
        name, difference = str(formula), formula.difference
        total = constant(difference.constant)
        weight = sum(abs(factor) for factor, _ in difference.terms)
        for factor, count in difference.terms:
            total = total + factor * self.at_count(_count_name(count), count, position(I), formula, weight)

        def not_negative(label: str, number: Signal) -> Signal:
            low, high = (relu(f"{label}: from {cut}", number - cut) for cut in (Fraction(-3, 4), Fraction(-1, 4)))
            return (2 * (low - high)).known(BIT)

        at_least, at_most = not_negative(f"{name}: ≥", total), not_negative(f"{name}: ≤", -total)
        decided = {
            Relation.AT_LEAST: at_least,
            Relation.AT_MOST: at_most,
            Relation.LESS: 1 - at_least,
            Relation.GREATER: 1 - at_most,
            Relation.EQUAL: at_least + at_most - 1,
            Relation.UNEQUAL: 2 - at_least - at_most,
        }[formula.relation]
        return named(name, decided.known(BIT), restores=total)


def _predicate(formula: Predicate) -> Feature:
    return PositionPredicate(formula.name, formula.parameters)


def _count_name(count: Count) -> str:
    return f"#{'<' if isinstance(count, LeftCount) else '>'}[{count.of}]"


def _theorem(name: str, statement: str, reference: str, needs: str, variant: Variant, rank: int) -> Theorem:
    encodes = variant.vision is Vision.ENCODER
    return Theorem(
        name,
        statement,
        f"Simulating Hard Attention Using Soft Attention, {reference}",
        needs,
        "one head for since and until, two for previous, next and each count; one layer for each that is nested, two "
        "for counts; width O(|φ|)",
        Specification,
        ("hard", "soft"),
        codec=lambda source, _: TemporalCodec(source, encodes),
        signals=lambda codec, attention: signals(codec.source, replace(variant, soft=attention == "soft")),
        steps=(
            "Symbols are looked up from the token; Boolean operators are units of a feed-forward layer.",
            "previous and next: the nearest position is found, and its truth value retrieved.",
            "since and until: the nearest position where the one holds or the other does not says which it was.",
            "A count is a mean times i+1: the number is found by a lookup among the positions.",
            "Behind every head the truth value is rounded, so that softmax may be off by 1/4.",
        ),
        features=(PositionPredicate,),
        stock=Stock(ahead=False) if rank == 2 else None,
        rank=rank,
    )


THEOREMS = (
    _theorem(
        "temporal-encoder",
        "Theorems 12, 15, 20: temporal logic with counting, by an encoder that knows the length",
        "Theorems 12, 15 and 20",
        "the length; bounded position features (i and i² where it counts); scale O(n), the mildest of all",
        Variant(Vision.ENCODER, soft=False),
        1,
    ),
    _theorem(
        "temporal-masked",
        "Theorems 13, 16, 21: past temporal logic with counting, future-masked, for every length",
        "Theorems 13, 16 and 21",
        "nothing of the length; 1/(i+1), (-1)^i (i and i² where it counts); scale O(i²); only the past",
        Variant(Vision.MASKED, soft=False),
        2,
    ),
    _theorem(
        "temporal-encoder-unbounded",
        "Theorems 12, 15, 20, variant (b): temperature 1, position features that grow with the length",
        "Theorems 12, 15 and 20, variant (b)",
        "the length; position features that grow like n, where it counts like n³; scale 1",
        Variant(Vision.ENCODER, soft=False, unbounded=True),
        3,
    ),
    _theorem(
        "temporal-masked-unbounded",
        "Theorems 13, 16, variant (b): temperature 1, position features that grow, future-masked, no counts",
        "Theorems 13 and 16, variant (b)",
        "nothing of the length; position features that grow like i²; scale 1; only the past, no counts",
        Variant(Vision.MASKED, soft=False, unbounded=True),
        4,
    ),
)
