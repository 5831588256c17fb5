"""A decoder's weights as tables: what `kernel` interprets.

Everything that a position computes has a place in one vector: the residual stream, position features, queries, keys,
values, what heads find, hidden units, logits. A coordinate that is added to has a new place from then on, so that
nothing is written twice. The weights are sparse rows from places to a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from softmachine.engines.fast.analysis.flow import Retrieved, Unit
from softmachine.engines.fast.analysis.grids import SAFE, Declined
from softmachine.engines.fast.indexes.kernels import Integers
from softmachine.engines.fast.tables import rows as row
from softmachine.engines.fast.tables.kernel import HEAD, ROWS, Weights
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import (
    I_SQUARED,
    INVERSE,
    Bit,
    Distance,
    Feature,
    I,
    Monomial,
    PowerOfTwo,
    Prime,
    Residue,
)
from softmachine.transformer.weights import AffineMap, Head, Layer, Transformer

Entries = Sequence[tuple[int, Fraction]]
MOST_PARTS = 1 << 12
"""Keys with more components are declined, so that the scores of small integers fit."""


@dataclass(frozen=True, eq=False)
class TableHead:
    """A head: the index that serves it, where in the vector things are, and which components of the value are used.

    Its query has a number among all queries and keys, as ``part``.
    """

    head: Head
    layer: str
    index: int
    query: int
    width: int
    value: int
    size: int
    found: int
    time: int
    used: tuple[int, ...]
    part: int


@dataclass(frozen=True, eq=False)
class TableIndex:
    """Keys that one or more heads look for something in: where the present one is, and its number as a ``part``."""

    key: int
    parts: int
    causal: bool
    part: int


@dataclass(frozen=True, eq=False)
class Program:
    """The tables of a decoder.

    Args:
        places: How long the vector is.
        weights: The weights.
        heads: The heads.
        indexes: Their keys.
        hidden: For each layer (each turn of a loop has layers of its own) the place of its first unit.
        parts: How many queries and keys there are.
    """

    places: int
    weights: Weights
    heads: tuple[TableHead, ...]
    indexes: tuple[TableIndex, ...]
    hidden: tuple[int, ...]
    parts: int

    def place(self, item: Unit | Retrieved) -> int:
        """Where in the vector an atom of the flow is."""
        if isinstance(item, Unit):
            return self.hidden[item.layer] + item.number
        head = self.heads[item.head]
        return head.found + head.used.index(item.component)


def tabulate(transformer: Transformer) -> Program:
    """The tables of a decoder.

    Raises:
        Declined: If there is a head or a feature that the engine does not know.
    """
    return _Builder(transformer).program()


class _Builder:
    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer
        self.places = transformer.width
        self.stream = list(range(transformer.width))
        """Where each coordinate is at present."""
        self.parts: list[tuple[int, int]] = []
        """For each query and each key where it begins, and where it ends."""
        self.rows: list[tuple[int, int, int, int, bool, int]] = []
        """For each row where it goes to, its activation, its bias, the denominator, whether it is large, its level."""
        self.levels = [0]
        """The first row of each level, and how many rows there are in those that are complete."""
        self.entries: list[tuple[int, int]] = []
        """The columns and weights of all rows."""
        self.starts = [0]
        self.ops: list[tuple[int, int]] = []
        self.features: list[tuple[int, int, int, int]] = []
        self.heads: list[TableHead] = []
        self.indexes: list[TableIndex] = []
        self.hidden: list[int] = []
        self._known: dict[object, int] = {}
        self._asked: dict[object, tuple[int, int]] = {}

    def program(self) -> Program:
        transformer = self.transformer
        self.embed()
        depth = 0
        for block in transformer.blocks:
            for turn in range(block.count(None)):
                for number, layer in enumerate(block.layers, depth + 1):
                    self.layer(layer, f"layer {number}" + (f", turn {turn + 1}" if block.count(None) > 1 else ""))
            depth += len(block.layers)
        logits, level = self.room(len(transformer.outputs)), len(self.levels) - 1
        self.affine(logits, transformer.unembedding, range(len(transformer.outputs)))
        self.levels.append(len(self.rows))
        embedding, overs = self.embedding()
        past = [h for h, head in enumerate(self.heads) if not self.indexes[head.index].causal]
        weights = Weights(
            rows=self.tabulated_rows(),
            embedding=embedding,
            overs=overs,
            features=_table(self.features, 4),
            ops=_table(self.ops, 2),
            past=np.array(past, dtype=np.int64),
            logits=np.array([logits, len(transformer.outputs), level], dtype=np.int64),
        )
        heads, indexes = tuple(self.heads), tuple(self.indexes)
        return Program(self.places, weights, heads, indexes, tuple(self.hidden), len(self.parts))

    def tabulated_rows(self) -> row.Rows:
        """All rows, and who reads what."""
        where, acts, biases, overs, large, levels = _table(self.rows, 6).T.copy()
        columns, weights = _table(self.entries, 2).T.copy()
        starts = np.array(self.starts)
        reads = np.repeat(np.arange(len(where)), np.diff(starts))
        order = np.argsort(columns, kind="stable")
        ends = np.cumsum(np.bincount(columns, minlength=self.places))
        parts = np.full(self.places, -1, dtype=np.int64)
        for number, (begin, end) in enumerate(self.parts):
            parts[begin:end] = number
        none, waits = np.zeros_like(where), np.ones_like(where)
        return row.Rows(
            sums=np.stack([np.where(large != 0, 0, biases), none, waits, where, acts, overs, large, levels], axis=1),
            biases=biases,
            starts=starts,
            columns=columns,
            weights=weights,
            firsts=np.array(self.levels[:-1]),
            uses=np.stack([reads, np.where(large[reads] != 0, 0, weights)], axis=1)[order],
            links=np.stack([parts, np.concatenate([[0], ends[:-1]]), ends, np.zeros_like(ends)], axis=1),
        )

    def room(self, count: int) -> int:
        """New places; the first of them."""
        self.places += count
        return self.places - count

    def row(self, to: int, entries: Iterable[tuple[int, Fraction]], bias: Fraction, act: int = row.KEEP) -> None:
        """A row: the sum of entries and a bias, in a place."""
        kept = [(column, weight) for column, weight in entries if weight]
        over = lcm(bias.denominator, *(weight.denominator for _, weight in kept))
        weights = [int(weight * over) for _, weight in kept]
        if max(map(abs, [*weights, int(bias * over), over])) >= SAFE:
            raise Declined("its weights are not integers of 62 bits over a common denominator")
        self.entries += zip((column for column, _ in kept), weights, strict=True)
        self.starts.append(len(self.entries))
        large = sum(map(abs, weights)) * row.SMALL + abs(int(bias * over)) >= SAFE
        self.rows.append((to, act, int(bias * over), over, large, len(self.levels) - 1))

    def affine(self, to: int, affine: AffineMap, which: Iterable[int], acts: Sequence[int] = ()) -> None:
        """Rows of an affine map of the stream."""
        for k, c in enumerate(which):
            entries = [(self.stream[column], weight) for column, weight in affine.weight.rows[c]]
            self.row(to + k, entries, affine.bias[c], acts[c] if acts else row.KEEP)

    def computed(self) -> None:
        """Let the rows since the last level be computed now; none of them reads another."""
        if len(self.rows) > self.levels[-1]:
            self.ops.append((ROWS, len(self.levels) - 1))
            self.levels.append(len(self.rows))

    def added(self, coordinate: int, entries: Entries, bias: Fraction = Fraction(0)) -> None:
        """Add to a coordinate of the stream."""
        if entries or bias:
            to = self.room(1)
            self.row(to, [(self.stream[coordinate], Fraction(1)), *entries], bias)
            self.stream[coordinate] = to

    def part(self, begin: int, size: int) -> int:
        """The number of a query or key."""
        self.parts.append((begin, begin + size))
        return len(self.parts) - 1

    def embed(self) -> None:
        """Position features, added to what the token is."""
        plain: dict[tuple[int, int, int], int] = {}
        sums: list[list[tuple[int, Fraction]]] = [[] for _ in range(self.transformer.width)]
        constants = [Fraction(0)] * self.transformer.width
        for number, coordinate, weight in self.transformer.position_embedding.entries():
            terms, constant = _plain(self.transformer.features[number])
            constants[coordinate] += weight * constant
            for factor, item in terms:
                if item not in plain:
                    plain[item] = self.room(1)
                    self.features.append((*item, plain[item]))
                sums[coordinate].append((plain[item], weight * factor))
        for coordinate, (entries, constant) in enumerate(zip(sums, constants, strict=True)):
            self.added(coordinate, entries, constant)
        self.computed()

    def embedding(self) -> tuple[Integers, Integers]:
        """The embedding as numerators and denominators."""
        shape = (len(self.transformer.vocabulary), self.transformer.width)
        above, below = np.zeros(shape, dtype=np.int64), np.ones(shape, dtype=np.int64)
        for token, coordinate, value in self.transformer.embedding.entries():
            if max(abs(value.numerator), value.denominator) >= SAFE:
                raise Declined("its weights are not fractions of integers of 62 bits")
            above[token, coordinate], below[token, coordinate] = value.numerator, value.denominator
        return above, below

    def layer(self, layer: Layer, label: str) -> None:
        """Heads, what they add, the units, and what they add."""
        before = len(self.heads)
        found = [self.head(head, label) for head in layer.heads]
        self.computed()
        self.ops += [(HEAD, number) for number in range(before, len(self.heads))]
        for coordinate in range(self.transformer.width):
            pairs = zip(layer.heads, found, strict=True)
            self.added(coordinate, [(at[c], w) for head, at in pairs for c, w in head.output.rows[coordinate]])
        self.computed()
        forward = layer.feed_forward
        hidden = self.room(len(forward.units))
        self.hidden.append(hidden)
        acts = [row.STEP if kind == "step" else row.RELU for kind in forward.activations]
        self.affine(hidden, forward.first, range(len(forward.units)), acts)
        self.computed()
        for coordinate, entries in enumerate(forward.second.weight.rows):
            self.added(coordinate, [(hidden + c, w) for c, w in entries], forward.second.bias[coordinate])
        self.computed()

    def head(self, head: Head, label: str) -> dict[int, int]:
        """The rows of a head; where each component of what it finds goes."""
        if head.bias not in (None, Distance()):
            raise Declined(f"head {head.name!r} has the bias {head.bias}, which the fast engine does not know")
        asks, keys = head.query, head.key.weight.rows
        matter = [c for c, entries in enumerate(keys) if entries and (asks.weight.rows[c] or asks.bias[c])]
        if len(matter) > MOST_PARTS:
            raise Declined(f"head {head.name!r} has keys of {len(matter):,} components")
        time = 0 if head.bias is None else -1
        if not head.weighting.hard and (matter or time):
            raise Declined(
                f"head {head.name!r} is a softmax, and the model is too large to prove that it decides as a hard one"
            )
        used = sorted({c for entries in head.output.rows for c, _ in entries})
        value = self.room(len(used))
        self.affine(value, head.value, used)
        found = self.room(len(used))
        index = self.index(head, matter)
        query, part = self.question(head, matter, index)
        where = query, len(matter), value, len(used), found, time, tuple(used)
        self.heads.append(TableHead(head, label, index, *where, part))
        return {c: found + k for k, c in enumerate(used)}

    def made_of(self, affine: AffineMap, which: Sequence[int]) -> object:
        """What rows of an affine map of the stream are made of: what is equal is the same at every position."""
        return tuple((affine.bias[c], tuple((self.stream[k], w) for k, w in affine.weight.rows[c])) for c in which)

    def question(self, head: Head, matter: Sequence[int], index: int) -> tuple[int, int]:
        """Where a query is, and its number; a new one, unless the same was asked of the same keys."""
        signature = (index, self.made_of(head.query, matter))
        if signature not in self._asked:
            query = self.room(len(matter))
            self.affine(query, head.query, matter)
            self._asked[signature] = query, self.part(query, len(matter))
        return self._asked[signature]

    def index(self, head: Head, matter: Sequence[int]) -> int:
        """The index of these keys; a new one, unless there is one of the same."""
        signature = (head.mask, self.made_of(head.key, matter))
        if signature not in self._known:
            key = self.room(len(matter))
            self.affine(key, head.key, matter)
            self._known[signature] = len(self.indexes)
            part = self.part(key, len(matter))
            self.indexes.append(TableIndex(key, len(matter), head.mask is Mask.CAUSAL, part))
        return self._known[signature]


def _table(rows: Sequence[Sequence[int]], width: int) -> Integers:
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def _plain(item: Feature) -> tuple[list[tuple[Fraction, tuple[int, int, int]]], Fraction]:
    """A feature as a combination of those that the kernel knows, and a constant."""
    terms, constant = item.expansion
    return [(factor, _known(plain)) for factor, plain in terms], constant


def _known(item: Feature) -> tuple[int, int, int]:
    """What the kernel calls a feature, and its parameters."""
    match item:
        case Monomial() if item in _MONOMIALS:
            return _MONOMIALS[item], 0, 0
        case Bit(k, False, 0):
            return row.BIT, k, 0
        case Residue(modulus, remainder):
            return row.MOD, modulus, remainder
        case PowerOfTwo():
            return row.POWER_OF_TWO, 0, 0
        case Prime():
            return row.PRIME, 0, 0
    raise Declined(f"the position feature {item.name} is not known to the fast engine")


_MONOMIALS = {I: row.PLAIN, I_SQUARED: row.SQUARE, INVERSE: row.INVERSE, INVERSE**2: row.INVERSE_SQUARE}
