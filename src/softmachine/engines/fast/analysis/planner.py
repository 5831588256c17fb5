"""Planner: derives the range of each number, in order of computation, and from these an index for each head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

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
from softmachine.engines.fast.analysis.unrolled_program import UnrolledHead, UnrolledProgram
from softmachine.ir.primitives import Named, Position, Unit
from softmachine.ir.signal import Affine, Atom
from softmachine.support.text import pluralize
from softmachine.transformer.attention import AttentionKind, Mask
from softmachine.transformer.features import I_SQUARED, Distance, Feature, I, Relation

ZERO, ONE = Fraction(0), Fraction(1)
MAX_COUNTED_KEYS = 128
"""The maximal number of different keys that are compared one by one; integers found by hash have larger ranges."""
MAX_KINDS = 4
"""The maximal number of kinds of keys that have tables of their own."""
Pair = tuple[Affine, Affine]


@dataclass(frozen=True, eq=False)
class _Split(HeadPlan):
    """A head, the components that it retrieves, and its score: Σ query · key + slope · j + curve · j²."""

    pairs: tuple[Pair, ...]
    slope: Affine
    curve: Affine

    @property
    def common(self) -> tuple[UnrolledHead, tuple[int, ...], tuple[NumberRange, ...]]:
        """The first fields of every plan."""
        return self.head, self.components, self.values


class Planner:
    """Proves the range of each number of a program, in order, and chooses an index for each head.

    Args:
        program: The program.
        general: The names of heads that have to use the general index.
        uneven: The names of heads whose means of integers are not all integers.
        horizon: The maximal number of positions for which ranges hold.
    """

    def __init__(
        self,
        program: UnrolledProgram,
        general: Iterable[str] = (),
        uneven: Iterable[str] = (),
        horizon: int = MAX_POSITIONS,
    ) -> None:
        self.program = program
        self.general, self.uneven = frozenset(general), frozenset(uneven)
        self.numbers = NumberRanges(program, horizon)
        self.plans: dict[UnrolledHead, IndexPlan] = {}
        self._features: dict[Feature, Atom] = {
            atom[0].feature: atom for atom in program.atoms if isinstance(atom[0], Position)
        }
        for item in program.order:
            self._visit(item)

    def _visit(self, item: Atom | UnrolledHead) -> None:
        ranges = self.numbers.atoms
        if isinstance(item, UnrolledHead):
            plan = self.plans[item] = self._plan(self._split(item))
            ranges |= {(item, c): known for c, known in zip(plan.components, plan.numbers, strict=True)}
            return
        match item[0]:
            case Position(feature=feature):
                ranges[item] = feature_range(feature, self.numbers.horizon)
            case Named(forms=(form,)):
                ranges[item] = self.numbers.of(form)
            case Unit(forms=(form,), activation=activation):
                known = self.numbers.of(form)
                if activation == "step":
                    ranges[item] = BITS
                elif known.grid is None:
                    ranges[item] = known
                else:
                    ranges[item] = NumberRange(known.grid, max(known.low, 0), max(known.high, 0))

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

    def _split(self, head: UnrolledHead) -> _Split:
        components = tuple(self.program.components_read(head))
        values = tuple(self.numbers.of(head.value[c]) for c in components)
        plain, square = self._features.get(I), self._features.get(I_SQUARED)
        both = list(zip(head.query, head.key, strict=True))
        slope, curve = (
            Affine.combine((key.terms.get(atom, ZERO), query) for query, key in both) if atom else Affine({})
            for atom in (plain, square)
        )
        if head.bias == Distance():
            slope = Affine(slope.terms, slope.constant - 1)
        pairs: dict[object, Pair] = {}
        for query, key in both:
            rest = Affine({atom: factor for atom, factor in key.terms.items() if atom not in (plain, square)})
            if not rest.terms:
                continue
            leading = next(iter([*rest.other_terms.values(), *rest.token_terms.values()]))
            direction = rest * (1 / leading)
            before = pairs.get(direction.key, (Affine({}), direction))[0]
            pairs[direction.key] = (Affine.combine([(ONE, before), (leading, query)]), direction)
        kept = tuple((query, key) for query, key in pairs.values() if not query.is_zero)
        if kept and square and not curve.is_zero:
            kept, curve = (*kept, (curve, Affine({square: ONE}))), Affine({})
        return _Split(head, components, values, kept, slope, curve)

    def _uniform(self, split: _Split) -> UniformPlan:
        if split.single:
            numbers = tuple(_with_zero(value) if value.steady else FRACTION for value in split.values)
            which = "first" if split.head.weighting.kind is AttentionKind.LEFTMOST else "last"
            return UniformPlan(*split.common, numbers, f"all keys score the same, so the {which} is chosen")
        numbers = tuple(self._mean(split.head, value) for value in split.values)
        return UniformPlan(*split.common, numbers, "all keys score the same: the mean of the visible values")

    def _mean(self, head: UnrolledHead, value: NumberRange) -> NumberRange:
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
        return PositionPlan(*split.common, numbers, what, (split.slope, split.curve), slope, curve, vertex)

    def _record(self, split: _Split) -> RunningBest | None:
        """The best score so far, if the query is constant and the score an integer over a constant."""
        head = split.head
        if head.bias is not None or not split.whole or any(query.terms for query in head.query):
            return None
        form = Affine.combine((query.constant, key) for query, key in zip(head.query, head.key, strict=True))
        found = self.numbers.linear([form])
        if not found or found[0].grid.power:
            return None
        why = "the query is constant: a key's score never changes"
        return RunningBest(*split.common, self._chosen(split, split.single), why, self._score(split), found[0])

    def _parabola(self, split: _Split) -> TablePlan | None:
        """A table for -(k-q)² with a smaller part for recency; None if this form of the score is not proved."""
        recency = self.numbers.linear([split.slope])
        if len(split.pairs) != 2 or recency is None:
            return None
        for first, second in (split.pairs, split.pairs[::-1]):
            lookup = self._lookup(split.head, recency[0], first, second)[0]
            if lookup is None:
                continue
            why = f"the score is {lookup.curve}·(x - q)² for integers x, and {_of_equal_keys(lookup)}"
            numbers, queries, keys = (
                tuple(map(_with_zero, split.values)),
                (first[0], second[0]),
                (first[1], second[1]),
            )
            return TablePlan(*split.common, numbers, why, lookup, queries, keys, recency[0])
        return None

    def _gated(self, split: _Split) -> GatedTable | None:
        """A table for each kind of key; None if this form of the score is not proved."""
        recency = self.numbers.linear([split.slope])
        if split.head.mask is not Mask.CAUSAL or recency is None:
            return None
        for gates, first, second in _gates(split.pairs):
            kinds, extra = _kinds(gates, self.program.vocabulary_size)
            if len(extra) > MAX_KINDS:
                continue
            lookup, added = self._lookup(split.head, recency[0], first, second, extra)
            if lookup is None or lookup.vertex.grid.power:
                continue
            why = (
                f"the score is {lookup.curve}·(x - q)² for integers x, and a number for each of {len(extra)} kinds of "
                f"tokens; {_of_equal_keys(lookup)}"
            )
            numbers = tuple(map(_with_zero, split.values))
            return GatedTable(*split.common, numbers, why, self._score(split), lookup, kinds, added)
        return None

    def _lookup(
        self, head: UnrolledHead, recency: LinearNumerator, first: Pair, second: Pair, extra: Iterable[Affine] = ()
    ) -> tuple[ParabolaLookup | None, tuple[LinearNumerator, ...]]:
        """Two components as a lookup of an integer, if the position only breaks ties; and other forms on its grid."""
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
        """Groups found by integers in their keys; None if no key has one, or if one of the matching keys is chosen."""
        pairs, place = list(split.pairs), self._features.get(I)
        if split.single or split.head.bias is not None:
            return None
        if not split.slope.is_zero and place is not None:  # the position is one of the integers
            pairs.append((split.slope, Affine({place: ONE})))
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
            tuple(query for query, _ in ordered), tuple(key for _, key in ordered), Affine({}), fractional=False
        )
        why = (
            f"the mean over the keys that match in {pluralize(len(integers), 'integer')}, found by hash, and in "
            f"{pluralize(len(gates), 'other number')}; every key is checked to hold an integer and its square"
        )
        return MatchingPlan(*split.common, self._chosen(split, False), why, score, len(integers))

    def _integers(self, pairs: list[Pair]) -> list[tuple[tuple[int, int], tuple[Pair, Pair]]]:
        """The components that may be a large integer and its square: their indices, and the components."""
        found: list[tuple[tuple[int, int], tuple[Pair, Pair]]] = []
        for second, (query, square) in enumerate(pairs):
            curve = self.numbers.linear([query])
            if not curve or (curve[0].fixed or 0) >= 0:
                continue
            taken = {k for both, _ in found for k in both}
            made = {k: _completed(pair, pairs[second]) for k, pair in enumerate(pairs) if not taken & {k, second}}
            fitting = {k: both for k, both in made.items() if both and self._may_be_square(both[0][1], both[1][1])}
            # Prefer one that is computed from the same sources as the square.
            alike = sorted(fitting, key=lambda k: _sources(pairs[k][1]) != _sources(square))
            found += [((k, second), fitting[k]) for k in alike[:1]]
        return found

    def _may_be_square(self, integer: Affine, square: Affine) -> bool:
        """Whether a form may be the square of another, an integer with a large range."""
        y, z = self.numbers.of(integer), self.numbers.of(square)
        return y.grid == z.grid == Denominator() and y.size > MAX_COUNTED_KEYS and z.size >= y.size**2

    def _groups(self, split: _Split) -> GroupsPlan:
        score = self._score(split)
        what = (
            f"{pluralize(len(score.keys), 'component')} of the key, {'fractions' if score.fractional else 'integers'}"
        )
        different = self._different(score.keys)
        few = different is not None and different <= MAX_COUNTED_KEYS
        if different is None or not few:
            why = f"{what} without a proved structure: a query may have to compare all different keys"
        else:
            why = f"{what}; at most {pluralize(different, 'different key')}, compared one by one"
        return GroupsPlan(*split.common, self._chosen(split, split.single), why, score, few)

    def _dense(self, split: _Split, bias: Relation) -> LinearScanPlan:
        if not split.curve.is_zero:
            square = (split.curve, Affine({self._features[I_SQUARED]: ONE}))
            split = replace(split, pairs=(*split.pairs, square))
        numbers = tuple(_with_zero(value) if split.single and value.steady else FRACTION for value in split.values)
        what = f"the bias {bias} is an arbitrary function of two positions"
        why = f"{what}, so every key is compared; the time grows with the run"
        return LinearScanPlan(*split.common, numbers, why, self._score(split), bias)

    def _score(self, split: _Split) -> KeyScore:
        queries, keys = tuple(query for query, _ in split.pairs), tuple(key for _, key in split.pairs)
        return KeyScore(queries, keys, split.slope, not all(self.numbers.of(key).steady for key in keys))

    def _different(self, keys: tuple[Affine, ...]) -> int | None:
        """An upper bound of the number of different keys; None if none is known."""
        count = self.program.vocabulary_size if any(key.token_terms for key in keys) else 1
        for atom in {atom for key in keys for atom in key.other_terms}:
            known = self.numbers.atoms[atom]
            if known.grid is None or known.grid.power:
                return None
            count *= known.high - known.low + 1
        return count

    def _chosen(self, split: _Split, single: bool) -> tuple[NumberRange, ...]:
        """The ranges of retrieved values, of one key or as means of several.

        Means of integers are assumed to be integers, unless the head is one of the uneven ones.
        """
        whole = split.whole and split.head.name not in self.uneven
        return tuple(_with_zero(value) if value.steady and (single or whole) else FRACTION for value in split.values)


def _breaks_ties(head: UnrolledHead, recency: LinearNumerator, scores: Denominator) -> bool | None:
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
    """The components of a score q·y + c·(y² + b·y) as those of (q + b·c)·y + c·y²; None if y is a token table."""
    (query, y), (curve, square) = first, second
    if not y.other_terms:
        return None
    leading = next(iter(y.other_terms))
    factor = square.terms.get(leading, ZERO) / y.terms[leading]
    if not factor:
        return first, second
    return (Affine.combine([(ONE, query), (factor, curve)]), y), (curve, Affine.combine([(ONE, square), (-factor, y)]))


def _sources(form: Affine) -> set[object]:
    """The heads, and the types of the other nodes, that a form reads."""
    return {node if isinstance(node, UnrolledHead) else type(node) for node, _ in form.other_terms}


def _of_equal_keys(lookup: ParabolaLookup) -> str:
    which = "later" if lookup.later else "earlier"
    return f"of equal keys the {which} is better by less than a step; checked for every key: its second component is x²"


def _gates(pairs: tuple[Pair, ...]) -> Iterator[tuple[list[Pair], Pair, Pair]]:
    """The components that are token tables, and the two others, in both orders."""
    gates = [pair for pair in pairs if not pair[1].other_terms]
    rest = [pair for pair in pairs if pair[1].other_terms]
    if gates and len(rest) == 2:
        yield gates, rest[0], rest[1]
        yield gates, rest[1], rest[0]


def _kinds(gates: list[Pair], vocabulary: int) -> tuple[tuple[int, ...], list[Affine]]:
    """The kind of each token, and the part of the score that each kind adds."""
    found: dict[tuple[Fraction, ...], int] = {}
    kinds = tuple(
        found.setdefault(tuple(key.at_token(token) for _, key in gates), len(found)) for token in range(vocabulary)
    )
    queries = [query for query, _ in gates]
    return kinds, [Affine.combine(zip(entry, queries, strict=True)) for entry in found]


def _with_zero(value: NumberRange) -> NumberRange:
    """The range of a value, or of 0, the result of a query without visible keys."""
    return NumberRange(value.grid, min(value.low, 0), max(value.high, 0))
