"""Transformers with exact rational weights and a name for every coordinate, head and unit.

Multi-head attention and feed-forward sublayers around a residual stream; layer norm only inside feed-forward sublayers
that have it. Encoders and decoders are the same class: in a decoder all masks are causal, and the outputs are next
tokens.

The digest is the SHA-256 of the numbers and the structure, without the names of coordinates, heads and units. Two
transformers with the same digest compute the same logits. Vocabulary and outputs are part of it, since they define what
is computed; position features and relations enter by their saved form.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256

from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import AttentionKind, Mask, Weighting
from softmachine.transformer.features import Feature, Relation

SparseRow = tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix of exact rationals: for each row, its non-zeros as (column, value) in order of columns."""

    rows: tuple[SparseRow, ...]
    columns: int

    @staticmethod
    def of(rows: Iterable[dict[int, Fraction]], columns: int) -> Matrix:
        """Create a matrix from one dictionary per row; zeros are dropped."""
        return Matrix(tuple(tuple(sorted((c, w) for c, w in row.items() if w)) for row in rows), columns)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return len(self.rows), self.columns

    @property
    def nonzero_count(self) -> int:
        """The number of non-zero weights."""
        return sum(map(len, self.rows))

    @property
    def transposed(self) -> Matrix:
        """The matrix with rows and columns exchanged."""
        rows: list[dict[int, Fraction]] = [{} for _ in range(self.columns)]
        for r, c, value in self.entries():
            rows[c][r] = value
        return Matrix.of(rows, len(self.rows))

    def entries(self) -> Iterator[tuple[int, int, Fraction]]:
        """All non-zeros as (row, column, value)."""
        for r, row in enumerate(self.rows):
            for c, value in row:
                yield r, c, value


@dataclass(frozen=True)
class AffineMap:
    """x ↦ W x + b."""

    weight: Matrix
    bias: tuple[Fraction, ...]


@dataclass(frozen=True)
class Head:
    """One attention head: score(i, j) = query(x_i) · key(x_j) + bias(j, i); it adds output · Σ_j w_ij value(x_j)."""

    name: str
    query: AffineMap
    key: AffineMap
    value: AffineMap
    output: Matrix
    mask: Mask
    weighting: Weighting
    bias: Relation | None = None


@dataclass(frozen=True)
class FeedForward:
    """Adds second(activation(first(x))); every hidden unit has a name and its own activation, "relu", "step" or "norm".

    Args:
        first: From the residual stream to the hidden units.
        activations: The activation function of each unit.
        second: From the hidden units to the residual stream.
        units: The names of the hidden units.
        norms: Groups of normalised units: x₁ … x_k become the first half of the layer norm of
            (x₁, …, x_k, -x₁, …, -x_k), that is, each of them divided by the root mean square of the group, and 0 if
            all are 0. For a single number this is its sign.
    """

    first: AffineMap
    activations: tuple[str, ...]
    second: AffineMap
    units: tuple[str, ...]
    norms: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Layer:
    """Parallel attention heads, then a feed-forward sublayer; each adds to the residual stream."""

    heads: tuple[Head, ...]
    feed_forward: FeedForward


@dataclass(frozen=True)
class Block:
    """Layers that run ``repeats`` times; the number may be a feature of the input's length."""

    layers: tuple[Layer, ...]
    repeats: int | Feature = 1
    name: str = ""

    def iterations(self, length: int | None) -> int:
        """The number of iterations on an input of this length."""
        return int(self.repeats.at(0, length)) if isinstance(self.repeats, Feature) else self.repeats


@dataclass(frozen=True)
class Transformer:
    """A transformer: weights and names.

    Args:
        name: Name of the model.
        vocabulary: The tokens, in the order of the embedding's rows.
        coordinates: The names of the residual stream's coordinates.
        embedding: One row per token.
        features: The position features.
        position_embedding: One row per feature: its coefficient in each coordinate.
        blocks: The blocks, in order.
        outputs: The output tokens, in the order of the unembedding's rows.
        unembedding: From the residual stream to the logits.
    """

    name: str
    vocabulary: tuple[str, ...]
    coordinates: tuple[str, ...]
    embedding: Matrix
    features: tuple[Feature, ...]
    position_embedding: Matrix
    blocks: tuple[Block, ...]
    outputs: tuple[str, ...]
    unembedding: AffineMap

    @cached_property
    def token_index(self) -> dict[str, int]:
        """The row of each token in the embedding."""
        return {token: index for index, token in enumerate(self.vocabulary)}

    @property
    def width(self) -> int:
        """The number of coordinates of the residual stream."""
        return len(self.coordinates)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """All layers; those of a loop are listed once."""
        return tuple(layer for block in self.blocks for layer in block.layers)

    def depth(self, length: int | None) -> int:
        """The number of layers applied to an input of this length, with loops unrolled."""
        return sum(block.iterations(length) * len(block.layers) for block in self.blocks)

    def iterate_layers(self, length: int | None) -> Iterator[Layer]:
        """Yield the layers with loops unrolled."""
        for block in self.blocks:
            for _ in range(block.iterations(length)):
                yield from block.layers

    @property
    def heads(self) -> tuple[Head, ...]:
        """All heads, layer by layer."""
        return tuple(head for layer in self.layers for head in layer.heads)

    @property
    def is_causal(self) -> bool:
        """Whether all masks are causal and nothing depends on the input length, so the model can decode."""
        scales = (head.weighting.scale for head in self.heads)
        lengths = [*self.features, *scales, *(block.repeats for block in self.blocks)]
        known = any(isinstance(item, Feature) and item.needs_length for item in lengths)
        return not known and all(head.mask.is_causal for head in self.heads)

    @property
    def matrices(self) -> Iterator[Matrix]:
        """All weight matrices, in a fixed order."""
        yield self.embedding
        yield self.position_embedding
        for layer in self.layers:
            for head in layer.heads:
                yield from (head.query.weight, head.key.weight, head.value.weight, head.output)
            yield from (layer.feed_forward.first.weight, layer.feed_forward.second.weight)
        yield self.unembedding.weight

    @property
    def parameter_count(self) -> int:
        """The number of weights and biases, zeros included."""
        biases = len(self.unembedding.bias)
        for layer in self.layers:
            for head in layer.heads:
                biases += len(head.query.bias) + len(head.key.bias) + len(head.value.bias)
            biases += len(layer.feed_forward.first.bias) + len(layer.feed_forward.second.bias)
        return biases + sum(rows * columns for rows, columns in (matrix.shape for matrix in self.matrices))

    @property
    def nonzero_count(self) -> int:
        """The number of non-zero weights, without biases."""
        return sum(matrix.nonzero_count for matrix in self.matrices)

    @property
    def largest_weight(self) -> Fraction:
        """The largest absolute value of a weight."""
        return max((abs(value) for matrix in self.matrices for _, _, value in matrix.entries()), default=Fraction(0))

    @property
    def weightings(self) -> tuple[Weighting, ...]:
        """The distinct kinds of attention in use."""
        return tuple(dict.fromkeys(head.weighting for head in self.heads))

    @property
    def first_normalised_unit(self) -> str | None:
        """The name of a normalised unit; None if there is none."""
        forwards = (layer.feed_forward for layer in self.layers)
        return next((forward.units[forward.norms[0][0]] for forward in forwards if forward.norms), None)

    @property
    def first_group_normalised_unit(self) -> str | None:
        """The name of a unit normalised in a group, by a square root that is irrational in general; or None."""
        forwards = (layer.feed_forward for layer in self.layers)
        several = ((forward, group) for forward in forwards for group in forward.norms if len(group) > 1)
        return next((forward.units[group[0]] for forward, group in several), None)

    def require_single_norms(self, reason: str) -> None:
        """Check that every norm has a single number, whose norm is its sign.

        Raises:
            ConstructionError: If units are normalised in a group; the message names one.
        """
        if self.first_group_normalised_unit is not None:
            raise ConstructionError(
                f"unit {self.first_group_normalised_unit!r} is a layer norm of several numbers, and {reason}"
            )

    def require_no_layer_norm(self, reason: str) -> None:
        """Check that there is no layer norm.

        Raises:
            ConstructionError: If there is one; the message names a unit.
        """
        if self.first_normalised_unit is not None:
            raise ConstructionError(f"unit {self.first_normalised_unit!r} is a layer norm, and {reason}")

    @property
    def attention(self) -> str:
        """Kind of attention: "soft" if some head uses softmax, else "hard"."""
        return "hard" if all(weighting.is_hard for weighting in self.weightings) else "soft"

    def __str__(self) -> str:
        from softmachine.transformer.diagram import render_diagram

        return render_diagram(self)

    def _repr_html_(self) -> str:
        from softmachine.transformer.diagram import render_diagram_html

        return render_diagram_html(self)


NAME_FIELDS = ("name", "coordinates", "units")
"""The fields that hold nothing but names."""


def compute_digest(transformer: Transformer) -> str:
    """SHA-256, in hexadecimal digits."""
    hashed = sha256()
    for part in _parts(transformer):
        hashed.update(f"{part}\n".encode(errors="surrogatepass"))
    return hashed.hexdigest()


def _parts(item: object) -> Iterator[str]:
    """The numbers of a value in a fixed order, with the length of every sequence."""
    if isinstance(item, Feature | Relation):
        from softmachine.transformer.saved_features import feature_to_json

        yield json.dumps(feature_to_json(item), sort_keys=True)
    elif isinstance(item, Matrix):
        yield repr((item.columns, item.rows))
    elif is_dataclass(item):
        for part in fields(item):
            if part.name not in NAME_FIELDS:
                yield from _parts(getattr(item, part.name))
    elif isinstance(item, tuple):
        yield f"[{len(item)}]"
        for part in item:
            yield from _parts(part)
    elif isinstance(item, AttentionKind):  # stored digests contain the first name of this class
        yield f"<Choice.{item.name}: {item.value!r}>"
    else:
        yield repr(item)
