"""The dense engine: every score computed, in any arithmetic. The referee of all other engines; written to be read.

A pass embeds the tokens and adds the position features; every layer adds what its heads retrieve (:mod:`.attention`)
and what its feed-forward computes; the largest logit decides. How heads are stacked (:mod:`.grouping`), what is
remembered (:mod:`.memory`) and how tokens are guessed ahead (:mod:`.guessing`) only make it faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from softmachine.arithmetic import Arithmetic, Tensor, UndecidedError, UnrepresentableError, arithmetic
from softmachine.engines.dense.attention import joined, retrieved
from softmachine.engines.dense.everywhere import same
from softmachine.engines.dense.grouping import DenseLayer, operator
from softmachine.engines.dense.memory import Memory
from softmachine.engines.dense.watching import Watcher
from softmachine.engines.dense.weights import place_of
from softmachine.errors import AmbiguousTokenError, InputError, PrecisionError, UsageError
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Transformer

_out_of_range_is_noticed_later = np.errstate(over="ignore", invalid="ignore")
"""Arithmetics see to overflow themselves, where something is decided, so that numpy need not warn of it."""
_AHEAD = 64
"""The position embedding is computed for so many positions at a time."""


class DenseEngine:
    """Runs a transformer in an arithmetic.

    Args:
        transformer: The weights.
        numbers: The arithmetic, or its name.

    Raises:
        PrecisionError: If the arithmetic lacks a weight; it names the place.
    """

    def __init__(self, transformer: Transformer, numbers: str | Arithmetic = "float64") -> None:
        self.transformer = transformer
        self.arithmetic = arithmetic(numbers)
        self._placed: tuple[range, int | None, Tensor] | None = None
        try:
            self._prepare(transformer)
        except UnrepresentableError as error:
            where = place_of(transformer, error.weight)
            raise PrecisionError(f"{where} is {error.weight}, which {error.reason}") from None

    def _prepare(self, transformer: Transformer) -> None:
        width, numbers = transformer.width, self.arithmetic
        self.embedding = numbers.weights(
            [[dict(row).get(c, Fraction(0)) for c in range(width)] for row in transformer.embedding.rows]
        )
        self.positions = operator(AffineMap(transformer.position_embedding.transposed, (Fraction(0),) * width), numbers)
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

    def placed(self, positions: range, length: int | None) -> Tensor:
        """The position features at some positions of an input of length n, in their coordinates."""
        if self._placed is None or self._placed[:2] != (positions, length):
            self._placed = positions, length, self.positions(self._features(positions, length))
        return self._placed[2]

    def _features(self, positions: range, length: int | None) -> Tensor:
        """The features at some positions: (positions, features); few numbers are different, and rounded once each."""
        different: dict[Fraction | int, int] = {}
        places = [
            [different.setdefault(value, len(different)) for value in feature.along(positions, length)]
            for feature in self.transformer.features
        ]
        return self.arithmetic.numbers([list(map(Fraction, different))])[0][np.array(places, dtype=np.intp).T]

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
        self.memory = Memory(goes_on=self._goes_on)
        self.watcher: Watcher | None = None
        """Is shown all that is computed."""
        self._placed, self._placed_from = Tensor(np.empty((0, 0))), 0

    def extend(self, sequences: Sequence[Sequence[str]]) -> Tensor:
        """Read more tokens of every sequence; the residual stream at the new positions after the last layer."""
        stream = self.embedded(sequences)
        if not stream.shape[1]:
            return stream
        for b, block in enumerate(self.engine.transformer.blocks):
            for turn in range(block.count(self.length)):
                before, stream = stream, self.turn(stream, b, turn)
                if not self._goes_on and self.watcher is None and same(before, stream):
                    break
        return stream

    @property
    def _goes_on(self) -> bool:
        """Whether more positions may come, which look at those of every turn; else a turn that changed nothing is it.

        What a turn makes of a stream is decided by the stream, if all positions are there: so would all that follow.
        """
        return all(head.mask.causal for head in self.engine.transformer.heads)

    @_out_of_range_is_noticed_later
    def embedded(self, sequences: Sequence[Sequence[str]]) -> Tensor:
        """The residual stream before the first layer, of more tokens of every sequence."""
        new = self._new(sequences)
        positions = range(self.read, self.read + new)
        stream = self.engine.embedding[self._indices(sequences).reshape(self.batch, new)]
        if new and self.engine.transformer.features:
            stream = self.engine.arithmetic.add(stream, self._position_embedding(positions))
        self.read += new
        if self.watcher:
            self.watcher.embedded(stream, positions)
        return stream

    @_out_of_range_is_noticed_later
    def turn(self, stream: Tensor, block: int, turn: int) -> Tensor:
        """The residual stream of the last positions after one turn of a block."""
        positions = range(self.read - stream.shape[1], self.read)
        for depth, layer in enumerate(self.engine.blocks[block]):
            stream = self._layer(layer, stream, positions, (block, turn, depth))
        return stream

    def _layer(self, layer: DenseLayer, stream: Tensor, positions: range, where: tuple[int, int, int]) -> Tensor:
        """The residual stream after one layer: x += attention(x), then x += feed-forward(x)."""
        numbers, looped = self.engine.arithmetic, self.engine.transformer.blocks[where[0]].repeats != 1
        watcher = self.watcher
        project, attended, network = self.memory.rows(where, looped=looped)
        if layer.groups:
            found: list[Tensor] = []
            for index, group in enumerate(layer.parts(project.computed(layer.project, stream))):
                memory = self.memory.of((*where, index), looped=looped)
                look = partial(watcher.searched, index) if watcher else None
                found += retrieved(numbers, group, positions, self.length, memory, look)
            retrieved_here = joined([found[place] for place in layer.order], axis=-1)
            stream = attended.computed(lambda x, y: numbers.add(x, layer.output(y)), stream, retrieved_here)
            if watcher:
                watcher.attended(where, stream, positions)
        if layer.network is not None:
            try:
                stream = network.computed(layer.network, stream)
            except UndecidedError as doubt:
                raise PrecisionError(f"at position {positions[doubt.query]}: {doubt.reason}") from None
            if watcher:
                watcher.fed_forward(where, stream, positions)
        return stream

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

    def says(self, tokens: Sequence[str], last: int = 1) -> list[str]:
        """Read more tokens of the one sequence; the output of the largest logit at each of the last positions."""
        stream = self.extend([tokens])
        return [self.engine.transformer.outputs[k] for k in self.decisions(stream[:, -last:])[0]]

    def adopt(self, where: tuple[int, int, int, int], parts: Sequence[Tensor]) -> None:
        """Take the keys of a group of heads, and the values of each, at more positions from somebody who knows them.

        Args:
            where: The block, the turn, the layer, and the group in it.
            parts: The keys, then the values.
        """
        self.memory.of(where, looped=self.engine.transformer.blocks[where[0]].repeats != 1).append(parts)

    def again(self, tokens: Sequence[str], position: int) -> Tensor:
        """Compute one of the positions that were read again, to be watched; the stream there, after the last layer.

        Nothing is forgotten: the keys and values that it writes are those that are there.
        """
        read = self.read
        self.rewind(position)
        try:
            return self.extend([tokens[position : position + 1]])
        finally:
            self.read = read
            self.memory.recall(read)

    def rewind(self, read: int) -> None:
        """Forget all but the first so many tokens, also if reading the others ended in an error."""
        self.read = read
        self.memory.rewind(read)

    def _new(self, sequences: Sequence[Sequence[str]]) -> int:
        """How many positions are new; all sequences must have as many."""
        transformer, new = self.engine.transformer, max(map(len, sequences), default=0)
        if len(sequences) != self.batch:
            raise UsageError(f"this pass reads {self.batch} sequences, not {len(sequences)}")
        if any(len(sequence) != new for sequence in sequences):
            raise UsageError("the sequences of a batch must have the same length")
        if self.read and not self._goes_on:
            raise UsageError(f"{transformer.name!r} looks ahead, so it cannot read a sequence piece by piece")
        return new

    def _indices(self, sequences: Sequence[Sequence[str]]) -> NDArray[np.intp]:
        index = self.engine.transformer.token_index
        try:
            return np.array([[index[token] for token in sequence] for sequence in sequences], dtype=np.intp)
        except KeyError as missing:
            raise InputError(f"{missing.args[0]!r} is not a token of {self.engine.transformer.name!r}") from None

    def _position_embedding(self, positions: range) -> Tensor:
        """The position features in their coordinates; computed some positions ahead, since decoding asks one by one."""
        if not self._placed_from <= positions.start <= positions.stop <= self._placed_from + self._placed.shape[0]:
            # Where the length is known, features need not have a value beyond it.
            more = _AHEAD if self.length is None else 0
            ahead = range(positions.start, max(positions.stop, positions.start + more))
            self._placed, self._placed_from = self.engine.placed(ahead, self.length), ahead.start
        return self._placed[positions.start - self._placed_from : positions.stop - self._placed_from]
