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
from fractions import Fraction

from softmachine.errors import ConstructionError
from softmachine.languages.crasp import Comparison, Core, Program, core
from softmachine.languages.temporal import And, Constant, Formula, Not, Or, Symbol, subformulas
from softmachine.signals import Program as Signals
from softmachine.signals import Signal, relu, stack
from softmachine.signals.primitives import token
from softmachine.theorems.crasp.comparisons import HALF, Comparisons
from softmachine.theorems.crasp.sums import Names
from softmachine.theorems.crasp.tokens import CraspAnswersCodec, CraspCodec, OfProgram, special_tokens
from softmachine.theorems.crasp.truth import Sign, Truth, Truths
from softmachine.theorems.crasp.variant import InRelation, Variant
from softmachine.theorems.theorem import Theorem

UNIFORM = "no position features, nothing of the length; uniform attention (through R: a relative bias, scale O(log i))"
COST = "a head for each depth of counts, for R one more and two a comparison; a layer a depth and a Boolean operator"
POSITIONS = "the number of positions, for the input, what follows it, and one more"


def of_program(program: Program, sign: Sign, attention: str, length: int | None) -> Signals:
    """A decoder that writes the chain of thought; without one, a transformer that says at every position what holds."""
    builder = _Builder(core(program), Variant(sign, attention == "soft", length))
    return builder.recogniser() if program.accept is not None else builder.decoder()


class _Builder:
    """The truth value of each formula, depth by depth: what is counted comes before what counts it."""

    def __init__(self, plain: Core, variant: Variant) -> None:
        self.core = plain
        self.variant = variant
        self.names = Names(plain)
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
        comparisons = Comparisons(variant, self.truths, self.start, self.names, self.done)
        self.build(part for part in formulas if not levels[part])
        for depth in range(1, max(1, *levels.values()) + 1):
            here = [part for part in formulas if levels[part] == depth]
            self.done |= comparisons.at_depth(depth, [part for part in here if isinstance(part, Comparison)])
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


def _levels(formulas: list[Formula]) -> dict[Formula, int]:
    """How deep counts are nested in each formula, given in order."""
    levels: dict[Formula, int] = {}
    for formula in formulas:
        inner = max((levels[part] for part in formula.parts), default=0)
        levels[formula] = inner + isinstance(formula, Comparison)
    return levels


def _codec(program: Program, length: int | None) -> OfProgram:
    """The codec of a program with rules, or without."""
    return CraspCodec(program, length) if program.thinks else CraspAnswersCodec(program, length)


def _theorem(name: str, sign: Sign, statement: str, needs: str, rank: int, length: str = "") -> Theorem:
    return Theorem(
        name,
        statement,
        "Softmax Transformers are Turing-Complete, Proposition 2.1",
        needs,
        COST,
        Program,
        ("soft", "hard"),
        codec=_codec,
        signals=lambda codec, attention: of_program(codec.source, sign, attention, codec.length),
        steps=(
            "Uniform attention averages what a comparison adds up: the sum over i+1, and 1/(i+1) beside it.",
            "The sign of a sum, shifted by a half, decides the comparison: it is never nearer to 0 than 1/(2(i+1)).",
            "Boolean operators are units; what is counted comes before what counts it, depth by depth.",
            "The rules: the first that holds has the largest logit; if none does, a token says so.",
        ),
        features=(InRelation,),
        length=length,
        rank=rank,
    )


THEOREMS = (
    _theorem(
        "crasp",
        Sign.HEAVISIDE,
        "Proposition 2.1: C-RASP, with chain of thought or without, by uniform attention and Heaviside units",
        UNIFORM,
        1,
    ),
    _theorem(
        "crasp-relu",
        Sign.RELU,
        "Proposition 2.1 with ReLU alone: C-RASP that counts tokens only, truth in units of 1/(i+1)",
        f"{UNIFORM}; no nested counts",
        2,
    ),
    _theorem(
        "crasp-relu-bounded",
        Sign.BOUNDED,
        "Proposition 2.1 with ReLU alone, with a slope for a length",
        UNIFORM,
        3,
        POSITIONS,
    ),
)
