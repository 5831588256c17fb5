"""Planner: derives what is known of each number, in order, and from that an index for each head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from softmachine.engines.fast.analysis.flow import LiftedHead, LiftedProgram, PositionAtom, RetrievedAtom, UnitAtom
from softmachine.engines.fast.analysis.forms import AffineForm, combination
from softmachine.engines.fast.analysis.grids import (
    BITS,
    FRACTION,
    MAX_POSITIONS,
    Denominator,
    LinearNumerator,
    NumberRange,
    NumberRanges,
    feature_range,
)
from softmachine.engines.fast.analysis.plans import (
    GatedTable,
    GroupsPlan,
    HeadPlan,
    IndexPlan,
    KeyScore,
    LinearScanPlan,
    MatchingPlan,
    ParabolaLookup,
    PositionPlan,
    RunningBest,
    TablePlan,
    UniformPlan,
)
from softmachine.support.text import pluralize
from softmachine.transformer.attention import AttentionKind, Mask
from softmachine.transformer.features import I_SQUARED, Distance, I, Relation

ONE = Fraction(1)
MAX_COUNTED_KEYS = 128
"""More different keys than this are too many to tell how many."""
MAX_KINDS = 4
"""Keys of more kinds do not get a table for each kind."""
Pair = tuple[AffineForm, AffineForm]


@dataclass(frozen=True, eq=False)
class _Split(HeadPlan):
    """A head, what it retrieves, and its score: Σ query · key + slope · j + curve · j²."""

    pairs: tuple[Pair, ...]
    slope: AffineForm
    curve: AffineForm

    @property
    def served(self) -> tuple[LiftedHead, tuple[tuple[int, int], ...], tuple[NumberRange, ...]]:
        """What every plan begins with."""
        return self.head, self.results, self.values


class Planner:
    """Goes through a flow in order, proving what is known of each number and choosing an index for each head.

    Args:
        flow: The flow.
        general: The names of heads that only the general index may serve.
        uneven: The names of heads whose means of integers are not all integers.
        horizon: What is proved holds for runs of so many positions.
    """

    def __init__(
        self, flow: LiftedProgram, general: Iterable[str] = (), uneven: Iterable[str] = (), horizon: int = MAX_POSITIONS
    ) -> None:
        self.flow = flow
        self.general, self.uneven = frozenset(general), frozenset(uneven)
        self.numbers = NumberRanges(flow, horizon)
        self.plans: dict[LiftedHead, IndexPlan] = {}
        self._places = {item.feature: n for n, item in enumerate(flow.atoms) if isinstance(item, PositionAtom)}
        for item in flow.order:
            self._visit(item)

    def _visit(self, item: int | LiftedHead) -> None:
        if isinstance(item, LiftedHead):
            plan = self._plan(self._split(item))
            self.plans[item] = plan
            for (number, _), known in zip(plan.results, plan.numbers, strict=True):
                self.numbers.atoms[number] = known
            return
        match self.flow.atoms[item]:
            case PositionAtom(feature=feature):
                self.numbers.atoms[item] = feature_range(feature, self.numbers.horizon)
            case UnitAtom(form=form, function=function):
                known = self.numbers.of(form)
                if function == "step":
                    self.numbers.atoms[item] = BITS
                elif known.grid is None or function == "identity":
                    self.numbers.atoms[item] = known
                else:
                    self.numbers.atoms[item] = NumberRange(known.grid, max(known.low, 0), max(known.high, 0))

    def _plan(self, split: _Split) -> IndexPlan:
        head = split.head
        if head.bias not in (None, Distance()):
            return self._dense(split, head.bias)
        if not split.pairs and split.slope.is_zero and split.curve.is_zero:
            return self._uniform(split)
        if not split.pairs:
            return self._by_position(split)
        found: IndexPlan | None = self._record(split)
        if found is None and head.name not in self.general:
            found = ((self._parabola(split) or self._gated(split)) if split.whole else None) or self._matched(split)
        return found or self._groups(split)

    def _split(self, head: LiftedHead) -> _Split:
        results = tuple(self.flow.retrieved(head))
        values = tuple(self.numbers.of(head.value[component]) for _, component in results)
        plain, square = (self._places.get(feature, -2) for feature in (I, I_SQUARED))
        both = list(zip(head.query, head.key, strict=True))
        slope = combination((key.terms.get(plain, Fraction(0)), query) for query, key in both)
        curve = combination((key.terms.get(square, Fraction(0)), query) for query, key in both)
        if head.bias == Distance():
            slope = combination([(ONE, slope)], -ONE)
        pairs: dict[tuple[object, ...], Pair] = {}
        for query, key in both:
            rest = combination([(ONE, key.without([plain, square]))], -key.constant)
            if rest.is_zero:
                continue
            leading = next(iter([*rest.terms.values(), *rest.tokens.values()]))
            direction = rest.scaled(1 / leading)
            before = pairs.get(direction.key, (AffineForm(), direction))[0]
            pairs[direction.key] = (combination([(ONE, before), (leading, query)]), direction)
        kept = tuple((query, key) for query, key in pairs.values() if not query.is_zero)
        if kept and not curve.is_zero:
            kept = (*kept, (curve, AffineForm(terms={square: ONE})))
            curve = AffineForm()
        return _Split(head, results, values, kept, slope, curve)

    def _uniform(self, split: _Split) -> UniformPlan:
        if split.single:
            numbers = tuple(_with_nothing(value) if value.steady else FRACTION for value in split.values)
            which = "first" if split.head.weighting.kind is AttentionKind.LEFTMOST else "last"
            return UniformPlan(*split.served, numbers, f"all keys score the same, so the {which} is chosen")
        numbers = tuple(self._mean(split.head, value) for value in split.values)
        return UniformPlan(*split.served, numbers, "all keys score the same: the mean of what was seen")

    def _mean(self, head: LiftedHead, value: NumberRange) -> NumberRange:
        if not value.steady or head.mask is not Mask.CAUSAL:
            return FRACTION
        most = self.numbers.horizon
        return NumberRange(
            Denominator(value.over, 1), min(value.low * most, value.low), max(value.high * most, value.high)
        )

    def _by_position(self, split: _Split) -> PositionPlan:
        slope, curve = self.numbers.linear([split.slope, split.curve]) or (None, None)
        vertex = None
        if slope and curve and (fixed := curve.fixed) is not None and fixed < 0:
            vertex = slope.divided(-2 * fixed)
        numbers = self._chosen(split, vertex is not None or split.single)
        what = "the score is a parabola of the position"
        if vertex is not None:
            what += " with an integer vertex, so one key is best"
        return PositionPlan(*split.served, numbers, what, (split.slope, split.curve), slope, curve, vertex)

    def _record(self, split: _Split) -> RunningBest | None:
        """The best score so far, if no query changes the score of a key; None if one may."""
        head = split.head
        if head.bias is not None or not split.whole or not all(query.is_constant for query in head.query):
            return None
        form = combination((query.constant, key) for query, key in zip(head.query, head.key, strict=True))
        found = self.numbers.linear([form])
        if not found or found[0].grid.power:
            return None
        why = "the query is constant: a key's score never changes"
        return RunningBest(*split.served, self._chosen(split, split.single), why, self._score(split), found[0])

    def _parabola(self, split: _Split) -> TablePlan | None:
        """A table for -(k-q)² with a smaller part for recency; None if that cannot be proved."""
        recency = self.numbers.linear([split.slope])
        if len(split.pairs) != 2 or recency is None:
            return None
        for first, second in (split.pairs, split.pairs[::-1]):
            lookup = self._lookup(split.head, recency[0], first, second)[0]
            if lookup is None:
                continue
            why = f"the score is {lookup.curve}·(x - q)² for integers x, and {_of_equal_keys(lookup)}"
            numbers, queries, keys = (
                tuple(map(_with_nothing, split.values)),
                (first[0], second[0]),
                (first[1], second[1]),
            )
            return TablePlan(*split.served, numbers, why, lookup, queries, keys, recency[0])
        return None

    def _gated(self, split: _Split) -> GatedTable | None:
        """A plan with a table for each kind of key; None if that cannot be proved."""
        recency = self.numbers.linear([split.slope])
        if split.head.mask is not Mask.CAUSAL or recency is None:
            return None
        for gates, first, second in _gates(split.pairs):
            kinds, extra = _kinds(gates, self.flow.vocabulary)
            if len(extra) > MAX_KINDS:
                continue
            lookup, added = self._lookup(split.head, recency[0], first, second, extra)
            if lookup is None or lookup.vertex.grid.power:
                continue
            why = (
                f"the score is {lookup.curve}·(x - q)² for integers x, and a number for each of {len(extra)} kinds of "
                f"tokens; {_of_equal_keys(lookup)}"
            )
            numbers = tuple(map(_with_nothing, split.values))
            return GatedTable(*split.served, numbers, why, self._score(split), lookup, kinds, added)
        return None

    def _lookup(
        self, head: LiftedHead, recency: LinearNumerator, first: Pair, second: Pair, extra: Iterable[AffineForm] = ()
    ) -> tuple[ParabolaLookup | None, tuple[LinearNumerator, ...]]:
        """Two components as a lookup of an integer, if the position only breaks ties; other forms over its grid."""
        keys = [self.numbers.linear([key]) for _, key in (first, second)]
        queries = self.numbers.linear([*extra, first[0], second[0]])
        if not (keys[0] and keys[1] and queries):
            return None, ()
        x, square, curve = keys[0][0], keys[1][0], queries[-1].fixed
        if (
            x.grid != Denominator()
            or square.grid != Denominator()
            or not x.terms
            or not square.terms
            or curve is None
            or curve >= 0
        ):
            return None, ()
        vertex, grid = queries[-2].divided(-2 * curve), queries[-2].grid
        later = _breaks_ties(head, recency, grid)
        if vertex is None or later is None:
            return None, ()
        return ParabolaLookup(x, square, vertex, curve, grid, later), tuple(queries[:-2])

    def _matched(self, split: _Split) -> MatchingPlan | None:
        """Groups that are found by integers in their keys; None if there are none, or not all that match count."""
        pairs, place = list(split.pairs), self._places.get(I)
        if split.single or split.head.bias is not None:
            return None
        if not split.slope.is_zero and place is not None:  # the position is one of the integers
            pairs.append((split.slope, AffineForm(terms={place: ONE})))
        elif not split.slope.is_zero:
            return None
        if not all(self.numbers.of(key).steady for _, key in pairs):
            return None
        integers = self._integers(pairs)
        used = {k for both, _ in integers for k in both}
        if not integers or not (split.slope.is_zero or len(pairs) - 1 in used):
            return None
        gates = [pair for k, pair in enumerate(pairs) if k not in used]
        ordered = [*gates, *(pair for _, both in integers for pair in both)]
        score = KeyScore(
            tuple(query for query, _ in ordered), tuple(key for _, key in ordered), AffineForm(), fractional=False
        )
        why = (
            f"the mean over the keys that match in {pluralize(len(integers), 'integer')}, found by hash, and in "
            f"{pluralize(len(gates), 'other number')}; checked for every key: what should be a square is one"
        )
        return MatchingPlan(*split.served, self._chosen(split, False), why, score, len(integers))

    def _integers(self, pairs: list[Pair]) -> list[tuple[tuple[int, int], tuple[Pair, Pair]]]:
        """Which components seem to be an integer without bound and its square: their places, and they themselves."""
        found: list[tuple[tuple[int, int], tuple[Pair, Pair]]] = []
        for second, (query, square) in enumerate(pairs):
            curve = self.numbers.linear([query])
            if not curve or (curve[0].fixed or 0) >= 0:
                continue
            taken = {k for both, _ in found for k in both}
            made = {k: _completed(pair, pairs[second]) for k, pair in enumerate(pairs) if not taken & {k, second}}
            fitting = {k: both for k, both in made.items() if both and self._may_be_square(both[0][1], both[1][1])}
            # Of several that fit, the one that was made of the same.
            alike = sorted(fitting, key=lambda k: self._made_of(pairs[k][1]) != self._made_of(square))
            found += [((k, second), fitting[k]) for k in alike[:1]]
        return found

    def _may_be_square(self, integer: AffineForm, square: AffineForm) -> bool:
        """Whether a form may be the square of another, an integer that is not small."""
        y, z = self.numbers.of(integer), self.numbers.of(square)
        return y.grid == z.grid == Denominator() and y.size > MAX_COUNTED_KEYS and z.size >= y.size**2

    def _made_of(self, form: AffineForm) -> set[object]:
        """What a form is made of: heads, units, the position."""
        atoms = (self.flow.atoms[number] for number in form.terms)
        return {atom.head if isinstance(atom, RetrievedAtom) else type(atom) for atom in atoms}

    def _groups(self, split: _Split) -> GroupsPlan:
        score = self._score(split)
        what = (
            f"{pluralize(len(score.keys), 'component')} of the key, {'fractions' if score.fractional else 'integers'}"
        )
        different = self._different(score.keys)
        few = different is not None and different <= MAX_COUNTED_KEYS
        if different is None or not few:
            why = f"{what} of which nothing more is known: every different key may have to be looked at"
        else:
            why = f"{what}; no more than {pluralize(different, 'different key')}, looked at one by one"
        return GroupsPlan(*split.served, self._chosen(split, split.single), why, score, few)

    def _dense(self, split: _Split, bias: Relation) -> LinearScanPlan:
        if not split.curve.is_zero:
            square = (split.curve, AffineForm(terms={self._places[I_SQUARED]: ONE}))
            split = replace(split, pairs=(*split.pairs, square))
        numbers = tuple(_with_nothing(value) if split.single and value.steady else FRACTION for value in split.values)
        why = f"the bias {bias} is any function of two positions, so every key is compared; the time grows with the run"
        return LinearScanPlan(*split.served, numbers, why, self._score(split), bias)

    def _score(self, split: _Split) -> KeyScore:
        queries, keys = tuple(query for query, _ in split.pairs), tuple(key for _, key in split.pairs)
        return KeyScore(queries, keys, split.slope, not all(self.numbers.of(key).steady for key in keys))

    def _different(self, keys: tuple[AffineForm, ...]) -> int | None:
        """No more than so many different keys there are; None if that is not known."""
        count = self.flow.vocabulary if any(key.tokens for key in keys) else 1
        for number in {number for key in keys for number in key.terms}:
            known = self.numbers.atoms[number]
            if known.grid is None or known.grid.power:
                return None
            count *= known.high - known.low + 1
        return count

    def _chosen(self, split: _Split, single: bool) -> tuple[NumberRange, ...]:
        """What is known of values, of one key or as means of several.

        Of integers, means are taken to be integers, too, until one is not: then the head is among the uneven ones.
        """
        whole = split.whole and split.head.name not in self.uneven
        return tuple(_with_nothing(value) if value.steady and (single or whole) else FRACTION for value in split.values)


def _breaks_ties(head: LiftedHead, recency: LinearNumerator, scores: Denominator) -> bool | None:
    """Whether the later of two equal keys is better (or the earlier); None unless the position only breaks ties."""
    if recency.low > 0 or recency.high < 0:
        # slope · j < 1 / (over · s^power), the least difference of two scores of different keys.
        size = max(abs(recency.low), abs(recency.high))
        small = size * scores.over <= recency.grid.over and recency.grid.power > scores.power
        return recency.low > 0 if small else None
    if recency.low == recency.high == 0 and head.weighting.is_unique_hard:
        return head.weighting.kind is AttentionKind.RIGHTMOST
    return None


def _completed(first: Pair, second: Pair) -> tuple[Pair, Pair] | None:
    """The components of a score q·y + c·(y² + b·y) as those of (q + b·c)·y + c·y²; None if the token decides y."""
    (query, y), (curve, square) = first, second
    if not y.terms:
        return None
    leading = next(iter(y.terms))
    factor = square.terms.get(leading, Fraction(0)) / y.terms[leading]
    if not factor:
        return first, second
    return (combination([(ONE, query), (factor, curve)]), y), (curve, combination([(ONE, square), (-factor, y)]))


def _of_equal_keys(lookup: ParabolaLookup) -> str:
    which = "later" if lookup.later else "earlier"
    return f"of equal keys the {which} is better by less than a step; checked for every key: its second component is x²"


def _gates(pairs: tuple[Pair, ...]) -> Iterator[tuple[list[Pair], Pair, Pair]]:
    """The components that the token decides, and the two others, in both orders."""
    gates = [pair for pair in pairs if pair[1].of_token]
    rest = [pair for pair in pairs if not pair[1].of_token]
    if gates and len(rest) == 2:
        yield gates, rest[0], rest[1]
        yield gates, rest[1], rest[0]


def _kinds(gates: list[Pair], vocabulary: int) -> tuple[tuple[int, ...], list[AffineForm]]:
    """The kind of each token, and what each kind adds to the score."""
    found: dict[tuple[Fraction, ...], int] = {}
    kinds = tuple(
        found.setdefault(tuple(key.at_token(token) for _, key in gates), len(found)) for token in range(vocabulary)
    )
    queries = [query for query, _ in gates]
    return kinds, [combination(zip(entry, queries, strict=True)) for entry in found]


def _with_nothing(value: NumberRange) -> NumberRange:
    """A value, or the 0 that a query gets that sees nothing."""
    return NumberRange(value.grid, min(value.low, 0), max(value.high, 0))
