"""One loop is enough: blocks that run one after the other, each as often as it does, become one block.

Definition A.6 of "Revisiting Padded Transformer Expressivity" allows several looped blocks, and the proofs of Lemma 5.3
and Theorem C.1 say that they "merge into a single block run for r₁ + r₂ iterations under a one-bit phase flag selecting
which sub-block executes", with "the iteration counter tracked in a dedicated residual-stream coordinate".

This is that block: all layers of all blocks, each with a flag that says whether its block is off. Heads cannot be
switched, so they write to coordinates of their own, from which the network puts what they retrieved where it belongs,
unless the block is off, and clears them. Hidden units of a block that is off are held below 0 by a weight that
outweighs everything else they read (:mod:`.reach`). The flag stands in two coordinates, so that half as large a weight
is enough, and fixed point has it that had the weights before.

One coordinate cannot count in constant precision: the numbers of F_2 end at 15/4. So the counter is binary, a bit and
its complement a coordinate each, and the last network of a turn adds 1 and switches flags, each by one unit.

Costs: r₁ + … + r_m turns of ℓ₁ + … + ℓ_m layers, instead of r_k turns of ℓ_k each; 2⌈log₂(r + 1)⌉ coordinates for the
counter, r being all turns, 2m for flags, and as many as the heads of one layer retrieve numbers. Fixed point keeps its
precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from softmachine.compiler.rewrites.reach import Reach, reach, retrieved
from softmachine.compiler.rewrites.widening import ONE, ZERO, Gate, Units, detached, reading, seen_together, widened
from softmachine.transformer.weights import Block, Layer, Matrix, Transformer


@dataclass(frozen=True)
class Layout:
    """Where the new coordinates are: retrieved numbers from ``scratch`` on, then two flags a block, then the counter.

    Args:
        scratch: The width of the stream before.
        retrieved: How many numbers the heads of a layer retrieve at most.
        repeats: How often each block runs.
    """

    scratch: int
    retrieved: int
    repeats: tuple[int, ...]

    @property
    def bits(self) -> int:
        """How many bits the counter has."""
        return sum(self.repeats).bit_length()

    def off(self, block: int) -> tuple[int, int]:
        """The two coordinates that say that a block is off."""
        start = self.scratch + self.retrieved + 2 * block
        return start, start + 1

    def bit(self, k: int) -> int:
        """Bit k of the counter; its complement is the next one."""
        return self.scratch + self.retrieved + 2 * len(self.repeats) + 2 * k

    @property
    def wide(self) -> int:
        """The width."""
        return self.bit(self.bits)

    @property
    def names(self) -> list[str]:
        """The names of the new coordinates."""
        flags = [f"block {b} is off{again}" for b in range(len(self.repeats)) for again in ("", ", again")]
        counter = [f"{what} {k} of turns" for k in range(self.bits) for what in ("bit", "no bit")]
        return [*(f"retrieved {k}" for k in range(self.retrieved)), *flags, *counter]


def one_loop(transformer: Transformer, positions: int, length: int | None = None) -> Transformer:
    """The same transformer, for so many positions, with one block.

    Args:
        transformer: Any without layer norm.
        positions: How many positions inputs have at most.
        length: n, if features or turns depend on it.

    Raises:
        ConstructionError: If something is normalised: a norm that is off cannot be held below 0.
    """
    transformer.require_no_norm("a layer norm cannot be switched off")
    blocks = [block for block in transformer.blocks if block.count(length)]
    if len(blocks) < 2:
        return replace(transformer, blocks=tuple(blocks))
    most = max(sum(len(head.value.bias) for head in layer.heads) for block in blocks for layer in block.layers)
    layout = Layout(transformer.width, most, tuple(block.count(length) for block in blocks))
    limits = reach(transformer, positions, length)
    layers = [_switched(layer, layout, b, limits) for b, block in enumerate(blocks) for layer in block.layers]
    layers[-1] = _counting(layers[-1], layout)
    begins = {layout.bit(k) + 1: ONE for k in range(layout.bits)}
    begins |= {c: ONE for b in range(1, len(blocks)) for c in layout.off(b)}
    return replace(
        transformer,
        coordinates=(*transformer.coordinates, *layout.names),
        embedding=Matrix.of([{**dict(row), **begins} for row in transformer.embedding.rows], layout.wide),
        position_embedding=replace(transformer.position_embedding, columns=layout.wide),
        blocks=(Block(tuple(layers), sum(layout.repeats), "all"),),
        unembedding=reading(transformer.unembedding, layout.wide),
    )


def _switched(layer: Layer, layout: Layout, block: int, limits: Reach) -> Layer:
    """A layer that does nothing while its block is off."""
    numbers = [interval for head in layer.heads for interval in retrieved(head, limits).intervals]
    known = Reach((*limits.intervals, *numbers))
    given = widened(layer, layout.wide)
    heads, target = detached(given.heads, layout.scratch, layout.wide)
    units = Units(given.feed_forward)
    seen_together(units, target)
    gate = _gate(layout.off(block), known)
    for row, bias, activation in zip(units.reads, units.biases, given.feed_forward.activations, strict=True):
        gate(row, bias if activation == "relu" else bias + ONE)  # a step must be below 0, and not at it
    if any(units.constant):
        writes = {c: weight for c, weight in enumerate(units.constant) if weight}
        units.add("constants", {layout.off(block)[0]: -1}, 1, writes)
        units.constant = [ZERO] * layout.wide
    for coordinate, places in target.items():
        units.linear(f"retrieved {coordinate}", coordinate, dict(places), gate)
        units.linear(f"clear retrieved {coordinate}", coordinate, {coordinate: -1})
    return Layer(heads, units.done())


def _gate(off: tuple[int, int], known: Reach) -> Gate:
    """Holds a unit below 0 where a block is off: what it reads is below a bound, and that is taken away."""

    def hold(row: dict[int, Fraction], bias: Fraction) -> None:
        highest = sum((max(w * known.intervals[c][0], w * known.intervals[c][1]) for c, w in row.items()), bias)
        half = Fraction(max(0, ceil(2 * highest)), 4)  # F_2 has quarters
        for coordinate in off:
            row[coordinate] = -half

    return hold


def _counting(layer: Layer, layout: Layout) -> Layer:
    """The last layer of a turn, which also counts it, and switches from block to block."""
    units = Units(layer.feed_forward)
    for k in range(layout.bits):
        lower = [layout.bit(j) + 1 for j in range(k)]
        bit, none = layout.bit(k), layout.bit(k) + 1
        units.add(f"bit {k} of turns becomes 1", _none_of([*lower, bit]), 1, {bit: 1, none: -1})
        units.add(f"bit {k} of turns becomes 0", _none_of([*lower, none]), 1, {bit: -1, none: 1})
    turns = 0
    for b, repeats in enumerate(layout.repeats[:-1]):
        turns += repeats
        wrong = [layout.bit(k) + (turns - 1 >> k & 1) for k in range(layout.bits)]
        switched = dict.fromkeys(layout.off(b), 1) | dict.fromkeys(layout.off(b + 1), -1)
        units.add(f"block {b} ends", _none_of(wrong), 1, switched)
    return replace(layer, feed_forward=units.done())


def _none_of(coordinates: Sequence[int]) -> dict[int, Fraction]:
    """With the bias 1, whether bits are all 0."""
    return dict.fromkeys(coordinates, -ONE)


def turns(transformer: Transformer, length: int | None = None) -> int:
    """How often the block runs: as often as all blocks together."""
    return sum(block.count(length) for block in transformer.blocks)
