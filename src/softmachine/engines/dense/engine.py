"""The dense engine: the forward pass of a transformer in any arithmetic, with every score computed.

A pass embeds the tokens and adds the position features; every layer adds the values that its heads retrieve
(:mod:`.attention`) and the output of its feed-forward network; the largest logit decides. Stacking of heads
(:mod:`.layer`), caches (:mod:`.kv_cache`) and speculative decoding (:mod:`.decoding`) only make it faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.attention import Hook, attend, concat
from softmachine.engines.dense.draft_model import DraftModelWeights
from softmachine.engines.dense.kv_cache import PassCache
from softmachine.engines.dense.layer import DenseLayer, prepare_affine_map
from softmachine.engines.dense.position_cache import BLOCK_SIZE, PositionFeatures
from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError, UnrepresentableError, find_arithmetic
from softmachine.engines.numerics.float import Float
from softmachine.engines.numerics.float_batched import BatchFloat
from softmachine.support.errors import (
    AmbiguousTokenError,
    FixHint,
    InputError,
    PrecisionError,
    SoftmachineError,
    UsageError,
)
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Transformer

_overflow_ignored = np.errstate(over="ignore", invalid="ignore")
"""Suppresses NumPy's overflow warnings: arithmetics check the range themselves at every decision."""
_MIN_SHARED_BATCH, _MAX_CHUNK_POSITIONS = 64, 4096
"""Batch size from which shared error bounds pay off; positions per chunk with per-sequence bounds."""


class DenseEngine:
    """Runs a transformer in an arithmetic.

    Args:
        transformer: The weights.
        arithmetic_name: The arithmetic, or its name.

    Raises:
        PrecisionError: If a weight is not representable; the message names it.
    """

    def __init__(self, transformer: Transformer, arithmetic_name: str | Arithmetic = "float64") -> None:
        self.transformer = transformer
        self.arithmetic = find_arithmetic(arithmetic_name)
        self._position_cache: tuple[range, int | None, Tensor] | None = None
        try:
            self._prepare(transformer)
        except UnrepresentableError as error:
            from softmachine.engines.dense.weight_names import name_of_weight

            where = name_of_weight(transformer, error.weight)
            raise PrecisionError(f"{where} is {error.weight}, which {error.reason}") from None

    def _prepare(self, transformer: Transformer) -> None:
        width, numbers, zero = transformer.width, self.arithmetic, Fraction(0)
        rows = map(dict, transformer.embedding.rows)
        self.embedding = numbers.convert_weights([[row.get(c, zero) for c in range(width)] for row in rows])
        self.position_embedding = prepare_affine_map(
            AffineMap(transformer.position_embedding.transposed, (zero,) * width), numbers
        )
        self.blocks = tuple(
            tuple(DenseLayer.of(layer, width, numbers) for layer in block.layers) for block in transformer.blocks
        )
        self.unembedding = prepare_affine_map(transformer.unembedding, numbers)
        for head in transformer.heads:
            if not head.weighting.is_hard and not isinstance(head.weighting.scale, Feature):
                numbers.convert_scales([head.weighting.scale], feature=False)

    @cached_property
    def draft_weights(self) -> DraftModelWeights:
        """The draft model: the same weights in floats without error bounds."""
        return DraftModelWeights(self.transformer)

    @property
    def has_draft_weights(self) -> bool:
        """Whether the draft model has been built."""
        return "draft_weights" in vars(self)

    def embed_positions(self, positions: range, length: int | None) -> Tensor:
        """Return the position embedding at some positions of an input of length n."""
        start, known = positions.start, self._position_cache
        if known is None or known[1] != length or not known[0].start <= start <= positions.stop <= known[0].stop:
            # With a given length, features may be undefined beyond it.
            ahead = positions if length is not None else range(start, -(-positions.stop // BLOCK_SIZE) * BLOCK_SIZE)
            features = PositionFeatures.evaluate(self.transformer.features, ahead, length).to_tensor(self.arithmetic)
            known = self._position_cache = ahead, length, self.position_embedding(features)
        return known[2][start - known[0].start : positions.stop - known[0].start]

    def start(self, batch: int = 1, length: int | None = None) -> Pass:
        """Start a pass over a batch of sequences; ``length`` is n, for models that read it."""
        return Pass(self, batch, length)

    def residual_stream(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> Tensor:
        """Return the residual stream after the last layer: (sequence, position, coordinate)."""
        return self.start(len(sequences), length).extend(sequences)

    def predict(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> list[list[str]]:
        """Return the output of the largest logit at every position of every sequence."""
        return [[self.transformer.outputs[k] for k in row] for row in self.predict_indices(sequences, length)]

    def predict_indices(self, sequences: Sequence[Sequence[str]], length: int | None = None) -> NDArray[np.intp]:
        """Return the argmax outputs as indices; sequences undecided with shared bounds are repeated with their own."""
        indices = self.encode(sequences)
        if self._batch_engine is None or len(indices) < _MIN_SHARED_BATCH:
            return self._predict_chunks(indices, length)
        found, doubtful = self._batch_engine.predict_indices(indices, length)
        if doubtful.any():
            found[doubtful] = self._predict_chunks(indices[doubtful], length)
        return found

    def _predict_chunks(self, indices: NDArray[np.intp], length: int | None) -> NDArray[np.intp]:
        together = max(1, _MAX_CHUNK_POSITIONS // max(1, indices.shape[1]))
        parts = np.split(indices, range(together, len(indices), together))
        runs = [(self.start(len(part), length), part) for part in parts]
        return np.concatenate([run.argmax_outputs(run.extend(part)) for run, part in runs])

    @cached_property
    def _batch_engine(self) -> BatchEngine | None:
        """The engine with error bounds shared by a batch; None unless the arithmetic is float64 without layer norm.

        It has no cycle detection, so models whose loop count depends on the input length do not use it.
        """
        weights = self.transformer
        long = any(isinstance(block.repeats, Feature) for block in weights.blocks)
        known = (
            type(self.arithmetic) is Float and self.arithmetic.digits == 53 and weights.first_normalised_unit is None
        )
        return BatchEngine(weights) if known and not long else None

    def encode(self, sequences: Sequence[Sequence[str]]) -> NDArray[np.intp]:
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


class BatchEngine:
    """Runs a transformer on a batch of sequences with shared error bounds.

    Args:
        transformer: The weights.
    """

    def __init__(self, transformer: Transformer) -> None:
        self.arithmetic = BatchFloat()
        self.engine = DenseEngine(transformer, self.arithmetic)
        self.is_useful = True

    def predict_indices(
        self, indices: NDArray[np.intp], length: int | None
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the argmax outputs as indices, and which sequences are undecided.

        If most are undecided, as in deep networks, whose errors accumulate, later batches are not tried.
        """
        if self.is_useful:
            self.arithmetic.start_batch(len(indices))
            run = self.engine.start(len(indices), length)
            try:
                found = run.argmax_outputs(run.extend(indices))
            except SoftmachineError:  # for example, overflow in any sequence
                self.is_useful = False
            else:
                self.is_useful = 2 * int(np.count_nonzero(self.arithmetic.undecided)) <= len(indices)
                return found, self.arithmetic.undecided
        return np.zeros(indices.shape, dtype=np.intp), np.ones(len(indices), dtype=bool)


class Pass:
    """A forward pass over a batch of sequences, extended position by position with a KV cache."""

    def __init__(self, engine: DenseEngine, batch: int, length: int | None) -> None:
        self.engine = engine
        self.batch = batch
        self.length = length
        self.tokens_read = 0
        self.cache = PassCache(is_extendable=self._is_extendable)
        self.hook: Hook | None = None
        """Hook for all activations."""

    def extend(self, sequences: Sequence[Sequence[str]] | NDArray[np.intp]) -> Tensor:
        """Read more tokens of every sequence; return the residual stream at the new positions after the last layer.

        Args:
            sequences: The tokens, or their indices.
        """
        stream = self.embed(sequences)
        if not stream.shape[1]:
            return stream
        for b, block in enumerate(self.engine.transformer.blocks):
            stream = self._run_iterations(stream, b, block.iterations(self.length))
        return stream

    def _run_iterations(self, stream: Tensor, block: int, turns: int) -> Tensor:
        """Return the stream after all iterations of a block."""
        if self._may_stop_early and turns > 1:
            from softmachine.engines.dense.loop_cycles import iterate_until_cycle

            return iterate_until_cycle(lambda stream: self.run_block(stream, block, 0), stream, turns)
        for turn in range(turns):
            stream = self.run_block(stream, block, turn)
        return stream

    @property
    def _is_extendable(self) -> bool:
        """Whether later positions may be appended, which attend to the keys of every iteration."""
        return all(head.mask.is_causal for head in self.engine.transformer.heads)

    @property
    def _may_stop_early(self) -> bool:
        """Whether a loop may stop early in a cycle.

        With all positions present, an iteration is a function of the stream alone, so a repeated stream is a cycle.
        """
        return not self._is_extendable and self.hook is None and not self.engine.arithmetic.overwrites_inputs

    def _is_looped(self, block: int) -> bool:
        """Whether a block is looped and tensors may be cached between iterations."""
        return self.engine.transformer.blocks[block].repeats != 1 and not self.engine.arithmetic.overwrites_inputs

    @_overflow_ignored
    def embed(self, sequences: Sequence[Sequence[str]] | NDArray[np.intp]) -> Tensor:
        """Read more tokens of every sequence; return the residual stream before the first layer."""
        indices = sequences if isinstance(sequences, np.ndarray) else self.engine.encode(sequences)
        new = self._count_new(indices)
        positions = range(self.tokens_read, self.tokens_read + new)
        stream = self.engine.arithmetic.gather_rows(self.engine.embedding, indices)
        if new and self.engine.transformer.features:
            stream = self.engine.arithmetic.add(stream, self.engine.embed_positions(positions, self.length))
        self.tokens_read += new
        if self.hook:
            self.hook.embedded(stream, positions)
        return stream

    @_overflow_ignored
    def run_block(self, stream: Tensor, block: int, iteration: int) -> Tensor:
        """Run one iteration of a block on the residual stream of the last positions."""
        positions = range(self.tokens_read - stream.shape[1], self.tokens_read)
        for depth, layer in enumerate(self.engine.blocks[block]):
            stream = self._layer(layer, stream, positions, (block, iteration, depth))
        return stream

    def _layer(self, layer: DenseLayer, stream: Tensor, positions: range, where: tuple[int, int, int]) -> Tensor:
        """Run one layer: x += attention(x), then x += feed-forward(x)."""
        numbers, looped = self.engine.arithmetic, self._is_looped(where[0])
        watcher = self.hook
        project, attended, network = self.cache.layer_maps(where, looped=looped)
        if layer.groups:
            found: list[Tensor] = []
            for index, group in enumerate(layer.split_projections(project.apply(layer.projection, stream))):
                memory = self.cache.head_group((*where, index), looped=looped)
                look = partial(watcher.searched, index) if watcher else None
                found += attend(numbers, group, positions, self.length, memory, look)
            retrieved_values = concat([found[place] for place in layer.order], axis=-1)
            stream = attended.apply(layer.output, stream, retrieved_values)
            if watcher:
                watcher.attended(where, stream, positions)
        if layer.network is not None:
            try:
                stream = network.apply(layer.network, stream)
            except UndecidedError as doubt:
                raise PrecisionError(f"at position {positions[doubt.position]}: {doubt.reason}") from None
            if watcher:
                watcher.fed_forward(where, stream, positions)
        return stream

    @_overflow_ignored
    def argmax_outputs(self, stream: Tensor) -> NDArray[np.intp]:
        """Return the index of the largest logit at every position.

        Raises:
            AmbiguousTokenError: If the largest logits are equal.
            PrecisionError: If the largest logit is undecided.
        """
        engine = self.engine
        try:
            return engine.arithmetic.argmax(engine.unembedding(stream))
        except UndecidedError as doubt:
            outputs = ", ".join(repr(engine.transformer.outputs[k]) for k in doubt.candidates[:4])
            position = self.tokens_read - stream.shape[1] + doubt.position
            message = f"at position {position} the next token is undecided among {outputs}: {doubt.reason}"
            if doubt.tie:
                raise AmbiguousTokenError(message) from None
            rounds_less = "ball" if engine.arithmetic.name == "float64" else "float64"
            raise PrecisionError(message, hint=FixHint("use {}", arithmetic=rounds_less)) from None

    def predict(self, tokens: Sequence[str], last: int = 1) -> list[str]:
        """Read more tokens of the single sequence; return the argmax output at each of the ``last`` positions."""
        stream = self.extend([tokens])
        return [self.engine.transformer.outputs[k] for k in self.argmax_outputs(stream[:, -last:])[0]]

    def append_kv(self, where: tuple[int, int, int, int], parts: Sequence[Tensor]) -> None:
        """Append externally computed keys and values to a head group's cache.

        Args:
            where: The block, the iteration, the layer, and the head group in it.
            parts: The keys, then the values of each head.
        """
        self.cache.head_group(where, looped=self._is_looped(where[0])).append(parts)

    def recompute(self, tokens: Sequence[str], position: int) -> Tensor:
        """Recompute a position with hooks attached; return its residual stream after the last layer.

        The KV cache does not change: the recomputed keys and values equal the cached ones.
        """
        read = self.tokens_read
        self.rewind(position)
        try:
            return self.extend([tokens[position : position + 1]])
        finally:
            self.tokens_read = read
            self.cache.restore(read)

    def rewind(self, read: int) -> None:
        """Truncate the pass to the first ``read`` tokens, also after an error in a later one."""
        self.tokens_read = read
        self.cache.rewind(read)

    def _count_new(self, indices: NDArray[np.intp]) -> int:
        """Return the number of new positions.

        Raises:
            UsageError: If the batch size differs, or the model looks ahead and has read tokens before.
        """
        transformer = self.engine.transformer
        if len(indices) != self.batch:
            raise UsageError(f"this pass reads {self.batch} sequences, not {len(indices)}")
        if self.tokens_read and not self._is_extendable:
            raise UsageError(f"{transformer.name!r} looks ahead, so it cannot read a sequence in parts")
        return int(indices.shape[1])
