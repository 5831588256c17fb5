"""Transformer as page data: sparse matrices of fractions with names, and features as tables.

With softmax, also the scale of every head, and the certified sharpness.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from softmachine.certify import certify_model
from softmachine.compiler.model import Model
from softmachine.inspection.inspection import is_exact
from softmachine.inspection.numbers import (
    Json,
    encode_affine,
    encode_fractions,
    encode_matrix,
    encode_number,
    encode_row,
)
from softmachine.support.errors import BrokenPromiseError, ConstructionError, UsageError
from softmachine.support.text import vector_name
from softmachine.transformer.features import Feature
from softmachine.transformer.weights import Block, FeedForward, Head, Transformer


def is_uniform(head: Head) -> bool:
    """Whether all scores are equal, so that hard attention and softmax both average all keys."""
    return not head.query.bias and head.bias is None and not head.weighting.is_unique_hard


def encode_transformer(transformer: Transformer, tokens: Sequence[str], positions: range, length: int | None) -> Json:
    """The weights, with the embedding rows of these tokens and the feature values at these positions."""
    embedding, index = transformer.embedding.rows, transformer.token_index
    return {
        "coordinates": list(transformer.coordinates),
        "families": [vector_name(name) for name in transformer.coordinates],
        "embedding": [encode_row(embedding[index[token]]) for token in tokens],
        "features": [feature.name for feature in transformer.features],
        "tables": [encode_fractions([feature.at(i, length) for i in positions]) for feature in transformer.features],
        "positions": encode_matrix(transformer.position_embedding),
        "blocks": [_encode_block(block, positions, length) for block in transformer.blocks],
        "outputs": list(transformer.outputs),
        "unembedding": encode_affine(transformer.unembedding),
        "exact": is_exact(transformer),
        "rooted": transformer.first_group_normalised_unit is not None,
    }


def _encode_block(block: Block, positions: range, length: int | None) -> Json:
    layers: list[Json] = [
        {
            "heads": [_encode_head(head, positions, length) for head in layer.heads],
            "forward": _encode_feed_forward(layer.feed_forward),
        }
        for layer in block.layers
    ]
    return {"name": block.name, "iterations": block.iterations(length), "layers": layers}


def _encode_head(head: Head, positions: range, length: int | None) -> Json:
    return {
        "name": head.name,
        "query": encode_affine(head.query),
        "key": encode_affine(head.key),
        "value": encode_affine(head.value),
        "output": encode_matrix(head.output),
        "mask": str(head.mask),
        "choice": str(head.weighting.kind),
        "uniform": is_uniform(head),
        "bias": None if head.bias is None else head.bias.name,
        "biases": _encode_biases(head, positions),
        "scale": _encode_scale(head, positions, length),
    }


def _encode_scale(head: Head, positions: range, length: int | None) -> Json:
    found = evaluate_scale(head.weighting.scale, positions, length)
    return [*found] if isinstance(found, list) else found


def _encode_biases(head: Head, positions: range) -> Json:
    """The relative bias: a number for each query and each key that is shown."""
    relation = head.bias
    if relation is None:
        return None
    return [
        [encode_number(relation.at(j, i)) if head.mask.is_visible(j, i) else 0 for j in positions] for i in positions
    ]


def evaluate_scale(scale: Fraction | Feature, positions: range, length: int | None) -> float | list[float]:
    """The inverse temperature, in float: one number, or one per position."""
    if isinstance(scale, Feature):
        return [float(scale.at(i, length)) for i in positions]
    return float(scale)


def _encode_feed_forward(forward: FeedForward) -> Json:
    norms: list[Json] = [list(group) for group in forward.norms]
    return {
        "first": encode_affine(forward.first),
        "steps": [index for index, activation in enumerate(forward.activations) if activation == "step"],
        "second": encode_affine(forward.second),
        "units": list(forward.units),
        "norms": norms,
    }


MAX_SOFT_POSITIONS = 500
"""The largest number of positions for which the page recomputes the run at any temperature."""

MAX_STREAM_VALUES = 16_000_000
"""The largest number of residual stream values that a page keeps in memory."""


def build_softmax_data(model: Model, positions: range, length: int | None) -> Json:
    """The scales of heads at a sharpness that is certified for these positions, or the reason why there is none."""
    choosing = [head for head in model.weights.heads if not is_uniform(head)]
    if not choosing and not model.weights.first_group_normalised_unit:
        return {"why": "all attention is uniform, and softmax of equal scores is the same mean"}
    if positions.stop > MAX_SOFT_POSITIONS:
        return {
            "why": f"the page computes soft attention for up to {MAX_SOFT_POSITIONS} positions, and this run has more"
        }
    weights = model.weights
    if len(positions) * weights.width * (2 * weights.depth(length) + 1) > MAX_STREAM_VALUES:
        if not is_exact(weights):
            raise UsageError(
                f"the residual streams of this run have more than {MAX_STREAM_VALUES:,} values, too many for a page",
                hint="choose a shorter input",
            )
        return {
            "why": f"the residual streams of this run have more than {MAX_STREAM_VALUES:,} values, too many for a page"
        }
    if all(head.weighting.is_hard for head in choosing) and not is_exact(weights):
        return {"own": True, "still": True, "certified": None, "sharpness": 1, "scales": {}}
    unique = next((head.name for head in choosing if head.weighting.is_unique_hard), None)
    if unique is not None:
        return {
            "why": f"head {unique!r} takes one of the keys that tie, but softmax takes all; the page cannot break ties"
        }
    if not is_exact(model.weights):
        return {"own": True, "certified": model.certified_length, "sharpness": 1, "scales": {}}
    certified = positions.stop - 1 if length is None else length
    try:
        proof = certify_model(model, certified)
    except (BrokenPromiseError, ConstructionError) as problem:
        return {"own": False, "certified": None, "sharpness": None, "scales": {}, "note": problem.message}
    known = {row.head: row.scale for row in proof.rows if row.scale is not None}
    missing = [head.name for head in choosing if head.name not in known]
    if not proof.holds or missing:
        note = proof.explain_failure if not proof.holds else f"the certified model has no head {missing[0]!r}"
        return {"own": False, "certified": None, "sharpness": None, "scales": {}, "note": note}
    return {
        "own": False,
        "certified": certified,
        "sharpness": proof.sharpness,
        "scales": {head.name: _unit_scale(known[head.name], proof.sharpness, positions, length) for head in choosing},
    }


def _unit_scale(scale: Fraction | Feature, sharpness: int, positions: range, length: int | None) -> Json:
    """The scale of a head for sharpness 1, from its scale for this sharpness."""
    found = evaluate_scale(scale, positions, length)
    return [one / sharpness for one in found] if isinstance(found, list) else found / sharpness
