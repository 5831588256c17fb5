"""The forward pass of a transformer in any arithmetic, with every score computed.

A pass embeds the tokens and adds the position features; every layer adds the values that its heads retrieve
(:mod:`.attention`) and the output of its feed-forward network; the largest logit decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, pairwise

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.dense.attention import HeadGroup, HeadGroupIndex, Hook, LayerIndex, attend
from softmachine.engines.numerics import Arithmetic, Tensor, UndecidedError, UnrepresentableError, find_arithmetic
from softmachine.engines.numerics.base import SparseAffine, TensorMap, TensorSum
from softmachine.support.errors import AmbiguousTokenError, FixHint, InputError, PrecisionError, UsageError
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Matrix, Transformer

_overflow_ignored = np.errstate(over="ignore", invalid="ignore")
"""Suppresses NumPy's overflow warnings: arithmetics check the range themselves at every decision."""


class PreparedTransformer:
    """A transformer whose weights are prepared for an arithmetic.

    Args:
        transformer: The weights.
        arithmetic: The arithmetic, or its name.

    Raises:
        PrecisionError: If a weight is not representable; the message names it.
    """

    def __init__(self, transformer: Transformer, arithmetic: str | Arithmetic) -> None:
        self.transformer = transformer
        self.arithmetic = find_arithmetic(arithmetic)
        self.is_extendable = all(head.mask.is_causal for head in transformer.heads)
        """Whether later positions may be appended, because no head looks ahead."""
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


@dataclass(frozen=True)
class DenseLayer:
    """A layer of the dense engine.

    Args:
        groups: The heads, grouped by shared keys, so that one attention computation serves a group.
        order: The index of each head of the layer in the concatenation of the groups.
        projection: The map from the residual stream to, per group, the keys, then the queries and values of its heads.
        output: The map (residual stream, retrieved values of all heads) to the new residual stream.
        network: The feed-forward network; None if it adds nothing (without units, it may still add a constant).
    """

    groups: tuple[tuple[Head, ...], ...]
    order: tuple[int, ...]
    projection: TensorMap
    output: TensorSum
    network: TensorMap | None

    @staticmethod
    def of(layer: Layer, width: int, arithmetic: Arithmetic) -> DenseLayer:
        """Prepare a layer of a residual stream of this width for an arithmetic."""
        groups = group_by_keys(layer.heads)
        outputs = concat_columns([head.output for head in layer.heads], width)
        return DenseLayer(
            groups=groups,
            order=_head_order(layer.heads, groups),
            projection=prepare_affine_map(
                stack_maps([part for group in groups for part in projections_of_group(group)], width), arithmetic
            ),
            output=arithmetic.compile_residual_affine(outputs.rows, outputs.columns, (Fraction(0),) * width),
            network=_prepare_network(layer.feed_forward, arithmetic),
        )

    def split_projections(self, projected: Tensor) -> Iterator[HeadGroup]:
        """Split projections into keys, queries and values of each head group."""
        sizes = (len(part.bias) for group in self.groups for part in projections_of_group(group))
        parts = (projected[..., start:end] for start, end in pairwise([0, *accumulate(sizes)]))
        for group in self.groups:
            yield HeadGroup(group, next(parts), [next(parts) for _ in group], [next(parts) for _ in group])


class KvCache:
    """The keys and values of all positions read, by head group.

    Args:
        parts: For each head group, the keys, then the values of each head.
    """

    def __init__(self, parts: dict[HeadGroupIndex, list[Tensor]] | None = None) -> None:
        self._parts = parts or {}

    def append(self, where: HeadGroupIndex, parts: Sequence[Tensor]) -> list[Tensor]:
        """Append the keys and values of new positions; return those of all positions."""
        before = self._parts.get(where)
        joined = list(parts) if before is None else [concat(pair, 1) for pair in zip(before, parts, strict=True)]
        self._parts[where] = joined
        return joined

    def truncate(self, positions: int) -> KvCache:
        """Return the cache of the first positions; this one does not change."""
        return KvCache({where: [part[:, :positions] for part in parts] for where, parts in self._parts.items()})


class Pass:
    """A forward pass over a batch of sequences, extended position by position with a KV cache.

    Args:
        engine: The transformer.
        batch: The number of sequences.
        length: The length n of the input, for models that read it.
    """

    def __init__(self, engine: PreparedTransformer, batch: int, length: int | None) -> None:
        self.engine = engine
        self.batch = batch
        self.length = length
        self.tokens_read = 0
        self.kv_cache = KvCache()
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
            stream = self.run_loop(stream, b, block.iterations(self.length))
        return stream

    @_overflow_ignored
    def embed(self, sequences: Sequence[Sequence[str]] | NDArray[np.intp]) -> Tensor:
        """Read more tokens of every sequence; return the residual stream before the first layer."""
        indices = sequences if isinstance(sequences, np.ndarray) else self.engine.encode(sequences)
        new = self._count_new(indices)
        positions = range(self.tokens_read, self.tokens_read + new)
        stream = self.engine.arithmetic.gather_rows(self.engine.embedding, indices)
        if new and self.engine.transformer.features:
            stream = self.engine.arithmetic.add(stream, self.embed_positions(positions))
        self.tokens_read += new
        if self.hook:
            self.hook.embedded(stream, positions)
        return stream

    def embed_positions(self, positions: range) -> Tensor:
        """Return the position embedding: (position, coordinate)."""
        engine = self.engine
        features = evaluate_features(engine.arithmetic, engine.transformer.features, positions, self.length)
        return engine.position_embedding(features)

    def run_loop(self, stream: Tensor, block: int, count: int) -> Tensor:
        """Run all iterations of a block on the residual stream of the last positions."""
        for iteration in range(count):
            stream = self.run_block(stream, block, iteration)
        return stream

    @_overflow_ignored
    def run_block(self, stream: Tensor, block: int, iteration: int) -> Tensor:
        """Run one iteration of a block on the residual stream of the last positions."""
        positions = range(self.tokens_read - stream.shape[1], self.tokens_read)
        for depth, layer in enumerate(self.engine.blocks[block]):
            stream = self.run_layer(layer, stream, positions, (block, iteration, depth))
        return stream

    def run_layer(self, layer: DenseLayer, stream: Tensor, positions: range, where: LayerIndex) -> Tensor:
        """Run one layer: x += attention(x), then x += feed-forward(x)."""
        if layer.groups:
            retrieved: list[Tensor] = []
            for index, group in enumerate(layer.split_projections(layer.projection(stream))):
                key, *values = self.append_kv((*where, index), [group.key, *group.values])
                retrieved += self.attend((*where, index), group._replace(key=key, values=values), positions)
            stream = layer.output(stream, concat([retrieved[place] for place in layer.order], axis=-1))
            if self.hook:
                self.hook.attended(where, stream, positions)
        if layer.network is not None:
            try:
                stream = layer.network(stream)
            except UndecidedError as doubt:
                raise PrecisionError(f"at position {positions[doubt.position]}: {doubt.reason}") from None
            if self.hook:
                self.hook.fed_forward(where, stream, positions)
        return stream

    def attend(self, where: HeadGroupIndex, group: HeadGroup, positions: range) -> list[Tensor]:
        """Return the values that each head of a group retrieves at the new positions."""
        record = attend(self.engine.arithmetic, group, positions, self.length)
        if self.hook:
            self.hook.searched(where[-1], record)
        return record.retrieved

    def append_kv(self, where: HeadGroupIndex, parts: Sequence[Tensor]) -> list[Tensor]:
        """Append keys and values, computed here or elsewhere, to a head group's cache; return those of all positions.

        Args:
            where: The head group.
            parts: The keys, then the values of each head.
        """
        return self.kv_cache.append(where, parts) if self.engine.is_extendable else list(parts)

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

    def predict_next(self, tokens: Sequence[str], stops: Callable[[str], bool]) -> list[str]:  # noqa: ARG002
        """Return the token that follows a sequence; a subclass may return more, at most up to one that stops the run.

        Args:
            tokens: The sequence, which begins with the tokens read.
            stops: Whether a token ends the run.
        """
        return self.predict(tokens[self.tokens_read :])

    def recompute(self, tokens: Sequence[str], position: int) -> Tensor:
        """Recompute a position with hooks attached; return its residual stream after the last layer.

        The KV cache does not change: the recomputed keys and values equal the cached ones.
        """
        read, cache = self.tokens_read, self.kv_cache
        self.rewind(position)
        try:
            return self.extend([tokens[position : position + 1]])
        finally:
            self.tokens_read, self.kv_cache = read, cache

    def rewind(self, read: int) -> None:
        """Truncate the pass to the first ``read`` tokens, also after an error in a later one."""
        self.tokens_read, self.kv_cache = read, self.kv_cache.truncate(read)

    def _count_new(self, indices: NDArray[np.intp]) -> int:
        """Return the number of new positions.

        Raises:
            UsageError: If the batch size differs, or the model looks ahead and has read tokens before.
        """
        transformer = self.engine.transformer
        if len(indices) != self.batch:
            raise UsageError(f"this pass reads {self.batch} sequences, not {len(indices)}")
        if self.tokens_read and not self.engine.is_extendable:
            raise UsageError(f"{transformer.name!r} looks ahead, so it cannot read a sequence in parts")
        return int(indices.shape[1])


def evaluate_features(numbers: Arithmetic, features: Sequence[Feature], positions: range, length: int | None) -> Tensor:
    """Return the position features at some positions, with each distinct value converted once: (position, feature)."""
    columns = [[value.as_integer_ratio() for value in feature.values_at(positions, length)] for feature in features]
    index = {ratio: k for k, ratio in enumerate(dict.fromkeys(chain.from_iterable(columns)))}
    distinct = numbers.convert([[Fraction(*ratio) for ratio in index]])[0]
    return distinct[np.array([[index[ratio] for ratio in column] for column in columns], dtype=np.intp).T]


def concat(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Concatenate tensors along an axis."""
    first, *others = parts
    return first.concat(others, axis)


def prepare_affine_map(affine: AffineMap, arithmetic: Arithmetic) -> TensorMap:
    """Prepare an affine map for an arithmetic."""
    return arithmetic.compile_affine(*_sparse_affine(affine))


def _sparse_affine(affine: AffineMap) -> SparseAffine:
    return affine.weight.rows, affine.weight.columns, affine.bias


def _prepare_network(forward: FeedForward, arithmetic: Arithmetic) -> TensorMap | None:
    if not forward.units and not any(forward.second.bias):
        return None
    steps = np.array([activation == "step" for activation in forward.activations], dtype=bool)
    if forward.norms:
        return arithmetic.compile_norm_network(
            _sparse_affine(forward.first), steps, _sparse_affine(forward.second), forward.norms
        )
    return arithmetic.compile_network(_sparse_affine(forward.first), steps, _sparse_affine(forward.second))


def projections_of_group(group: Sequence[Head]) -> list[AffineMap]:
    """Return the maps of a group: the keys, then the queries, then the values of its heads."""
    return [group[0].key, *(head.query for head in group), *(head.value for head in group)]


def group_by_keys(heads: Sequence[Head]) -> tuple[tuple[Head, ...], ...]:
    """Group heads by equal keys, mask, weighting and bias."""
    groups: dict[object, list[Head]] = {}
    for head in heads:
        groups.setdefault((head.key, head.mask, head.weighting, head.bias), []).append(head)
    return tuple(map(tuple, groups.values()))


def _head_order(heads: Sequence[Head], groups: Sequence[Sequence[Head]]) -> tuple[int, ...]:
    """Return the index of each head among the groups, so that head outputs are summed in the order of the layer."""
    places: dict[int, list[int]] = {}
    for place, head in enumerate(head for group in groups for head in group):
        places.setdefault(id(head), []).append(place)
    return tuple(places[id(head)].pop(0) for head in heads)


def stack_maps(maps: Sequence[AffineMap], width: int) -> AffineMap:
    """Stack maps: the results are concatenated."""
    rows = tuple(row for part in maps for row in part.weight.rows)
    return AffineMap(Matrix(rows, width), tuple(constant for part in maps for constant in part.bias))


def concat_columns(matrices: Sequence[Matrix], height: int) -> Matrix:
    """Concatenate matrices along the columns."""
    rows: list[list[tuple[int, Fraction]]] = [[] for _ in range(height)]
    offset = 0
    for matrix in matrices:
        for r, c, weight in matrix.entries():
            rows[r].append((offset + c, weight))
        offset += matrix.columns
    return Matrix(tuple(map(tuple, rows)), offset)
