"""The product: a transformer with exact rational weights and a name for every coordinate, head and unit.

Multi-head attention and feed-forward sublayers around a residual stream; layer norm only where a feed-forward sublayer
asks for it. Encoders and decoders are the same class: in a decoder all masks look back, and the outputs are the next
tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import Mask, Weighting
from softmachine.transformer.features import Feature, Relation

Row = tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix of exact rationals: for each row, its non-zeros as (column, value) in order of columns."""

    rows: tuple[Row, ...]
    columns: int

    @staticmethod
    def of(rows: Iterable[dict[int, Fraction]], columns: int) -> Matrix:
        """A matrix from one dictionary a row; zeros are left out."""
        return Matrix(tuple(tuple(sorted((c, w) for c, w in row.items() if w)) for row in rows), columns)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return len(self.rows), self.columns

    @property
    def nonzeros(self) -> int:
        """The number of weights that are not 0."""
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
        activations: What is done with each.
        second: From the hidden units to what is added.
        units: The names of the hidden units.
        norms: The units that are normalised, in groups: numbers x₁ … x_k become the first half of the layer norm of
            (x₁, …, x_k, -x₁, …, -x_k), which is each of them over the root of the mean of their squares, and 0 if all
            are 0. Of one number that is its sign.
    """

    first: AffineMap
    activations: tuple[str, ...]
    second: AffineMap
    units: tuple[str, ...]
    norms: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Layer:
    """Attention heads side by side, then a feed-forward sublayer; each adds to the residual stream."""

    heads: tuple[Head, ...]
    feed_forward: FeedForward


@dataclass(frozen=True)
class Block:
    """Layers that run ``repeats`` times; the number may be a feature of the input's length."""

    layers: tuple[Layer, ...]
    repeats: int | Feature = 1
    name: str = ""

    def count(self, length: int | None) -> int:
        """How often the block runs on an input of this length."""
        return int(self.repeats.at(0, length)) if isinstance(self.repeats, Feature) else self.repeats


@dataclass(frozen=True)
class Transformer:
    """A transformer: plain weights, and names.

    Args:
        name: What the model is called.
        vocabulary: The tokens, in the order of the embedding's rows.
        coordinates: The names of the residual stream's coordinates.
        embedding: One row a token.
        features: The position features that are used.
        position_embedding: One row a feature: how much of it each coordinate gets.
        blocks: What is applied, in order.
        outputs: What the rows of the unembedding stand for.
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
        """All layers, those of a loop once."""
        return tuple(layer for block in self.blocks for layer in block.layers)

    def depth(self, length: int | None) -> int:
        """How many layers an input of this length passes, those of a loop as often as it turns."""
        return sum(block.count(length) * len(block.layers) for block in self.blocks)

    def unrolled(self, length: int | None) -> Iterator[Layer]:
        """These layers, one after the other."""
        for block in self.blocks:
            for _ in range(block.count(length)):
                yield from block.layers

    @property
    def heads(self) -> tuple[Head, ...]:
        """All heads, layer by layer."""
        return tuple(head for layer in self.layers for head in layer.heads)

    @property
    def causal(self) -> bool:
        """Whether no position sees a later one and nothing depends on the length: the model can decode."""
        scales = (head.weighting.scale for head in self.heads)
        lengths = [*self.features, *scales, *(block.repeats for block in self.blocks)]
        known = any(isinstance(item, Feature) and item.needs_length for item in lengths)
        return not known and all(head.mask.causal for head in self.heads)

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
    def parameters(self) -> int:
        """The number of weights and biases, zeros included."""
        biases = len(self.unembedding.bias)
        for layer in self.layers:
            for head in layer.heads:
                biases += len(head.query.bias) + len(head.key.bias) + len(head.value.bias)
            biases += len(layer.feed_forward.first.bias) + len(layer.feed_forward.second.bias)
        return biases + sum(rows * columns for rows, columns in (matrix.shape for matrix in self.matrices))

    @property
    def nonzeros(self) -> int:
        """The number of weights that are not 0, biases left out."""
        return sum(matrix.nonzeros for matrix in self.matrices)

    @property
    def largest_weight(self) -> Fraction:
        """The largest absolute value of a weight."""
        return max((abs(value) for matrix in self.matrices for _, _, value in matrix.entries()), default=Fraction(0))

    @property
    def weightings(self) -> tuple[Weighting, ...]:
        """The kinds of attention in use, each once."""
        return tuple(dict.fromkeys(head.weighting for head in self.heads))

    @property
    def normalised(self) -> str | None:
        """The name of a unit that is normalised; None if there is none."""
        forwards = (layer.feed_forward for layer in self.layers)
        return next((forward.units[forward.norms[0][0]] for forward in forwards if forward.norms), None)

    @property
    def rooted(self) -> str | None:
        """The name of a unit that is normalised with others: over a root, which is rational by luck only; or None."""
        forwards = (layer.feed_forward for layer in self.layers)
        several = ((forward, group) for forward in forwards for group in forward.norms if len(group) > 1)
        return next((forward.units[group[0]] for forward, group in several), None)

    def require_no_root(self, what: str) -> None:
        """See that each number is normalised for itself, which gives its sign, for those who cannot do more.

        Raises:
            ConstructionError: If one is normalised with others; it says which unit.
        """
        if self.rooted is not None:
            raise ConstructionError(f"unit {self.rooted!r} is a layer norm of several numbers, and {what}")

    def require_no_norm(self, what: str) -> None:
        """See that nothing is normalised, for those who cannot.

        Raises:
            ConstructionError: If something is; it says which unit.
        """
        if self.normalised is not None:
            raise ConstructionError(f"unit {self.normalised!r} is a layer norm, and {what}")

    @property
    def attention(self) -> str:
        """Soft if some head uses softmax of scores that differ, else hard."""
        return "hard" if all(weighting.hard for weighting in self.weightings) else "soft"

    def __str__(self) -> str:
        from softmachine.transformer.board import board

        return board(self)

    def _repr_html_(self) -> str:
        from softmachine.transformer.board import board_html

        return board_html(self)
