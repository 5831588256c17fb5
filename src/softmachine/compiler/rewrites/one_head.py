"""One head a layer is enough: a layer with H heads becomes H layers with one head each.

The heads of a layer all read the stream as it was before it. So each writes what it retrieves to coordinates of its
own, which nobody reads yet, layer after layer; the feed-forward network of the last one reads the stream as if it had
all been added, adds it, and clears those coordinates. Papers that allow one head a layer ("Simulating Hard Attention
Using Soft Attention" does) lose nothing by it; they pay with layers.

Costs: as many layers as there are heads, a layer without heads counting once; as many coordinates more as the heads of
one layer retrieve numbers, twice so many hidden units in its last network.
"""

from __future__ import annotations

from dataclasses import replace

from softmachine.compiler.rewrites.widening import Units, detached, nothing, reading, seen_together, widened
from softmachine.transformer.weights import Head, Layer, Transformer


def one_head(transformer: Transformer) -> Transformer:
    """The same transformer with at most one head in every layer."""
    needed = max((sum(map(_values, layer.heads)) for layer in transformer.layers if len(layer.heads) > 1), default=0)
    if not needed:
        return transformer
    width, wide = transformer.width, transformer.width + needed
    blocks = tuple(
        replace(block, layers=tuple(part for layer in block.layers for part in _apart(widened(layer, wide), width)))
        for block in transformer.blocks
    )
    return replace(
        transformer,
        coordinates=(*transformer.coordinates, *(f"retrieved {k}" for k in range(needed))),
        embedding=replace(transformer.embedding, columns=wide),
        position_embedding=replace(transformer.position_embedding, columns=wide),
        blocks=blocks,
        unembedding=reading(transformer.unembedding, wide),
    )


def _values(head: Head) -> int:
    """How many numbers a head retrieves."""
    return len(head.value.bias)


def _apart(layer: Layer, width: int) -> tuple[Layer, ...]:
    """A layer of several heads as layers of one head each; retrieved numbers stand from a coordinate on."""
    if len(layer.heads) < 2:
        return (layer,)
    wide = len(layer.feed_forward.second.bias)
    heads, target = detached(layer.heads, width, wide)
    units = Units(layer.feed_forward)
    seen_together(units, target)
    for coordinate, places in target.items():
        units.linear(f"retrieved {coordinate}", coordinate, {**dict(places), coordinate: -1})
    *first, last = heads
    return (*(Layer((head,), nothing(wide)) for head in first), Layer((last,), units.done()))
