"""Rewrite to causal masks: with padding, causal heads simulate bidirectional ones.

"Revisiting Padded Transformer Expressivity": "with sufficient volume, masked transformers can be simulated by unmasked
ones and vice versa" (section 6; Merrill and Sabharwal 2025a, Lemma 1, for this direction). The residual stream after
layer t has its own positions: the P positions are followed by P more for every executed layer. Position (t, j) fetches
the stream of (t - 1, j), from which its query is computed, and attends to all of block t - 1, which precedes it. All
blocks compute in every layer; the result of block t is correct from layer t, by induction, and the others are ignored.

Needs: hard attention without masks; the indices of position and block as position features. Costs: P positions of
padding per executed layer (layers of a loop count once per iteration); 2 layers per layer, in the same loops; twice the
width and O(log) coordinates for addresses. One weight dominates all scores (:mod:`softmachine.ir.stream_facts`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from softmachine.compiler.rewrites.no_masks import PADDING_TOKEN, match_addresses, require_hard_attention
from softmachine.compiler.rewrites.widening import (
    ONE,
    NetworkBuilder,
    affine_of_rows,
    empty_network,
    pad_bias,
    stack_outputs,
    widen_inputs,
    widen_outputs,
)
from softmachine.ir.stream_facts import StreamFacts, iterate_stream_facts, join_stream_facts
from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import AVERAGE_HARD, Mask
from softmachine.transformer.features import Feature, ceil_log2
from softmachine.transformer.table_features import NO_ADDRESS, AddressBit, TableFeature
from softmachine.transformer.weights import AffineMap, Block, Head, Layer, Matrix, Transformer


@dataclass(frozen=True)
class CausalLayout:
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
    def total_width(self) -> int:
        """The width."""
        return 2 * self.width + 4 * self.bits

    @property
    def features(self) -> list[Feature]:
        """The features of the address coordinates, in order."""
        return [AddressBit(title, k, table) for title, table in self.addresses.items() for k in range(self.bits)]


def to_causal_masks(transformer: Transformer, positions: int, length: int | None = None) -> Transformer:
    """Rewrite a transformer, for sequences of a fixed number of positions plus padding, so that all heads are causal.

    Args:
        transformer: A transformer with hard attention and without masks.
        positions: P, the number of positions of sequences; the answers are at the last P, see :func:`causal_padding`.
        length: n, if features or iterations depend on it.

    Raises:
        ConstructionError: If a head is soft, masked or biased, or there is a layer norm.
    """
    require_hard_attention(transformer, "positions outside the previous block would keep some weight")
    for head in transformer.heads:
        if head.mask is not Mask.ALL or head.bias is not None:
            raise ConstructionError(f"head {head.name!r} has a mask or a bias, which this rewrite does not support")
    layout = CausalLayout(transformer.width, positions, transformer.depth(length))
    limits = join_stream_facts(iterate_stream_facts(transformer, [(length, positions)]))
    blocks = tuple(
        Block(
            tuple(
                part for layer in block.layers for part in (_fetch_layer(layout), _rewrite_layer(layer, layout, limits))
            ),
            block.iterations(length),
            block.name,
        )
        for block in transformer.blocks
    )
    given = [
        TableFeature(each.name, tuple(map(Fraction, each.values_at(range(positions), length))))
        for each in transformer.features
    ]
    added = layout.features
    coming = [f"{name}, coming in" for name in transformer.coordinates]
    return replace(
        transformer,
        vocabulary=(*transformer.vocabulary, PADDING_TOKEN),
        coordinates=(*transformer.coordinates, *coming, *(feature.name for feature in added)),
        embedding=Matrix((*transformer.embedding.rows, ()), layout.total_width),
        features=(*given, *added),
        position_embedding=Matrix(
            (*transformer.position_embedding.rows, *(((2 * layout.width + c, ONE),) for c in range(len(added)))),
            layout.total_width,
        ),
        blocks=blocks,
        unembedding=widen_inputs(transformer.unembedding, layout.total_width),
    )


def causal_padding(transformer: Transformer, positions: int, length: int | None = None) -> list[str]:
    """Return the padding tokens for a sequence of ``positions`` tokens."""
    return [PADDING_TOKEN] * (positions * transformer.depth(length))


def _fetch_layer(layout: CausalLayout) -> Layer:
    """Return a layer in which every position fetches the stream of the same position in the previous block."""
    sides = match_addresses(layout.address("came from"), layout.address("position"), layout.bits, 1)
    query, key = (affine_of_rows(rows, layout.total_width) for rows in sides)
    value = affine_of_rows([({c: 1}, 0) for c in range(layout.width)], layout.total_width)
    output = widen_outputs(
        Matrix(tuple(((c, ONE),) for c in range(layout.width)), layout.width), layout.total_width, layout.width
    )
    return Layer(
        (Head("block before", query, key, value, output, Mask.CAUSAL, AVERAGE_HARD),), empty_network(layout.total_width)
    )


def _rewrite_layer(layer: Layer, layout: CausalLayout, limits: StreamFacts) -> Layer:
    """Rewrite a layer: it reads the fetched stream, attends to the previous block, and overwrites the own stream."""
    wide, shift = layout.total_width, layout.width
    heads = []
    for head in layer.heads:
        bound = limits.bound_score(head) + 1
        sides = match_addresses(layout.address("block before"), layout.address("block"), layout.bits, bound)
        query, key = (affine_of_rows(rows, wide) for rows in sides)
        heads.append(
            replace(
                head,
                query=stack_outputs(widen_inputs(head.query, wide, shift), query),
                key=stack_outputs(widen_inputs(head.key, wide), key),
                value=widen_inputs(head.value, wide),
                output=widen_outputs(head.output, wide, shift),
                mask=Mask.CAUSAL,
            )
        )
    network = layer.feed_forward
    second = AffineMap(widen_outputs(network.second.weight, wide), pad_bias(network.second.bias, wide))
    units = NetworkBuilder(replace(network, first=widen_inputs(network.first, wide, shift), second=second))
    for c in range(shift):
        units.linear(f"replace {c}", c, {c: -1})
        units.linear(f"take {c}", shift + c, {c: 1, shift + c: -1})
    return Layer(tuple(heads), units.build())
