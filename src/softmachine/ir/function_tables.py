"""Function tables: numbers that the token and the position decide.

Of those that the position alone decides, many have a closed form (:class:`PositionFunction`), which holds for every
length. Others are tabulated over the pairs of a position and a token that a domain allows (:class:`FunctionTables`).
Position 0 is special (:class:`FirstPosition`): many constructions begin with a start token, whose value is
retrieved if nothing matches, or which is counted among the keys that match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil, floor, lcm
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softmachine.ir.domain import Domain
from softmachine.ir.facts import ONE, ZERO, Fact, Step, common_step
from softmachine.ir.primitives import Attention, Loop, Named, Norm, Position, Token, Unit, inputs_outside_loops
from softmachine.ir.signal import Affine, Atom, Node, topological_order
from softmachine.transformer.attention import KEY_COMPARISONS, Mask
from softmachine.transformer.features import I_PLUS_ONE, I_SQUARED, RECIPROCAL, Feature, I, Monomial

if TYPE_CHECKING:
    from softmachine.ir.analysis import Analysis

MAX_ROWS = 6000
"""Maximal number of pairs of a position and a token; with more, only functions of the token are tabulated."""
MAX_PREFIX = 300
"""Maximal number of positions that are tabulated if their number is not fixed."""
MAX_POSITIONS = 3000
"""Maximal number of positions of which all scores are computed."""
MAX_ITERATIONS = 100
"""Maximal number of iterations of a loop that are tabulated one by one."""
MAX_INTEGER = 2**61
"""Bound of the integers that are computed in machine words."""
MAX_PERIOD = 8
"""Maximal period, and maximal number of positions with values of their own."""
Entry = tuple[Fraction, Fraction, Fraction]


@dataclass(frozen=True)
class Column:
    """Rational numbers with a common denominator."""

    numerators: NDArray[Any]
    denominator: int

    @staticmethod
    def of(values: Sequence[Fraction]) -> Column:
        """The column of some numbers."""
        over = lcm(*(value.denominator for value in values))
        numerators = [value.numerator * (over // value.denominator) for value in values]
        large = max(map(abs, numerators), default=0) >= MAX_INTEGER
        return Column(np.array(numerators, dtype=object if large else np.int64), over)

    @cached_property
    def size(self) -> int:
        """The largest absolute value of a numerator."""
        return int(np.abs(self.numerators).max(initial=0))

    def fractions(self) -> list[Fraction]:
        """The numbers."""
        return [Fraction(number, self.denominator) for number in self.numerators.tolist()]

    def clip(self, fact: Fact) -> Column:
        """The numbers, between the bounds of a fact."""
        over = lcm(self.denominator, fact.low.denominator, fact.high.denominator)
        numerators = self.numerators * (over // self.denominator)
        return Column(np.clip(numerators, int(fact.low * over), int(fact.high * over)), over)

    def apply(self, activation: str) -> Column:
        """Hidden units of the numbers."""
        if activation == "relu":
            return Column(np.maximum(self.numerators, 0), self.denominator)
        return Column((self.numerators >= 0).astype(np.int64), 1)

    def distinct(self) -> list[Fraction]:
        """The different numbers."""
        return [Fraction(number, self.denominator) for number in set(self.numerators.tolist())]


def sum_columns(parts: Sequence[tuple[Fraction, Column]], constant: Fraction, height: int) -> Column:
    """A weighted sum of columns and a constant."""
    over = lcm(constant.denominator, *(factor.denominator * column.denominator for factor, column in parts))
    factors = [x.numerator * (over // (x.denominator * column.denominator)) for x, column in parts]
    start = constant.numerator * (over // constant.denominator)
    largest = abs(start) + sum(abs(factor) * column.size for factor, (_, column) in zip(factors, parts, strict=True))
    kind: Any = object if largest >= MAX_INTEGER else np.int64
    total = np.full(height, start, dtype=kind)
    for factor, (_, column) in zip(factors, parts, strict=True):
        total = total + column.numerators.astype(kind) * factor
    return Column(total, over)


Table = tuple[NDArray[Any], int]
"""Rows of integers, and a common denominator."""


def stack_columns(columns: Sequence[Column]) -> Table:
    """The distinct rows of some columns."""
    over = lcm(*(column.denominator for column in columns))
    large = any(column.size * (over // column.denominator) >= MAX_INTEGER for column in columns)
    kind: Any = object if large else np.int64
    scaled = [column.numerators.astype(kind) * (over // column.denominator) for column in columns]
    return distinct_rows(np.stack(scaled, axis=1)), over


def distinct_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """The distinct rows of a matrix of integers: by a linear hash, unless two rows collide."""
    if rows.dtype == object:
        return np.array(list(dict.fromkeys(map(tuple, rows.tolist()))), dtype=object).reshape(-1, rows.shape[1])
    hashes = rows @ np.random.default_rng(0).integers(1, 2**62, rows.shape[1])
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    kept = rows[first]
    return kept if bool((kept[place.ravel()] == rows).all()) else np.unique(rows, axis=0)


@dataclass(frozen=True)
class Row:
    """A position and a token that can stand there; without a position, any of 1, 2, …."""

    position: int | None
    token: str


def token_rows(domain: Domain) -> list[Row]:
    """A row for each token at position 0, and for each at a later one."""
    return [*(Row(0, token) for token in sorted(domain.first)), *(Row(None, token) for token in sorted(domain.later))]


def placed_rows(domain: Domain, positions: int) -> list[Row]:
    """A row for each position and token; none if these are too many.

    If the number of positions is not fixed, what a prefix of the rows decides holds at every length.
    """
    count = len(domain.first) + (positions - 1) * len(domain.later)
    if domain.placed is None and (count > MAX_ROWS or positions > MAX_PREFIX):
        return []
    return [Row(i, token) for i in range(positions) for token in sorted(domain.tokens_at(i))]


def visible_scores(mask: Mask, table: NDArray[Any]) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
    """The visible keys of each query, and their scores."""
    keys = np.arange(len(table))
    compare = KEY_COMPARISONS.get(mask)
    for i, row in enumerate(table):
        seen = keys if compare is None else keys[compare(keys, i)]
        yield seen, row[seen]


def is_uniform_causal(node: Attention) -> bool:
    """Whether a head averages over all positions up to its own."""
    return node.mask is Mask.CAUSAL and node.bias is None and not any(form.terms for form in node.key)


class FunctionTables:
    """Columns of numbers that are functions of a row; those that depend on n have none.

    Args:
        rows: The rows.
        is_padded: Whether the number of positions is fixed.
        functions: What the position alone decides at every length; it counts if it is the same at positions 1, 2, ….
    """

    def __init__(
        self,
        rows: Sequence[Row],
        is_padded: bool,
        functions: Mapping[Atom, PositionFunction] = MappingProxyType({}),
    ) -> None:
        self.rows, self.is_padded, self.functions = rows, is_padded, functions
        self.has_positions = bool(rows) and all(row.position is not None for row in rows)
        self._columns: dict[Atom, Column] = {}
        self._found: dict[Node, Callable[[int], Column] | None] = {}
        self._best_keys: dict[Attention, list[NDArray[np.intp]] | None] = {}
        self._iterations: dict[Loop, list[list[Column]] | None] = {}

    def has_form(self, form: Affine) -> bool:
        """Whether a form is a function of the row."""
        return bool(self.rows) and all(self.has(node) for node, _ in form.terms)

    def split(self, form: Affine) -> tuple[Affine, Affine]:
        """The part of a form that is a function of the row, without the constant; and the rest."""
        local = Affine({atom: factor for atom, factor in form.terms.items() if self.has(atom[0])})
        return local, form + local * -ONE

    def has(self, node: Node) -> bool:
        """Whether the numbers of a node are functions of the row."""
        if node not in self._found:
            self._found[node] = self._find(node) if self.rows else None
        return self._found[node] is not None

    def _find(self, node: Node) -> Callable[[int], Column] | None:
        """From each component of a node to its column; None if they are not all functions of the row."""
        functions = [self.functions.get((node, k)) for k in range(len(node.ranges))]
        if all(function is not None and function.later is not None for function in functions):
            return lambda k: self._column_of_function(self.functions[node, k])
        match node:
            case Token():
                return lambda k: self.token_column(node, Affine({(node, k): ONE}))
            case Position() if self.has_positions and not node.feature.needs_length:
                places = [self.rows[k].position or 0 for k in self._first_rows[0]]
                return lambda _: self._at_rows(Column.of(list(map(node.feature.at, places))))
            case Named() if all(map(self.has_form, node.forms)):
                return lambda k: self.column(node.forms[k])
            case Unit() if not isinstance(node, Norm) and all(map(self.has_form, node.forms)):
                return lambda k: self.column(node.forms[k]).apply(node.activation)
            case Attention() if self.has_positions and not node.weighting.is_unique_hard:
                local = all(map(self.is_positional, node.value))
                if local and (is_uniform_causal(node) or self.best_keys(node) is not None):
                    return lambda k: self._at_rows(self.means(node, self.by_position(node.value[k]) or Column.of([])))
            case Loop() if (carried := self.iterations(node)) is not None:
                return carried[-1].__getitem__
        return None

    def _column_of_function(self, function: PositionFunction) -> Column:
        return Column.of([function.at(0) if row.position == 0 else function.later or ZERO for row in self.rows])

    def iterations(self, node: Loop) -> list[list[Column]] | None:
        """What a loop carries at the start of each iteration and at the end, if the body is a function of the row."""
        if node not in self._iterations:
            self._iterations[node] = self._find_iterations(node)
        return self._iterations[node]

    def _find_iterations(self, node: Loop) -> list[list[Column]] | None:
        if isinstance(node.iterations, Feature):
            return None
        times = node.iterations
        if not times <= MAX_ITERATIONS or not all(map(self.has_form, node.initial)):
            return None
        body = list(topological_order(node.body, inputs_outside_loops, {node.carried}))
        for read in body:  # what does not depend on the iteration is found once
            if not self.has(read) and isinstance(read, Attention):
                self.best_keys(read)
        carried = [list(map(self.column, node.initial))]
        for _ in range(times):
            tables = self._with_carried(node, carried[-1])
            if not all(map(tables.has, body)):
                return None
            carried.append(list(map(tables.column, node.body)))
        return carried

    def _with_carried(self, node: Loop, carried: Sequence[Column]) -> FunctionTables:
        """The tables in an iteration that begins with these numbers."""
        found = FunctionTables(self.rows, self.is_padded)
        found._found = {known: columns for known, columns in self._found.items() if columns is not None}
        found._found[node.carried] = carried.__getitem__
        found._best_keys = {head: keys for head, keys in self._best_keys.items() if keys is not None}
        found._columns = dict(self._columns)
        return found

    def scores(self, node: Attention, terms: Iterable[tuple[Affine, Affine]]) -> tuple[NDArray[Any], int] | None:
        """The scores of all queries and keys, times a common denominator; None if positions do not decide them.

        The visible keys must not depend on the length.
        """
        fixed = self.is_padded or node.mask.is_causal
        if not fixed or not self.rows or node.bias is not None or len(self._first_rows[0]) > MAX_POSITIONS:
            return None
        columns = []
        for query, key in terms:
            queries = self.by_position(query)
            keys = None if queries is None else self.by_position(key)
            if queries is None or keys is None:
                return None
            columns.append((queries, keys))
        over = lcm(*(query.denominator * key.denominator for query, key in columns))
        factors = [over // (query.denominator * key.denominator) for query, key in columns]
        largest = sum(factor * q.size * k.size for factor, (q, k) in zip(factors, columns, strict=True))
        kind: Any = object if largest >= MAX_INTEGER else np.int64
        positions = len(self._first_rows[0])
        total = np.zeros((positions, positions), dtype=kind)
        for factor, (queries, keys) in zip(factors, columns, strict=True):
            total += np.outer(queries.numerators.astype(kind) * factor, keys.numerators.astype(kind))
        return total, over

    def best_keys(self, node: Attention) -> list[NDArray[np.intp]] | None:
        """The visible keys with the best score at each position, if the positions decide the scores of a hard head."""
        if not node.weighting.is_hard:
            return None
        if node not in self._best_keys:
            found = self.scores(node, [pair for pair in zip(node.query, node.key, strict=True) if pair[1].terms])
            rows = [] if found is None else visible_scores(node.mask, found[0])
            best = [seen[row == row.max()] if len(row) else seen for seen, row in rows]
            self._best_keys[node] = None if found is None else best
        return self._best_keys[node]

    def is_positional(self, form: Affine) -> bool:
        """Whether the position alone decides a form."""
        return self.by_position(form) is not None

    @cached_property
    def _first_rows(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first row of each position, and the index of the position of each row."""
        positions = np.array([row.position or 0 for row in self.rows], dtype=np.intp)
        _, first, inverse = np.unique(positions, return_index=True, return_inverse=True)
        return first, inverse.ravel()

    def by_position(self, form: Affine) -> Column | None:
        """The value at each position, if the position alone decides it."""
        if not self.has_positions or not self.has_form(form):
            return None
        column = self.column(form)
        values = Column(column.numerators[self._first_rows[0]], column.denominator)
        return values if bool((self._at_rows(values).numerators == column.numerators).all()) else None

    def _at_rows(self, values: Column) -> Column:
        """From a value at each position to a value in each row."""
        return Column(values.numerators[self._first_rows[1]], values.denominator)

    def values(self, form: Affine, *, start: bool) -> set[Fraction]:
        """The values of a form at position 0, or at later ones."""
        column = self.column(form)
        places = [k for k, row in enumerate(self.rows) if (row.position == 0) == start]
        return {Fraction(x, column.denominator) for x in set(column.numerators[places].tolist())}

    def column(self, form: Affine) -> Column:
        """The value of a form in each row."""
        parts = [(f, self.atom(atom)) for atom, f in form.terms.items() if not isinstance(atom[0], Token)]
        tokens = list(dict.fromkeys(node for node, _ in form.terms if isinstance(node, Token)))
        parts += [(Fraction(1), self.token_column(node, form)) for node in tokens]
        return sum_columns(parts, form.constant, len(self.rows))

    @cached_property
    def _tokens(self) -> tuple[dict[str, int], NDArray[np.intp]]:
        """The tokens with an index, and the index of the token of each row."""
        index = {token: k for k, token in enumerate(dict.fromkeys(row.token for row in self.rows))}
        return index, np.array([index[row.token] for row in self.rows], dtype=np.intp)

    def token_column(self, node: Token, form: Affine) -> Column:
        """The sum of the terms of a form that have atoms of a token table, in each row."""
        index, places = self._tokens
        factors = {k: factor for (own, k), factor in form.terms.items() if own is node}
        values: dict[int, Fraction] = {}
        for token, place in index.items():
            for k in factors.keys() & node.table.get(token, {}).keys():
                values[place] = values.get(place, ZERO) + factors[k] * node.table[token][k]
        column = Column.of([*values.values(), ZERO])
        numerators = np.zeros(len(index), dtype=column.numerators.dtype)
        numerators[list(values)] = column.numerators[:-1]
        return Column(numerators[places], column.denominator)

    def atom(self, atom: Atom) -> Column:
        """The value of an atom in each row."""
        if atom not in self._columns:
            find = self._found[atom[0]] if self.has(atom[0]) else None
            if find is None:
                raise TypeError(f"{atom[0]!r} is not a function of token and position")
            self._columns[atom] = find(atom[1])
        return self._columns[atom]

    def means(self, node: Attention, values: Column) -> Column:
        """The mean of the values at the best keys of each position; 0 without keys."""
        if is_uniform_causal(node):
            large = values.size * len(values.numerators) >= MAX_INTEGER
            sums = np.cumsum(values.numerators.astype(object if large else np.int64)).tolist()
            counts = list(range(1, len(sums) + 1))
        else:
            chosen = self.best_keys(node) or []
            sums, counts = [int(values.numerators[keys].sum()) for keys in chosen], list(map(len, chosen))
        over = values.denominator
        return Column.of([Fraction(x, over * c) if c else ZERO for x, c in zip(sums, counts, strict=True)])

    def distinct(self, forms: Iterable[Affine]) -> set[tuple[Fraction, ...]]:
        """The combinations of values that some forms have in one row."""
        rows, over = stack_columns([self.column(form) for form in forms])
        return {tuple(Fraction(x, over) for x in row) for row in rows.tolist()}


@dataclass(frozen=True)
class PositionFunction:
    """A function of the position i, in closed form.

    It is given by its values at the first positions and, from there on, by a + b/(i+1) + c(i+1), where i modulo a
    period decides a, b and c. Sums and units of such functions are such functions again, and so are means of functions
    with b = c = 0: the mean of (-1)^j over j ≤ i is 1/(i+1) if i is even, else 0.

    Args:
        start: The values at the first positions.
        cycle: From there on, the value is a + b/(i+1) + c(i+1), for the entry (a, b, c) at i modulo their number.
    """

    start: tuple[Fraction, ...]
    cycle: tuple[Entry, ...]

    @staticmethod
    def of_feature(feature: Feature) -> PositionFunction | None:
        """A periodic feature, or a multiple of i, i+1 or 1/(i+1)."""
        factor = feature.factor if isinstance(feature, Monomial) else ONE
        entries = {I: (-factor, ZERO, factor), I_PLUS_ONE: (ZERO, ZERO, factor), RECIPROCAL: (ZERO, factor, ZERO)}
        if isinstance(feature, Monomial) and feature * (1 / factor) in entries:
            return PositionFunction((), (entries[feature * (1 / factor)],))
        period = None if feature.needs_length else feature.value_period
        if period is None or period > MAX_PERIOD:
            return None
        return PositionFunction((), tuple((feature.at(i), ZERO, ZERO) for i in range(period)))

    @staticmethod
    def sum(parts: Sequence[tuple[Fraction, PositionFunction]], constant: Fraction) -> PositionFunction | None:
        """A weighted sum and a constant."""
        period = lcm(*(len(part.cycle) for _, part in parts))
        length = max((len(part.start) for _, part in parts), default=0)
        if period > MAX_PERIOD:
            return None
        start = (constant + sum((w * part.at(i) for w, part in parts), ZERO) for i in range(length))
        cycle = []
        for r in range(period):
            terms = zip(*([w * x for x in part.cycle[r % len(part.cycle)]] for w, part in parts), strict=True)
            a, b, c = (sum(own, ZERO) for own in terms)
            cycle.append((constant + a, b, c))
        return PositionFunction(tuple(start), tuple(cycle))

    def at(self, i: int) -> Fraction:
        """The value at a position."""
        a, b, c = self.cycle[i % len(self.cycle)]
        return self.start[i] if i < len(self.start) else a + b / (i + 1) + c * (i + 1)

    def apply(self, activation: str) -> PositionFunction | None:
        """A hidden unit of it: max(0, x) if the activation is "relu", else whether x ≥ 0.

        The sign is that of c where (i+1)|c| > |a| + |b|, and without c that of a where (i+1)|a| > |b|.
        """
        ends = ((abs(a) + abs(b)) / abs(c) if c else abs(b / a) if a else ZERO for a, b, c in self.cycle)
        length = max(len(self.start), floor(max(ends)))
        if length > MAX_PERIOD:
            return None
        is_relu, one, none = activation == "relu", (ONE, ZERO, ZERO), (ZERO, ZERO, ZERO)
        cycle = []
        for a, b, c in self.cycle:
            sign = c or a or b
            positive = (a, b, c) if is_relu else one
            cycle.append(positive if sign > 0 or (not sign and not is_relu) else none)
        values = map(self.at, range(length))
        return PositionFunction(tuple(max(x, ZERO) if is_relu else Fraction(x >= 0) for x in values), tuple(cycle))

    def mean(self) -> PositionFunction | None:
        """The mean over all positions up to i; None if it is no such function.

        The sum over j ≤ i of a periodic function is A(i+1) + B, where A is its mean and i modulo the period decides B.
        """
        if not self.is_periodic:
            return None
        first, period = len(self.start), len(self.cycle)
        average = sum((a for a, _, _ in self.cycle), ZERO) / period
        sums = list(accumulate(map(self.at, range(first + period))))
        rests = {i % period: sums[i] - average * (i + 1) for i in range(first, first + period)}
        start = tuple(sums[i] / (i + 1) for i in range(first))
        return PositionFunction(start, tuple((average, rests[r], ZERO) for r in range(period)))

    @property
    def is_periodic(self) -> bool:
        """Whether it is periodic after the first positions."""
        return not any(b or c for _, b, c in self.cycle)

    @property
    def later(self) -> Fraction | None:
        """The value at positions 1, 2, …, if it is one."""
        values = {*self.start[1:], *(a for a, _, _ in self.cycle)}
        return values.pop() if len(values) == 1 and self.is_periodic else None

    @property
    def reciprocal(self) -> tuple[Fraction, Fraction] | None:
        """(a, b), if the value is a + b/(i+1) at all positions."""
        a, b, _ = self.cycle[0]
        same = all(entry == (a, b, ZERO) for entry in self.cycle)
        return (a, b) if same and all(x == a + b / (i + 1) for i, x in enumerate(self.start)) else None

    def fact(self, positions: int) -> Fact | None:
        """What is known of the value at the first positions; None if it has a c."""
        if any(c for _, _, c in self.cycle):
            return None
        first, period = min(len(self.start), positions), len(self.cycle)
        values = set(self.start[:positions])
        ends = {positions - 1 - k for k in range(period)} | {first + k for k in range(period)}
        values |= {self.at(i) for i in ends if first <= i < positions}
        if self.is_periodic:
            return Fact.of(values)
        scaled = (x * (i + 1) for i, x in enumerate(self.start[:positions]))
        step = Step(common_step([*scaled, *(x for entry in self.cycle for x in entry)]), next=1)
        exact = step if self.reciprocal == (ZERO, step.factor) else None
        return Fact(min(values), max(values), step, step, exact=exact)


class FirstPosition(FunctionTables):
    """Position 0: a row for each token there. Under a causal mask, it sees only itself.

    Args:
        analysis: The facts.
    """

    def __init__(self, analysis: Analysis) -> None:
        super().__init__([Row(0, token) for token in sorted(analysis.domain.first)], False, analysis.functions)
        self.analysis = analysis

    def _find(self, node: Node) -> Callable[[int], Column] | None:
        zero = self.column(Affine({}))
        match node:
            case Attention(mask=Mask.PAST):
                return lambda _: zero
            case Attention():
                alone = node.mask is Mask.CAUSAL or self.is_best_of_first(node)
                return (lambda k: self.column(node.value[k])) if alone and all(map(self.has_form, node.value)) else None
            case Position(feature=Monomial() as feature) if feature.i > 0:
                return lambda _: zero
            case Loop():
                return None
        return super()._find(node)

    def value(self, form: Affine) -> Fraction | None:
        """The value of a form at position 0, if it is the same for all inputs."""
        column = self.by_position(form)
        return None if column is None else column.fractions()[0]

    def split_value(self, form: Affine) -> tuple[Fraction, Affine]:
        """The value at position 0 of the part of a form that is known there, and the rest."""
        local, rest = self.split(form)
        if (value := self.value(local)) is not None:
            return value + form.constant, rest + Affine({}, -form.constant)
        known = Affine({a: f for a, f in local.terms.items() if self.is_positional(Affine({a: ONE}))}, form.constant)
        return self.value(known) or ZERO, form + known * -ONE

    def later(self, form: Affine) -> Affine:
        """The form at positions 1, 2, …: what the token decides is a constant, if it is the same for all tokens."""
        local, rest = self.analysis.by_token.split(form)
        values = self.analysis.by_token.values(local, start=False)
        return rest + Affine({}, values.pop()) if len(values) == 1 else form

    def high_later(self, form: Affine) -> Fraction:
        """An upper bound of a form at positions 1, 2, …: of what tokens decide, of i and i², and of the rest."""
        local, rest = self.analysis.by_token.split(form)
        index = {a: f for a, f in rest.terms.items() if isinstance(a[0], Position) and a[0].feature in (I, I_SQUARED)}
        most = max(self.analysis.by_token.values(local, start=False), default=ZERO) + self._high_of_index(index)
        return min(self.analysis.of(self.later(form)).high, self.analysis.of(rest + Affine(index) * -ONE).high + most)

    def _high_of_index(self, terms: Mapping[Atom, Fraction]) -> Fraction:
        """The largest value of a i + b i² at positions i = 1, 2, …: at an end, or next to -a/2b."""
        factors = {node.feature: factor for (node, _), factor in terms.items() if isinstance(node, Position)}
        a, b = (Fraction(factors.get(feature, 0)) for feature in (I, I_SQUARED))
        last = max(self.analysis.positions - 1, 1)
        places: set[int] = {1, last, *((floor(-a / b / 2), ceil(-a / b / 2)) if b else ())}
        return max((a * i + b * i * i for i in places if 1 <= i <= last), default=ZERO)

    def is_best(self, node: Attention) -> bool:
        """Whether position 0 is among the best keys of all queries that see it."""
        tables = self.analysis.by_token
        local = all(map(tables.has_form, node.query))
        return local and all(self._margin(node, row) >= 0 for row in tables.distinct(node.query))

    def is_best_of_first(self, node: Attention) -> bool:
        """Whether position 0 is the only best key of the query at position 0."""
        queries = [value for query in node.query if (value := self.value(query)) is not None]
        return len(queries) == len(node.query) and self._margin(node, queries) > 0

    def _margin(self, node: Attention, query: Sequence[Fraction]) -> Fraction:
        """By how much the score of position 0 exceeds those of other keys, at least; negative if it is not visible."""
        if node.mask not in (Mask.CAUSAL, Mask.ALL, Mask.PAST) or self.analysis.is_padded or node.bias is not None:
            return -ONE
        score = Affine.sum(key * own for own, key in zip(query, node.key, strict=True))
        value, rest = self.split_value(score)
        return value + self.analysis.of(rest).low - self.high_later(score)
