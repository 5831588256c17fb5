"""A lowered transformer: plain arrays for a fixed number of positions, ready for other people's architectures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PAD = "<pad>"


@dataclass(frozen=True)
class Affine:
    """x ↦ W x + b, over the coordinates of the residual stream."""

    weight: Array
    bias: Array


@dataclass(frozen=True)
class LoweredHead:
    """A softmax head at temperature 1 that sees what all heads of the model see; ``output`` is (width, values)."""

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

    def widened(self, more: int) -> LoweredLayer:
        """The layer over a stream with more coordinates, which it neither reads nor writes."""

        def reading(affine: Affine) -> Affine:
            return Affine(np.pad(affine.weight, ((0, 0), (0, more))), affine.bias)

        def column(rows: Array) -> Array:
            return np.pad(rows, ((0, more), (0, 0)))

        heads = tuple(
            replace(
                head,
                query=reading(head.query),
                key=reading(head.key),
                value=reading(head.value),
                output=column(head.output),
            )
            for head in self.heads
        )
        second = Affine(column(self.second.weight), np.pad(self.second.bias, (0, more)))
        return LoweredLayer(heads, reading(self.first), second, self.units)


@dataclass(frozen=True)
class Lowered:
    """Plain arrays, and names.

    Args:
        name: What the model is called.
        causal: Whether every position sees those up to its own, as in a decoder, or all of them, as in an encoder.
        vocabulary: Tokens in the order of the embedding's rows: the model's own, a decoder's answers, and padding.
        spellings: The same, without white space.
        labels: What the logits stand for: of a decoder the vocabulary, of an encoder its answers.
        outputs: Which of the labels the model may produce.
        coordinates: The names of the residual stream's coordinates.
        scales: A coordinate holds its value times this, a power of two.
        embedding: (vocabulary, width).
        positions: (positions, width).
        layers: What is applied, in order.
        unembedding: (labels, width), and what is added to each logit.
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
    unembedding: Affine

    @property
    def width(self) -> int:
        """The number of coordinates of the residual stream."""
        return len(self.coordinates)

    @property
    def pad(self) -> int:
        """The index of the padding token."""
        return len(self.vocabulary) - 1


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


def most_units(model: Lowered) -> int:
    """The largest number of units of any layer, at least 1."""
    return max([1, *(len(layer.units) for layer in model.layers)])
