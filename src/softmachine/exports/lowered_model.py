"""Lowered transformer: dense arrays for a fixed number of positions, the input of all third-party formats.

Also rescaling to a range that all number formats have.
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


def rescale(model: LoweredTransformer, scales: Array) -> LoweredTransformer:
    """The same model whose coordinates hold their values times these powers of two."""

    def reading(affine: DenseAffine) -> DenseAffine:
        return DenseAffine(affine.weight / scales, affine.bias)

    layers = [layer.map_stream(reading, lambda columns: columns * scales[:, None]) for layer in model.layers]
    return replace(
        model,
        scales=scales,
        embedding=model.embedding * scales,
        positions=model.positions * scales,
        layers=tuple(layers),
        unembedding=reading(model.unembedding),
    )


def balance_head(head: LoweredHead, query: Array, key: Array) -> LoweredHead:
    """The head with queries and keys of about the same magnitude, for number formats with a small range.

    Args:
        head: The head.
        query: The largest absolute value of each component of its queries.
        key: The same of its keys.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where((query > 0) & (key > 0), np.round(np.log2(query / key) / 2), 0)
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
