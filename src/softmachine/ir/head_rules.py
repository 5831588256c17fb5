"""Rules for heads: gap, uniqueness and decay of the scores, from facts about queries, keys and values.

The score of key j at query i is Σ q(i) k(j). Pairs whose key is constant do not distinguish keys and are dropped. Each
rule is a lemma; :func:`judge` tries them in order. All statements are about every input of the domain up to a length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from softmachine.ir.analysis import Analysis, HeadFact
from softmachine.ir.facts import ONE, ZERO, Step, join_steps
from softmachine.ir.function_tables import Row, visible_scores
from softmachine.ir.primitives import Attention, Named, Position, ScoreDecay
from softmachine.ir.signal import Affine, Atom, format_form
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Feature, Monomial

MAX_PAIRS = 40_000
"""Maximal number of pairs of a query and a key that are compared."""
Term = tuple[Affine, Affine]


def judge(analysis: Analysis, node: Attention) -> HeadFact:
    """Return what the first rule that applies proves of a head."""
    scores = Scores.of(analysis, node)
    if not scores.terms and node.bias is None:
        return HeadFact("uniform")
    for rule in RULES:
        found = rule(scores)
        if found is not None:
            return found
    return HeadFact("none", reason=scores.missing)


DECAYS = (ScoreDecay.FLAT, ScoreDecay.LINEAR, ScoreDecay.QUADRATIC)
"""From the weakest to the strongest."""


def adopt_hint(analysis: Analysis, head: HeadFact, hint: Attention) -> HeadFact:
    """Return the gap, the decay and the claim about ties of a hint; what is not derived is an assumption."""
    if hint.gap is None:
        return head
    derived = head.gap is not None and is_at_least(head.gap, hint.gap, analysis)
    decays = DECAYS.index(head.decay) >= DECAYS.index(hint.decay)
    claims = [("gap", derived), ("decay", decays), ("single key", head.single_key or not hint.single_key)]
    return replace(
        head,
        gap=hint.gap,
        decay=hint.decay,
        single_key=head.single_key or hint.single_key,
        assumptions=tuple(name for name, holds in claims if not holds),
    )


def is_at_least(gap: Fraction | Feature, other: Fraction | Feature, analysis: Analysis) -> bool:
    """Whether a gap is at least another one, at all positions of all lengths; False if that is not known."""
    if isinstance(gap, Fraction) and isinstance(other, Fraction):
        return gap >= other
    if analysis.program.position_count is not None:
        return all(
            value_at(gap, i, analysis.length) >= value_at(other, i, analysis.length) for i in range(analysis.positions)
        )
    first, second = (Monomial(x) if isinstance(x, Fraction) and x > 0 else x for x in (gap, other))
    if not isinstance(first, Monomial) or not isinstance(second, Monomial):
        return False
    ratio = first * second**-1
    # i+1 and n-i+1 are at most n+1.
    length = ratio.length + min(ratio.next, 0) + min(ratio.rest, 0)
    return ratio.factor >= 1 and length >= 0 and not ratio.i and not ratio.n


def value_at(gap: Fraction | Feature, i: int, n: int) -> Fraction:
    """The value of a gap at a position."""
    return gap if isinstance(gap, Fraction) else gap.at(i, n)


@dataclass(frozen=True)
class Scores:
    """The scores of a head: Σ q(i) k(j), over pairs whose key is not constant.

    Args:
        analysis: The facts.
        node: The head.
        terms: The pairs.
    """

    analysis: Analysis
    node: Attention
    terms: tuple[Term, ...]

    @staticmethod
    def of(analysis: Analysis, node: Attention) -> Scores:
        """The scores of a head; equal keys are one, and those with constant queries are added up."""
        by_key: dict[frozenset[tuple[Atom, Fraction]], Term] = {}
        fixed = []
        for query, key in zip(node.query, node.key, strict=True):
            query, key = expand_reciprocals(analysis, query), expand_reciprocals(analysis, key)
            if not key.terms:
                continue
            if not query.terms and not is_feature(key):
                fixed.append(key * query.constant)
                continue
            terms = frozenset(key.terms.items())
            before = by_key.get(terms)
            by_key[terms] = (query, key) if before is None else (before[0] + query, before[1])
        pairs = [pair for pair in by_key.values() if pair[0].terms or pair[0].constant]
        total = Affine.sum(fixed)
        if total.terms:
            pairs.append((Affine({}, ONE), total))
        return Scores(analysis, node, tuple(pairs))

    def step_of(self, terms: Sequence[Term]) -> Step | None:
        """The grid: a step of the differences of two scores at a query.

        **Lemma (grid).** If every q(i) is a multiple of s(i) and differences of its k are multiples of d, then the
        scores at a query differ by multiples of the greatest common divisor of all s(i)·d.
        """
        steps: list[Step | None] = []
        for query, key in terms:
            queries, keys = self.analysis.of(query).step, self.analysis.of(key).difference_at_one_length
            steps.append(None if queries is None or keys is None else queries.product(keys))
        if self.node.bias is not None:
            step = self.node.bias.step
            steps.append(None if step is None else Step(step))
        return join_steps(steps)

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

    def keys_exceed(self, grid: Step, ramp: Step) -> bool:
        """Whether the grid is at least the step of a ramp times the number of visible keys, everywhere."""
        if not ramp.factor or ramp.counts or not grid.factor:
            return False
        grid = self.replace_counts(grid)
        if ramp.is_constant and grid.is_constant and grid.factor >= ramp.factor * self.analysis.positions:
            return True
        next_, length, rest = ramp.next - grid.next, ramp.length - grid.length, ramp.rest - grid.rest
        if rest < 0 or grid.factor < ramp.factor:
            return False
        if next_ < 0:
            next_, length = 0, length + next_
        return length >= (0 if self.node.mask.is_causal and next_ >= 1 else 1)

    def replace_counts(self, step: Step) -> Step:
        """A lower bound of a step, with counts replaced by the number of visible keys."""
        causal = sum(isinstance(head, Attention) and head.mask.is_causal for head in step.counts)
        others = len(step.counts) - causal
        return replace(step, next=step.next + causal, length=step.length + others, counts=frozenset())


def expand_reciprocals(analysis: Analysis, form: Affine) -> Affine:
    """Write a form with 1/(i+1) in place of the means that are multiples of it."""

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


def monomial_of(form: Affine) -> Monomial | None:
    """A form that is a positive multiple of one monomial of the position."""
    if len(form.terms) != 1 or form.constant:
        return None
    (((node, _), factor),) = form.terms.items()
    found = node.feature if isinstance(node, Position) else None
    return found * factor if isinstance(found, Monomial) and factor > 0 else None


def is_feature(form: Affine) -> bool:
    """Whether a form is a multiple of one feature of the position."""
    return len(form.terms) == 1 and not form.constant and isinstance(next(iter(form.terms))[0], Position)


def exact_step(analysis: Analysis, form: Affine) -> Step | None:
    """The step that a positive form is equal to: a constant, 1/(i+1)^a(n+1)^b(n-i+1)^c, or 1/c for a count c."""
    if not form.terms:
        return Step(form.constant) if form.constant > 0 else None
    found = monomial_of(form)
    if found is not None:
        falling = not found.i and not found.n and max(found.next, found.length, found.rest) <= 0
        return Step(found.factor, -found.next, -found.length, -found.rest) if falling else None
    if len(form.terms) == 1 and not form.constant:
        ((atom, factor),) = form.terms.items()
        while isinstance(atom[0], Named) and len(atom[0].forms[0].terms) == 1 and not atom[0].forms[0].constant:
            ((atom, more),) = atom[0].forms[0].terms.items()
            factor *= more
        if atom in analysis.shares_of_start and factor > 0:
            return Step(factor, counts=frozenset([atom[0]]))
    return None


def lookup(scores: Scores) -> HeadFact | None:
    """**Lemma (lookup).** The score 2X·b·j - b·j², with b > 0 and an integer X, has one maximum, at the visible position
    next to X, since visible positions are an interval. The key k positions away is at least b·k² below.

    Both keys may be multiplied by one power of n+1. If X is at most 0, the position is the first visible one.
    """
    if len(scores.terms) != 2 or scores.node.bias is not None:
        return None
    features = {found.i: (query, found) for query, key in scores.terms if (found := monomial_of(key)) is not None}
    if set(features) != {1, 2}:
        return None
    (linear, first), (square, second) = features[1], features[2]
    if first * Monomial(1 / first.factor, i=1) != second * (1 / second.factor) or first.next or first.n or first.rest:
        return None
    scale = exact_step(scores.analysis, square * -second.factor)
    index = scores.analysis.of(linear * first.factor).step
    if scale is None or index is None or not scale.scale(Fraction(2)).divides(index):
        return None
    gap = scores.replace_counts(scale)
    gap = replace(gap, length=gap.length - first.length)
    return HeadFact("lookup", gap.lower_bound(), True, ScoreDecay.QUADRATIC, unique=True, index=linear)


def ramp(scores: Scores) -> HeadFact | None:
    """**Lemma (grid and ramp).** Let a term be a multiple of j or j/(n+1), with steps of s between neighbours, and the
    others on a grid g. If the ramp's steps over all visible keys come to at most g, then all scores are at least s
    apart: one maximum, and the k-th other is at least k·s below.
    """
    for query, feature, others in _split_ramps(scores):
        if feature.i + feature.next != 1 or min(feature.i, feature.next) < 0 or feature.rest or feature.n:
            continue
        if feature.length > 0:
            continue
        size = query if query.terms else Affine({}, abs(query.constant))
        slope = exact_step(scores.analysis, size if _is_positive(size) else size * -ONE)
        grid = scores.step_of(others)
        if slope is None or grid is None:
            continue
        step = slope.product(Step(feature.factor, length=-feature.length))
        if step is not None and (not grid.factor or scores.keys_exceed(grid, step)):
            gap = scores.replace_counts(step).lower_bound()
            return HeadFact("grid and ramp", gap, True, ScoreDecay.LINEAR, unique=True)
    return None


def _is_positive(form: Affine) -> bool:
    return all(factor > 0 for factor in form.terms.values())


def _split_ramps(scores: Scores) -> Iterator[tuple[Affine, Monomial, list[Term]]]:
    """A term with a monomial of the position in its key, as (query, monomial, the other terms)."""
    for place, (query, key) in enumerate(scores.terms):
        for atom, factor in key.terms.items():
            alone = Affine({atom: ONE})
            feature = monomial_of(alone)
            if feature is None:
                continue
            rest = Affine({other: own for other, own in key.terms.items() if other != atom}, key.constant)
            others = [term for index, term in enumerate(scores.terms) if index != place]
            yield query * factor, feature, [*others, (query, rest)] if rest.terms else others


def reciprocal(scores: Scores) -> HeadFact | None:
    """**Lemma (grid and 1/(j+1)).** Under a causal mask, let a term be a multiple a/(j+1), and the others on a grid of
    at least |a|. All of the term takes less than |a|, and two keys differ in it by at least |a|/(i+1)². So all scores are
    at least that far apart. The same if all terms have one power of n+1 or of i+1 as a common factor of the query.
    """
    if not scores.node.mask.is_causal:
        return None
    for query, feature, others in _split_ramps(scores):
        if feature.reciprocal_power != 1 and feature * (1 / feature.factor) != Monomial(next=-1):
            continue
        size = query if query.terms else Affine({}, abs(query.constant))
        slope = exact_step(scores.analysis, size if _is_positive(size) else size * -ONE)
        grid = scores.step_of(others)
        if slope is None or grid is None:
            continue
        slope = slope.scale(feature.factor)
        if not grid.factor or (slope.divides(grid)):
            gap = replace(slope, next=slope.next + 2)
            return HeadFact("grid and 1/(j+1)", scores.replace_counts(gap).lower_bound(), True, ScoreDecay.LINEAR, True)
    return None


def positions(scores: Scores) -> HeadFact | None:
    """**Lemma (positions).** If the position alone decides all queries and keys, the scores are numbers.

    The visible keys must not depend on the length: under a causal mask, or with a fixed number of positions.
    """
    tables, node = scores.analysis.by_place, scores.node
    table, winners = tables.scores(node, scores.terms), tables.best_keys(node)
    if table is None or winners is None:
        return None
    least: Any = None
    for _, row in visible_scores(node.mask, table[0]):
        below = row[row < row.max()] if len(row) else row
        least = min(filter(None, (least, row.max() - below.max() if len(below) else None)), default=None)
    unique = all(len(keys) <= 1 for keys in winners)
    gap = ONE if least is None else Fraction(int(least), table[1])
    return HeadFact("positions", gap, unique or _ties_hold_equal_values(scores), ScoreDecay.FLAT, unique)


def positions_and_bit(scores: Scores) -> HeadFact | None:
    """**Lemma (positions and a bit).** Let the score be A(i, j) + B(i)·b(j) with a bit b of which the value is an affine
    function. At a query, let T keys have the largest A, and let A₂ be the next. If |B| < A - A₂, a key of largest A wins;
    if T > 1 and B ≠ 0, tied keys have equal bits. The gap is the smaller of |B| (if T > 1) and A - A₂ - |B|.
    """
    analysis, node = scores.analysis, scores.node
    tables = analysis.by_place
    if not tables.rows:
        return None
    loose = {atom for term in scores.terms for form in term for atom in form.terms if not tables.has(atom[0])}
    if len(loose) != 1:
        return None
    (bit,) = loose
    if not analysis.facts[bit].is_bit or any(bit in query.terms for query, _ in scores.terms):
        return None
    if any(set(analysis.absorb(value, None).terms) - {bit} for value in node.value):
        return None
    keys = [Affine({a: f for a, f in key.terms.items() if a != bit}, key.constant) for _, key in scores.terms]
    table = tables.scores(node, [(query, key) for (query, _), key in zip(scores.terms, keys, strict=True)])
    if table is None:
        return None
    values, over = table
    queries = [column.fractions() for query, _ in scores.terms if (column := tables.by_position(query)) is not None]
    least: Fraction | None = None
    for i, (_, seen) in enumerate(visible_scores(node.mask, values)):
        if not len(seen):
            continue
        slopes = (query[i] * key.terms.get(bit, ZERO) for query, (_, key) in zip(queries, scores.terms, strict=True))
        slope = abs(sum(slopes, ZERO))
        best = seen.max()
        several, below = int((seen == best).sum()) > 1, seen[seen < best]
        if several and not slope:
            return None
        gaps = [slope] if several else []
        if len(below):
            gaps.append(Fraction(int(best - below.max()), over) - slope)
        least = min([*gaps, *([] if least is None else [least])], default=least)
    if least is not None and least <= 0:
        return None
    return HeadFact("positions and a bit", least or ONE, True, ScoreDecay.FLAT)


def grid(scores: Scores) -> HeadFact | None:
    """The grid alone: a gap; keys that tie may hold different values, unless a rule of ties applies."""
    step = scores.step
    if step is None:
        return None
    single = _ties_hold_equal_values(scores)
    gap = scores.replace_counts(step).lower_bound() if step.factor else ONE
    return HeadFact("value by score" if single else "grid", gap, single)


def _ties_hold_equal_values(scores: Scores) -> bool:
    """**Lemma (ties).** Keys that tie hold equal values if the values are constant; if there is one term, with a
    constant query, and every value is an affine function of the key; or if what can tie with the best is decided by
    tokens and positions and holds equal values, or is a token that occurs once.
    """
    values = [expand(scores.analysis, value) for value in scores.node.value if value.terms]
    if not values:
        return True
    if len(scores.terms) != 1 or scores.node.bias is not None or scores.terms[0][0].terms:
        return False
    query, key = scores.terms[0]
    key = expand(scores.analysis, key)
    if all(_is_multiple(value, key) for value in values):
        return True
    return _levels_hold_equal_values(scores, key * query.constant, values)


def _is_multiple(form: Affine, key: Affine) -> bool:
    """Whether a form is an affine function of another one, as forms."""
    atom = next(iter(form.terms))
    factor = form.terms[atom] / key.terms[atom] if atom in key.terms else ZERO
    return bool(factor) and {other: factor * own for other, own in key.terms.items()} == dict(form.terms)


def expand(analysis: Analysis, form: Affine) -> Affine:
    """Write a form over what is not named."""
    del analysis
    if not any(isinstance(node, Named) for node, _ in form.terms):
        return form
    parts = [
        (node.forms[k] if isinstance(node, Named) else Affine({(node, k): ONE})) * factor
        for (node, k), factor in form.terms.items()
    ]
    return Affine.sum([Affine({}, form.constant), *parts])


def _levels_hold_equal_values(scores: Scores, key: Affine, values: Sequence[Affine]) -> bool:
    """Whether at each score that can be the best, the keys hold equal values or exclude each other."""
    analysis = scores.analysis
    causal = scores.node.mask is Mask.CAUSAL
    for tables in (analysis.by_token, analysis.by_place):
        if not tables.has_form(key):
            continue
        known = all(map(tables.has_form, values))
        rows = list(zip(tables.rows, tables.column(key).fractions(), strict=True))
        held = list(zip(*(tables.column(v).fractions() for v in values), strict=True)) if known else [()] * len(rows)
        first = [score for row, score in rows if row.token in analysis.domain.first and not row.position]
        least = min(first) if causal and first else None
        levels: dict[Fraction, dict[object, list[int]]] = {}
        for k, (_, score) in enumerate(rows):
            if least is None or score >= least:
                levels.setdefault(score, {}).setdefault(held[k] if known else k, []).append(k)
        if all(
            (known and len(level) == 1) or _occurs_once(scores, [rows[k][0] for ks in level.values() for k in ks])
            for level in levels.values()
        ):
            return True
    return False


def _occurs_once(scores: Scores, rows: Sequence[Row]) -> bool:
    """Whether a sequence has at most one of some pairs of position and token."""
    if len({row.position for row in rows}) == 1 and rows[0].position is not None:
        return True
    start = 1 if all(row.position for row in rows) else 0
    return scores.analysis.domain.has_at_most_one({row.token for row in rows}, start)


def averages_start(analysis: Analysis, node: Attention, value: Affine) -> bool:
    """Whether a value is 1 at the first position and 0 elsewhere, and the first position is always among the best keys.

    **Lemma (count).** Then the mean of the value over the c keys that tie is 1/c.
    """
    if analysis.values_by_first(value) != (ONE, ZERO) or node.mask is not Mask.CAUSAL or node.bias is not None:
        return False
    scores = Scores.of(analysis, node)
    tables = analysis.by_token if all(map(analysis.by_token.has_form, _sides(scores))) else analysis.by_place
    if not all(map(tables.has_form, _sides(scores))):
        return False
    queries = tables.distinct(query for query, _ in scores.terms)
    rows = list(
        zip(tables.rows, zip(*(tables.column(key).fractions() for _, key in scores.terms), strict=True), strict=True)
    )
    first = {key for row, key in rows if row.token in analysis.domain.first and not row.position}
    keys = {key for _, key in rows}
    if len(first) != 1 or len(queries) * len(keys) > MAX_PAIRS:
        return False
    (start,) = first

    def score(query: tuple[Fraction, ...], key: tuple[Fraction, ...]) -> Fraction:
        return sum((a * b for a, b in zip(query, key, strict=True) if a and b), ZERO)

    return all(score(query, start) >= score(query, key) for query in queries for key in keys)


def _sides(scores: Scores) -> list[Affine]:
    return [form for term in scores.terms for form in term]


RULES: tuple[Callable[[Scores], HeadFact | None], ...] = (
    lookup,
    ramp,
    reciprocal,
    positions_and_bit,
    positions,
    grid,
)
"""The rules, in the order in which they are tried."""
