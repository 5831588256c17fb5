"""Rewrite to causal masks: with padding, causal heads simulate bidirectional ones.

"Revisiting Padded Transformer Expressivity": "with sufficient volume, masked transformers can be simulated by unmasked
ones and vice versa" (section 6; Merrill and Sabharwal 2025a, Lemma 1, for this direction). The residual stream after
layer t has its own positions: the P positions are followed by P more for every executed layer. Position (t, j) fetches
the stream of (t - 1, j), from which its query is computed, and attends to all of block t - 1, which precedes it. All
blocks compute in every layer; the result of block t is correct from layer t, by induction, and the others are ignored.

Needs: hard attention without masks; the indices of position and block as position features. Costs: P positions of
padding per executed layer (layers of a loop count once per iteration); 2 layers per layer, in the same loops; twice the
width and O(log) coordinates for addresses. One weight dominates all scores (:mod:`.reach`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from softmachine.compiler.rewrites.no_masks import PADDING, matched, require_hard
from softmachine.compiler.rewrites.ranges import Reach, largest_score, reach
from softmachine.compiler.rewrites.widening import ONE, Units, nothing, padded, reading, rows_of, stacked, writing
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import AVERAGE_HARD, Mask
from softmachine.transformer.features import Feature, ceil_log2
from softmachine.transformer.table_features import NO_ADDRESS, AddressBit, Table
from softmachine.transformer.weights import AffineMap, Block, Head, Layer, Matrix, Transformer


@dataclass(frozen=True)
class Layout:
    """Layout of the coordinates: the stream, the stream fetched from the previous block, and addresses as signed bits.

    Args:
        width: The width of the given residual stream.
        positions: P.
        depth: The number of executed layers.
    """

    width: int
    positions: int
    depth: int

    @property
    def bits(self) -> int:
        """The number of bits of a position; at least two, so that no address differs from every address."""
        return max(2, ceil_log2(self.positions * (self.depth + 1)))

    @property
    def addresses(self) -> dict[str, tuple[int, ...]]:
        """By title: the own position, the same position in the previous block, the own block, the previous block."""
        every = [(t, j) for t in range(self.depth + 1) for j in range(self.positions)]
        return {
            "position": tuple(t * self.positions + j for t, j in every),
            "came from": tuple((t - 1) * self.positions + j if t else NO_ADDRESS for t, j in every),
            "block": tuple(t for t, _ in every),
            "block before": tuple(t - 1 if t else NO_ADDRESS for t, _ in every),
        }

    def address(self, title: str) -> int:
        """Return the first coordinate of an address."""
        return 2 * self.width + list(self.addresses).index(title) * self.bits

    @property
    def wide(self) -> int:
        """The width."""
        return 2 * self.width + 4 * self.bits

    @property
    def features(self) -> list[Feature]:
        """The features of the address coordinates, in order."""
        return [AddressBit(title, k, table) for title, table in self.addresses.items() for k in range(self.bits)]


def causal(transformer: Transformer, positions: int, length: int | None = None) -> Transformer:
    """Rewrite a transformer, for sequences of a fixed number of positions plus padding, so that all heads are causal.

    Args:
        transformer: A transformer with hard attention and without masks.
        positions: P, the number of positions of sequences; the answers are at the last P, see :func:`padding`.
        length: n, if features or iterations depend on it.

    Raises:
        ConstructionError: If a head is soft, masked or biased, or there is a layer norm.
    """
    require_hard(transformer, "positions outside the previous block would keep some weight")
    for head in transformer.heads:
        if head.mask is not Mask.ALL or head.bias is not None:
            raise ConstructionError(f"head {head.name!r} has a mask or a bias, which this rewrite does not support")
    layout = Layout(transformer.width, positions, transformer.depth(length))
    limits = reach(transformer, positions, length)
    blocks = tuple(
        Block(
            tuple(part for layer in block.layers for part in (_coming_in(layout), _causal(layer, layout, limits))),
            block.count(length),
            block.name,
        )
        for block in transformer.blocks
    )
    given = [
        Table(each.name, tuple(map(Fraction, each.along(range(positions), length)))) for each in transformer.features
    ]
    added = layout.features
    coming = [f"{name}, coming in" for name in transformer.coordinates]
    return replace(
        transformer,
        vocabulary=(*transformer.vocabulary, PADDING),
        coordinates=(*transformer.coordinates, *coming, *(feature.name for feature in added)),
        embedding=Matrix((*transformer.embedding.rows, ()), layout.wide),
        features=(*given, *added),
        position_embedding=Matrix(
            (*transformer.position_embedding.rows, *(((2 * layout.width + c, ONE),) for c in range(len(added)))),
            layout.wide,
        ),
        blocks=blocks,
        unembedding=reading(transformer.unembedding, layout.wide),
    )


def padding(transformer: Transformer, positions: int, length: int | None = None) -> list[str]:
    """Return the padding tokens for a sequence of ``positions`` tokens."""
    return [PADDING] * (positions * transformer.depth(length))


def _coming_in(layout: Layout) -> Layer:
    """Return a layer in which every position fetches the stream of the same position in the previous block."""
    sides = matched(layout.address("came from"), layout.address("position"), layout.bits, 1)
    query, key = (rows_of(rows, layout.wide) for rows in sides)
    value = rows_of([({c: 1}, 0) for c in range(layout.width)], layout.wide)
    output = writing(Matrix(tuple(((c, ONE),) for c in range(layout.width)), layout.width), layout.wide, layout.width)
    return Layer((Head("block before", query, key, value, output, Mask.CAUSAL, AVERAGE_HARD),), nothing(layout.wide))


def _causal(layer: Layer, layout: Layout, limits: Reach) -> Layer:
    """Rewrite a layer: it reads the fetched stream, attends to the previous block, and overwrites the own stream."""
    wide, shift = layout.wide, layout.width
    heads = []
    for head in layer.heads:
        bound = largest_score(head, limits) + 1
        sides = matched(layout.address("block before"), layout.address("block"), layout.bits, bound)
        query, key = (rows_of(rows, wide) for rows in sides)
        heads.append(
            replace(
                head,
                query=stacked(reading(head.query, wide, shift), query),
                key=stacked(reading(head.key, wide), key),
                value=reading(head.value, wide),
                output=writing(head.output, wide, shift),
                mask=Mask.CAUSAL,
            )
        )
    network = layer.feed_forward
    second = AffineMap(writing(network.second.weight, wide), padded(network.second.bias, wide))
    units = Units(replace(network, first=reading(network.first, wide, shift), second=second))
    for c in range(shift):
        units.linear(f"replace {c}", c, {c: -1})
        units.linear(f"take {c}", shift + c, {c: 1, shift + c: -1})
    return Layer(tuple(heads), units.done())
