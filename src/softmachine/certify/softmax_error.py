"""Error bounds of softmax: how far any number is from its value under hard attention, for every input up to a length.

Follows the signals from the tokens to the logits. A head whose scores have a gap spreads a little weight on wrong keys
(Lemmas 6, 7 and 33); one that takes a mean of tied keys whose scores have errors also weighs these unevenly (the tie
bound); feed-forward units and affine maps pass errors on, at most by their weights (biases cancel in
differences); a rounding gadget takes away an error of at most 1/4 (Lemma 9). Bounds are for the worst case over all
positions and all words, so that they hold for untested words, too.

The tie bound is about means over tied keys whose scores have errors. The lemma is our own; the paper has none for this.

**Lemma.** Let a head score N keys, let m of them tie for the maximum and all others be at least g below. Let every
score be in doubt by at most δ < g/2, and λ be the scale. Then softmax of the scores in doubt

- puts at most W = (N - m)/m · e^(-λ(g - 2δ)) on the others, and
- of the rest, on each tied key 1/m times a factor between e^(-2λδ) and e^(2λδ);
- and its mean of any values differs from the mean over the tied keys by at most (tanh(λδ/2) + W) · D, where D is the
  difference of the largest and the smallest value.

If the values have errors up to ε, the means differ by at most ε more.

**Proof.** Let e_j, between -δ and δ, be the error of the score of key j, and M the maximum without errors. A tied key
has weight proportional to e^(λM + λe_j) ≥ e^(λ(M - δ)), another one at most to e^(λ(M - g + δ)). There are m and N - m
of them, and dividing the sums gives W. Among the tied keys, the weight of one is e^(λe_j) / Σ e^(λe_k), which is at
most e^(λδ) / (m e^(-λδ)), and at least the inverse factor. For the means, let d be the largest difference between the
weight that the tied keys give to a subset and its share p of all m: a mean moves by at most d · D. The difference is
largest if the subset is where errors are δ, and they are -δ elsewhere: with r = e^(2λδ) it is pr/(pr + 1 - p) - p. Over
all p that has its maximum where p = 1/(1 + √r), and there it is (√r - 1)/(√r + 1) = tanh(λδ/2). Weight W on other keys
moves the mean by at most W · D more; errors of values go through a mean unchanged. ∎

A larger scale makes W smaller, and ties more uneven. So there is a best scale, and errors of scores so large that none
does: :func:`choose_tie_sharpness`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import chain

from softmachine.ir.analysis import Analysis
from softmachine.ir.facts import ONE, ZERO, Fact
from softmachine.ir.head_rules import Scores
from softmachine.ir.piecewise import ROUND_UP, PiecewiseForm
from softmachine.ir.primitives import (
    Attention,
    Loop,
    Named,
    Norm,
    Position,
    ScoreDecay,
    Token,
    Unit,
    inputs_outside_loops,
)
from softmachine.ir.signal import Affine, Atom, Node, format_form, topological_order
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import AttentionKind
from softmachine.transformer.features import Feature, I, Monomial

TailBound = Callable[[float], float]
"""From a scaled gap λ(g - 2δ) to a bound of the weight on keys that do not tie."""
MAX_ROUNDED_ERROR = 0.25
"""The largest error that rounding gadgets remove (Lemma 9 of Yang et al. 2024)."""
MAX_USEFUL_ERROR = 0.5
"""A bound of a mean, per difference of its values, that is too weak to use."""


def bound_tie_error(doubt: float) -> float:
    """How far a mean over tied keys can move, per difference of their values, if scaled scores are in doubt by this."""
    return math.tanh(doubt / 2)


def choose_tie_sharpness(most: int, share: float, tail: TailBound) -> Fraction | None:
    """The scaled gap λg for a mean over tied keys: of ``most``, its half, its quarter and so on, what does best.

    Halves are near enough to the best scale, since the part that grows with the scale is at most proportional to it,
    and keep a scale that is a power of two one.

    Args:
        most: No scaled gap is larger.
        share: δ/g, how much of the gap the errors of scores are; less than 1/2.
        tail: What bounds the weight on other keys.

    Returns:
        The scaled gap; None if with each of them a mean may be off by half the difference of its values, or more, which
        is of no use to anybody. Without errors of scores, ``most``.
    """
    if not share:
        return Fraction(most)
    tried = [Fraction(most, 2**k) for k in range(most.bit_length())]
    bounds = {t: bound_tie_error(float(t) * share) + tail(float(t) * (1 - 2 * share)) for t in tried}
    best = min(tried, key=bounds.__getitem__)
    return best if bounds[best] < MAX_USEFUL_ERROR else None


MAX_ERROR = 1e100
"""Larger errors are refused where they arise, so that infinities and NaN never enter a comparison."""
_MAX_EXPONENT = 700.0
"""The exponential of minus this is the smallest weight that is distinguished from 0."""

LEMMAS = {ScoreDecay.FLAT: "Lemma 33", ScoreDecay.LINEAR: "Lemma 6", ScoreDecay.QUADRATIC: "Lemma 7"}
"""What bounds the weight on wrong keys. Lemma 8 makes scores that fall as Lemma 6 wants, by a term that breaks ties."""
TIE_BOUND = "tie bound"
"""Our own lemma, not the paper's: it also bounds how unevenly keys are weighed that should tie."""
EXACT_LABEL = "exact"
"""In place of a lemma: uniform attention is the same hard and soft."""


@dataclass(frozen=True)
class HeadErrorBound:
    """The error budget of one head.

    Args:
        head: Its name.
        lemma: What bounds the weight on wrong keys.
        gap: The smallest gap of its scores; None where nothing is chosen.
        scaled_gap: The scale times the gap, less what errors of the scores can take of it.
        error_in: The largest error among the numbers that it reads.
        error_out: The largest error among those that it retrieves.
        layer: Its layer, if it is there under its own name.
        scale: Its scale (inverse temperature); None where nothing is chosen.
        rule: The rule that derives the gap, see :mod:`softmachine.ir.head_rules`.
        assumptions: What the author claims of the scores, and no rule derives.
    """

    head: str
    lemma: str
    gap: Fraction | Feature | None
    scaled_gap: float | None
    error_in: float
    error_out: float
    layer: int | None = None
    scale: Fraction | Feature | None = None
    rule: str = ""
    assumptions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As plain data, in the order in which people read it."""
        return {
            "layer": self.layer,
            "head": self.head,
            "lemma": self.lemma,
            "gap": _formula(self.gap),
            "scale": _formula(self.scale),
            "scaled_gap": self.scaled_gap,
            "error_in": self.error_in,
            "error_out": self.error_out,
            "rule": self.rule,
            **({"assumptions": list(self.assumptions)} if self.assumptions else {}),
        }


def _formula(number: Fraction | Feature | None) -> str:
    return "–" if number is None else str(number)


@dataclass(frozen=True)
class ErrorBudget:
    """The error of every head and of the logits.

    Args:
        rows: The heads, in order.
        margin: What is left of the distance between the right logit and the others; it holds if this is positive.
        failure: Where and why the budget breaks down before the logits, if it does.
        own_sharpness: The scaled gap of heads that take means; it is smaller than that of others where they do better
            so.
    """

    rows: tuple[HeadErrorBound, ...]
    margin: float
    failure: str | None
    own_sharpness: Mapping[str, Fraction] = field(default_factory=dict, kw_only=True, repr=False, compare=False)

    @property
    def holds(self) -> bool:
        """Whether softmax decides as hard attention does, for every input."""
        return self.failure is None and self.margin > 0

    @property
    def explain_failure(self) -> str:
        """Why it does not hold, with the first head whose error is more than rounding gadgets remove."""
        if self.failure:
            return self.failure
        large = next((row for row in self.rows if row.error_out > MAX_ROUNDED_ERROR), None)
        where = f"; head {large.head!r} has an error of {large.error_out:.2g}" if large else ""
        return f"the margin of the logits is {self.margin:.3g}{where}"


@lru_cache(maxsize=1024)
def min_gap(gap: Fraction | Feature, length: int) -> Fraction:
    """The smallest gap at any position of an input of this length."""
    return gap if isinstance(gap, Fraction) else gap.minimum(length)


def scores_are_uniform(node: Attention) -> bool:
    """Whether a head scores all keys alike, so that it is the same hard and soft."""
    return node.bias is None and not any(form.terms for form in node.key)


def require_average_hard(node: Attention) -> None:
    """Require a head that softmax can replace, with a certificate.

    Raises:
        ConstructionError: If it has a temperature already, or takes one of several best keys (see
        :mod:`.tie_breaking`).
    """
    if node.weighting.kind is not AttentionKind.AVERAGE and not (
        scores_are_uniform(node) and not node.weighting.is_hard
    ):
        raise ConstructionError(
            f"head {node.name!r} is {node.weighting}, and certificates are only for hard attention",
            hint="give it hard attention",
        )


class _BudgetExceededError(Exception):
    """The budget breaks down here."""


class ErrorAnalysis:
    """Bounds of the errors of all atoms, inputs first.

    Args:
        analysis: Facts about the lifted program, with a gap for every head that chooses.
        margin: Where one logit is the largest, it exceeds the others by at least this much.
        spare_tolerance: The part of the tolerance 1/4 of rounding gadgets that is reserved for small formats.
    """

    def __init__(self, analysis: Analysis, margin: Fraction, spare_tolerance: Fraction = Fraction(0)) -> None:
        self.analysis, self.margin, self.tolerance = analysis, margin, float(1 - 4 * spare_tolerance)
        self.positions = analysis.positions
        self.terms: dict[int, tuple[Affine, list[tuple[Atom, float]]]] = {}
        """The absolute coefficients of each form, by its id; tokens have no errors."""
        self.pieces: dict[int, tuple[PiecewiseForm | None, list[Affine]]] = {}
        self.order = list(topological_order(analysis.program.logits.forms, inputs_outside_loops))

    def bound(self, sharpness: int) -> ErrorBudget:
        """The budget of the program, when its heads get softmax with ``sharpness`` as scaled gap.

        Args:
            sharpness: The scale of each head is this, divided by the head's gap; heads that take means of keys whose
                scores have errors may have less, see :func:`choose_tie_sharpness`.
        """
        self.sharpness = sharpness
        self.errors: dict[Atom, float] = {(self.analysis.reciprocal, 0): 0.0}
        self.known: set[Node] = set()
        self.forms: dict[int, float] = {}
        self.rows: dict[Node, HeadErrorBound] = {}
        self.own: dict[str, Fraction] = {}
        logits = self.analysis.program.logits.forms
        try:
            for node in self.order:
                self.visit(node)
            worst = max(map(self.of_form, logits), default=0.0)
        except _BudgetExceededError as broken:
            return ErrorBudget(tuple(self.rows.values()), 0.0, str(broken), own_sharpness=self.own)
        margin = float(self.margin) - 2 * worst * ROUND_UP
        return ErrorBudget(tuple(self.rows.values()), margin, None, own_sharpness=self.own)

    def propagate(self, forms: Iterable[Affine]) -> None:
        """Bound the errors of all that forms depend on; a loop bounds those of its body."""
        for node in topological_order(forms, inputs_outside_loops, self.known):
            self.visit(node)

    def visit(self, node: Node) -> None:
        """Bound the errors of a node, unless they are known."""
        if node not in self.known:
            self.known.add(node)
            errors = self.of_node(node)
            if not all(error <= MAX_ERROR for error in errors):
                raise _BudgetExceededError(f"{node.name!r}: its error has no bound, or what it reads has none")
            self.errors |= {(node, k): error for k, error in enumerate(errors)}

    def of_form(self, form: Affine) -> float:
        """The error of a form: what its terms come to, or less if it is piecewise affine and flat."""
        own = id(form)
        if own in self.forms:
            return self.forms[own]
        if own not in self.terms:
            self.terms[own] = form, [(a, abs(float(x))) for a, x in form.terms.items() if not isinstance(a[0], Token)]
        terms = self.terms[own][1]
        error = sum(factor * self.errors[atom] for atom, factor in terms) * ROUND_UP
        if not error <= MAX_ERROR:
            raise _BudgetExceededError(f"the error of {format_form(form)[:80]} has no bound")
        if error and any(isinstance(node, Unit) for (node, _), _ in terms):
            if own not in self.pieces:
                self.pieces[own] = self.analysis.decompose(form)
            pieces, parts = self.pieces[own]
            error = error if pieces is None else min(error, self.of_pieces(pieces))
            if parts:
                error = min(error, sum(map(self.of_form, parts)) * ROUND_UP)
        self.forms[own] = error
        return error

    def of_pieces(self, pieces: PiecewiseForm) -> float:
        """The error of a form that is written over other nodes than those that it reads."""
        self.propagate(Affine({atom: ONE}) for atom in pieces.coefficients[0] if atom[0] not in self.known)
        return pieces.bound_error(self.errors, self.tolerance)

    def size(self, form: Affine) -> float:
        """The largest absolute value of a form, with hard attention."""
        return _round_up(self.analysis.of(form).size)

    def spread(self, form: Affine) -> float:
        """How far two values of a form can be apart, with hard attention."""
        fact = self.analysis.of(form)
        return _round_up(fact.high - fact.low)

    def of_node(self, node: Node) -> tuple[float, ...]:
        """The errors of the numbers of a node."""
        match node:
            case Token() | Position():
                return (0.0,) * len(node.ranges)
            case Unit(activation="relu") | Named():
                return tuple(map(self.of_form, node.forms))
            case Unit():
                return self.step(node)
            case Attention():
                return self.attention(node)
            case Loop():
                return self.loop(node)
        raise ConstructionError(f"there is no budget for {node.name!r}")

    def loop(self, node: Loop) -> tuple[float, ...]:
        """Iterate, until an iteration ends with the errors that it began with: then all others do.

        If the number of iterations depends on the length, it may be smaller, and the largest errors count.
        """
        for inner in self.analysis.outside[node]:
            self.visit(inner)
        errors, known, forms = self.errors, self.known, self.forms
        carried = worst = tuple(map(self.of_form, node.initial))
        for _ in range(node.count_iterations(self.analysis.length)):
            self.errors = errors | {(node.carried, k): error for k, error in enumerate(carried)}
            self.known, self.forms = {*known, node.carried}, dict(forms)
            self.propagate(node.body)
            before, carried = carried, tuple(map(self.of_form, node.body))
            worst = tuple(map(max, worst, carried))
            if carried == before:
                break
        self.errors, self.known, self.forms = errors, known, forms
        return worst if isinstance(node.iterations, Feature) else carried

    def step(self, node: Unit) -> tuple[float, ...]:
        """A step or a layer norm: its input must be exact, or farther from 0 than its error."""
        for form in node.forms:
            error, fact = self.of_form(form), self.analysis.of(form)
            least = min(map(abs, fact.values or ()), default=Fraction(0))
            if not error or (least > error and len(node.forms) == 1):
                continue
            read = ", ".join(repr(source.label(k)) for source, k in form.terms if self.errors[source, k])
            if least or len(node.forms) > 1:
                message = f"reads {read} with an error of {error:.2g}: {self.advise([form])}"
            else:
                message = f"may read 0, where any error of {read} changes the result: {advise_comparison(fact)}"
            raise _BudgetExceededError(f"{node.activation} {node.name!r} {message}")
        return (0.0,) * len(node.ranges)

    def attention(self, node: Attention) -> tuple[float, ...]:
        """The errors of what a head retrieves."""
        require_average_hard(node)
        values = tuple(map(self.of_form, node.value))
        head = self.analysis.heads[node]
        if head.rule == "uniform":
            worst = max(values, default=0.0)
            self.record(node, HeadErrorBound(node.name, EXACT_LABEL, None, None, worst, worst, rule=head.rule))
            return values
        if head.gap is None:
            raise ConstructionError(
                f"no gap is derived for the scores of head {node.name!r}: {head.reason}",
                hint=advise_grid(Scores.of(self.analysis, node)),
            )
        gap = min_gap(head.gap, self.positions - 1)
        doubt = self.score_error(node)
        share = doubt / float(gap)
        if self.sharpness <= 0 or not share < 1 / 2:
            raise _BudgetExceededError(
                f"head {node.name!r}: errors of the scores up to {doubt:.2g} use up the gap {gap}: "
                f"{self.advise([*node.query, *node.key])}"
            )
        sharpness = self.sharpness if head.single_key else float(self.sharpness_of_mean(node, share))
        scaled = sharpness * (1 - 2 * share)
        ties = 0.0 if head.single_key else bound_tie_error(sharpness * share)
        result = tuple(
            (error + self.leak(node, form, scaled, error) + _times(ties, self.spread(form))) * ROUND_UP
            for form, error in zip(node.value, values, strict=True)
        )
        lemma = TIE_BOUND if ties else LEMMAS[head.decay]
        read = max(map(self.of_form, (*node.query, *node.key, *node.value)), default=0.0)
        worst = max(result, default=0.0)
        facts = (node.name, lemma, head.gap, scaled, read, worst)
        self.record(node, HeadErrorBound(*facts, rule=head.rule, assumptions=head.assumptions))
        return result

    def sharpness_of_mean(self, node: Attention, share: float) -> Fraction:
        """The scaled gap of a head that takes means; in a loop, the one of its first turn."""
        if node.name not in self.own:
            decay = self.analysis.heads[node].decay
            chosen = choose_tie_sharpness(self.sharpness, share, self.tail(decay))
            if chosen is None:
                raise _BudgetExceededError(
                    f"head {node.name!r} takes a mean of keys whose scores have errors up to {share:.2g} of the gap: "
                    f"at no scale up to {self.sharpness} / gap do tied keys weigh alike and all others little; "
                    f"{self.advise([*node.query, *node.key])}"
                )
            self.own[node.name] = chosen
        return self.own[node.name]

    def advise(self, forms: Sequence[Affine]) -> str:
        """The gadgets that make exact what these forms read."""
        return advise_rounding(self.analysis, forms, self.errors)

    def record(self, node: Attention, row: HeadErrorBound) -> None:
        """Of the turns of a loop, the worst is kept."""
        if node not in self.rows or row.error_out >= self.rows[node].error_out:
            self.rows[node] = row

    def score_error(self, node: Attention) -> float:
        """How far errors can move a score, but for what they add to all scores of a query alike.

        An error of the query adds its product with the middle of the key's range to every score, which no weight
        notices; so only half the range counts. Of a lookup with exact keys: per unit of distance. Scores at distance k
        differ by k² gaps, and errors of the queries move the difference by at most k times twice this.
        """
        total, scores = 0.0, Scores.of(self.analysis, node)
        terms = [(query, key, self.spread(key)) for query, key in scores.terms]
        monomials, others = scores.split
        plain = all(m == Monomial(i=m.i, length=m.length) and m.i in (1, 2) for m in monomials)
        is_lookup = self.analysis.heads[node].decay is ScoreDecay.QUADRATIC and not others and plain
        if is_lookup and not any(self.of_form(key) for _, key in scores.terms):
            terms = [(query, key, self.slope(monomial)) for monomial, (query, key) in monomials.items()]
        for query, key, reach in terms:
            query_error, key_error = self.of_form(query), self.of_form(key)
            if query_error or key_error:
                total += _times(query_error, reach / 2 + key_error) + _times(key_error, self.size(query))
        return total * ROUND_UP

    def slope(self, key: Monomial) -> float:
        """How far keys of a lookup, i or i² times a power of n+1, at neighbouring positions can be apart."""
        return key.i * max(1.0, float(self.positions) ** (key.length + key.i - 1)) * ROUND_UP

    def is_position(self, form: Affine) -> bool:
        """Whether a form is a multiple of i and a constant."""
        return len(form.terms) == 1 and all(isinstance(node, Position) and node.feature == I for node, _ in form.terms)

    def leak(self, node: Attention, value: Affine, scaled: float, error: float) -> float:
        """How much the weight on wrong keys can change a retrieved value."""
        head = self.analysis.heads[node]
        if head.decay is ScoreDecay.QUADRATIC and head.single_key and self.is_position(value):
            # The value is the index itself: a key k places away is off by k.
            slope = abs(float(next(iter(value.terms.values()))))
            return (sum(2 * k * _decay(scaled * k * k) for k in self.near(scaled)) + self.far) * slope
        return self.tail(head.decay)(scaled) * (self.spread(value) + 2 * error)

    def tail(self, fall: ScoreDecay) -> TailBound:
        """From a scaled gap to a bound of the weight on wrong keys."""
        match fall:
            case ScoreDecay.FLAT:
                return lambda scaled: min(1.0, (self.positions - 1) * _decay(scaled))
            case ScoreDecay.LINEAR:
                return lambda scaled: min(1.0, _decay(scaled) / -math.expm1(-scaled))
        return lambda scaled: min(1.0, sum(2 * _decay(scaled * k * k) for k in self.near(scaled)) + self.far)

    def near(self, scaled: float) -> range:
        """The distances of keys whose weights are distinguished from 0."""
        return range(1, min(self.positions, math.isqrt(int(_MAX_EXPONENT / scaled))) + 1)

    @property
    def far(self) -> float:
        """A bound of what all further keys add: 2k e^-_DEEP for every distance k."""
        return 2 * self.positions**2 * _decay(_MAX_EXPONENT)


def _round_up(number: Fraction) -> float:
    """An upper bound of a nonnegative number; infinity if it is beyond floats."""
    return float(number) * ROUND_UP if number < 1e300 else math.inf


def _times(error: float, bound: float) -> float:
    """The error of a product; without an error it is 0, even if nothing is known of the bound."""
    return error * bound if error else 0.0


def _decay(exponent: float) -> float:
    """e^-x, but never zero."""
    return math.exp(-min(exponent, _MAX_EXPONENT))


def advise_grid(scores: Scores) -> str:
    """The gadget that gives the scores of a head a grid."""
    for form in chain.from_iterable(scores.terms):
        if scores.analysis.of(form).step is None:
            return _describe_lost_step(scores.analysis, form)
    return "recover integers from shares of i+1 before they are compared (recover_integer)"


def _describe_lost_step(analysis: Analysis, form: Affine) -> str:
    """Where the step of a form is lost, and the gadget that helps."""
    for node, k in form.terms:
        if isinstance(node, Token) or analysis.facts[node, k].step is not None:
            continue
        match node:
            case Position():
                return f"use a feature with a denominator, such as i or 1/(i+1), in place of {node.name!r}"
            case Attention() if analysis.of(node.value[k]).step is not None:
                return f"recover the integers that head {node.name!r} reads as shares of i+1 (recover_integer)"
            case Attention():
                return _describe_lost_step(analysis, node.value[k])
            case Norm():
                return f"compare integers or bits in place of the layer norm {node.name!r}, which is on no grid"
            case Named() | Unit(activation="relu"):
                return _describe_lost_step(analysis, node.forms[k])
        return f"round {node.label(k)!r} (round_unit_bit, round_to_trit)"
    return "round what the head reads (round_unit_bit, round_to_trit)"


def advise_rounding(analysis: Analysis, forms: Iterable[Affine], errors: Mapping[Atom, float]) -> str:
    """The gadgets that make exact what forms read with errors."""
    found = dict.fromkeys(atom for form in forms for atom in form.terms if errors.get(atom))
    return "; ".join(_describe_rounding(node.label(k), analysis.facts[node, k]) for node, k in found)


def _describe_rounding(name: str, fact: Fact) -> str:
    if fact.values is not None and set(fact.values) <= {-ONE, ZERO, ONE}:
        return f"round {name!r} with {'round_unit_bit' if fact.is_bit else 'round_to_trit'}"
    if fact.step is not None and fact.step.is_constant:
        return f"round {name!r} with round_to_integer"
    return f"recover the integer of which {name!r} is a share (recover_integer)"


def advise_comparison(fact: Fact) -> str:
    """The gadget that compares a number with an error with 0; if it is only rounded, it stays at the threshold."""
    if fact.step is None or not fact.step.is_constant or not fact.step.factor:
        return "recover the integer of which it is a share (recover_integer), and compare that with compare_with_zero"
    number = "it" if fact.step.factor == 1 else f"{1 / fact.step.factor} times it"
    return f"compare {number} with compare_with_zero, which rounds, in place of the step"
