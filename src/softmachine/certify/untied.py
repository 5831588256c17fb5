"""Unique-hard heads of bare weights without ties: Lemma 8 on matrices, for every input up to a length.

The residual stream gets a coordinate that holds the position j, and every leftmost- or rightmost-hard head a component
of its key that reads it. Of a gap g, all of the term takes less than half: ± g j/(2(n+1)) for the largest length n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from softmachine.transformer.attention import AVERAGE_HARD, Choice
from softmachine.transformer.features import I
from softmachine.transformer.weights import AffineMap, Head, Layer, Matrix, Transformer

COORDINATE = "position that breaks ties"


def untied(transformer: Transformer, slopes: Mapping[Head, Fraction]) -> Transformer:
    """The same transformer with average-hard heads that have no ties in place of some.

    Args:
        transformer: The transformer.
        slopes: The heads, and by how much the scores of later keys rise from position to position.
    """
    if not slopes:
        return transformer
    wide = transformer.width + 1
    features = transformer.features if I in transformer.features else (*transformer.features, I)
    rows = [dict(row) for row in transformer.position_embedding.rows]
    rows += [{} for _ in features[len(rows) :]]
    rows[features.index(I)][wide - 1] = Fraction(1)
    return replace(
        transformer,
        coordinates=(*transformer.coordinates, COORDINATE),
        embedding=replace(transformer.embedding, columns=wide),
        features=features,
        position_embedding=Matrix.of(rows, wide),
        blocks=tuple(
            replace(block, layers=tuple(_layer(layer, slopes, wide) for layer in block.layers))
            for block in transformer.blocks
        ),
        unembedding=_reading(transformer.unembedding, wide),
    )


def slope(head: Head, gap: Fraction, length: int) -> Fraction:
    """By how much the scores of a unique-hard head should rise with the position of the key."""
    size = gap / (2 * (length + 1))
    return size if head.weighting.choice is Choice.RIGHTMOST else -size


def _layer(layer: Layer, slopes: Mapping[Head, Fraction], wide: int) -> Layer:
    forward = layer.feed_forward
    second = AffineMap(_writing(forward.second.weight), (*forward.second.bias, Fraction(0)))
    return Layer(
        tuple(_head(head, slopes.get(head), wide) for head in layer.heads),
        replace(forward, first=_reading(forward.first, wide), second=second),
    )


def _head(head: Head, rises: Fraction | None, wide: int) -> Head:
    query, key = _reading(head.query, wide), _reading(head.key, wide)
    weighting = head.weighting
    if rises is not None:
        query = AffineMap(Matrix((*query.weight.rows, ()), wide), (*query.bias, rises))
        key = AffineMap(Matrix((*key.weight.rows, ((wide - 1, Fraction(1)),)), wide), (*key.bias, Fraction(0)))
        weighting = AVERAGE_HARD
    return replace(
        head,
        query=query,
        key=key,
        value=_reading(head.value, wide),
        output=_writing(head.output),
        weighting=weighting,
    )


def _reading(affine: AffineMap, wide: int) -> AffineMap:
    """A map that reads the wider residual stream, and nothing of what is new."""
    return AffineMap(replace(affine.weight, columns=wide), affine.bias)


def _writing(matrix: Matrix) -> Matrix:
    """A matrix that writes to the wider residual stream, and nothing to what is new."""
    return Matrix((*matrix.rows, ()), matrix.columns)
