"""Transformer as page data: sparse matrices of fractions with names, and features as tables."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from softmachine.inspection.inspection import is_exact
from softmachine.inspection.page.numbers import Json, affine, matrix, number, row, table
from softmachine.support.text import family
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Block, FeedForward, Head, Transformer


def is_uniform(head: Head) -> bool:
    """Whether all scores are equal, so that hard attention and softmax both average all keys."""
    return not head.query.bias and head.bias is None and not head.weighting.unique


def weights(transformer: Transformer, tokens: Sequence[str], positions: range, length: int | None) -> Json:
    """The weights, with the embedding rows of these tokens and the feature values at these positions."""
    embedding, index = transformer.embedding.rows, transformer.token_index
    return {
        "coordinates": list(transformer.coordinates),
        "families": [family(name) for name in transformer.coordinates],
        "embedding": [row(embedding[index[token]]) for token in tokens],
        "features": [feature.name for feature in transformer.features],
        "tables": [table([feature.at(i, length) for i in positions]) for feature in transformer.features],
        "positions": matrix(transformer.position_embedding),
        "blocks": [_block(block, positions, length) for block in transformer.blocks],
        "outputs": list(transformer.outputs),
        "unembedding": affine(transformer.unembedding),
        "exact": is_exact(transformer),
        "rooted": transformer.rooted is not None,
    }


def _block(block: Block, positions: range, length: int | None) -> Json:
    layers: list[Json] = [
        {"heads": [_head(head, positions, length) for head in layer.heads], "forward": _forward(layer.feed_forward)}
        for layer in block.layers
    ]
    return {"name": block.name, "iterations": block.count(length), "layers": layers}


def _head(head: Head, positions: range, length: int | None) -> Json:
    return {
        "name": head.name,
        "query": affine(head.query),
        "key": affine(head.key),
        "value": affine(head.value),
        "output": matrix(head.output),
        "mask": str(head.mask),
        "choice": str(head.weighting.choice),
        "uniform": is_uniform(head),
        "bias": None if head.bias is None else head.bias.name,
        "biases": _biases(head, positions),
        "scale": _scale(head, positions, length),
    }


def _scale(head: Head, positions: range, length: int | None) -> Json:
    found = scales(head.weighting.scale, positions, length)
    return [*found] if isinstance(found, list) else found


def _biases(head: Head, positions: range) -> Json:
    """The relative bias: a number for each query and each key that is shown."""
    relation = head.bias
    if relation is None:
        return None
    return [[number(relation.at(j, i)) if head.mask.sees(j, i) else 0 for j in positions] for i in positions]


def scales(scale: Fraction | Feature, positions: range, length: int | None) -> float | list[float]:
    """The inverse temperature, in float: one number, or one per position."""
    if isinstance(scale, Feature):
        return [float(scale.at(i, length)) for i in positions]
    return float(scale)


def _forward(forward: FeedForward) -> Json:
    norms: list[Json] = [list(group) for group in forward.norms]
    return {
        "first": affine(forward.first),
        "steps": [index for index, activation in enumerate(forward.activations) if activation == "step"],
        "second": affine(forward.second),
        "units": list(forward.units),
        "norms": norms,
    }
