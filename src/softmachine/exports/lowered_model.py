"""Lowered transformer: dense arrays for a fixed number of positions, the input of all third-party formats.

Also interval bounds of its coordinates, and rescaling to a range that all number formats have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PAD, UNKNOWN = "<pad>", "<unk>"


@dataclass(frozen=True)
class DenseAffine:
    """x ↦ W x + b, over the coordinates of the residual stream."""

    weight: Array
    bias: Array

    def apply(self, rows: Array) -> Array:
        """Apply the map to each row."""
        image: Array = rows @ self.weight.T + self.bias
        return image

    def scaled_by(self, factor: float | Array) -> DenseAffine:
        """The map times a factor, or times one factor per component."""
        return DenseAffine(self.weight * np.reshape(factor, (-1, 1)), self.bias * factor)


@dataclass(frozen=True)
class LoweredHead:
    """A softmax head at temperature 1 with the mask of the architecture; ``output`` is (width, values)."""

    name: str
    query: DenseAffine
    key: DenseAffine
    value: DenseAffine
    output: Array


class ReluUnit(NamedTuple):
    """A ReLU unit: the weights and the bias that it reads with, and the column that it writes."""

    weight: Array
    bias: float
    column: Array
    name: str


@dataclass(frozen=True)
class LoweredLayer:
    """Parallel heads, then ReLU units."""

    heads: tuple[LoweredHead, ...]
    first: DenseAffine
    second: DenseAffine
    units: tuple[str, ...]

    @staticmethod
    def from_units(heads: tuple[LoweredHead, ...], units: Sequence[ReluUnit], added: Array) -> LoweredLayer:
        """The layer of these heads and units, which also adds a constant vector."""
        shape = len(units), len(added)
        first = DenseAffine(
            np.array([unit.weight for unit in units]).reshape(shape), np.array([unit.bias for unit in units])
        )
        columns = np.array([unit.column for unit in units]).reshape(shape).T
        return LoweredLayer(heads, first, DenseAffine(columns, added), tuple(unit.name for unit in units))

    def map_stream(
        self, reading: Callable[[DenseAffine], DenseAffine], writing: Callable[[Array], Array]
    ) -> LoweredLayer:
        """The layer with a function applied to all maps that read the stream, and one to all columns written to it."""
        heads = tuple(
            LoweredHead(head.name, reading(head.query), reading(head.key), reading(head.value), writing(head.output))
            for head in self.heads
        )
        second = DenseAffine(writing(self.second.weight), writing(self.second.bias[:, None])[:, 0])
        return LoweredLayer(heads, reading(self.first), second, self.units)

    def widen(self, more: int) -> LoweredLayer:
        """The layer over a stream with more coordinates, which it neither reads nor writes."""
        return self.map_stream(
            lambda affine: DenseAffine(np.pad(affine.weight, ((0, 0), (0, more))), affine.bias),
            lambda columns: np.pad(columns, ((0, more), (0, 0))),
        )


@dataclass(frozen=True)
class LoweredTransformer:
    """A transformer as dense arrays with names.

    Args:
        name: The name of the model.
        causal: Whether attention is causal, as in a decoder, or bidirectional, as in an encoder.
        vocabulary: Tokens in the order of the embedding's rows: the model's own, a decoder's outputs, padding, and the
            token for text that is not in the vocabulary. The last two have an embedding of 0.
        spellings: The tokens as text without white space.
        labels: The labels of the logits: the vocabulary of a decoder, the outputs of an encoder.
        outputs: The indices of the labels that the model may emit.
        coordinates: The names of the residual stream's coordinates.
        scales: A coordinate holds its value times this, a power of two.
        embedding: (vocabulary, width).
        positions: (positions, width).
        layers: The layers, in order.
        unembedding: (labels, width), with the bias of each logit.
    """

    name: str
    causal: bool
    vocabulary: tuple[str, ...]
    spellings: tuple[str, ...]
    labels: tuple[str, ...]
    outputs: tuple[int, ...]
    coordinates: tuple[str, ...]
    scales: Array
    embedding: Array
    positions: Array
    layers: tuple[LoweredLayer, ...]
    unembedding: DenseAffine

    @property
    def width(self) -> int:
        """The number of coordinates of the residual stream."""
        return len(self.coordinates)

    @cached_property
    def index(self) -> dict[str, int]:
        """The id of each token."""
        return {token: k for k, token in enumerate(self.vocabulary)}

    @cached_property
    def spelling_of(self) -> dict[str, str]:
        """The spelling of each token."""
        return dict(zip(self.vocabulary, self.spellings, strict=True))

    @property
    def pad_id(self) -> int:
        """The index of the padding token."""
        return len(self.vocabulary) - 2

    @property
    def unknown_id(self) -> int:
        """The index of the token for text that is not in the vocabulary."""
        return len(self.vocabulary) - 1


def head_width(model: LoweredTransformer) -> int:
    """The common width of all heads: a power of 4, so that dividing scores by its square root is exact."""
    heads = [head for layer in model.layers for head in layer.heads]
    width = 4
    while width < max([1, *(max(len(head.query.bias), len(head.value.bias)) for head in heads)]):
        width *= 4
    return width


def max_heads(model: LoweredTransformer) -> int:
    """The largest number of heads of any layer, at least 1."""
    return max([1, *(len(layer.heads) for layer in model.layers)])


def max_units(model: LoweredTransformer) -> int:
    """The largest number of units of any layer, at least 1."""
    return max([1, *(len(layer.units) for layer in model.layers)])


Bounds = tuple[Array, Array]
"""Lower and upper bounds of each coordinate: one row for all positions, or one row per position."""


def interval_forward(model: LoweredTransformer, *, per_position: bool = False) -> list[Bounds]:
    """Bounds of each coordinate before the first layer and after each layer, by interval arithmetic.

    With a row for every position, one-hot position coordinates are known exactly, and so are sums over them.
    """
    places = model.positions
    least, most = (places, places) if per_position else (places.min(axis=0)[None], places.max(axis=0)[None])
    low, high = model.embedding.min(axis=0) + least, model.embedding.max(axis=0) + most
    found = [(low, high)]
    for layer in model.layers:
        # A head retrieves a convex combination of values of any positions.
        for head in layer.heads:
            values = interval_affine(head.value, found[-1])
            mean = values[0].min(axis=0)[None], values[1].max(axis=0)[None]
            added = interval_affine(DenseAffine(head.output, np.zeros(model.width)), mean)
            low, high = low + added[0], high + added[1]
        units = interval_affine(layer.first, (low, high))
        added = interval_affine(layer.second, (np.maximum(units[0], 0), np.maximum(units[1], 0)))
        low, high = low + added[0], high + added[1]
        found.append((low, high))
    return found


def interval_affine(affine: DenseAffine, box: Bounds) -> Bounds:
    """The range of an affine map over a box, by interval arithmetic."""
    positive, negative = np.maximum(affine.weight, 0).T, np.minimum(affine.weight, 0).T
    low, high = box
    return low @ positive + high @ negative + affine.bias, high @ positive + low @ negative + affine.bias


def max_magnitude(affine: DenseAffine, box: Bounds) -> Array:
    """The largest absolute value of each component of an affine map over a box."""
    low, high = interval_affine(affine, box)
    sizes: Array = np.maximum(np.abs(low), np.abs(high)).max(axis=0)
    return sizes


def rescale_to_unit(model: LoweredTransformer, before: Sequence[Bounds], boxes: Sequence[Bounds]) -> LoweredTransformer:
    """The same model, rescaled so that the bounds of every coordinate are within ±1.

    Args:
        model: The model.
        before: Bounds of the coordinates before each layer.
        boxes: Bounds of the coordinates before, between and after layers.
    """
    sizes = np.max([np.maximum(np.abs(low), np.abs(high)).max(axis=0) for low, high in boxes], axis=0)
    scales = 2.0 ** -np.ceil(np.log2(np.maximum(sizes, 1.0)))

    def reading(affine: DenseAffine) -> DenseAffine:
        return DenseAffine(affine.weight / scales, affine.bias)

    layers = [
        replace(layer, heads=tuple(_balance_head(head, box) for head in layer.heads)).map_stream(
            reading, lambda columns: columns * scales[:, None]
        )
        for layer, box in zip(model.layers, before, strict=True)
    ]
    return replace(
        model,
        scales=scales,
        embedding=model.embedding * scales,
        positions=model.positions * scales,
        layers=tuple(layers),
        unembedding=reading(model.unembedding),
    )


def _balance_head(head: LoweredHead, box: Bounds) -> LoweredHead:
    """The head with queries and keys of about the same magnitude, for number formats with a small range."""
    if not len(head.query.bias):
        return head
    ours, theirs = max_magnitude(head.query, box), max_magnitude(head.key, box)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where((ours > 0) & (theirs > 0), np.round(np.log2(ours / theirs) / 2), 0)
    return replace(head, query=head.query.scaled_by(2.0**-shift), key=head.key.scaled_by(2.0**shift))


def balance_unit_weights(model: LoweredTransformer, max_weight: float) -> LoweredTransformer:
    """The same model with weights of units at most ``max_weight`` where they read, and larger ones where they write.

    ReLU(c x) is c ReLU(x); c is a power of two.
    """

    def relieve(layer: LoweredLayer) -> LoweredLayer:
        sizes = np.maximum(np.abs(layer.first.weight).max(axis=1, initial=0), np.abs(layer.first.bias))
        factor = 2.0 ** np.ceil(np.log2(np.maximum(sizes / max_weight, 1.0)))
        second = DenseAffine(layer.second.weight * factor, layer.second.bias)
        return replace(layer, first=layer.first.scaled_by(1 / factor), second=second)

    return replace(model, layers=tuple(map(relieve, model.layers)))
