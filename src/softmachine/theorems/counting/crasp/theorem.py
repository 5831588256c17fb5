"""C-RASP, with or without chain of thought, in a softmax transformer whose attention is uniform.

Proposition 2.1 of "Softmax Transformers are Turing-Complete": a rule O_τ ← φ of counts and comparisons is decided by
the signs of a few numbers k/(i+1), which uniform attention computes by averaging integers over the past. Position 0
holds a start token, at which every count is 0, so that position i sees i+1 positions.

- A comparison T ≥ 0 of counts, T = Σ c_k #[φ_k] + c, is *one* number: averaging Σ c_k φ_k(j) gives (T - c)/(i+1), and
  averaging [j = 0] gives u = 1/(i+1). So (T + 1/2)u is known, which is at least u/2 away from 0 and whose sign
  decides the comparison; for T ≤ 0 it is (1/2 - T)u. All comparisons of one nesting depth of counts share one head.
- The sign becomes a truth value in one of four ways (:class:`.boolean.SignUnits`). Without Heaviside units and without
  a bound on the length, it is 1/(i+1) or 0 instead of 1 or 0; Boolean operators work in units of 1/(i+1), too, and the
  largest logit stays the largest. Only counting needs 1: counted formulas must then be decided by the token alone.
- The truth value of a formula at the start token is known in advance, so that the start token's contribution to a count
  is subtracted as a constant.
- The next token: the logit of a rule is its priority if its body holds, so that the first rule that holds has the
  largest. If none does, a special token is emitted.

Counts through the relative relation R, #R[φ], need scores: keys in R score 1 more. Under softmax with scale
4⌈log₂(i+1)⌉ all other keys together have weight less than 1/(16(i+1)). So averages over R and the start token are
(B + c)/(|R|+1), where B counts through R; and #R[φ] compares with #[ψ] as 1/(#R[φ]+1) does with 1/(#[ψ]+1). These
differ by at least 1/(i+1), because a row of R has few positions; for that reason R is the only relation.

Needs: no position features. For R, the relation as an additive bias, key before query (the paper has the reverse order,
an error), and that scale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

from softmachine.ir import Program as Signals
from softmachine.ir import Signal, relu, stack
from softmachine.ir.primitives import one_hot
from softmachine.languages.crasp import CraspProgram, DesugaredProgram, TermComparison, desugar, linear_counts
from softmachine.languages.temporal import And, BooleanConstant, Formula, Not, Or, Symbol, subformulas
from softmachine.support.errors import ConstructionError
from softmachine.theorems.cost import Cost, Expression, largest, parameter
from softmachine.theorems.counting.crasp.boolean import SignUnits, TruthGadgets, token_sets
from softmachine.theorems.counting.crasp.codec import CraspAnswersCodec, CraspCodec, CraspCodecBase, special_tokens
from softmachine.theorems.counting.crasp.counts import HALF, CountHeads, InRelation
from softmachine.theorems.counting.crasp.linear_counts import EMPTY_SUM, CountSum, CraspNames
from softmachine.theorems.logic.temporal.theorem import nesting_depth
from softmachine.theorems.theorem import Requirements, Theorem, TourStep

TOUR = (
    TourStep(
        "Which token is here?",
        "Proposition 2.1 of “Softmax Transformers are Turing-Complete”. The token is looked up, one-hot; formulas "
        "without counts depend on the token alone. Position 0 holds a start token, at which every count is 0.",
        ("token",),
    ),
    TourStep(
        "Count",
        "Every comparison is one sum T of counts. Uniform attention averages the summands, which gives T/(i+1), and "
        "[j = 0], which gives 1/(i+1). Counts of counts come in the next layer.",
        ("mean…",),
    ),
    TourStep(
        "Compare",
        "(T + 1/2)/(i+1) and (1/2 - T)/(i+1) are at least 1/(2(i+1)) away from 0, so that their signs are certain: a "
        "step (or two ReLUs) decides whether T ≥ 0, and whether T ≤ 0.",
        ("depth…", "#…", "mean…"),
    ),
)
RULES_STEP = TourStep(
    "Which rule comes first?",
    "Proposition 2.1 of “Softmax Transformers are Turing-Complete”. The logit of a rule is its priority if its body "
    "holds, so that the first that holds has the largest; if none does, a special token is emitted.",
    ("rule…",),
)
VERDICT_STEP = TourStep(
    "Does it hold?",
    "Boolean operators are units around comparisons, one layer each. The logits are the truth value, a half above or "
    "below 0.",
    ("#…", "depth…"),
)


@lru_cache(maxsize=1)
def _subformulas(program: CraspProgram) -> tuple[DesugaredProgram, tuple[Formula, ...]]:
    plain = desugar(program)
    bodies = [body for _, body in plain.rules] if plain.accept is None else [plain.accept]
    return plain, subformulas(*bodies)


def _core_parameter(
    symbol: str, meaning: str, at: Callable[[DesugaredProgram, tuple[Formula, ...]], int]
) -> Expression:
    """A parameter computed from the core program of a codec and its subformulas."""
    return parameter(symbol, meaning, lambda codec: at(*_subformulas(getattr(codec, "program", codec.source))))


def _counts_through_relation(formula: Formula) -> bool:
    """Whether a comparison counts through a relation."""
    return isinstance(formula, TermComparison) and any(count.relation for _, count in linear_counts(formula)[0])


def _max_rules_per_token(found: DesugaredProgram) -> int:
    return max(Counter(head for head, _ in found.rules).values(), default=1) - 1


_COUNT_DEPTH = largest(
    1, _core_parameter("D", "nesting depth of counts", lambda _, parts: nesting_depth(parts, TermComparison))
)
_RELATION_COMPARISONS = _core_parameter(
    "R", "comparisons through the relation R", lambda _, parts: sum(map(_counts_through_relation, parts))
)
_BOOLEAN_DEPTH = _core_parameter("B", "nesting depth of and and or", lambda _, parts: nesting_depth(parts, And, Or))
_EXTRA_RULES = _core_parameter(
    "M", "largest number of rules for one token, minus 1", lambda found, _: _max_rules_per_token(found)
)

COST = Cost(
    {}, {"heads": _COUNT_DEPTH + 2 * _RELATION_COMPARISONS, "layers": _COUNT_DEPTH + _BOOLEAN_DEPTH + _EXTRA_RULES}
)


UNIFORM_REQUIREMENTS = Requirements(
    "no position features (through R: a relative bias)",
    scale="1 (through R: O(log i))",
    remark="independent of the input length",
)
LENGTH_MEANING = "the number of positions: the start token, the input and the chain of thought"


def build_signals(
    program: CraspProgram,
    sign: SignUnits,
    attention: str,
    length: int | None,
    describe_rule: Callable[[str], str] | None = None,
) -> Signals:
    """A decoder that emits the chain of thought; without rules, a transformer that decides every prefix.

    ``describe_rule`` describes the rule of a token in explanations, by default by its number.
    """
    plain = desugar(program)
    names = CraspNames.of_program(plain)
    start_token, stuck_token = special_tokens(program)
    tokens = (start_token, *program.tokens)
    letters = one_hot("token", tokens)
    bodies = [body for _, body in plain.rules] if plain.accept is None else [plain.accept]
    rules = {body: describe_rule(head) if describe_rule else names[body] for head, body in reversed(plain.rules)}
    without_counts, *with_counts = _group_by_depth(bodies)
    known = token_sets(without_counts, frozenset(tokens))
    means: dict[CountSum, Signal] = {}
    for depth, formulas in enumerate(with_counts, start=1):
        comparisons = [formula for formula in formulas if isinstance(formula, TermComparison)]
        # Step 1. Averages over the past: the sums of this depth divided by i+1, and 1/(i+1).
        averages = CountHeads(
            letters, letters[start_token], known, names, attention == "soft", sign is not SignUnits.RELU
        )
        means |= averages.mean_over_past(depth, comparisons)
        # Step 2. Signs.
        logic = TruthGadgets(letters, means[EMPTY_SUM], sign, length)
        for comparison in comparisons:
            above, below = averages.ordinary_sides(comparison, means)
            known[comparison] = logic.comparison(
                comparison.relation, names.names_of_comparison(comparison), above, below
            )
        # Step 3. Boolean operators.
        for formula in formulas:
            if not isinstance(formula, TermComparison):
                known[formula] = logic.operator(formula, names[formula], known, rules.get(formula, ""))
    # Step 4. The rules, or the accepting formula.
    holds = [logic.to_signal(known[body], names[body]) for body in bodies]
    if plain.accept is not None:
        above = holds[0] - HALF * logic.true_value
        outputs = {"false": -above, "true": above}
    else:
        outputs = _rule_logits([head for head, _ in plain.rules], holds) | {stuck_token: HALF * logic.true_value}
    margin = None if sign is SignUnits.RELU else Fraction(1) if plain.accept is not None else HALF
    return Signals(program.name, tokens, tuple(outputs), stack(*outputs.values()), margin)


def _group_by_depth(bodies: Iterable[Formula]) -> list[list[Formula]]:
    """All subformulas, operands first, grouped by the nesting depth of counts; always has a group for depth 1."""
    depth: dict[Formula, int] = {}
    for formula in subformulas(*bodies):
        if not isinstance(formula, Symbol | BooleanConstant | Not | And | Or | TermComparison):
            raise ConstructionError(f"there is no construction for {str(formula)!r}")
        depth[formula] = max((depth[part] for part in formula.parts), default=0) + isinstance(formula, TermComparison)
    return [[formula for formula in depth if depth[formula] == k] for k in range(max(1, *depth.values()) + 1)]


def _rule_logits(heads: list[str], truth_values: list[Signal]) -> dict[str, Signal]:
    """The logit of each token: m-k+1 for the first rule k of m that holds and emits the token."""
    logits: dict[str, Signal] = {}
    for priority, (head, held) in enumerate(reversed(list(zip(heads, truth_values, strict=True))), start=1):
        rule, later = priority * held, logits.get(head)
        logits[head] = rule if later is None else later + relu(f"{head} by an earlier rule", rule - later)
    return {head: logits[head] for head in heads}


def _build_codec(program: CraspProgram, length: int | None) -> CraspCodecBase:
    """The codec of a program with chain of thought, or without."""
    return CraspCodec(program, length) if program.has_chain_of_thought else CraspAnswersCodec(program, length)


def _theorem(name: str, sign: SignUnits, statement: str, needs: Requirements, rank: int, length: str = "") -> Theorem:
    return Theorem(
        name,
        statement,
        "Softmax Transformers are Turing-Complete, Proposition 2.1",
        needs,
        COST,
        CraspProgram,
        ("soft", "hard"),
        codec=_build_codec,
        signals=lambda codec, attention: build_signals(codec.source, sign, attention, codec.length),
        steps=(
            "Uniform attention averages the summands of a comparison: the sum divided by i+1, and 1/(i+1) beside it.",
            "The sign of a sum, shifted by a half, decides the comparison: it is never nearer to 0 than 1/(2(i+1)).",
            "Boolean operators are units; nested counts are evaluated inside out, one depth after the other.",
            "The first rule that holds has the largest logit; if none does, a special token is emitted.",
        ),
        tour=(*TOUR, VERDICT_STEP),
        features=(InRelation,),
        length=length,
        rank=rank,
    )


THEOREMS = (
    _theorem(
        "crasp",
        SignUnits.HEAVISIDE,
        "C-RASP, with or without chain of thought, by uniform attention and Heaviside units",
        UNIFORM_REQUIREMENTS,
        1,
    ),
    _theorem(
        "crasp-layer-norm",
        SignUnits.NORM,
        "C-RASP with layer norm instead of Heaviside units: weights and temperature independent of the input length",
        UNIFORM_REQUIREMENTS.with_remark("layer norm of x and -x"),
        4,
    ),
    _theorem(
        "crasp-relu",
        SignUnits.RELU,
        "C-RASP with ReLU alone: only tokens can be counted, truth values are 0 or 1/(i+1)",
        UNIFORM_REQUIREMENTS.with_remark("no nested counts"),
        2,
    ),
    _theorem(
        "crasp-relu-max-length",
        SignUnits.BOUNDED,
        "C-RASP with ReLU alone, with a slope for a maximal length",
        UNIFORM_REQUIREMENTS,
        3,
        LENGTH_MEANING,
    ),
)
