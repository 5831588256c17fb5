"""How large numbers get in a lowered model, and the same model with numbers of a size that all formats have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from softmachine.exports.lowered import Affine, Array, Lowered, LoweredHead, LoweredLayer

Box = tuple[Array, Array]
"""The least and the largest value of each coordinate: one row for all positions, or a row for each."""


def boxes_of(model: Lowered, *, every_position: bool = False) -> list[Box]:
    """What each coordinate can be before the first layer and after each layer.

    With a row for every position, coordinates that say which position it is are known there, and sums over them exact.
    """
    places = model.positions if every_position else None
    least, most = (
        (model.positions.min(axis=0)[None], model.positions.max(axis=0)[None]) if places is None else (places, places)
    )
    low, high = model.embedding.min(axis=0) + least, model.embedding.max(axis=0) + most
    found = [(low, high)]
    for layer in model.layers:
        # What a head retrieves is a mean of values, of whatever positions.
        for head in layer.heads:
            values = image(head.value, found[-1])
            mean = values[0].min(axis=0)[None], values[1].max(axis=0)[None]
            added = image(Affine(head.output, np.zeros(model.width)), mean)
            low, high = low + added[0], high + added[1]
        units = image(layer.first, (low, high))
        added = image(layer.second, (np.maximum(units[0], 0), np.maximum(units[1], 0)))
        low, high = low + added[0], high + added[1]
        found.append((low, high))
    return found


def image(affine: Affine, box: Box) -> Box:
    """The range of an affine map over a box."""
    positive, negative = np.maximum(affine.weight, 0).T, np.minimum(affine.weight, 0).T
    low, high = box
    return low @ positive + high @ negative + affine.bias, high @ positive + low @ negative + affine.bias


def largest(affine: Affine, box: Box) -> Array:
    """The largest size of each component of an affine map over a box."""
    low, high = image(affine, box)
    sizes: Array = np.maximum(np.abs(low), np.abs(high)).max(axis=0)
    return sizes


def conditioned(model: Lowered, before: Sequence[Box], boxes: Sequence[Box]) -> Lowered:
    """The same model, with every coordinate within ±1 as far as bounds say.

    Args:
        model: Any model.
        before: What coordinates can be before each layer.
        boxes: What they can be before, between and after layers.
    """
    sizes = np.max([np.maximum(np.abs(low), np.abs(high)).max(axis=0) for low, high in boxes], axis=0)
    scales = 2.0 ** -np.ceil(np.log2(np.maximum(sizes, 1.0)))

    def reading(affine: Affine) -> Affine:
        return Affine(affine.weight / scales, affine.bias)

    def writing(affine: Affine) -> Affine:
        return Affine(affine.weight * scales[:, None], affine.bias * scales)

    layers = []
    for layer, box in zip(model.layers, before, strict=True):
        heads = []
        for head in layer.heads:
            query, key = _balanced(head.query, head.key, box)
            output = head.output * scales[:, None]
            heads.append(LoweredHead(head.name, reading(query), reading(key), reading(head.value), output))
        layers.append(LoweredLayer(tuple(heads), reading(layer.first), writing(layer.second), layer.units))
    return replace(
        model,
        scales=scales,
        embedding=model.embedding * scales,
        positions=model.positions * scales,
        layers=tuple(layers),
        unembedding=reading(model.unembedding),
    )


def _balanced(query: Affine, key: Affine, box: Box) -> tuple[Affine, Affine]:
    """The same products, with numbers of about the same size on both sides, for formats with a small range."""
    if not len(query.bias):
        return query, key
    ours, theirs = largest(query, box), largest(key, box)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where((ours > 0) & (theirs > 0), np.round(np.log2(ours / theirs) / 2), 0)
    factor = 2.0**shift
    return (
        Affine(query.weight / factor[:, None], query.bias / factor),
        Affine(key.weight * factor[:, None], key.bias * factor),
    )


def relieved(model: Lowered, most: float) -> Lowered:
    """The same model, where units that read with larger weights than this read with smaller and write with larger ones.

    ReLU(c x) is c ReLU(x); c is a power of two.
    """

    def relieve(layer: LoweredLayer) -> LoweredLayer:
        sizes = np.maximum(np.abs(layer.first.weight).max(axis=1, initial=0), np.abs(layer.first.bias))
        factor = 2.0 ** np.ceil(np.log2(np.maximum(sizes / most, 1.0)))
        first = Affine(layer.first.weight / factor[:, None], layer.first.bias / factor)
        return replace(layer, first=first, second=replace(layer.second, weight=layer.second.weight * factor))

    return replace(model, layers=tuple(map(relieve, model.layers)))
