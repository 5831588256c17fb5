"""Names of the individual weights of a transformer, for messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from softmachine.engines.numerics.fixed_point_array import min_bits
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import AffineMap, Head, Layer, Matrix, Transformer


def name_of_weight(transformer: Transformer, weight: Fraction) -> str:
    """Return the name of the first weight with this value."""
    return next((place for place, value in iterate_named_weights(transformer) if value == weight), "a weight")


def min_fixed_point_bits(transformer: Transformer) -> int | None:
    """Return the least b such that F_b contains all weights; None if a denominator is not a power of two."""
    least = 1
    for _, weight in iterate_named_weights(transformer):
        bits = min_bits(weight)
        if bits is None:
            return None
        least = max(least, bits)
    return least


def iterate_named_weights(transformer: Transformer) -> Iterator[tuple[str, Fraction]]:
    """Iterate over the nonzero weights with their names."""
    names = transformer.coordinates
    yield from _matrix("the embedding", transformer.embedding, transformer.vocabulary, names)
    features = [feature.name for feature in transformer.features]
    yield from _matrix("the position embedding", transformer.position_embedding, features, names)
    for number, layer in enumerate(transformer.layers, start=1):
        yield from _layer(number, layer, names)
    yield from _affine("the unembedding", transformer.unembedding, names, transformer.outputs)


def _layer(number: int, layer: Layer, names: Sequence[str]) -> Iterator[tuple[str, Fraction]]:
    for head in layer.heads:
        yield from _head(f"layer {number}, head {head.name!r}", head, names)
    where, forward = f"layer {number}, feed-forward", layer.feed_forward
    yield from _affine(where, forward.first, names, forward.units)
    yield from _affine(where, forward.second, forward.units, names)


def _head(where: str, head: Head, names: Sequence[str]) -> Iterator[tuple[str, Fraction]]:
    for part, affine in (("query", head.query), ("key", head.key), ("value", head.value)):
        yield from _affine(where, affine, names, [f"{part} {k}" for k in range(len(affine.bias))])
    values = [f"value {k}" for k in range(head.output.columns)]
    yield from _matrix(where, head.output.transposed, values, names)
    if not head.weighting.is_hard and not isinstance(head.weighting.scale, Feature):
        yield f"{where}: the scale", head.weighting.scale


def _affine(
    where: str, affine: AffineMap, sources: Sequence[str], targets: Sequence[str]
) -> Iterator[tuple[str, Fraction]]:
    yield from _matrix(where, affine.weight.transposed, sources, targets)
    for target, constant in zip(targets, affine.bias, strict=True):
        if constant:
            yield f"{where}: the constant of {target!r}", constant


def _matrix(where: str, matrix: Matrix, rows: Sequence[str], columns: Sequence[str]) -> Iterator[tuple[str, Fraction]]:
    for r, c, weight in matrix.entries():
        yield f"{where}: the weight from {rows[r]!r} to {columns[c]!r}", weight
