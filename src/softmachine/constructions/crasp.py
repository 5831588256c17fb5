"""C-RASP, with or without chain of thought, in a softmax transformer whose attention is uniform.

Proposition 2.1 of "Softmax Transformers are Turing-Complete": a rule O_τ ← φ of counts and comparisons is a few numbers
k/(i+1), where uniform attention has averaged integers over the past, and their signs. Position 0 holds a start token,
at which every count is 0, so that i+1 positions are seen at position i.

- A comparison T ≥ 0 of counts, T = Σ c_k #[φ_k] + c, is *one* number: averaging Σ c_k φ_k(j) gives (T - c)/(i+1), and
  averaging [j = 0] gives u = 1/(i+1). So (T + 1/2)u is known, which is at least u/2 away from 0 and has the sign that
  decides; for T ≤ 0 it is (1/2 - T)u. All comparisons whose counts are nested equally deep share one head.
- The sign becomes a truth value in one of three ways (:class:`.crasp_truth.Sign`). Without Heaviside and without a
  bound on the length, it is 1/(i+1) or 0 instead of 1 or 0; Boolean logic can be done in units of 1/(i+1), and the
  largest logit stays the largest. Only counting needs 1: then what is counted must be a matter of tokens alone.
- What a formula says before the first position is known beforehand, so that the start token's share of a count is
  subtracted as a constant.
- The next token: the logit of a rule is its priority if its body holds, so that the first that holds has the largest.
  If none does, a token says that the run is stuck.

Counts through the relative relation R, #R[φ], need scores: keys in R score 1 more. Under softmax with scale
4⌈log₂(i+1)⌉ all others together weigh less than 1/(16(i+1)). So averages over R and the start token are
(B + c)/(|R|+1), where B counts through R; and #R[φ] compares with #[ψ] as 1/(#R[φ]+1) does with 1/(#[ψ]+1). These
differ by at least 1/(i+1), because a row of R has few positions; R is the only relation for that reason.

Needs: no position features. For R, the relation as an additive bias, key before query (the paper has them the wrong way
round), and that scale.
Costs: one head for each depth to which counts are nested; for R one more, and one for each #R[φ] and each #[ψ] that are
compared with one another. One layer for each of these depths, and one for each Boolean operator around comparisons.
Width: the tokens; 1 for each sum that is compared, and 1 for 1/(i+1); 1 for each side of a comparison that is asked for
(≥, ≤) and for each conjunction that is not of tokens alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from softmachine.attention import AVERAGE_HARD, Weighting, softmax
from softmachine.bounds import Bound
from softmachine.constructions.crasp_truth import Sign, Truth, Truths
from softmachine.errors import ConstructionError
from softmachine.languages.crasp import Comparison, Core, Count, Program, core, counted
from softmachine.languages.crasp.relation import row
from softmachine.languages.linear import Linear, Relation
from softmachine.languages.temporal import And, Constant, Formula, Not, Or, Symbol, subformulas
from softmachine.positions import Feature, feature, relation
from softmachine.positions import Relation as Bias
from softmachine.signals import Program as Signals
from softmachine.signals import Signal, attend, constant, relu, stack
from softmachine.signals.primitives import token

START, STUCK = "<s>", "<stuck>"
RELATIVE = "R"
SHARPNESS = 4
"""λ: keys outside of a relation lose this much, times ⌈log₂(i+1)⌉."""
HALF = Fraction(1, 2)
_LENGTH = Bound.length()

feature(
    "c⌈log₂(i+1)⌉",
    lambda i, _, c: c * i.bit_length(),
    high=lambda c: c * _LENGTH,
    label=lambda c: f"{c}⌈log₂(i+1)⌉",
)
relation("[[R]]", lambda key, query: int(query > 0 and key in row(query)))


@dataclass(frozen=True)
class Variant:
    """Which transformer.

    Args:
        sign: How signs become truth values.
        soft: Whether attention is softmax, or average-hard: uniform attention is both.
        length: The number of positions it is made for, if signs are bounded.
    """

    sign: Sign = Sign.HEAVISIDE
    soft: bool = True
    length: int | None = None

    def uniform(self) -> Weighting:
        """Equal weights."""
        return softmax() if self.soft else AVERAGE_HARD

    def sharp(self, largest: int) -> Weighting:
        """Nearly all weight on the best keys, for values up to ``largest``: each doubling of them takes 1 more."""
        sharpness = SHARPNESS + (largest - 1).bit_length()
        return softmax(Feature("c⌈log₂(i+1)⌉", (sharpness,))) if self.soft else AVERAGE_HARD


@dataclass(frozen=True)
class Sum:
    """What a comparison adds up, without its constant, in an order that does not depend on how it is written."""

    terms: tuple[tuple[int, Count], ...]

    @staticmethod
    def of(comparison: Comparison) -> Sum:
        """The sum on the left side of a comparison with 0."""
        return Sum(tuple(sorted(counted(comparison)[0], key=lambda term: str(term[1].of))))

    @property
    def sign(self) -> int:
        """The sign of the first coefficient."""
        return 1 if self.terms[0][0] > 0 else -1

    @property
    def positive(self) -> Sum:
        """The same sum, or its negative, such that the first coefficient is positive."""
        return Sum(tuple((self.sign * factor, count) for factor, count in self.terms))

    @property
    def largest(self) -> int:
        """The largest absolute value that one position can add."""
        return sum(abs(factor) for factor, _ in self.terms)

    def __str__(self) -> str:
        return str(Comparison(Linear(self.terms), Relation.EQUAL, Linear())).removesuffix(" = 0")


class _Names:
    """What formulas and sums are called: by the name that the program gives them, or as they are written."""

    def __init__(self, plain: Core) -> None:
        self.formulas = {body: name for name, body in reversed(list(plain.formulas.items()))}
        self.formulas |= {body: f"rule {k} ({head})" for k, (head, body) in enumerate(plain.rules, start=1)}
        self.sums: dict[Sum, str] = {}
        for name, term in plain.terms.items():
            if term.terms and not term.constant:
                self.sums.setdefault(Sum.of(Comparison(term, Relation.EQUAL, Linear())), name)

    def __getitem__(self, formula: Formula) -> str:
        if formula in self.formulas:
            return self.formulas[formula]
        match formula:
            case Not(of):
                return f"not ({self[of]})"
            case And(operands):
                return " and ".join(self[part] if not isinstance(part, Or) else f"({self[part]})" for part in operands)
            case Or(operands):
                return " or ".join(self[part] for part in operands)
            case Comparison(relation=Relation.AT_LEAST):
                return self.comparison(formula)[0]
            case Comparison(relation=Relation.AT_MOST):
                return self.comparison(formula)[1]
            case Comparison(relation=Relation.EQUAL):
                return self.comparison(formula)[0].replace("≥", "=").replace("≤", "=")
        return str(formula)

    def sum(self, of: Sum) -> str:
        """The name of a sum."""
        return self.sums.get(of) or str(of)

    def comparison(self, comparison: Comparison) -> tuple[str, str]:
        """What T ≥ 0 and T ≤ 0 say of the positive sum in T."""
        of, constant_ = Sum.of(comparison), counted(comparison)[1]
        text, bound = self.sum(of.positive), -of.sign * constant_
        above, below = f"{text} ≥ {bound}", f"{text} ≤ {bound}"
        return (above, below) if of.sign > 0 else (below, above)


def transformer(program: Program, variant: Variant) -> Signals:
    """A decoder that writes the chain of thought; without one, a transformer that says at every position what holds."""
    builder = _Builder(core(program), variant)
    return builder.recogniser() if program.accept is not None else builder.decoder()


class _Builder:
    """The truth value of each formula, depth by depth: what is counted comes before what counts it."""

    def __init__(self, plain: Core, variant: Variant) -> None:
        self.core = plain
        self.variant = variant
        self.names = _Names(plain)
        self.start_token, self.stuck_token = special_tokens(plain.program)
        self.tokens = (self.start_token, *plain.program.tokens)
        rows = {symbol: tuple(int(symbol == letter) for letter in self.tokens) for symbol in self.tokens}
        self.letters = token("token", rows, labels=self.tokens)
        self.start = self.letters[self.start_token]
        self.done: dict[Formula, Truth] = {}
        bodies = [body for _, body in plain.rules] if plain.accept is None else [plain.accept]
        formulas = list(dict.fromkeys(part for body in bodies for part in subformulas(body)))
        levels = _levels(formulas)
        self.truths = Truths(self.letters, variant.sign, variant.length)
        self.build(part for part in formulas if not levels[part])
        for depth in range(1, max(1, *levels.values()) + 1):
            here = [part for part in formulas if levels[part] == depth]
            self.compare(depth, [part for part in here if isinstance(part, Comparison)])
            self.build(part for part in here if not isinstance(part, Comparison))

    def build(self, formulas: Iterable[Formula]) -> None:
        """The truth values of symbols and Boolean operators, given those of their parts."""
        truths = self.truths
        for formula in formulas:
            match formula:
                case Symbol(symbol):
                    self.done[formula] = Truth(frozenset([symbol]))
                case Constant(value):
                    self.done[formula] = truths.constant(value)
                case Not(of):
                    self.done[formula] = truths.negation(self.done[of])
                case And():
                    self.done[formula] = truths.conjunction(self.names[formula], self.conjuncts(formula, True))
                case Or():
                    none = truths.conjunction(f"not ({self.names[formula]})", self.conjuncts(formula, False))
                    self.done[formula] = truths.negation(none)
                case _:
                    raise ConstructionError(f"there is no construction for {str(formula)!r}")

    def conjuncts(self, formula: Formula, value: bool) -> Iterator[Truth]:
        """What must all be true for a formula to have a truth value: as many parts as one operator can take."""
        match formula:
            case Not(of):
                yield from self.conjuncts(of, not value)
            case And(operands) if value:
                yield from (truth for operand in operands for truth in self.conjuncts(operand, True))
            case Or(operands) if not value:
                yield from (truth for operand in operands for truth in self.conjuncts(operand, False))
            case _:
                yield self.done[formula] if value else self.truths.negation(self.done[formula])

    def compare(self, depth: int, comparisons: list[Comparison]) -> None:
        """The truth values of the comparisons of one depth, given those of what they count."""
        ordinary = [comparison for comparison in comparisons if not _through_relation(comparison)]
        sums = {Sum.of(comparison).positive: comparison for comparison in ordinary}
        values = {self.names.sum(of): self.summand(of, comparison) for of, comparison in sums.items()}
        if depth == 1:
            values["start"] = self.start
        if values:
            name = "mean" if depth == 1 else f"mean at depth {depth}"
            summands = stack(*values.values()).labelled(values)
            means = attend(name, value=summands, weighting=self.variant.uniform())
            self.truths.share = means["start"] if depth == 1 else self.truths.share
        for comparison in comparisons:
            if _through_relation(comparison):
                self.done[comparison] = self.relative(comparison)
            else:
                of = Sum.of(comparison)
                mean = of.sign * means[self.names.sum(of.positive)]
                self.done[comparison] = self.compared(comparison, mean, self.truths.share)

    def summand(self, of: Sum, comparison: Comparison) -> Signal:
        """What is added up over the positions: each count's formula times its coefficient."""
        total = constant(0)
        for factor, count in of.terms:
            total = total + factor * self.counted(count, comparison)
        return total

    def counted(self, count: Count, comparison: Comparison) -> Signal:
        """A bit: whether a count's formula holds; 0 at the start token."""
        truth = self.done[count.of]
        if truth.signal is not None and self.variant.sign is Sign.RELU:
            raise ConstructionError(
                f"with ReLU alone and without a bound on the length, {str(count.of)!r} cannot be counted in "
                f"{str(comparison)!r}: its truth value is 1/(i+1), not 1",
                hint="use Heaviside units (crasp), or a bound on the length (crasp-relu-bounded)",
            )
        holds = self.letters.among(truth.tokens) if truth.signal is None else truth.signal
        return holds - int(_at_start(count.of)) * self.start

    def compared(self, comparison: Comparison, mean: Signal, unit: Signal) -> Truth:
        """The truth value of T ~ 0, from (T - c) units and the unit."""
        number = counted(comparison)[1]
        return self.decided(comparison, mean + (number + HALF) * unit, (HALF - number) * unit - mean)

    def decided(self, comparison: Comparison, above: Signal, below: Signal) -> Truth:
        """The truth value of T ~ 0, from numbers that are positive iff T ≥ 0, and iff T ≤ 0."""
        truths, relation = self.truths, comparison.relation
        at_least, at_most = self.names.comparison(comparison)
        if relation in (Relation.AT_LEAST, Relation.LESS):
            found = truths.not_negative(at_least, above)
            return found if relation is Relation.AT_LEAST else truths.negation(found)
        if relation in (Relation.AT_MOST, Relation.GREATER):
            found = truths.not_negative(at_most, below)
            return found if relation is Relation.AT_MOST else truths.negation(found)
        one, other = truths.not_negative(at_least, above), truths.not_negative(at_most, below)
        return truths.both_or_neither(one, other, negated=relation is Relation.UNEQUAL)

    def relative(self, comparison: Comparison) -> Truth:
        """A comparison with counts through R: of these alone, or of one with one ordinary count.

        Raises:
            ConstructionError: If it is of another form, or through another relation.
        """
        terms, number = counted(comparison)
        for _, count in terms:
            if count.relation not in (None, RELATIVE):
                raise ConstructionError(
                    f"there is no construction for counts through {count.relation!r} in {str(comparison)!r}",
                    hint=f"only for {RELATIVE}, since it relates a position with few others",
                )
        if all(count.relation for _, count in terms):
            return self.through_relation(comparison)
        through = [(factor, count) for factor, count in terms if count.relation]
        ordinary = [(factor, count) for factor, count in terms if not count.relation]
        if len(through) == len(ordinary) == 1 and not number and {through[0][0], ordinary[0][0]} == {1, -1}:
            part, whole = self.inverse(through[0][1], comparison), self.inverse(ordinary[0][1], comparison)
            more, fewer = (part, whole) if through[0][0] == 1 else (whole, part)
            half = self.truths.share * HALF  # the larger count has the smaller inverse
            return self.decided(comparison, fewer - more + half, more - fewer + half)
        raise ConstructionError(
            f"there is no construction for {str(comparison)!r}: counts through {RELATIVE} can be compared with one "
            "another, or a single one with a single ordinary count",
        )

    def through_relation(self, comparison: Comparison) -> Truth:
        """Counts through R alone: in units of 1/(|R|+1), averaged over R and the start token."""
        of, number = Sum.of(comparison), counted(comparison)[1]
        found = attend(
            f"mean over {RELATIVE} and start: {of}",
            query=constant(1),
            key=self.start,
            value=stack(self.summand(of, comparison), self.start).labelled(["sum", "start"]),
            bias=Bias("[[R]]"),
            weighting=self.variant.sharp(of.largest + abs(number) + 1),
            gap=1,
        )
        return self.compared(comparison, found["sum"], found["start"])

    def inverse(self, count: Count, comparison: Comparison) -> Signal:
        """1/(m+1) for a count m: the weight of the start token, where the best keys are it and what is counted."""
        holds = self.counted(count, comparison)
        of = str(count.of)
        return attend(
            f"1/(#{count.relation or ''}[{of}]+1)",
            query=constant(1),
            key=holds + (2 if count.relation else 1) * self.start,
            value=self.start,
            bias=Bias("[[R]]") if count.relation else None,
            weighting=self.variant.sharp(1),
            gap=1,
        )

    def recogniser(self) -> Signals:
        """At every position, whether the formula holds that decides."""
        assert self.core.accept is not None
        above = self.unit_if(self.core.accept) - HALF * self.truths.unit
        margin = None if self.variant.sign is Sign.RELU else Fraction(1)
        return Signals(self.core.program.name, self.tokens, ("false", "true"), stack(-above, above), margin)

    def decoder(self) -> Signals:
        """The next token is that of the first rule that holds: rule k of m has the logit m-k+1 if it does."""
        logits: dict[str, Signal] = {}
        for priority, (head, body) in enumerate(reversed(self.core.rules), start=1):
            rule, later = priority * self.unit_if(body), logits.get(head)
            logits[head] = rule if later is None else later + relu(f"{head} by an earlier rule", rule - later)
        outputs = tuple(dict.fromkeys(head for head, _ in self.core.rules))
        stuck = HALF * self.truths.unit
        return Signals(
            self.core.program.name,
            self.tokens,
            (*outputs, self.stuck_token),
            stack(*(logits[head] for head in outputs), stuck),
            margin=None if self.variant.sign is Sign.RELU else HALF,
        )

    def unit_if(self, formula: Formula) -> Signal:
        """One unit where a formula holds, else 0."""
        return self.truths.signal(self.done[formula], self.names[formula])


def special_tokens(program: Program) -> tuple[str, str]:
    """The token of position 0, and the one that says that no rule applies; neither is a token of the program."""
    start, stuck = START, STUCK
    while start in program.tokens:
        start = f"<{start}>"
    while stuck in program.tokens:
        stuck = f"<{stuck}>"
    return start, stuck


def _levels(formulas: list[Formula]) -> dict[Formula, int]:
    """How deep counts are nested in each formula, given in order."""
    levels: dict[Formula, int] = {}
    for formula in formulas:
        inner = max((levels[part] for part in formula.parts), default=0)
        levels[formula] = inner + isinstance(formula, Comparison)
    return levels


def _through_relation(comparison: Comparison) -> bool:
    return any(count.relation is not None for _, count in counted(comparison)[0])


def _at_start(formula: Formula) -> bool:
    """Whether a formula holds before the first position, where there is no symbol and every count is 0."""
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
