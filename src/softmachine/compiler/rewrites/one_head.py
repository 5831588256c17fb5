"""Rewrite to one head per layer: a layer with H heads becomes H layers with one head each.

All heads of a layer read the residual stream at its input. So each head writes its output to its own scratch
coordinates, layer by layer; the feed-forward network of the last layer reads the stream as if the outputs had been
added, adds them, and clears the scratch coordinates. Papers that allow one head per layer ("Simulating Hard Attention
Using Soft Attention") thus lose no expressivity, only depth.

Costs: as many layers as there are heads, a layer without heads counting once; additional coordinates for the values of
the heads of one layer, and twice as many hidden units in its last network.
"""

from __future__ import annotations

from dataclasses import replace

from softmachine.compiler.rewrites.widening import (
    NetworkBuilder,
    empty_network,
    read_scratch_as_added,
    redirect_heads,
    widen_inputs,
    widen_layer,
)
from softmachine.transformer.weights import Head, Layer, Transformer


def to_one_head(transformer: Transformer) -> Transformer:
    """Rewrite a transformer to at most one head per layer."""
    needed = max(
        (sum(map(_value_width, layer.heads)) for layer in transformer.layers if len(layer.heads) > 1), default=0
    )
    if not needed:
        return transformer
    width, wide = transformer.width, transformer.width + needed
    blocks = tuple(
        replace(
            block,
            layers=tuple(part for layer in block.layers for part in _split_layer(widen_layer(layer, wide), width)),
        )
        for block in transformer.blocks
    )
    return replace(
        transformer,
        coordinates=(*transformer.coordinates, *(f"retrieved {k}" for k in range(needed))),
        embedding=replace(transformer.embedding, columns=wide),
        position_embedding=replace(transformer.position_embedding, columns=wide),
        blocks=blocks,
        unembedding=widen_inputs(transformer.unembedding, wide),
    )


def _value_width(head: Head) -> int:
    """Return the value width of a head."""
    return len(head.value.bias)


def _split_layer(layer: Layer, width: int) -> tuple[Layer, ...]:
    """Split a layer of several heads into layers of one head each; scratch coordinates start at ``width``."""
    if len(layer.heads) < 2:
        return (layer,)
    wide = len(layer.feed_forward.second.bias)
    heads, target = redirect_heads(layer.heads, width, wide)
    units = NetworkBuilder(layer.feed_forward)
    read_scratch_as_added(units, target)
    for coordinate, places in target.items():
        units.linear(f"retrieved {coordinate}", coordinate, {**dict(places), coordinate: -1})
    *first, last = heads
    return (*(Layer((head,), empty_network(wide)) for head in first), Layer((last,), units.build()))
