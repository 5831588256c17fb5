"""Causal masks are enough: with padding, heads that look back only do what heads do that see all positions.

"Revisiting Padded Transformer Expressivity" says that "with sufficient volume, masked transformers can be simulated by
unmasked ones and vice versa" (section 6; Merrill and Sabharwal 2025a, Lemma 1, for this direction). The stream after
layer t stands in a place of its own: after the P positions come P more for every layer that is passed. Position (t, j)
fetches the stream of (t - 1, j), as its query, and looks at all of block t - 1, which is before it. All blocks do the
same at the same time, and what they compute is wrong, except block t in layer t; it is right by induction.

Needs: hard attention, no masks before; the numbers of position and block as position features. Costs: P positions of
padding for every layer that is passed, those of a loop as often as it turns; 2 layers for each layer, in the same
loops; twice the width and O(log) coordinates for addresses. A weight outweighs all scores (:mod:`.reach`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from softmachine.compiler.rewrites.reach import Reach, largest_score, reach
from softmachine.compiler.rewrites.unmasked import PADDING, matched, require_hard
from softmachine.compiler.rewrites.widening import ONE, Units, nothing, padded, reading, rows_of, stacked, writing
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import AVERAGE_HARD, Mask
from softmachine.transformer.features import Feature, ceil_log2
from softmachine.transformer.weights import AffineMap, Block, Head, Layer, Matrix, Transformer
from softmachine.transformer.wired_features import NO_ADDRESS, AddressBit, Table


@dataclass(frozen=True)
class Layout:
    """Where things are: the stream, what comes in from the block before, and addresses, each as signed bits.

    Args:
        width: The width of the stream before.
        positions: P.
        depth: How many layers are passed.
    """

    width: int
    positions: int
    depth: int

    @property
    def bits(self) -> int:
        """How many bits a position has; at least two, so that none can be told from some."""
        return max(2, ceil_log2(self.positions * (self.depth + 1)))

    @property
    def addresses(self) -> dict[str, tuple[int, ...]]:
        """By title: the own position, that of the block before, the own block and the block before."""
        every = [(t, j) for t in range(self.depth + 1) for j in range(self.positions)]
        return {
            "position": tuple(t * self.positions + j for t, j in every),
            "came from": tuple((t - 1) * self.positions + j if t else NO_ADDRESS for t, j in every),
            "block": tuple(t for t, _ in every),
            "block before": tuple(t - 1 if t else NO_ADDRESS for t, _ in every),
        }

    def address(self, title: str) -> int:
        """Where the bits of an address begin."""
        return 2 * self.width + list(self.addresses).index(title) * self.bits

    @property
    def wide(self) -> int:
        """The width."""
        return 2 * self.width + 4 * self.bits

    @property
    def features(self) -> list[Feature]:
        """A feature for each coordinate from the addresses on."""
        return [AddressBit(title, k, table) for title, table in self.addresses.items() for k in range(self.bits)]


def causal(transformer: Transformer, positions: int, length: int | None = None) -> Transformer:
    """The same transformer for sequences of one number of positions, with padding, in which no head looks ahead.

    Args:
        transformer: Any with hard attention whose heads see all positions.
        positions: P, how many positions sequences have; the answers stand at the last P, see :func:`padding`.
        length: n, if features or turns depend on it.

    Raises:
        ConstructionError: If a head is soft, masked or biased, or something is normalised.
    """
    require_hard(transformer, "what is not in the block before would keep some weight")
    for head in transformer.heads:
        if head.mask is not Mask.ALL or head.bias is not None:
            raise ConstructionError(f"head {head.name!r} has a mask or a bias: no weights say which pairs it is about")
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
    """The tokens that are appended to a sequence of so many."""
    return [PADDING] * (positions * transformer.depth(length))


def _coming_in(layout: Layout) -> Layer:
    """A layer in which every position fetches the stream of the same position in the block before."""
    sides = matched(layout.address("came from"), layout.address("position"), layout.bits, 1)
    query, key = (rows_of(rows, layout.wide) for rows in sides)
    value = rows_of([({c: 1}, 0) for c in range(layout.width)], layout.wide)
    output = writing(Matrix(tuple(((c, ONE),) for c in range(layout.width)), layout.width), layout.wide, layout.width)
    return Layer((Head("block before", query, key, value, output, Mask.CAUSAL, AVERAGE_HARD),), nothing(layout.wide))


def _causal(layer: Layer, layout: Layout, limits: Reach) -> Layer:
    """A layer that works on what came in, looks at the block before, and puts the result in place of the own stream."""
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
