"""The dense engine: the forward pass of a transformer in any arithmetic, with every score computed.

A pass embeds the tokens and adds the position features; every layer adds the values that its heads retrieve
(:mod:`.attention`) and the output of its feed-forward network; the largest logit decides. Stacking of heads
(:mod:`.grouping`), caches (:mod:`.memory`) and speculative decoding (:mod:`.guessing`) only make it faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.attention import joined, retrieved
from softmachine.engines.dense.draft_model import PlainWeights
from softmachine.engines.dense.hooks import Watcher
from softmachine.engines.dense.kv_cache import Memory
from softmachine.engines.dense.layer import DenseLayer, operator
from softmachine.engines.dense.loop_cycles import after_turns
from softmachine.engines.dense.position_cache import PIECE, Placed
from softmachine.engines.dense.weight_names import place_of
from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError, UnrepresentableError, arithmetic
from softmachine.engines.numerics.float import Float
from softmachine.engines.numerics.float_batched import TogetherFloat
from softmachine.support.errors import (
    AmbiguousTokenError,
    InputError,
    PrecisionError,
    Remedy,
    SoftmachineError,
    UsageError,
)
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Transformer

_out_of_range_is_noticed_later = np.errstate(over="ignore", invalid="ignore")
"""Suppresses NumPy's overflow warnings: arithmetics check the range themselves at every decision."""
_MANY, _AT_ONCE = 64, 4096
"""Batch size from which shared error bounds pay off; positions per chunk with per-sequence bounds."""


class DenseEngine:
    """Runs a transformer in an arithmetic.

    Args:
        transformer: The weights.
        numbers: The arithmetic, or its name.

    Raises:
        PrecisionError: If a weight is not representable; the message names it.
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
    def plain(self) -> PlainWeights:
        """The draft model: the same weights in floats without error bounds."""
        return PlainWeights(self.transformer)

    @property
    def has_plain(self) -> bool:
        """Whether the draft model has been built."""
        return "plain" in vars(self)

    def placed(self, positions: range, length: int | None) -> Tensor:
        """Return the position embedding at some positions of an input of length n."""
        start, known = positions.start, self._placed
        if known is None or known[1] != length or not known[0].start <= start <= positions.stop <= known[0].stop:
            # With a given length, features may be undefined beyond it.
            ahead = positions if length is not None else range(start, -(-positions.stop // PIECE) * PIECE)
            features = Placed.at(self.transformer.features, ahead, length).numbers(self.arithmetic)
            known = self._placed = ahead, length, self.positions(features)
        return known[2][start - known[0].start : positions.stop - known[0].start]

    def start(self, batch: int = 1, length: int | None = None) -> Pass:
        """Start a pass over a batch of sequences; ``length`` is n, for models that read it."""
        return Pass(self, batch, length)

    def residual_stream(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> Tensor:
        """Return the residual stream after the last layer: (sequence, position, coordinate)."""
        return self.start(len(sequences), length).extend(sequences)

    def answers(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> list[list[str]]:
        """Return the output of the largest logit at every position of every sequence."""
        return [[self.transformer.outputs[k] for k in row] for row in self.decided(sequences, length)]

    def decided(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> NDArray[np.intp]:
        """Return the argmax outputs as indices; sequences undecided with shared bounds are repeated with their own."""
        indices = self.indices(sequences)
        if self._together is None or len(indices) < _MANY:
            return self._decided(indices, length)
        found, doubtful = self._together.decided(indices, length)
        if doubtful.any():
            found[doubtful] = self._decided(indices[doubtful], length)
        return found

    def _decided(self, indices: NDArray[np.intp], length: int | None) -> NDArray[np.intp]:
        together = max(1, _AT_ONCE // max(1, indices.shape[1]))
        parts = np.split(indices, range(together, len(indices), together))
        runs = [(self.start(len(part), length), part) for part in parts]
        return np.concatenate([run.decisions(run.extend(part)) for run, part in runs])

    @cached_property
    def _together(self) -> Together | None:
        """The engine with error bounds shared by a batch; None unless the arithmetic is float64 without layer norm.

        It has no cycle detection, so models whose loop count depends on the input length do not use it.
        """
        weights = self.transformer
        long = any(isinstance(block.repeats, Feature) for block in weights.blocks)
        known = type(self.arithmetic) is Float and self.arithmetic.digits == 53 and weights.normalised is None
        return Together(weights) if known and not long else None

    def indices(self, sequences: Sequence[Sequence[str]]) -> NDArray[np.intp]:
        """Convert tokens to indices: (sequence, position).

        Raises:
            InputError: If a token is not in the vocabulary.
            UsageError: If the sequences have different lengths.
        """
        if len(set(map(len, sequences))) > 1:
            raise UsageError("the sequences of a batch must have the same length")
        index = self.transformer.token_index
        try:
            found = np.fromiter(map(index.__getitem__, chain.from_iterable(sequences)), dtype=np.intp)
        except KeyError as missing:
            raise InputError(f"{missing.args[0]!r} is not a token of {self.transformer.name!r}") from None
        return found.reshape(len(sequences), len(sequences[0]) if sequences else 0)


class Together:
    """Runs a transformer on a batch of sequences with shared error bounds.

    Args:
        transformer: The weights.
    """

    def __init__(self, transformer: Transformer) -> None:
        self.numbers = TogetherFloat()
        self.engine = DenseEngine(transformer, self.numbers)
        self.useful = True

    def decided(self, indices: NDArray[np.intp], length: int | None) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the argmax outputs as indices, and which sequences are undecided.

        If most are undecided, as in deep networks, whose errors accumulate, later batches are not tried.
        """
        if self.useful:
            self.numbers.begin(len(indices))
            run = self.engine.start(len(indices), length)
            try:
                found = run.decisions(run.extend(indices))
            except SoftmachineError:  # for example, overflow in any sequence
                self.useful = False
            else:
                self.useful = 2 * int(np.count_nonzero(self.numbers.doubtful)) <= len(indices)
                return found, self.numbers.doubtful
        return np.zeros(indices.shape, dtype=np.intp), np.ones(len(indices), dtype=bool)


class Pass:
    """A forward pass over a batch of sequences, extended position by position with a KV cache."""

    def __init__(self, engine: DenseEngine, batch: int, length: int | None) -> None:
        self.engine = engine
        self.batch = batch
        self.length = length
        self.read = 0
        self.memory = Memory(goes_on=self._goes_on)
        self.watcher: Watcher | None = None
        """Hook for all activations."""

    def extend(self, sequences: Sequence[Sequence[str]] | NDArray[np.intp]) -> Tensor:
        """Read more tokens of every sequence; return the residual stream at the new positions after the last layer.

        Args:
            sequences: The tokens, or their indices.
        """
        stream = self.embedded(sequences)
        if not stream.shape[1]:
            return stream
        for b, block in enumerate(self.engine.transformer.blocks):
            stream = self._turned(stream, b, block.count(self.length))
        return stream

    def _turned(self, stream: Tensor, block: int, turns: int) -> Tensor:
        """Return the stream after all iterations of a block."""
        if self._may_end and turns > 1:
            return after_turns(lambda stream: self.turn(stream, block, 0), stream, turns)
        for turn in range(turns):
            stream = self.turn(stream, block, turn)
        return stream

    @property
    def _goes_on(self) -> bool:
        """Whether later positions may be appended, which attend to the keys of every iteration."""
        return all(head.mask.causal for head in self.engine.transformer.heads)

    @property
    def _may_end(self) -> bool:
        """Whether a loop may stop early in a cycle.

        With all positions present, an iteration is a function of the stream alone, so a repeated stream is a cycle.
        """
        return not self._goes_on and self.watcher is None and not self.engine.arithmetic.in_place

    def _is_looped(self, block: int) -> bool:
        """Whether a block is looped and tensors may be cached between iterations."""
        return self.engine.transformer.blocks[block].repeats != 1 and not self.engine.arithmetic.in_place

    @_out_of_range_is_noticed_later
    def embedded(self, sequences: Sequence[Sequence[str]] | NDArray[np.intp]) -> Tensor:
        """Read more tokens of every sequence; return the residual stream before the first layer."""
        indices = sequences if isinstance(sequences, np.ndarray) else self.engine.indices(sequences)
        new = self._new(indices)
        positions = range(self.read, self.read + new)
        stream = self.engine.arithmetic.rows(self.engine.embedding, indices)
        if new and self.engine.transformer.features:
            stream = self.engine.arithmetic.add(stream, self.engine.placed(positions, self.length))
        self.read += new
        if self.watcher:
            self.watcher.embedded(stream, positions)
        return stream

    @_out_of_range_is_noticed_later
    def turn(self, stream: Tensor, block: int, turn: int) -> Tensor:
        """Run one iteration of a block on the residual stream of the last positions."""
        positions = range(self.read - stream.shape[1], self.read)
        for depth, layer in enumerate(self.engine.blocks[block]):
            stream = self._layer(layer, stream, positions, (block, turn, depth))
        return stream

    def _layer(self, layer: DenseLayer, stream: Tensor, positions: range, where: tuple[int, int, int]) -> Tensor:
        """Run one layer: x += attention(x), then x += feed-forward(x)."""
        numbers, looped = self.engine.arithmetic, self._is_looped(where[0])
        watcher = self.watcher
        project, attended, network = self.memory.rows(where, looped=looped)
        if layer.groups:
            found: list[Tensor] = []
            for index, group in enumerate(layer.parts(project.computed(layer.project, stream))):
                memory = self.memory.of((*where, index), looped=looped)
                look = partial(watcher.searched, index) if watcher else None
                found += retrieved(numbers, group, positions, self.length, memory, look)
            retrieved_values = joined([found[place] for place in layer.order], axis=-1)
            stream = attended.computed(layer.output, stream, retrieved_values)
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
        """Return the index of the largest logit at every position.

        Raises:
            AmbiguousTokenError: If the largest logits are equal.
            PrecisionError: If the largest logit is undecided.
        """
        engine = self.engine
        try:
            return engine.arithmetic.largest(engine.unembedding(stream))
        except UndecidedError as doubt:
            outputs = ", ".join(repr(engine.transformer.outputs[k]) for k in doubt.candidates[:4])
            position = self.read - stream.shape[1] + doubt.query
            message = f"at position {position} the next token is undecided among {outputs}: {doubt.reason}"
            if doubt.tie:
                raise AmbiguousTokenError(message) from None
            rounds_less = "ball" if engine.arithmetic.name == "float64" else "float64"
            raise PrecisionError(message, hint=Remedy("use {}", arithmetic=rounds_less)) from None

    def says(self, tokens: Sequence[str], last: int = 1) -> list[str]:
        """Read more tokens of the single sequence; return the argmax output at each of the ``last`` positions."""
        stream = self.extend([tokens])
        return [self.engine.transformer.outputs[k] for k in self.decisions(stream[:, -last:])[0]]

    def adopt(self, where: tuple[int, int, int, int], parts: Sequence[Tensor]) -> None:
        """Append externally computed keys and values to a head group's cache.

        Args:
            where: The block, the iteration, the layer, and the head group in it.
            parts: The keys, then the values of each head.
        """
        self.memory.of(where, looped=self._is_looped(where[0])).append(parts)

    def again(self, tokens: Sequence[str], position: int) -> Tensor:
        """Recompute a position with hooks attached; return its residual stream after the last layer.

        The KV cache does not change: the recomputed keys and values equal the cached ones.
        """
        read = self.read
        self.rewind(position)
        try:
            return self.extend([tokens[position : position + 1]])
        finally:
            self.read = read
            self.memory.recall(read)

    def rewind(self, read: int) -> None:
        """Truncate the pass to the first ``read`` tokens, also after an error in a later one."""
        self.read = read
        self.memory.rewind(read)

    def _new(self, indices: NDArray[np.intp]) -> int:
        """Return the number of new positions.

        Raises:
            UsageError: If the batch size differs, or the model looks ahead and has read tokens before.
        """
        transformer = self.engine.transformer
        if len(indices) != self.batch:
            raise UsageError(f"this pass reads {self.batch} sequences, not {len(indices)}")
        if self.read and not self._goes_on:
            raise UsageError(f"{transformer.name!r} looks ahead, so it cannot read a sequence in parts")
        return int(indices.shape[1])
