"""Rewrite to one loop: a sequence of looped blocks becomes one looped block.

Definition A.6 of "Revisiting Padded Transformer Expressivity" allows several looped blocks; by the proofs of Lemma 5.3
and Theorem C.1 of that paper they "merge into a single block run for r₁ + r₂ iterations under a one-bit phase flag
selecting which sub-block executes", with "the iteration counter tracked in a dedicated residual-stream coordinate".

This is that block: all layers of all blocks, each with a flag that disables it. Heads cannot be disabled, so they write
to scratch coordinates, from which the feed-forward network moves the values to their targets, unless the block is
disabled, and which it clears. Hidden units of a disabled block are kept below 0 by a weight that dominates everything
else they read (:mod:`softmachine.ir.stream_facts`). The flag is stored in two coordinates, so that half the weight
suffices, and the fixed point format of the given weights can represent it.

One coordinate cannot count in constant precision: the largest number of F_2 is 15/4. So the counter is binary, with one
coordinate for each bit and one for its complement; the last network of an iteration increments it and switches flags,
with one unit each.

Costs: r₁ + … + r_m iterations of ℓ₁ + … + ℓ_m layers, instead of r_k iterations of ℓ_k each; 2⌈log₂(r + 1)⌉ coordinates
for the counter, where r is the sum, 2m for flags, and scratch coordinates for the values of the heads of one layer. The
precision in fixed point is unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from softmachine.compiler.rewrites.widening import (
    ONE,
    ZERO,
    Gate,
    NetworkBuilder,
    read_scratch_as_added,
    redirect_heads,
    widen_inputs,
    widen_layer,
)
from softmachine.ir.facts import Fact
from softmachine.ir.stream_facts import StreamFacts, iterate_stream_facts, join_stream_facts
from softmachine.transformer.weights import Block, Layer, Matrix, Transformer


@dataclass(frozen=True)
class LoopLayout:
    """Layout of the new coordinates: head values starting at ``scratch``, then two flags per block, then the counter.

    Args:
        scratch: The width of the given residual stream.
        scratch_size: The maximal number of values that the heads of a layer retrieve.
        repeats: The number of iterations of each block.
    """

    scratch: int
    scratch_size: int
    repeats: tuple[int, ...]

    @property
    def bits(self) -> int:
        """The number of bits of the counter."""
        return sum(self.repeats).bit_length()

    def disabled_flag(self, block: int) -> tuple[int, int]:
        """Return the two coordinates of the flag that disables a block."""
        start = self.scratch + self.scratch_size + 2 * block
        return start, start + 1

    def counter_bit(self, k: int) -> int:
        """Return the coordinate of bit k of the counter; its complement is the next coordinate."""
        return self.scratch + self.scratch_size + 2 * len(self.repeats) + 2 * k

    @property
    def total_width(self) -> int:
        """The width."""
        return self.counter_bit(self.bits)

    @property
    def names(self) -> list[str]:
        """The names of the new coordinates."""
        flags = [f"block {b} is off{copy}" for b in range(len(self.repeats)) for copy in ("", " (copy)")]
        counter = [f"{what}bit {k} of iterations" for k in range(self.bits) for what in ("", "complement of ")]
        return [*(f"retrieved {k}" for k in range(self.scratch_size)), *flags, *counter]


def to_one_loop(transformer: Transformer, positions: int, length: int | None = None) -> Transformer:
    """Rewrite a transformer to one block, for inputs with a bounded number of positions.

    Args:
        transformer: A transformer without layer norm.
        positions: The maximal number of positions of an input.
        length: n, if features or iterations depend on it.

    Raises:
        ConstructionError: If there is a layer norm: its units cannot be kept below 0.
    """
    transformer.require_no_layer_norm("a layer norm cannot be disabled")
    blocks = [block for block in transformer.blocks if block.iterations(length)]
    if len(blocks) < 2:
        return replace(transformer, blocks=tuple(blocks))
    values = max(sum(len(head.value.bias) for head in layer.heads) for block in blocks for layer in block.layers)
    layout = LoopLayout(transformer.width, values, tuple(block.iterations(length) for block in blocks))
    limits = join_stream_facts(iterate_stream_facts(transformer, [(length, positions)]))
    layers = [_make_disableable(layer, layout, b, limits) for b, block in enumerate(blocks) for layer in block.layers]
    layers[-1] = _add_counter(layers[-1], layout)
    begins = {layout.counter_bit(k) + 1: ONE for k in range(layout.bits)}
    begins |= {c: ONE for b in range(1, len(blocks)) for c in layout.disabled_flag(b)}
    return replace(
        transformer,
        coordinates=(*transformer.coordinates, *layout.names),
        embedding=Matrix.of([{**dict(row), **begins} for row in transformer.embedding.rows], layout.total_width),
        position_embedding=replace(transformer.position_embedding, columns=layout.total_width),
        blocks=(Block(tuple(layers), sum(layout.repeats), "all"),),
        unembedding=widen_inputs(transformer.unembedding, layout.total_width),
    )


def _make_disableable(layer: Layer, layout: LoopLayout, block: int, limits: StreamFacts) -> Layer:
    """Rewrite a layer so that it has no effect while its block is disabled."""
    known = [*limits.bounds, *(fact for head in layer.heads for fact in limits.of_output(head))]
    given = widen_layer(layer, layout.total_width)
    heads, target = redirect_heads(given.heads, layout.scratch, layout.total_width)
    units = NetworkBuilder(given.feed_forward)
    read_scratch_as_added(units, target)
    gate = _disabling_gate(layout.disabled_flag(block), known)
    for row, bias, activation in zip(units.reads, units.biases, given.feed_forward.activations, strict=True):
        gate(row, bias if activation == "relu" else bias + ONE)  # the argument of a step must be strictly below 0
    if any(units.constant):
        writes = {c: weight for c, weight in enumerate(units.constant) if weight}
        units.add("constants", {layout.disabled_flag(block)[0]: -1}, 1, writes)
        units.constant = [ZERO] * layout.total_width
    for coordinate, places in target.items():
        units.linear(f"retrieved {coordinate}", coordinate, dict(places), gate)
        units.linear(f"clear retrieved {coordinate}", coordinate, {coordinate: -1})
    return Layer(heads, units.build())


def _disabling_gate(off: tuple[int, int], known: Sequence[Fact]) -> Gate:
    """Return a gate that keeps a unit below 0 while a block is disabled, by subtracting an upper bound of its input."""

    def hold(row: dict[int, Fraction], bias: Fraction) -> None:
        highest = sum((max(w * known[c].low, w * known[c].high) for c, w in row.items()), bias)
        half = Fraction(max(0, ceil(2 * highest)), 4)  # numbers of F_2 are multiples of 1/4
        for coordinate in off:
            row[coordinate] = -half

    return hold


def _add_counter(layer: Layer, layout: LoopLayout) -> Layer:
    """Extend the last layer of an iteration: it increments the counter and switches to the next block."""
    units = NetworkBuilder(layer.feed_forward)
    for k in range(layout.bits):
        lower = [layout.counter_bit(j) + 1 for j in range(k)]
        bit, none = layout.counter_bit(k), layout.counter_bit(k) + 1
        units.add(f"bit {k} of iterations becomes 1", _none_of([*lower, bit]), 1, {bit: 1, none: -1})
        units.add(f"bit {k} of iterations becomes 0", _none_of([*lower, none]), 1, {bit: -1, none: 1})
    turns = 0
    for b, repeats in enumerate(layout.repeats[:-1]):
        turns += repeats
        wrong = [layout.counter_bit(k) + (turns - 1 >> k & 1) for k in range(layout.bits)]
        switched = dict.fromkeys(layout.disabled_flag(b), 1) | dict.fromkeys(layout.disabled_flag(b + 1), -1)
        units.add(f"block {b} ends", _none_of(wrong), 1, switched)
    return replace(layer, feed_forward=units.build())


def _none_of(coordinates: Sequence[int]) -> dict[int, Fraction]:
    """Return the row of a unit that, with bias 1, detects that bits are all 0."""
    return dict.fromkeys(coordinates, -ONE)


def count_iterations(transformer: Transformer, length: int | None = None) -> int:
    """Return the number of iterations of the merged block: the sum over all blocks."""
    return sum(block.iterations(length) for block in transformer.blocks)
