"""Denominators of the residual stream: every number is a multiple of 1/D, which bounds gaps from weights alone.

Tokens and position features have denominators; affine maps multiply them, ReLU keeps them, a mean over m keys
multiplies them by m. So two scores that differ do so by at least 1/D, and so do two logits. That bounds the gap γ(n) of
every unique-hard head, at any length and without running a single input. A mean over keys that tie, of scores that may
have errors, is what it cannot bound: no denominator determines whether two scores tie.

The weights also determine whether a head is uniform, and whether errors can reach it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm

from softmachine.support.errors import ConstructionError
from softmachine.transformer.attention import Mask
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Transformer


def has_constant_scores(head: Head) -> bool:
    """Whether all visible keys always have one score: nothing is asked for, or all keys are alike."""
    silent = not head.query.weight.nonzero_count and not any(head.query.bias)
    return head.bias is None and (silent or not head.key.weight.nonzero_count)


def is_uniform_average(head: Head) -> bool:
    """Whether it takes the mean of all visible keys, which is the same hard and soft."""
    return has_constant_scores(head) and not head.weighting.is_unique_hard


def heads_without_errors(transformer: Transformer, length: int) -> set[Head]:
    """The heads that read no errors: softmax has taken the place of no head before that chooses."""
    found: set[Head] = set()
    later: set[Head] = set()
    chosen = False
    for layer in transformer.iterate_layers(length):
        (later if chosen else found).update(layer.heads)
        chosen = chosen or not all(map(is_uniform_average, layer.heads))
    return found - later


def require_hard_attention(transformer: Transformer) -> None:
    """See that every head has hard attention, or is uniform.

    Raises:
        ConstructionError: If one has a temperature already; the message names it.
    """
    for head in transformer.heads:
        if not head.weighting.is_hard and not is_uniform_average(head):
            raise ConstructionError(
                f"head {head.name!r} is {head.weighting}: it has a temperature already",
                hint="only hard attention is softened",
            )


def find_step_after_errors(transformer: Transformer, length: int) -> str | None:
    """The name of a step or layer norm that errors can reach; none of Theorem 26's bounds holds then."""
    chosen = False
    for layer in transformer.iterate_layers(length):
        chosen = chosen or not all(map(is_uniform_average, layer.heads))
        forward = layer.feed_forward
        for name, activation in zip(forward.units, forward.activations, strict=True):
            if chosen and activation != "relu":
                return name
    return None


Denominators = list[int]
"""The denominator of every coordinate."""


class GapAnalysis:
    """Lower bounds of the gaps of all heads, and of the margin, for inputs of one length.

    Args:
        transformer: The weights, with hard attention.
        length: n: inputs have n+1 positions.

    Raises:
        ConstructionError: If no bound is known; the message names the head or unit.
    """

    def __init__(self, transformer: Transformer, length: int) -> None:
        self.length = length
        self.heads: dict[Head, Fraction | None] = {}
        self._exact = heads_without_errors(transformer, length)
        if step := find_step_after_errors(transformer, length):
            raise ConstructionError(
                f"unit {step!r} is a step, which an error of any size can turn over: no temperature is low enough"
            )
        transformer.require_no_layer_norm("no denominator is known of it")
        grid = self._embedded(transformer)
        for layer in transformer.iterate_layers(length):
            grid = self._layer(layer, grid)
        self.margin = Fraction(1, lcm(*_map_affine(transformer.unembedding, grid)))

    def _embedded(self, transformer: Transformer) -> Denominators:
        grid = [1] * transformer.width
        for row in transformer.embedding.rows:
            for c, value in row:
                grid[c] = lcm(grid[c], value.denominator)
        for feature, row in zip(transformer.features, transformer.position_embedding.rows, strict=True):
            values = [feature.at(i, self.length) for i in range(self.length + 1)]
            for c, factor in row:
                grid[c] = lcm(grid[c], *((factor * value).denominator for value in values))
        return grid

    def _layer(self, layer: Layer, grid: Denominators) -> Denominators:
        after = list(grid)
        for head in layer.heads:
            found = self._head(head, grid)
            for r, c, weight in head.output.entries():
                after[r] = lcm(after[r], weight.denominator * found[c])
        return _map_network(layer.feed_forward, after)

    def _head(self, head: Head, grid: Denominators) -> Denominators:
        """The grid of what a head retrieves; its gap is noted."""
        values = _map_affine(head.value, grid)
        if has_constant_scores(head):
            self.heads.setdefault(head, None)
            return values if head.weighting.is_unique_hard else _multiply(values, self._counts(head))
        if not head.weighting.is_unique_hard and head not in self._exact:
            raise ConstructionError(
                f"head {head.name!r} is average-hard, and scores that it reads with errors may tie: no bound is known",
                hint="ask for a length so short that every input can be run; or let it be leftmost- or rightmost-hard",
            )
        scores = [
            query * key for query, key in zip(_map_affine(head.query, grid), _map_affine(head.key, grid), strict=True)
        ]
        gap = Fraction(1, lcm(*scores, *self._biases(head)))
        before = self.heads.get(head)
        self.heads[head] = gap if before is None else min(before, gap)
        return values if head.weighting.is_unique_hard else _multiply(values, lcm(*range(1, self.length + 2)))

    def _counts(self, head: Head) -> int:
        """What the numbers of visible keys divide."""
        return self.length + 1 if head.mask is Mask.ALL else lcm(*range(1, self.length + 2))

    def _biases(self, head: Head) -> Iterable[int]:
        if head.bias is not None:
            positions = range(self.length + 1)
            for i in positions:
                yield from (head.bias.at(j, i).denominator for j in positions if head.mask.is_visible(j, i))


def _multiply(grid: Denominators, factor: int) -> Denominators:
    return [own * factor for own in grid]


def _map_affine(affine: AffineMap, grid: Denominators) -> Denominators:
    """The grid of an affine map of numbers on a grid."""
    return [
        lcm(bias.denominator, *(weight.denominator * grid[c] for c, weight in row))
        for row, bias in zip(affine.weight.rows, affine.bias, strict=True)
    ]


def _map_network(forward: FeedForward, grid: Denominators) -> Denominators:
    hidden = [
        1 if activation == "step" else own
        for own, activation in zip(_map_affine(forward.first, grid), forward.activations, strict=True)
    ]
    return [lcm(own, more) for own, more in zip(grid, _map_affine(forward.second, hidden), strict=True)]
