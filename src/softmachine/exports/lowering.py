"""Lowering of a transformer to dense arrays for a fixed number of positions.

Loops are unrolled; temperatures become factors of the queries; a Heaviside unit becomes two ReLUs; the layer norm of
one number, which is its sign, becomes two Heaviside units; a decoder's outputs become tokens of the vocabulary. Masks
and relative biases that the architecture lacks become scores, features of the length become an extra layer
(:mod:`.sequence_length`). Every coordinate of the residual stream is scaled by a power of two to stay within ±1. The
outputs are the same up to that number of positions.

For architectures without masks or relative biases, any table of numbers M(i, j) is a product of queries and keys, with
a one-hot encoding of the position in the stream: the key at j is the unit vector of j, the query at i is row i. At
masked pairs M is so low that the weight is exactly 0 in floating point; at visible pairs M is exactly 0 (or the bias),
which leaves the scores unchanged. A triangle of zeros has full rank, so the table cannot have fewer components.

A head that sees no position retrieves the zero vector; here it reads position 0, the start token, whose values are 0 in
the constructions that have such heads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from softmachine.compiler.model import Model
from softmachine.compiler.rewrites.sign_norm import replace_sign_norm
from softmachine.exports.lowered_model import (
    PAD,
    UNKNOWN,
    Array,
    DenseAffine,
    LoweredHead,
    LoweredLayer,
    LoweredTransformer,
    ReluUnit,
    balance_head,
    rescale,
)
from softmachine.exports.requirements import (
    MAX_LAYERS,
    PARTIAL_NORM_REASON,
    require_decoder,
    require_encoder,
    require_length,
    require_softmax,
    require_table_size,
)
from softmachine.exports.sequence_length import InputLengths, build_length_layer, find_input_lengths
from softmachine.ir.stream_facts import StreamFacts, iterate_stream_facts, join_stream_facts
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Block, FeedForward, Head, Layer, Matrix, Transformer

UNDERFLOW_GAP = 128.0
"""e⁻¹²⁸ is 0 in float32."""
MAX_MASK_PENALTY = 2.0**96
"""Masked scores are at least minus twice this, even if the bounds of the other scores would need less."""


def has_native_mask(head: Head, *, causal: bool) -> bool:
    """Whether the head has the architecture's own mask and no bias."""
    return head.bias is None and head.mask is (Mask.CAUSAL if causal else Mask.ALL)


def mask_and_bias(head: Head, count: int, *, scale: float, causal: bool, largest_score: float) -> Array:
    """What is added to the score of every pair of a query and a key, for the mask and the bias of a head.

    Args:
        head: The head.
        count: The number of positions.
        scale: The factor of its scores, and so of its bias.
        causal: Whether the architecture masks later positions.
        largest_score: The largest absolute value of its scores without masks and biases.
    """
    table = _bias_table(head, count) * scale
    low = 2.0 ** np.ceil(np.log2(2 * largest_score + 2 * float(np.abs(table).max(initial=0)) + UNDERFLOW_GAP))
    low = min(low, MAX_MASK_PENALTY)
    for i in range(count):
        for j in range(count):
            if not head.mask.is_visible(j, i):
                table[i, j] = 0.0 if causal and j > i else -2 * low
        if head.mask in (Mask.PAST, Mask.FUTURE) and not head.mask.is_visible(0, i):
            table[i, 0] = -low
    return table


def _bias_table(head: Head, count: int) -> Array:
    """The bias of every pair of a query and a key."""
    table = np.zeros((count, count))
    if head.bias is not None:
        for i in range(count):
            for j in range(count):
                if head.mask.is_visible(j, i):
                    table[i, j] = float(head.bias.at(j, i))
    return table


def _append_rows(affine: DenseAffine, rows: Array) -> DenseAffine:
    return DenseAffine(np.vstack([affine.weight, rows]), np.concatenate([affine.bias, np.zeros(len(rows))]))


def lower(model: Model, length: int, *, bidirectional: bool = False) -> LoweredTransformer:
    """Lower a model for sequences of at most ``length`` positions.

    Args:
        model: The model, with softmax attention.
        length: The number of positions.
        bidirectional: Whether attention in the target architecture is bidirectional instead of causal.

    Raises:
        ConstructionError: If the architecture cannot hold the model; the message gives the reason.
    """
    require_length(length)
    if bidirectional:
        require_encoder(model)
    else:
        require_decoder(model.weights)
    require_softmax(model.weights)
    lengths = find_input_lengths(model, length) if bidirectional else InputLengths(((None, length),))
    return _Lowering(replace_sign_norm(model.weights, PARTIAL_NORM_REASON), lengths, causal=not bidirectional).lowered()


class _Lowering:
    def __init__(self, transformer: Transformer, lengths: InputLengths, *, causal: bool) -> None:
        self.transformer, self.lengths, self.causal = transformer, lengths, causal
        self.count = lengths.max_positions
        self.layers, self.rounds = _unroll(transformer, lengths)
        several = len(lengths.pairs) > 1
        self.of_length = [several and feature.needs_length for feature in transformer.features]
        self.finds_length = any(self.of_length)
        blind = next((h for layer in self.layers for h in layer.heads if not has_native_mask(h, causal=causal)), None)
        self.tabled = self.finds_length or blind is not None
        if blind is not None:
            sees = f"sees {blind.mask}" if blind.bias is None else f"has the relative bias {blind.bias}"
            require_table_size(transformer, self.count, f"head {blind.name!r} {sees}")
        elif self.finds_length:
            require_table_size(transformer, self.count, "it uses the length of its input")
        self.first, self.flags = transformer.width, transformer.width + self.count

    def lowered(self) -> LoweredTransformer:
        """The lowered model."""
        empty = replace(self.transformer.embedding, rows=(*self.transformer.embedding.rows, ()))
        known = replace(self.transformer, vocabulary=(*self.transformer.vocabulary, UNKNOWN), embedding=empty)
        facts = once = list(iterate_stream_facts(known, self.lengths.pairs))
        # Values carried by a loop do not grow with its iterations, but bounds would: scales use those of the first.
        firsts = [k for k, first in enumerate(self.rounds) if first == k]
        if len(firsts) < len(self.layers):
            first_iterations = (Block(tuple(self.layers[k] for k in firsts)),)
            once = list(iterate_stream_facts(replace(known, blocks=first_iterations), self.lengths.pairs))
        before = [once[2 * firsts.index(first)] for first in self.rounds]
        sizes = np.array([float(fact.size) for fact in join_stream_facts(once).bounds])
        model = self.lower_unscaled(facts, before)
        extra = np.ones(model.width - len(sizes))
        return rescale(model, np.append(2.0 ** -np.ceil(np.log2(np.maximum(sizes, 1.0))), extra))

    def lower_unscaled(self, facts: Sequence[StreamFacts], before: Sequence[StreamFacts]) -> LoweredTransformer:
        """The lowered model, with queries and keys that are balanced.

        Args:
            facts: What is known of the stream before and after every sublayer.
            before: What is known of it before every layer, in the first iteration of a loop.
        """
        transformer = self.transformer
        names = dict.fromkeys([*transformer.vocabulary, *(transformer.outputs if self.causal else ())])
        vocabulary = (*names, _unused_name(PAD, [*names]), _unused_name(UNKNOWN, [*names]))
        labels = vocabulary if self.causal else transformer.outputs
        more = self.extra_coordinates()
        embedding = np.zeros((len(vocabulary), transformer.width + len(more)))
        embedding[: len(transformer.vocabulary), : transformer.width] = _dense(transformer.embedding)
        layers = [self.layer(*each, len(more)) for each in zip(self.layers, facts[:-1:2], before, strict=True)]
        if self.finds_length:
            layers.insert(0, self.length_layer(len(more)))
        return LoweredTransformer(
            name=transformer.name,
            causal=self.causal,
            vocabulary=vocabulary,
            spellings=_spell_tokens(vocabulary),
            labels=labels,
            outputs=tuple(labels.index(output) for output in transformer.outputs),
            coordinates=(*transformer.coordinates, *more),
            scales=np.ones(embedding.shape[1]),
            embedding=embedding,
            positions=self.positions(len(more)),
            layers=tuple(layers),
            unembedding=self.unembedding(labels, len(more), facts[-1]),
        )

    def extra_coordinates(self) -> tuple[str, ...]:
        """The added coordinates: the one-hot position, and for each length whether it is not that of the input."""
        if not self.tabled:
            return ()
        places = [f"position[{k}]" for k in range(self.count)]
        return (*places, *(f"not n[{n}]" for n, _ in (self.lengths.pairs if self.finds_length else ())))

    def positions(self, more: int) -> Array:
        """The position embedding: the features that do not depend on the length, and the one-hot position."""
        transformer, (n, _) = self.transformer, self.lengths.pairs[-1]
        ready = [feature for feature, waits in zip(transformer.features, self.of_length, strict=True) if not waits]
        rows = np.array([[float(feature.at(i, n)) for feature in ready] for i in range(self.count)])
        embedded = rows.reshape(self.count, len(ready)) @ self.position_embedding(waiting=False)
        table = np.pad(embedded, ((0, 0), (0, more)))
        if self.tabled:
            table[:, self.first : self.first + self.count] = np.eye(self.count)
        return table

    def position_embedding(self, *, waiting: bool) -> Array:
        """The rows of the features that depend on the length, or of the others."""
        rows: Array = _dense(self.transformer.position_embedding)[np.array(self.of_length, dtype=bool) == waiting]
        return rows

    def length_layer(self, more: int) -> LoweredLayer:
        waiting = [f for f, waits in zip(self.transformer.features, self.of_length, strict=True) if waits]
        rows = np.pad(self.position_embedding(waiting=True), ((0, 0), (0, more)))
        return build_length_layer(waiting, rows, self.lengths, first=self.first, flags=self.flags)

    def layer(self, layer: Layer, facts: StreamFacts, before: StreamFacts, more: int) -> LoweredLayer:
        """A layer on a stream with more coordinates, given facts about the stream before it."""
        heads = [
            LoweredHead(head.name, _affine(head.query), _affine(head.key), _affine(head.value), _dense(head.output))
            for head in layer.heads
        ]
        added = np.array([float(number) for number in layer.feed_forward.second.bias])
        lowered = LoweredLayer.from_units(tuple(heads), [*_units(layer.feed_forward, self.count)], added).widen(more)
        pairs = zip(lowered.heads, layer.heads, strict=True)
        return replace(lowered, heads=tuple(self.head(own, head, facts, before) for own, head in pairs))

    def head(self, lowered: LoweredHead, head: Head, facts: StreamFacts, before: StreamFacts) -> LoweredHead:
        """A head with the scale, the mask and the bias of the original."""
        scale = self.scale(head)
        queries, keys = (np.array([float(fact.size) for fact in before.of(part)]) for part in (head.query, head.key))
        query, key, queries = lowered.query.scaled_by(scale), lowered.key, queries * scale
        if not has_native_mask(head, causal=self.causal):
            largest = scale * float(facts.bound_score(head))
            table = mask_and_bias(head, self.count, scale=scale, causal=self.causal, largest_score=largest)
            used = np.flatnonzero(table.any(axis=0))
            rows, units = np.zeros((len(used), query.weight.shape[1])), np.zeros((len(used), query.weight.shape[1]))
            rows[:, self.first : self.first + self.count] = table[:, used].T
            units[np.arange(len(used)), self.first + used] = 1
            query, key = _append_rows(query, rows), _append_rows(key, units)
            queries, keys = np.append(queries, np.abs(rows).max(axis=1)), np.append(keys, np.ones(len(used)))
        return balance_head(replace(lowered, query=query, key=key), queries, keys)

    def scale(self, head: Head) -> float:
        """The inverse temperature: the largest of all positions; at the others it only sharpens the softmax."""
        scale = head.weighting.scale
        return _power_of_two(max(self.lengths.feature_values(scale))) if isinstance(scale, Feature) else float(scale)

    def unembedding(self, labels: Sequence[str], more: int, facts: StreamFacts) -> DenseAffine:
        """Logits of all labels; those of labels that the model never emits are below any other."""
        own = _affine(self.transformer.unembedding)
        lowest = min(fact.low for fact in facts.of(self.transformer.unembedding))
        weight = np.zeros((len(labels), self.transformer.width + more))
        bias = np.full(len(labels), math.floor(lowest) - 1.0)
        outputs = [labels.index(output) for output in self.transformer.outputs]
        weight[outputs, : self.transformer.width], bias[outputs] = own.weight, own.bias
        return DenseAffine(weight, bias)


def _unroll(transformer: Transformer, lengths: InputLengths) -> tuple[tuple[Layer, ...], tuple[int, ...]]:
    """The layers with loops unrolled, and for each the index of the same layer in the first iteration."""
    layers: tuple[Layer, ...] = ()
    rounds: tuple[int, ...] = ()
    for block in transformer.blocks:
        counts = {block.iterations(n) for n, _ in lengths.pairs}
        if len(counts) > 1:
            raise ConstructionError(
                f"{transformer.name!r} has a loop with {block.repeats} iterations, which depends on the input"
            )
        (count,) = counts
        depth = len(layers) + count * len(block.layers)
        if depth > MAX_LAYERS:
            message = f"{transformer.name!r} unrolls to {depth:,} layers; the maximum is {MAX_LAYERS}"
            raise ConstructionError(message)
        rounds += tuple(range(len(layers), len(layers) + len(block.layers))) * count
        layers += block.layers * count
    return layers, rounds


def _units(forward: FeedForward, length: int) -> Iterator[ReluUnit]:
    """The ReLU units; a Heaviside unit becomes ReLU(s x + 1) - ReLU(s x), which is exact for x ≥ 0 and x ≤ -1/s."""
    first, columns = _affine(forward.first), _dense(forward.second.weight).T
    sharp = _power_of_two(4 * (length + 1))
    for u, (name, activation) in enumerate(zip(forward.units, forward.activations, strict=True)):
        weight, bias, column = first.weight[u], float(first.bias[u]), columns[u]
        if activation == "step":
            yield ReluUnit(weight * sharp, bias * sharp + 1, column, f"{name}: from 0")
            yield ReluUnit(weight * sharp, bias * sharp, -column, f"{name}: from 1")
        else:
            yield ReluUnit(weight, bias, column, name)


def _power_of_two(number: float) -> float:
    """The smallest power of two that is at least a number."""
    return float(2.0 ** math.ceil(math.log2(number)))


def _dense(matrix: Matrix) -> Array:
    dense = np.zeros(matrix.shape)
    for row, column, value in matrix.entries():
        dense[row, column] = float(value)
    return dense


def _affine(affine: AffineMap) -> DenseAffine:
    return DenseAffine(_dense(affine.weight), np.array([float(number) for number in affine.bias]))


def _unused_name(text: str, taken: Sequence[str]) -> str:
    while text in taken:
        text = f"<{text}>"
    return text


def _spell_tokens(vocabulary: Sequence[str]) -> tuple[str, ...]:
    """The tokens as text without white space: a space becomes ␣, and duplicates are put in quotes."""
    taken: dict[str, None] = {}
    for token in vocabulary:
        text = "".join("␣" if character.isspace() else character for character in token) or "ε"
        while text in taken:
            text = f"'{text}'"
        taken[text] = None
    return tuple(taken)
