"""Mutations of weights and of what programs declare, determined by a random generator.

Those of :data:`MUTATIONS` change what is computed, in general. Those of :data:`HARMLESS` do not: factors move from a
query to its key, or from a hidden unit to what reads it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from typing import TypeVar, cast

from softmachine.ir import Program
from softmachine.ir.primitives import Attention, Named, ScoreDecay
from softmachine.ir.ranges import ValueRange
from softmachine.ir.signal import Node, rewrite, topological_order
from softmachine.support.polynomial import Polynomial
from softmachine.transformer.attention import LEFTMOST_HARD, RIGHTMOST_HARD, Mask
from softmachine.transformer.features import Feature, Monomial
from softmachine.transformer.weights import AffineMap, Block, FeedForward, Head, Layer, Matrix, Transformer

Item = TypeVar("Item")
Mutation = Callable[[random.Random, Transformer], Transformer | None]
"""Another transformer; None if there is nothing to change."""
NEIGHBOURS = {
    Mask.CAUSAL: (Mask.PAST, Mask.ALL),
    Mask.PAST: (Mask.CAUSAL,),
    Mask.ANTICAUSAL: (Mask.FUTURE, Mask.ALL),
    Mask.FUTURE: (Mask.ANTICAUSAL,),
    Mask.ALL: (Mask.CAUSAL, Mask.ANTICAUSAL),
}


def exchange(item: Item, old: object, new: object) -> Item:
    """A transformer, or a part of one, with a part in place of another one."""
    if item is old:
        return cast(Item, new)
    if isinstance(item, tuple):
        return cast(Item, tuple(exchange(part, old, new) for part in item))
    if isinstance(item, Transformer | Block | Layer | Head | FeedForward | AffineMap):
        return replace(item, **{part.name: exchange(getattr(item, part.name), old, new) for part in fields(item)})
    return item


def scale_row(matrix: Matrix, row: int, factor: Fraction) -> Matrix:
    """The matrix with a row times a factor."""
    rows = (tuple((c, x * factor) for c, x in own) if r == row else own for r, own in enumerate(matrix.rows))
    return Matrix(tuple(rows), matrix.columns)


def scale_map(affine: AffineMap, row: int, factor: Fraction) -> AffineMap:
    """The affine map with a row and its bias times a factor."""
    bias = tuple(x * factor if r == row else x for r, x in enumerate(affine.bias))
    return AffineMap(scale_row(affine.weight, row, factor), bias)


def scale_column(matrix: Matrix, column: int, factor: Fraction) -> Matrix:
    """The matrix with a column times a factor."""
    return scale_row(matrix.transposed, column, factor).transposed


def maps_of(weights: Transformer) -> list[AffineMap]:
    """The affine maps that are not empty."""
    heads = (affine for head in weights.heads for affine in (head.query, head.key, head.value))
    networks = (layer.feed_forward for layer in weights.layers)
    units = (affine for forward in networks for affine in (forward.first, forward.second))
    return [affine for affine in (weights.unembedding, *heads, *units) if affine.bias]


def change_weight(rng: random.Random, weights: Transformer) -> Transformer | None:
    """One weight is negated, doubled, halved, or 1 more."""
    matrix = rng.choice([matrix for matrix in weights.matrices if matrix.nonzero_count])
    row, column, value = rng.choice(list(matrix.entries()))
    new = rng.choice((-value, value * 2, value / 2, value + 1))
    rows = [{c: new if (r, c) == (row, column) else x for c, x in own} for r, own in enumerate(matrix.rows)]
    return exchange(weights, matrix, Matrix.of(rows, matrix.columns))


def change_bias(rng: random.Random, weights: Transformer) -> Transformer | None:
    """One bias is 1, 1/2 or 1/3 more or less."""
    affine = rng.choice(maps_of(weights))
    place = rng.randrange(len(affine.bias))
    more = rng.choice((-1, 1)) * Fraction(1, rng.choice((1, 2, 3)))
    bias = tuple(x + more if k == place else x for k, x in enumerate(affine.bias))
    return exchange(weights, affine, replace(affine, bias=bias))


def drop_pair(rng: random.Random, weights: Transformer) -> Transformer | None:
    """One pair of a query and a key is dropped."""
    heads = [head for head in weights.heads if head.query.bias]
    if not heads:
        return None
    head = rng.choice(heads)
    place = rng.randrange(len(head.query.bias))

    def without(affine: AffineMap) -> AffineMap:
        rows, bias = affine.weight.rows, affine.bias
        return AffineMap(
            Matrix(rows[:place] + rows[place + 1 :], affine.weight.columns), bias[:place] + bias[place + 1 :]
        )

    return exchange(weights, head, replace(head, query=without(head.query), key=without(head.key)))


def change_mask(rng: random.Random, weights: Transformer) -> Transformer | None:
    """One mask is off by one, or wider."""
    if not weights.heads:
        return None
    head = rng.choice(weights.heads)
    return exchange(weights, head, replace(head, mask=rng.choice(NEIGHBOURS[head.mask])))


def change_ties(rng: random.Random, weights: Transformer) -> Transformer | None:
    """One head takes the leftmost or the rightmost of the best keys."""
    if not weights.heads:
        return None
    head = rng.choice(weights.heads)
    return exchange(weights, head, replace(head, weighting=rng.choice((LEFTMOST_HARD, RIGHTMOST_HARD))))


def change_feature(rng: random.Random, weights: Transformer) -> Transformer | None:
    """One power of i is one of i+1, or the other way round."""
    places = [k for k, feature in enumerate(weights.features) if isinstance(feature, Monomial)]
    if not places:
        return None
    place = rng.choice(places)
    old = weights.features[place]
    assert isinstance(old, Monomial)
    new: Feature = replace(old, i=max(old.next, 0), next=old.i + min(old.next, 0))
    if new in weights.features:
        return None
    return replace(weights, features=tuple(new if k == place else own for k, own in enumerate(weights.features)))


def rescale_unit(rng: random.Random, weights: Transformer) -> Transformer | None:
    """A ReLU unit is c times as large, and what reads it takes 1/c of it."""
    forwards = [layer.feed_forward for layer in weights.layers if "relu" in layer.feed_forward.activations]
    if not forwards:
        return None
    forward, factor = rng.choice(forwards), _factor(rng)
    unit = rng.choice([u for u, activation in enumerate(forward.activations) if activation == "relu"])
    second = replace(forward.second, weight=scale_column(forward.second.weight, unit, 1 / factor))
    first = scale_map(forward.first, unit, factor)
    return exchange(weights, forward, replace(forward, first=first, second=second))


def rescale_pair(rng: random.Random, weights: Transformer) -> Transformer | None:
    """A query is c times as large, and its key 1/c times; c may be negative."""
    heads = [head for head in weights.heads if head.query.bias]
    if not heads:
        return None
    head, factor = rng.choice(heads), _factor(rng) * rng.choice((-1, 1))
    place = rng.randrange(len(head.query.bias))
    query, key = scale_map(head.query, place, factor), scale_map(head.key, place, 1 / factor)
    return exchange(weights, head, replace(head, query=query, key=key))


def rescale_value(rng: random.Random, weights: Transformer) -> Transformer | None:
    """A value is c times as large, and the output matrix takes 1/c of it; c may be negative."""
    if not weights.heads:
        return None
    head, factor = rng.choice(weights.heads), _factor(rng) * rng.choice((-1, 1))
    place = rng.randrange(len(head.value.bias))
    output = scale_column(head.output, place, 1 / factor)
    return exchange(weights, head, replace(head, value=scale_map(head.value, place, factor), output=output))


def _factor(rng: random.Random) -> Fraction:
    return rng.choice((Fraction(2), Fraction(1, 2), Fraction(3), Fraction(5, 3), Fraction(1, 7)))


MUTATIONS: tuple[Mutation, ...] = (
    *(change_weight, change_weight, change_weight, change_bias, change_bias),
    *(drop_pair, change_mask, change_ties, change_feature, rescale_value),
)
HARMLESS: tuple[Mutation, ...] = (rescale_unit, rescale_pair)


def mutate(rng: random.Random, weights: Transformer, mutations: tuple[Mutation, ...]) -> Transformer:
    """A transformer after one mutation."""
    while True:
        found = rng.choice(mutations)(rng, weights)
        if found is not None:
            return found


def change_hint(rng: random.Random, program: Program) -> Program | None:
    """What one head declares, or the range of one named number, is changed; None if there is none."""
    nodes = list(topological_order(program.logits.forms))
    heads = [node for node in nodes if isinstance(node, Attention) and node.gap is not None]
    named = [node for node in nodes if isinstance(node, Named)]
    if not heads and not named:
        return None
    chosen = rng.choice([*heads * 3, *named])

    def change(old: Node, rebuilt: Node) -> Node:
        if old is not chosen:
            return rebuilt
        return _with_hint(rng, rebuilt) if isinstance(rebuilt, Attention) else _with_range(rng, rebuilt)

    return replace(program, logits=rewrite(program.logits, change))


def _with_hint(rng: random.Random, head: Attention) -> Attention:
    gap = head.gap
    if isinstance(gap, Fraction | Monomial) and rng.random() < 0.6:
        return replace(head, gap=gap * rng.choice((Fraction(2), Fraction(1, 2), Fraction(10))))
    decay = rng.choice((ScoreDecay.LINEAR, ScoreDecay.QUADRATIC))
    return rng.choice((replace(head, gap=Fraction(5)), replace(head, single_key=True), replace(head, decay=decay)))


def _with_range(rng: random.Random, node: Node) -> Node:
    place, more = rng.randrange(len(node.ranges)), Polynomial(rng.choice((-1, 1)))
    ranges = list(node.ranges)
    ranges[place] = ValueRange(ranges[place].low + more, ranges[place].high + more, ranges[place].denominator)
    return replace(node, ranges=tuple(ranges))
