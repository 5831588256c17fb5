"""Rules for heads: gap, uniqueness and decay of the scores, from facts about queries, keys and values.

The score of key j at query i is Σ q(i) k(j). Pairs whose key is constant do not distinguish keys and are dropped. Each
rule is a lemma; :func:`judge` tries them in order. All statements are about every input of the domain up to a length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import ceil, floor
from typing import TYPE_CHECKING

from softmachine.ir.facts import INFINITY, ONE, ZERO, Fact, Step, join_steps, sum_facts
from softmachine.ir.function_tables import Row, visible_scores
from softmachine.ir.primitives import Attention, Named, Position, ScoreDecay, Token, expand_named
from softmachine.ir.signal import Affine, Atom, format_form
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import RECIPROCAL, Feature, Monomial

if TYPE_CHECKING:
    from softmachine.ir.analysis import Analysis

Term = tuple[Affine, Affine]


@dataclass(frozen=True)
class HeadFact:
    """What is proved of the scores of a head.

    Args:
        rule: The rule; "uniform" if all keys have one score, "none" if none applies.
        gap: Other scores are at least this much below the best; None if nothing is known.
        single_key: Whether keys that tie for the best score hold equal values.
        decay: How the other scores decay.
        unique: Whether only one key has the best score.
        index: Of a lookup, a form with the sign of the position that it asks for.
        assumptions: What is not derived, but claimed by a hint: "gap", "single key", "decay".
        derived: The gap that is derived, if a hint is adopted.
        reason: Why nothing is known.
    """

    rule: str
    gap: Fraction | Feature | None = None
    single_key: bool = False
    decay: ScoreDecay = ScoreDecay.FLAT
    unique: bool = False
    index: Affine | None = field(default=None, repr=False)
    assumptions: tuple[str, ...] = ()
    derived: Fraction | Feature | None = None
    reason: str = ""


def judge(analysis: Analysis, node: Attention) -> HeadFact:
    """Return what the first rule that applies proves of a head."""
    scores = Scores.of(analysis, node)
    if not scores.terms and node.bias is None:
        return HeadFact("uniform")
    if not node.weighting.is_hard:
        return HeadFact("none", reason="softmax weighs all keys, not the best ones only")
    if analysis.is_padded and any(_needs_length(form) for term in scores.terms for form in term):
        return HeadFact("none", reason="the scores depend on n, and the number of positions does not")
    return decide(scores)


def _needs_length(form: Affine) -> bool:
    return any(isinstance(node, Position) and node.feature.needs_length for node, _ in form.terms)


def decide(scores: Scores) -> HeadFact:
    """Return what the first rule that applies proves of scores.

    If padding does not fix the positions, scores are computed only where nothing else shows that keys that tie hold
    equal values, since the gaps are numbers and not functions of the length.
    """
    rules = CLOSED_RULES + ((positions,) if scores.analysis.is_padded else ()) + GRID_RULES
    found = next((found for rule in rules if (found := rule(scores)) is not None), None)
    if not scores.analysis.is_padded and not (found and found.single_key):
        found = positions(scores) or found
    return HeadFact("none", reason=scores.missing) if found is None else found


DECAYS = (ScoreDecay.FLAT, ScoreDecay.LINEAR, ScoreDecay.QUADRATIC)
"""From the weakest to the strongest."""


def adopt_hint(analysis: Analysis, head: HeadFact, hint: Attention) -> HeadFact:
    """Return the gap, the decay and the claim about ties of a hint; what is not derived is an assumption."""
    if hint.gap is None:
        return head
    of_length = analysis.is_padded and isinstance(hint.gap, Feature) and hint.gap.needs_length
    derived = head.gap is not None and not of_length and is_at_least(head.gap, hint.gap)
    decay = max(head.decay, hint.decay, key=DECAYS.index)
    claims = [
        ("gap", derived),
        ("decay", decay is head.decay),
        ("single key", head.single_key or not hint.single_key),
    ]
    return replace(
        head,
        gap=hint.gap,
        decay=decay,
        single_key=head.single_key or hint.single_key,
        assumptions=tuple(name for name, holds in claims if not holds),
        derived=head.gap,
    )


def is_at_least(gap: Fraction | Feature, other: Fraction | Feature) -> bool:
    """Whether a gap is at least another one, at all positions of all lengths; False if that is not known."""
    if isinstance(gap, Fraction) and isinstance(other, Fraction):
        return gap >= other
    first, second = (Monomial(x) if isinstance(x, Fraction) and x > 0 else x for x in (gap, other))
    if not isinstance(first, Monomial) or not isinstance(second, Monomial):
        return False
    ratio = first * second**-1
    # i+1 and n-i+1 are at most n+1.
    length = ratio.length + min(ratio.next, 0) + min(ratio.rest, 0)
    return ratio.factor >= 1 and length >= 0 and not ratio.i and not ratio.n


@dataclass(frozen=True)
class Scores:
    """The scores of a head: Σ q(i) k(j), over pairs whose key is not constant.

    Args:
        analysis: The facts.
        node: The head.
        terms: The pairs; equal keys are one, and those with constant queries are added up.
        values: What the head retrieves.
        is_later: Whether these are only the scores of keys at positions 1, 2, ….
    """

    analysis: Analysis
    node: Attention
    terms: tuple[Term, ...]
    values: tuple[Affine, ...]
    is_later: bool = False

    @staticmethod
    def of(analysis: Analysis, node: Attention) -> Scores:
        """The scores of a head."""
        return Scores(analysis, node, merge_terms(zip(node.query, node.key, strict=True)), node.value)

    def later(self) -> Scores:
        """The scores of the keys at positions 1, 2, …."""
        change = self.analysis.first.later
        terms = merge_terms((query, change(key)) for query, key in self.terms)
        return Scores(self.analysis, self.node, terms, tuple(map(change, self.values)), is_later=True)

    @cached_property
    def split(self) -> tuple[dict[Monomial, Term], list[Term]]:
        """The scores as Σ q(i) m(j), for different monomials of the position j, and the other pairs."""
        monomials: dict[Monomial, Term] = {}
        rest = []
        for query, key in self.terms:
            form = expand_reciprocals(self.analysis, key)
            found = {atom: feature for atom in form.terms if (feature := monomial_of(atom)) is not None}
            for atom, feature in found.items():
                alone = feature * (1 / feature.factor)
                before, own = monomials.get(alone, (Affine({}), Affine({atom: 1 / feature.factor})))
                monomials[alone] = before + query * (form.terms[atom] * feature.factor), own
            others = Affine({atom: factor for atom, factor in form.terms.items() if atom not in found})
            if others.terms:
                rest.append((query, others if found else key))
        return {m: pair for m, pair in monomials.items() if pair[0].terms or pair[0].constant}, rest

    def step_of(self, terms: Iterable[Term]) -> Step | None:
        """The grid: a step of the differences of two scores at a query.

        **Lemma (grid).** If every q(i) is a multiple of s(i) and differences of its k are multiples of d, then the
        scores at a query differ by multiples of the greatest common divisor of all s(i)·d.
        """
        steps: list[Step | None] = []
        for query, key in terms:
            keys = self.analysis.of(key).difference_at_one_length
            queries = exact_step(self.analysis, query) or self.analysis.of(query).step
            steps.append(None if queries is None or keys is None else queries.product(keys))
        if self.node.bias is not None:
            step = self.node.bias.step
            steps.append(None if step is None else Step(step))
        return join_steps(steps)

    def of_key(self, key: Affine) -> Fact:
        """What is known of a key."""
        local = self.is_later and self.analysis.by_token.has_form(key)
        return Fact.of(self.analysis.by_token.values(key, start=False)) if local else self.analysis.of(key)

    @cached_property
    def step(self) -> Step | None:
        """The grid of all scores."""
        return self.step_of(self.terms)

    @property
    def missing(self) -> str:
        """Why the scores have no grid."""
        for query, key in self.terms:
            if self.analysis.of(query).step is None:
                return f"no step is known of the query {format_form(query)[:80]}"
            if self.analysis.of(key).difference_at_one_length is None:
                unknown = self.analysis.of(key).step is None
                reason = "no step is known of the key" if unknown else "keys differ in their denominators:"
                return f"{reason} {format_form(key)[:80]}"
        return "no step is known of the scores"

    def exceeds(self, grid: Step, step: Step, number: Fraction | None) -> bool:
        """Whether a grid is at least a step times a number, or times that of visible keys, at all queries."""
        if not grid.factor:
            return True
        grid = self.replace_counts(grid)
        if step.is_constant and grid.is_constant:
            return grid.factor >= step.factor * (self.analysis.positions if number is None else number)
        # i+1 and n-i+1 are at most n+1.
        next_, rest = step.next - grid.next, step.rest - grid.rest
        length = step.length - grid.length + min(next_, 0) + min(rest, 0)
        if length < 0 or grid.factor < step.factor * (1 if number is None else number):
            return False
        return number is not None or length >= 1 or (self.node.mask.is_causal and next_ >= 1)

    def replace_counts(self, step: Step) -> Step:
        """A lower bound of a step, with counts replaced by the number of visible keys; a constant if it is fixed."""
        if (positions := self.analysis.program.position_count) is not None:
            return Step(step.minimum(positions))
        causal = sum(isinstance(head, Attention) and head.mask.is_causal for head in step.counts)
        others = len(step.counts) - causal
        return replace(step, next=step.next + causal, length=step.length + others, counts=frozenset())

    def bound(self, step: Step) -> Fraction | Monomial:
        """A lower bound of a step as a gap, which is the smallest for the longest inputs."""
        step = self.replace_counts(step)
        return replace(step, length=max(step.length, -max(step.next, step.rest, 0))).lower_bound()


def merge_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Drop pairs with constant keys, merge those with equal keys, and add up those with constant queries."""
    by_key: dict[frozenset[tuple[Atom, Fraction]], Term] = {}
    fixed = Affine({})
    for query, key in terms:
        if not query.terms:
            fixed += key * query.constant
        elif key.terms:
            before = by_key.get(known := frozenset(key.terms.items()), (Affine({}), key))
            by_key[known] = before[0] + query, before[1]
    pairs = (pair for pair in by_key.values() if pair[0].terms or pair[0].constant)
    return (*pairs, *([(Affine({}, ONE), fixed)] if fixed.terms else []))


def expand_reciprocals(analysis: Analysis, form: Affine) -> Affine:
    """Write a form over what is equal to 1/(i+1) or to 1/c in place of means."""

    def expansion(atom: Atom) -> Affine | None:
        node, k = atom
        if isinstance(node, Named) and any(inner in analysis.reciprocals for inner in node.forms[k].terms):
            return expand_reciprocals(analysis, node.forms[k])
        return analysis.reciprocals.get(atom)

    found = {atom: inner for atom in form.terms if (inner := expansion(atom)) is not None}
    if not found:
        return form
    kept = Affine({atom: factor for atom, factor in form.terms.items() if atom not in found}, form.constant)
    return Affine.sum([kept, *(inner * form.terms[atom] for atom, inner in found.items())])


def monomial_of(atom: Atom) -> Monomial | None:
    """The monomial of the position that an atom is, if it is one."""
    feature = atom[0].feature if isinstance(atom[0], Position) else None
    return feature if isinstance(feature, Monomial) else None


def exact_step(analysis: Analysis, form: Affine) -> Step | None:
    """The step that the absolute value of a form is equal to, if there is one and the form has one sign."""
    form = expand_reciprocals(analysis, form)
    if not form.terms:
        return Step(abs(form.constant)) if form.constant else None
    return analysis.of(form if min(form.terms.values()) > 0 else form * -ONE).exact


def lookup(scores: Scores) -> HeadFact | None:
    """One key, by its position.

    **Lemma (lookup).** The score 2X·b·j - b·j², with b > 0 and an integer X, has one maximum, at the visible position
    next to X, since visible positions are an interval. The key k positions away is at least b·k² below. Both keys may
    be multiplied by one power of n+1.
    """
    monomials, rest = scores.split
    if rest or scores.node.bias is not None or sorted(m.i for m in monomials) != [1, 2]:
        return None
    (first, (linear, _)), (second, (square, _)) = sorted(monomials.items(), key=lambda item: item[0].i)
    scale, index = exact_step(scores.analysis, square), scores.analysis.of(linear).step
    if first != Monomial(i=1, length=first.length) or second != first * Monomial(i=1) or scale is None or index is None:
        return None
    if scores.analysis.of(square).high > 0 or not scale.scale(Fraction(2)).divides(index):
        return None
    gap = scores.bound(replace(scale, length=scale.length - first.length))
    return HeadFact("lookup", gap, True, ScoreDecay.QUADRATIC, unique=True, index=linear)


def ramp(scores: Scores) -> HeadFact | None:
    """The last key, or the first one, of those that are the best on a grid.

    **Lemma (grid and ramp).** Let a term be a multiple of j or j/(n+1), with steps of s between neighbours, and the
    others on a grid g. If the ramp's steps over all visible keys come to at most g, then all scores are at least s
    apart: one maximum, and the k-th other is at least k·s below.

    **Lemma (grid and 1/(j+1)).** Under a causal mask, let a term be a multiple a/(j+1), and the others on a grid of at
    least |a|. All of the term takes less than |a|, and two keys differ in it by at least |a|/(i+1)². So all scores are
    at least that far apart.
    """
    monomials, rest = scores.split
    for feature, (query, _) in monomials.items():
        others = [pair for other, pair in monomials.items() if other != feature]
        slope, grid = exact_step(scores.analysis, query), scores.step_of([*rest, *others])
        if slope is None or grid is None:
            continue
        if feature in (Monomial(i=1, length=feature.length), Monomial(next=1, length=feature.length)):
            step = replace(slope, length=slope.length - feature.length)
            if scores.exceeds(grid, step, None):
                return HeadFact("grid and ramp", scores.bound(step), True, ScoreDecay.LINEAR, unique=True)
        elif feature == RECIPROCAL and scores.node.mask.is_causal and scores.exceeds(grid, slope, ONE):
            gap = scores.bound(replace(slope, next=slope.next + 2))
            return HeadFact("grid and 1/(j+1)", gap, True, ScoreDecay.LINEAR, unique=True)
    return None


def positions(scores: Scores) -> HeadFact | None:
    """Scores that are known exactly, or but for a bit of the key.

    **Lemma (positions).** If the position alone decides all queries and keys, the scores are numbers. The visible keys
    must not depend on the length: under a causal mask, or with a fixed number of positions.

    **Lemma (positions and a bit).** Let the score be A(i, j) + B(i)·b(j) with a bit b of which the value is an affine
    function. At a query, let T keys have the largest A, and let A₂ be the next. If |B| < A - A₂, a key of largest A
    wins; if T > 1 and B ≠ 0, tied keys have equal bits. The gap is the smaller of |B| (if T > 1) and A - A₂ - |B|.
    """
    analysis, node, tables = scores.analysis, scores.node, scores.analysis.by_place
    bits = {atom for term in scores.terms for form in term for atom in form.terms if not tables.has(atom[0])}
    if len(bits) > 1 or any(bits & set(query.terms) for query, _ in scores.terms):
        return None
    if not all(analysis.facts[bit].is_bit for bit in bits):
        return None
    if bits and any(set(analysis.absorb(value, None).terms) - bits for value in node.value):
        return None
    keys = [Affine({a: f for a, f in key.terms.items() if a not in bits}, key.constant) for _, key in scores.terms]
    table = tables.scores(node, [(query, key) for (query, _), key in zip(scores.terms, keys, strict=True)])
    if table is None:
        return None
    slopes = tables.by_position(
        Affine.sum(query * key.terms.get(bit, ZERO) for query, key in scores.terms for bit in bits)
    )
    gaps, several = list[Fraction](), False
    for slope, (visible, row) in zip(
        slopes.fractions() if slopes else (), visible_scores(node.mask, table[0]), strict=True
    ):
        seen = row[visible > 0] if scores.is_later else row
        best = seen.max() if len(seen) else ZERO
        tied, below = int((seen == best).sum()) > 1, seen[seen < best]
        several |= tied
        gaps += [abs(slope)] if tied and bits else []
        gaps += [Fraction(int(best - below.max()), table[1]) - abs(slope)] if len(below) else []
    gap = min(gaps, default=ONE)
    if gap <= 0:
        return None
    single = bool(bits) or not several or _ties_hold_equal_values(scores)
    return HeadFact("positions and a bit" if bits else "positions", gap, single, unique=not several)


def part(scores: Scores) -> HeadFact | None:
    """Keys whose values are functions of a part of their scores.

    **Lemma (two grids).** Let the score be A + s·P, where A is on a grid g, s > 0 is known exactly, values of P differ
    by 0 or at least d, and s·d and all of s·P together take at most g. Then scores differ by 0 or at least s·d, and
    keys that tie have equal A and equal P. If the values are functions of P, they are equal.
    """
    for factor, key, others in _parts(scores):
        fact = scores.of_key(key)
        size, step, grid = exact_step(scores.analysis, factor), fact.difference, scores.step_of(others)
        if size is None or grid is None or step is None or not step.is_constant or not step.factor:
            continue
        number, step, alone = (fact.high - fact.low) / step.factor + 1, size.scale(step.factor), not grid.factor
        if scores.exceeds(grid, step, number) and _hold_equal_values(scores, key, factor.constant if alone else ZERO):
            return HeadFact("value by score" if alone else "two grids", scores.bound(step), True)
    return None


def _parts(scores: Scores) -> Iterator[tuple[Affine, Affine, list[Term]]]:
    """A factor s of a query that is known exactly, P (a key, or what the token decides of it), and the other terms."""
    for place, (query, key) in enumerate(scores.terms):
        atoms = (atom for atom in query.terms if not isinstance(atom[0], Token) and scores.analysis.facts[atom].exact)
        factors = [Affine({atom: query.terms[atom]}) for atom in atoms]
        for factor in [*factors, *([Affine({}, query.constant)] if query.constant else [])]:
            others = [*scores.terms[:place], *scores.terms[place + 1 :], (query + factor * -ONE, key)]
            yield factor, key, others
            local, rest = scores.analysis.by_token.split(key)
            if local.terms and rest.terms:
                yield factor, local, [*others, (factor, rest)]


def start_apart(scores: Scores) -> HeadFact | None:
    """Keys without position 0, if its score is never that of another key.

    **Lemma (start apart).** Then keys that tie are position 0 alone, or they are at positions 1, 2, …. So it is enough
    that these hold equal values.
    """
    visible = scores.node.mask in (Mask.CAUSAL, Mask.ALL) and scores.node.bias is None and not scores.is_later
    if scores.step is None or not visible or scores.analysis.is_padded or not _is_apart(scores):
        return None
    later = decide(scores.later())
    gap = scores.bound(scores.step) if scores.step.factor else ONE
    return HeadFact(f"start apart, {later.rule}", gap, True, unique=later.unique) if later.single_key else None


def _is_apart(scores: Scores) -> bool:
    """Whether S(0) - S(j) is never 0 for j ≥ 1, as a sum of a constant, multiples of a grid, and bounded numbers."""
    analysis = scores.analysis
    fixed, parts = Affine({}), list[Fact]()
    monomials: dict[Monomial, Affine] = {}
    for query, key in scores.terms:
        own, later, (start, unknown) = analysis.of(query), analysis.first.later(key), analysis.first.split_value(key)
        local, rest = analysis.by_token.split(later)
        fixed += query * (start - later.constant)
        found = {atom: m for atom in rest.terms if (m := monomial_of(atom)) is not None and m.i > 0}
        for atom, feature in found.items():
            monomials[feature] = monomials.get(feature, Affine({})) + query * -rest.terms[atom]
        others = Affine({atom: -factor for atom, factor in rest.terms.items() if atom not in found})
        decided = Fact.of(-value for value in analysis.by_token.values(local, start=False) or {ZERO})
        parts += [own.product(fact) for fact in (analysis.of(unknown), analysis.of(others), decided)]
    parts += [_bound_product(scores, query, feature) for feature, query in monomials.items()]
    local, rest = analysis.by_token.split(fixed)
    parts += [analysis.of(local), *(analysis.of(Affine({atom: factor})) for atom, factor in rest.terms.items())]
    return is_never_zero(parts, fixed.constant)


def _bound_product(scores: Scores, query: Affine, feature: Monomial) -> Fact:
    """What is known of a number of the query times a monomial of a visible key: at most its step times their number."""
    own, slope = scores.analysis.of(query), exact_step(scores.analysis, query)
    fact = own.product(scores.analysis.of_feature(feature))
    if slope is None or feature != Monomial(feature.factor, i=1, length=feature.length):
        return fact
    high = slope.factor * feature.factor
    if not scores.exceeds(Step(high), replace(slope, factor=high, length=slope.length - feature.length), None):
        return fact
    return Fact(ZERO, high, fact.step) if own.low >= 0 else Fact(-high, ZERO, fact.step)


def is_never_zero(parts: Sequence[Fact], constant: Fraction) -> bool:
    """Whether a sum and a constant is never 0.

    It is not if, for some g, the parts that are no multiples of g and the constant come to no multiple of g.
    """
    grids = [fact.step.factor if fact.step is not None and fact.step.is_constant else None for fact in parts]
    for grid in {grid for grid in grids if grid}:
        small = [fact for fact, own in zip(parts, grids, strict=True) if own is None or (own / grid).denominator > 1]
        total = sum_facts([(ONE, fact) for fact in small], constant)
        if total.size < INFINITY and ceil(total.low / grid) > floor(total.high / grid):
            return True
    total = sum_facts([(ONE, fact) for fact in parts], constant)
    return total.low > 0 or total.high < 0


def grid(scores: Scores) -> HeadFact | None:
    """The grid alone: a gap; keys that tie may hold different values."""
    step = scores.step
    if step is None:
        return None
    return HeadFact("grid", scores.bound(step) if step.factor else ONE, _ties_hold_equal_values(scores))


def _ties_hold_equal_values(scores: Scores) -> bool:
    return part(scores) is not None or not any(value.terms for value in scores.values)


def _hold_equal_values(scores: Scores, key: Affine, factor: Fraction) -> bool:
    """Whether keys that tie in a part of their scores hold equal values.

    They do if every value is an affine function of the part, or if tokens and positions decide it, and for each of its
    values they hold equal values or exclude each other. If the scores are this part times a factor, those below that of
    position 0, which is visible, are not the best.
    """
    key, values = expand_named(key), [expand_named(value) for value in scores.values if value.terms]
    if all(_is_multiple(value, key) for value in values):
        return True
    visible = factor and scores.node.mask in (Mask.CAUSAL, Mask.ALL) and not scores.is_later
    for tables in (scores.analysis.by_token, scores.analysis.by_place):
        if not tables.has_form(key):
            continue
        known = all(map(tables.has_form, values))
        column = [score * (factor or ONE) for score in tables.column(key).fractions()]
        held = list(zip(*(tables.column(v).fractions() for v in values), strict=True)) if known else range(len(column))
        first = [score for row, score in zip(tables.rows, column, strict=True) if row.position == 0]
        levels: dict[Fraction, dict[object, list[Row]]] = {}
        for row, score, own in zip(tables.rows, column, held, strict=True):
            if not (visible and score < min(first)) and not (scores.is_later and row.position == 0):
                levels.setdefault(score, {}).setdefault(own, []).append(row)
        if all((known and len(level) == 1) or _occurs_once(scores, level.values()) for level in levels.values()):
            return True
    return False


def _is_multiple(form: Affine, key: Affine) -> bool:
    """Whether a form is an affine function of another one, as forms."""
    atom = next(iter(form.terms))
    factor = form.terms[atom] / key.terms[atom] if atom in key.terms else ZERO
    return bool(factor) and {other: factor * own for other, own in key.terms.items()} == dict(form.terms)


def _occurs_once(scores: Scores, rows: Iterable[Sequence[Row]]) -> bool:
    """Whether a sequence has at most one of some pairs of position and token."""
    found = list(chain.from_iterable(rows))
    if len({row.position for row in found}) == 1 and found[0].position is not None:
        return True
    start = int(all(row.position != 0 for row in found))
    return scores.analysis.domain.has_at_most_one({row.token for row in found}, start)


CLOSED_RULES = (lookup, ramp)
"""Rules whose statements are about every length; tried in this order, …"""
GRID_RULES = (part, start_apart, grid)
"""… then rules that rest on the grid of the scores."""
