"""The dense engine: every score computed, in any arithmetic. The referee of all other engines; written to be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic import Arithmetic, Tensor, UndecidedError, UnrepresentableError, arithmetic
from softmachine.arithmetic.base import Flags, Map
from softmachine.engines.dense.layers import DenseLayer, operator
from softmachine.engines.dense.matrices import transposed
from softmachine.engines.dense.memory import Cache
from softmachine.engines.dense.weights import place_of
from softmachine.errors import AmbiguousTokenError, InputError, PrecisionError, UsageError
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Head, Transformer

_out_of_range_is_noticed_later = np.errstate(over="ignore", invalid="ignore")
"""Arithmetics see to overflow themselves, where something is decided, so that numpy need not warn of it."""
_AHEAD = 64
"""The position embedding is computed for so many positions at a time."""
Found = TypeVar("Found")
_Turns = dict[tuple[int, ...], tuple[Tensor, Tensor, Found]]
"""The queries and keys of a turn of a loop, and what was found of them."""


class DenseEngine:
    """Runs a transformer in an arithmetic.

    Args:
        transformer: The weights.
        numbers: The arithmetic, or its name.
    """

    def __init__(self, transformer: Transformer, numbers: str | Arithmetic = "float64") -> None:
        self.transformer = transformer
        self.arithmetic = arithmetic(numbers)
        try:
            self._prepare(transformer)
        except UnrepresentableError as error:
            raise _refused(transformer, error) from None

    def _prepare(self, transformer: Transformer) -> None:
        width, numbers = transformer.width, self.arithmetic
        self.embedding = numbers.weights(
            [[dict(row).get(c, Fraction(0)) for c in range(width)] for row in transformer.embedding.rows]
        )
        placing = AffineMap(transposed(transformer.position_embedding), (Fraction(0),) * width)
        self.positions = operator(placing, numbers)
        self.blocks = tuple(
            tuple(DenseLayer.of(layer, width, numbers) for layer in block.layers) for block in transformer.blocks
        )
        self.unembedding = operator(transformer.unembedding, numbers)
        for head in transformer.heads:
            if not head.weighting.hard and not isinstance(head.weighting.scale, Feature):
                numbers.scales([head.weighting.scale], feature=False)

    @cached_property
    def plain(self) -> DenseEngine:
        """The same in floats that know nothing of their errors."""
        return DenseEngine(self.transformer, "float64:plain")

    @property
    def has_plain(self) -> bool:
        """Whether that is prepared."""
        return "plain" in vars(self)

    def start(self, batch: int = 1, length: int | None = None) -> Pass:
        """A fresh pass over sequences of the same shape; ``length`` is n, for models that use it."""
        return Pass(self, batch, length)

    def residual_stream(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> Tensor:
        """The residual stream after the last layer: (sequence, position, coordinate)."""
        return self.start(len(sequences), length).extend(sequences)

    def answers(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> list[list[str]]:
        """The output of the largest logit at every position of every sequence."""
        run = self.start(len(sequences), length)
        stream = run.extend(sequences)
        return [[self.transformer.outputs[k] for k in row] for row in run.decisions(stream)]


class Pass:
    """Sequences being read, from the first position on; keys and values are kept, so that decoding can go on."""

    def __init__(self, engine: DenseEngine, batch: int, length: int | None) -> None:
        self.engine = engine
        self.batch = batch
        self.length = length
        self.read = 0
        self._placed, self._placed_from = Tensor(np.empty((0, 0))), 0
        self._caches: dict[tuple[int, int, int, int], list[Cache]] = {}
        self._chosen: _Turns[Flags] = {}
        self._shares: _Turns[Map] = {}

    @_out_of_range_is_noticed_later
    def extend(self, sequences: Sequence[Sequence[str]]) -> Tensor:
        """Read more tokens of every sequence; the residual stream at the new positions after the last layer."""
        transformer, numbers = self.engine.transformer, self.engine.arithmetic
        if len(sequences) != self.batch:
            raise UsageError(f"this pass reads {self.batch} sequences, not {len(sequences)}")
        new = max(map(len, sequences), default=0)
        if any(len(sequence) != new for sequence in sequences):
            raise UsageError("the sequences of a batch must have the same length")
        if self.read and not all(head.mask.causal for head in transformer.heads):
            raise UsageError(f"{transformer.name!r} looks ahead, so it cannot read a sequence piece by piece")
        positions = range(self.read, self.read + new)
        stream = self.engine.embedding[self._indices(sequences).reshape(self.batch, new)]
        if not new:
            return stream
        if transformer.features:
            stream = numbers.add(stream, self._position_embedding(positions))
        self.read += new
        for b, (block, layers) in enumerate(zip(transformer.blocks, self.engine.blocks, strict=True)):
            for turn in range(block.count(self.length)):
                for depth, layer in enumerate(layers):
                    stream = self._layer(layer, stream, positions, (b, turn, depth))
        return stream

    def says(self, tokens: Sequence[str], last: int = 1) -> list[str]:
        """Read more tokens of the one sequence; the output of the largest logit at each of the last positions."""
        stream = self.extend([tokens])
        return [self.engine.transformer.outputs[k] for k in self.decisions(stream[:, -last:])[0]]

    def rewind(self, read: int) -> None:
        """Forget all but the first so many tokens, also if reading the others ended in an error."""
        self.read = read
        self._chosen.clear()
        self._shares.clear()
        for caches in self._caches.values():
            for cache in caches:
                cache.keep(read)

    def _position_embedding(self, positions: range) -> Tensor:
        """The position features in their coordinates; computed some positions ahead, since decoding asks one by one."""
        if not self._placed_from <= positions.start <= positions.stop <= self._placed_from + self._placed.shape[0]:
            # Where the length is known, features need not have a value beyond it.
            more = _AHEAD if self.length is None else 0
            ahead = range(positions.start, max(positions.stop, positions.start + more))
            features = self.engine.transformer.features
            rows = [[feature.at(i, self.length) for feature in features] for i in ahead]
            numbers = self.engine.arithmetic
            self._placed, self._placed_from = self.engine.positions(numbers.numbers(rows)), ahead.start
        return self._placed[positions.start - self._placed_from : positions.stop - self._placed_from]

    def _indices(self, sequences: Sequence[Sequence[str]]) -> NDArray[np.intp]:
        index = self.engine.transformer.token_index
        try:
            return np.array([[index[token] for token in sequence] for sequence in sequences], dtype=np.intp)
        except KeyError as missing:
            raise InputError(f"{missing.args[0]!r} is not a token of {self.engine.transformer.name!r}") from None

    @_out_of_range_is_noticed_later
    def decisions(self, stream: Tensor) -> NDArray[np.intp]:
        """The index of the largest logit at every position."""
        engine = self.engine
        try:
            return engine.arithmetic.largest(engine.unembedding(stream))
        except UndecidedError as doubt:
            outputs = ", ".join(repr(engine.transformer.outputs[k]) for k in doubt.candidates[:4])
            position = self.read - stream.shape[1] + doubt.query
            error = AmbiguousTokenError if doubt.tie else PrecisionError
            raise error(f"at position {position} the next of {outputs} is not decided: {doubt.reason}") from None

    def _layer(self, layer: DenseLayer, stream: Tensor, positions: range, where: tuple[int, int, int]) -> Tensor:
        numbers = self.engine.arithmetic
        if layer.groups:
            found: list[Tensor] = []
            for index, parts in enumerate(layer.parts(layer.project(stream))):
                found += self._attend(*parts, positions, (*where, index))
            retrieved = _joined([found[place] for place in layer.order], axis=-1)
            stream = numbers.add(stream, layer.output(retrieved))
        if layer.network is None:
            return stream
        try:
            return layer.network(stream)
        except UndecidedError as doubt:
            raise PrecisionError(f"at position {positions[doubt.query]}: {doubt.reason}") from None

    def _attend(
        self,
        group: tuple[Head, ...],
        key: Tensor,
        queries: list[Tensor],
        values: list[Tensor],
        positions: range,
        where: tuple[int, int, int, int],
    ) -> list[Tensor]:
        """What each head of a group retrieves at the new positions, from these and all earlier ones."""
        numbers, head = self.engine.arithmetic, group[0]
        caches = self._caches.setdefault(where, [Cache() for _ in range(1 + len(group))])
        key, *values = (cache.append(part) for cache, part in zip(caches, [key, *values], strict=True))
        visible = _visible(head.mask, positions, key.shape[1])
        bias = self._bias(head, positions, key.shape[1])
        if not head.weighting.hard:
            feature = isinstance(head.weighting.scale, Feature)
            scale = numbers.scales([_scale(head, i, self.length) for i in positions], feature=feature)
            mix = partial(numbers.soft, bias=bias, visible=visible, scale=scale)
            means = [self._weighed(self._shares, (*where, k), query, key, mix) for k, query in enumerate(queries)]
            return [mean(value) for mean, value in zip(means, values, strict=True)]
        # All queries of the group at once: those of the second head after those of the first, and so on.
        query, repeated = _joined(queries, axis=1), np.tile(visible, (len(group), 1))
        biases = None if bias is None else _joined([bias] * len(group), axis=0)
        try:
            choose = partial(numbers.choose, bias=biases, visible=repeated, choice=head.weighting.choice)
            chosen = self._weighed(self._chosen, (*where, 0), query, key, choose)
        except UndecidedError as doubt:
            which, at = divmod(doubt.query, len(positions))
            raise PrecisionError(
                f"head {group[which].name!r} at position {positions[at]} cannot choose between the positions "
                f"{', '.join(map(str, doubt.candidates[:6]))}: {doubt.reason}",
                hint="use --arithmetic exact, or a construction that is made for this format",
            ) from None
        split = np.split(chosen, len(group), axis=1)
        return [numbers.mean(part, value) for part, value in zip(split, values, strict=True)]

    def _weighed(
        self,
        turns: _Turns[Found],
        where: tuple[int, ...],
        query: Tensor,
        key: Tensor,
        weigh: Callable[[Tensor, Tensor], Found],
    ) -> Found:
        """What comes of these queries and keys; in a loop, of the turn before if they are still the same."""
        query, key = _once(query, key)
        block, _, *rest = where
        if self.engine.transformer.blocks[block].repeats == 1 or query.shape[0] > 1:
            return weigh(query, key)
        before = turns.get((block, *rest))
        if before and _same(before[0], query) and _same(before[1], key):
            return before[2]
        found = weigh(query, key)
        turns[block, *rest] = query, key, found
        return found

    def _bias(self, head: Head, positions: range, keys: int) -> Tensor | None:
        if head.bias is None:
            return None
        relation = head.bias
        return self.engine.arithmetic.numbers([[relation.at(j, i) for j in range(keys)] for i in positions])


def _visible(mask: Mask, positions: range, keys: int) -> NDArray[np.bool_]:
    i, j = np.arange(positions.start, positions.stop)[:, None], np.arange(keys)[None, :]
    match mask:
        case Mask.CAUSAL:
            return j <= i
        case Mask.PAST:
            return j < i
        case Mask.ANTICAUSAL:
            return j >= i
        case Mask.FUTURE:
            return j > i
    return np.ones((len(positions), keys), dtype=bool)


def _refused(transformer: Transformer, error: UnrepresentableError) -> PrecisionError:
    return PrecisionError(f"{place_of(transformer, error.weight)} is {error.weight}, which {error.reason}")


def _joined(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one after the other."""
    value = np.concatenate([part.value for part in parts], axis)
    if not np.issubdtype(value.dtype, np.floating):
        return Tensor(value)
    errors = [np.zeros(part.shape) if part.error is None else part.error for part in parts]
    return Tensor(value, np.concatenate(errors, axis))


def _same(x: Tensor, y: Tensor) -> bool:
    if x.error is None or y.error is None:
        return x.error is y.error and np.array_equal(x.value, y.value)
    return np.array_equal(x.value, y.value) and np.array_equal(x.error, y.error)


def _once(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Queries and keys of one sequence if those of all are the same, as where only positions decide; else all."""
    same = query.shape[0] > 1 and all(
        (part == part[:1]).all() for x in (query, key) for part in (x.value, x.error) if part is not None
    )
    return (query[:1], key[:1]) if same else (query, key)


def _scale(head: Head, i: int, length: int | None) -> Fraction:
    scale = head.weighting.scale
    return scale.at(i, length) if isinstance(scale, Feature) else scale
