"""A transformer made ready for other people's architectures: plain arrays for a fixed number of positions.

Loops are unrolled, temperatures become factors of the queries, Heaviside units become two ReLUs, answers become tokens
of the vocabulary, and every coordinate of the residual stream is scaled by a power of two so that it stays within ±1.
None of it changes what is computed up to that length.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmachine.attention import Mask
from softmachine.errors import ConstructionError, UsageError
from softmachine.positions import Feature
from softmachine.transformer import AffineMap, FeedForward, Head, Layer, Matrix, Transformer

Array = NDArray[np.float64]

PAD = "<pad>"
MOST_LAYERS = 512
"""Loops that unroll to more layers are refused."""
MOST_POSITIONS = 1 << 20
"""No stock checkpoint has more positions."""


@dataclass(frozen=True)
class Affine:
    """x ↦ W x + b, over the coordinates of the residual stream."""

    weight: Array
    bias: Array


@dataclass(frozen=True)
class LoweredHead:
    """A softmax head at temperature 1 that sees the positions up to its own; ``output`` is (width, values)."""

    name: str
    query: Affine
    key: Affine
    value: Affine
    output: Array


@dataclass(frozen=True)
class LoweredLayer:
    """Heads side by side, then ReLU units."""

    heads: tuple[LoweredHead, ...]
    first: Affine
    second: Affine
    units: tuple[str, ...]


@dataclass(frozen=True)
class Lowered:
    """Plain arrays, and names.

    Args:
        name: What the model is called.
        vocabulary: Tokens in the order of the embedding's rows: the model's own, its answers, and padding.
        spellings: The same, without white space.
        outputs: Which of them the model may produce.
        coordinates: The names of the residual stream's coordinates.
        scales: A coordinate holds its value times this, a power of two.
        embedding: (vocabulary, width).
        positions: (positions, width).
        layers: What is applied, in order.
        unembedding: (vocabulary, width), and what is added to each logit.
    """

    name: str
    vocabulary: tuple[str, ...]
    spellings: tuple[str, ...]
    outputs: tuple[int, ...]
    coordinates: tuple[str, ...]
    scales: Array
    embedding: Array
    positions: Array
    layers: tuple[LoweredLayer, ...]
    unembedding: Affine

    @property
    def width(self) -> int:
        """The number of coordinates of the residual stream."""
        return len(self.coordinates)

    @property
    def pad(self) -> int:
        """The index of the padding token."""
        return len(self.vocabulary) - 1


def lower(transformer: Transformer, length: int) -> Lowered:
    """The transformer for sequences of at most ``length`` positions.

    Raises:
        ConstructionError: If a causal softmax model cannot compute what it computes; it says why.
    """
    require_length(length)
    _require_stock(transformer)
    vocabulary = tuple(dict.fromkeys([*transformer.vocabulary, *transformer.outputs]))
    vocabulary = (*vocabulary, _fresh(PAD, vocabulary))
    outputs = tuple(vocabulary.index(output) for output in transformer.outputs)
    embedding = np.zeros((len(vocabulary), transformer.width))
    embedding[: len(transformer.vocabulary)] = _dense(transformer.embedding)
    plain = Lowered(
        name=transformer.name,
        vocabulary=vocabulary,
        spellings=_spelled(vocabulary),
        outputs=outputs,
        coordinates=transformer.coordinates,
        scales=np.ones(transformer.width),
        embedding=embedding,
        positions=_positions(transformer, length),
        layers=tuple(_layer(layer, length) for layer in _unrolled(transformer)),
        unembedding=Affine(np.zeros(embedding.shape), np.zeros(len(vocabulary))),
    )
    bounds = _bounds(plain)
    return _conditioned(plain, _unembedding(transformer, plain, bounds), bounds)


def head_width(model: Lowered) -> int:
    """A width that every head fits in: a power of 4, so that dividing scores by its root is exact."""
    heads = [head for layer in model.layers for head in layer.heads]
    width = 4
    while width < max([1, *(max(len(head.query.bias), len(head.value.bias)) for head in heads)]):
        width *= 4
    return width


def most_heads(model: Lowered) -> int:
    """The largest number of heads of any layer, at least 1."""
    return max([1, *(len(layer.heads) for layer in model.layers)])


def require_length(length: int) -> None:
    """Complain about a number of positions that no checkpoint has."""
    if not 1 <= length <= MOST_POSITIONS:
        hint = f"1 to {MOST_POSITIONS:,} are possible"
        raise UsageError(f"a model with {length} positions cannot be written", hint=hint)


def require_decoder(transformer: Transformer) -> None:
    """Complain about what no decoder can do: see ahead, or know how long its input will be."""
    needed = [*transformer.features, *(head.weighting.scale for head in transformer.heads)]
    hint = "use a construction for future-masked models, such as temporal-masked for formulas of the past"
    for head in transformer.heads:
        if not head.mask.causal:
            raise ConstructionError(
                f"{transformer.name!r} is an encoder: head {head.name!r} sees {head.mask}, but a decoder sees j ≤ i",
                hint=hint,
            )
    for item in (*needed, *(block.repeats for block in transformer.blocks)):
        if isinstance(item, Feature) and item.needs_length:
            raise ConstructionError(
                f"{transformer.name!r} is an encoder: it uses {item}, which depends on the length of the input, and a "
                "decoder does not know how long its input will be",
                hint=hint,
            )


def _require_stock(transformer: Transformer) -> None:
    """Complain about everything that a causal softmax model with absolute positions cannot do."""
    require_decoder(transformer)
    for head in transformer.heads:
        if head.mask is Mask.PAST:
            raise ConstructionError(f"head {head.name!r} must not see its own position, but in a stock decoder it does")
        if head.bias is not None:
            raise ConstructionError(f"head {head.name!r} has the relative bias {head.bias}, which this format lacks")
        if head.weighting.hard and head.query.bias:
            raise ConstructionError(
                f"head {head.name!r} has {head.weighting} attention; stock checkpoints have softmax",
                hint="make it soft first: sm.soften(model, length=N)",
            )


def _unrolled(transformer: Transformer) -> Iterator[Layer]:
    depth = sum(len(block.layers) * block.count(None) for block in transformer.blocks)
    if depth > MOST_LAYERS:
        raise ConstructionError(f"{transformer.name!r} unrolls to {depth:,} layers; at most {MOST_LAYERS} are written")
    for block in transformer.blocks:
        for _ in range(block.count(None)):
            yield from block.layers


def _positions(transformer: Transformer, length: int) -> Array:
    rows = [[float(feature.at(i)) for feature in transformer.features] for i in range(length)]
    return np.array(rows).reshape(length, len(transformer.features)) @ _dense(transformer.position_embedding)


def _layer(layer: Layer, length: int) -> LoweredLayer:
    first, second, units = _units(layer.feed_forward, length)
    return LoweredLayer(tuple(_head(head, length) for head in layer.heads), first, second, units)


def _head(head: Head, length: int) -> LoweredHead:
    """A head whose temperature is part of its query: the lowest one of any position, which only sharpens the others."""
    query, scale = _affine(head.query), head.weighting.scale
    factor = (
        _power_of_two(max(float(scale.at(i)) for i in range(length))) if isinstance(scale, Feature) else float(scale)
    )
    return LoweredHead(
        head.name,
        Affine(query.weight * factor, query.bias * factor),
        _affine(head.key),
        _affine(head.value),
        _dense(head.output),
    )


def _units(forward: FeedForward, length: int) -> tuple[Affine, Affine, tuple[str, ...]]:
    """ReLU units; a Heaviside unit is ReLU(s x + 1) - ReLU(s x), right where x ≥ 0 or x ≤ -1/s."""
    first, second = _affine(forward.first), _affine(forward.second)
    sharp = _power_of_two(4 * (length + 1))
    rows: list[tuple[Array, float, Array, str]] = []
    for u, (unit, activation) in enumerate(zip(forward.units, forward.activations, strict=True)):
        weight, bias, column = first.weight[u], float(first.bias[u]), second.weight[:, u]
        if activation == "step":
            rows.append((weight * sharp, bias * sharp + 1, column, f"{unit}: from 0"))
            rows.append((weight * sharp, bias * sharp, -column, f"{unit}: from 1"))
        else:
            rows.append((weight, bias, column, unit))
    width = second.weight.shape[0]
    weights = np.array([row[0] for row in rows]).reshape(len(rows), width)
    columns = np.array([row[2] for row in rows]).reshape(len(rows), width).T
    biases = np.array([row[1] for row in rows])
    return Affine(weights, biases), Affine(columns, second.bias), tuple(row[3] for row in rows)


Bounds = tuple[Array, Array]


def _bounds(model: Lowered) -> list[Bounds]:
    """The least and the largest value that each coordinate can have before the first layer and after each layer."""
    low = model.embedding.min(axis=0) + model.positions.min(axis=0)
    high = model.embedding.max(axis=0) + model.positions.max(axis=0)
    found = [(low, high)]
    for layer in model.layers:
        # What a head retrieves is a mean of values.
        for head in layer.heads:
            added = _image(Affine(head.output, np.zeros(model.width)), _image(head.value, (found[-1][0], found[-1][1])))
            low, high = low + added[0], high + added[1]
        units = _image(layer.first, (low, high))
        active = (np.maximum(units[0], 0), np.maximum(units[1], 0))
        added = _image(layer.second, active)
        low, high = low + added[0], high + added[1]
        found.append((low, high))
    return found


def _image(affine: Affine, bounds: Bounds) -> Bounds:
    """The range of an affine map over a box."""
    positive, negative = np.maximum(affine.weight, 0), np.minimum(affine.weight, 0)
    low, high = bounds
    return positive @ low + negative @ high + affine.bias, positive @ high + negative @ low + affine.bias


def _unembedding(transformer: Transformer, model: Lowered, bounds: list[Bounds]) -> Affine:
    """Logits of all tokens: those that are never produced get less than any other can have."""
    own = _affine(transformer.unembedding)
    weight, bias = np.zeros(model.embedding.shape), np.zeros(len(model.vocabulary))
    least = float(_image(own, bounds[-1])[0].min())
    bias[:] = math.floor(least) - 1
    weight[list(model.outputs)], bias[list(model.outputs)] = own.weight, own.bias
    return Affine(weight, bias)


def _conditioned(model: Lowered, unembedding: Affine, bounds: list[Bounds]) -> Lowered:
    """The same model, with every coordinate within ±1 as far as bounds say."""
    largest = np.max([np.maximum(np.abs(low), np.abs(high)) for low, high in bounds], axis=0)
    scales = 2.0 ** -np.ceil(np.log2(np.maximum(largest, 1.0)))

    def reading(affine: Affine) -> Affine:
        return Affine(affine.weight / scales, affine.bias)

    def writing(affine: Affine) -> Affine:
        return Affine(affine.weight * scales[:, None], affine.bias * scales)

    layers = []
    for layer, before in zip(model.layers, bounds, strict=False):
        heads = []
        for head in layer.heads:
            query, key = _balanced(head.query, head.key, before)
            output = head.output * scales[:, None]
            heads.append(LoweredHead(head.name, reading(query), reading(key), reading(head.value), output))
        layers.append(LoweredLayer(tuple(heads), reading(layer.first), writing(layer.second), layer.units))
    return Lowered(
        name=model.name,
        vocabulary=model.vocabulary,
        spellings=model.spellings,
        outputs=model.outputs,
        coordinates=model.coordinates,
        scales=scales,
        embedding=model.embedding * scales,
        positions=model.positions * scales,
        layers=tuple(layers),
        unembedding=reading(unembedding),
    )


def _balanced(query: Affine, key: Affine, bounds: Bounds) -> tuple[Affine, Affine]:
    """The same products, with numbers of about the same size on both sides, for formats with a small range."""
    if not len(query.bias):
        return query, key
    ours, theirs = (np.max(np.abs(_image(side, bounds)), axis=0) for side in (query, key))
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where((ours > 0) & (theirs > 0), np.round(np.log2(ours / theirs) / 2), 0)
    factor = 2.0**shift
    return (
        Affine(query.weight / factor[:, None], query.bias / factor),
        Affine(key.weight * factor[:, None], key.bias * factor),
    )


def _power_of_two(number: float) -> float:
    """The smallest power of two that is not below a number."""
    return float(2.0 ** math.ceil(math.log2(number)))


def _dense(matrix: Matrix) -> Array:
    dense = np.zeros(matrix.shape)
    for row, column, value in matrix.entries():
        dense[row, column] = float(value)
    return dense


def _affine(affine: AffineMap) -> Affine:
    return Affine(_dense(affine.weight), np.array([float(number) for number in affine.bias]))


def _fresh(text: str, taken: Sequence[str]) -> str:
    while text in taken:
        text = f"<{text}>"
    return text


def _spelled(vocabulary: Sequence[str]) -> tuple[str, ...]:
    """The tokens as text that splits at white space: blanks are shown, and what then collides is put in quotes."""
    taken: dict[str, None] = {}
    for token in vocabulary:
        text = "".join("␣" if character.isspace() else character for character in token) or "ε"
        while text in taken:
            text = f"'{text}'"
        taken[text] = None
    return tuple(taken)
