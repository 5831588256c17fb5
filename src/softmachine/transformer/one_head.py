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
from fractions import Fraction

from softmachine.transformer.weights import AffineMap, Block, FeedForward, Head, Layer, Matrix, Transformer

Rows = list[dict[int, Fraction]]


def one_head(transformer: Transformer) -> Transformer:
    """The same transformer with at most one head in every layer."""
    needed = max((sum(map(_values, layer.heads)) for layer in transformer.layers if len(layer.heads) > 1), default=0)
    if not needed:
        return transformer
    width, wide = transformer.width, transformer.width + needed
    blocks = tuple(
        replace(block, layers=tuple(part for layer in block.layers for part in _apart(_widened(layer, wide), width)))
        for block in transformer.blocks
    )
    return replace(
        transformer,
        coordinates=(*transformer.coordinates, *(f"retrieved {k}" for k in range(needed))),
        embedding=replace(transformer.embedding, columns=wide),
        position_embedding=replace(transformer.position_embedding, columns=wide),
        blocks=blocks,
        unembedding=_reading(transformer.unembedding, wide),
    )


def _values(head: Head) -> int:
    """How many numbers a head retrieves."""
    return len(head.value.bias)


def _reading(affine: AffineMap, wide: int) -> AffineMap:
    """The same map of a wider stream."""
    return replace(affine, weight=replace(affine.weight, columns=wide))


def _writing(matrix: Matrix, wide: int) -> Matrix:
    """The same matrix into a wider stream."""
    return replace(matrix, rows=(*matrix.rows, *[()] * (wide - len(matrix.rows))))


def _widened(layer: Layer, wide: int) -> Layer:
    """A layer of a wider stream, whose new coordinates it does not touch."""
    heads = tuple(
        replace(
            head,
            query=_reading(head.query, wide),
            key=_reading(head.key, wide),
            value=_reading(head.value, wide),
            output=_writing(head.output, wide),
        )
        for head in layer.heads
    )
    network = layer.feed_forward
    zeros = (Fraction(0),) * (wide - len(network.second.bias))
    second = AffineMap(_writing(network.second.weight, wide), (*network.second.bias, *zeros))
    return Layer(heads, replace(network, first=_reading(network.first, wide), second=second))


def _apart(layer: Layer, width: int) -> tuple[Layer, ...]:
    """A layer of several heads as layers of one head each; retrieved numbers stand from a coordinate on."""
    if len(layer.heads) < 2:
        return (layer,)
    wide = len(layer.feed_forward.second.bias)
    target: dict[int, list[tuple[int, Fraction]]] = {}
    heads = []
    start = width
    for head in layer.heads:
        values = _values(head)
        rows: Rows = [{} for _ in range(wide)]
        for k in range(values):
            rows[start + k] = {k: Fraction(1)}
            target[start + k] = [(c, weight) for c, column, weight in head.output.entries() if column == k]
        heads.append(replace(head, output=Matrix.of(rows, values)))
        start += values
    first, last = heads[:-1], heads[-1]
    return (*(Layer((head,), _nothing(wide)) for head in first), Layer((last,), _gathered(layer.feed_forward, target)))


def _nothing(wide: int) -> FeedForward:
    """A network without units."""
    return FeedForward(
        AffineMap(Matrix((), wide), ()), (), AffineMap(Matrix(((),) * wide, 0), (Fraction(0),) * wide), ()
    )


def _gathered(network: FeedForward, target: dict[int, list[tuple[int, Fraction]]]) -> FeedForward:
    """A network that reads the stream as if retrieved numbers stood where they belong, puts them there, and clears."""
    wide, count = len(network.second.bias), len(network.units)
    reads: Rows = [dict(row) for row in network.first.weight.rows]
    for row in reads:
        added: dict[int, Fraction] = {}
        for coordinate, places in target.items():
            added[coordinate] = sum((row.get(c, Fraction(0)) * weight for c, weight in places), Fraction(0))
        row.update(added)
    writes: Rows = [dict(row) for row in network.second.weight.rows]
    units = list(network.units)
    for coordinate, places in target.items():
        for sign in (1, -1):
            reads.append({coordinate: Fraction(sign)})
            for c, weight in [*places, (coordinate, Fraction(-1))]:
                writes[c][len(units)] = writes[c].get(len(units), Fraction(0)) + sign * weight
            units.append(f"retrieved {coordinate} {'+' if sign > 0 else '-'}")
    more = len(units) - count
    return replace(
        network,
        first=AffineMap(Matrix.of(reads, wide), (*network.first.bias, *[Fraction(0)] * more)),
        activations=(*network.activations, *["relu"] * more),
        second=AffineMap(Matrix.of(writes, len(units)), network.second.bias),
        units=tuple(units),
    )


def layers_needed(blocks: tuple[Block, ...]) -> int:
    """How many layers there are with one head each: one for each head, and one for each layer without."""
    return sum(max(1, len(layer.heads)) for block in blocks for layer in block.layers)
