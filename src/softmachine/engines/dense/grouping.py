"""A layer in an arithmetic: heads that share keys in one group, and the maps of all heads stacked into one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from softmachine.engines.numerics import Arithmetic, Tensor
from softmachine.engines.numerics.base import Affine, Map, Sum
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Matrix


class Group(NamedTuple):
    """Heads that share keys, mask, weighting and bias: their queries at some positions, keys and values at some."""

    heads: tuple[Head, ...]
    key: Tensor
    queries: list[Tensor]
    values: list[Tensor]


@dataclass(frozen=True)
class DenseLayer:
    """A layer as the dense engine computes it.

    Args:
        groups: The heads; those that look for different things in the same keys together, so that one search serves.
        order: Where each head of the layer is among those of the groups.
        project: From the residual stream to, group by group, the keys, then the queries and the values of its heads.
        output: The residual stream, and what all retrieved values add to it.
        network: The feed-forward; None if it adds nothing (without units, it may still add a constant).
    """

    groups: tuple[tuple[Head, ...], ...]
    order: tuple[int, ...]
    project: Map
    output: Sum
    network: Map | None

    @staticmethod
    def of(layer: Layer, width: int, numbers: Arithmetic) -> DenseLayer:
        """The layer of a residual stream of this width, in an arithmetic."""
        groups = same_keys(layer.heads)
        outputs = side_by_side([head.output for head in layer.heads], width)
        return DenseLayer(
            groups=groups,
            order=_order(layer.heads, groups),
            project=operator(stacked([part for group in groups for part in maps(group)], width), numbers),
            output=numbers.adding(outputs.rows, outputs.columns, (Fraction(0),) * width),
            network=_network(layer.feed_forward, numbers),
        )

    def parts(self, projected: Tensor) -> Iterator[Group]:
        """Each group of heads, with its keys, the queries of its heads and their values."""
        sizes = (len(part.bias) for group in self.groups for part in maps(group))
        parts = (projected[..., start:end] for start, end in pairwise([0, *accumulate(sizes)]))
        for group in self.groups:
            yield Group(group, next(parts), [next(parts) for _ in group], [next(parts) for _ in group])


def operator(affine: AffineMap, numbers: Arithmetic) -> Map:
    """An affine map in an arithmetic."""
    return numbers.operator(*_parts(affine))


def _parts(affine: AffineMap) -> Affine:
    return affine.weight.rows, affine.weight.columns, affine.bias


def _network(forward: FeedForward, numbers: Arithmetic) -> Map | None:
    if not forward.units and not any(forward.second.bias):
        return None
    steps = np.array([activation == "step" for activation in forward.activations], dtype=bool)
    if forward.norms:
        return numbers.normalising(_parts(forward.first), steps, _parts(forward.second), forward.norms)
    return numbers.network(_parts(forward.first), steps, _parts(forward.second))


def maps(group: Sequence[Head]) -> list[AffineMap]:
    """A group's keys, then its queries, then its values."""
    return [group[0].key, *(head.query for head in group), *(head.value for head in group)]


def same_keys(heads: Sequence[Head]) -> tuple[tuple[Head, ...], ...]:
    """The heads in groups that have the same keys, mask, weighting and bias."""
    groups: dict[object, list[Head]] = {}
    for head in heads:
        groups.setdefault((head.key, head.mask, head.weighting, head.bias), []).append(head)
    return tuple(map(tuple, groups.values()))


def _order(heads: Sequence[Head], groups: Sequence[Sequence[Head]]) -> tuple[int, ...]:
    """Where each head is among those of all groups; the sum of what heads add has their order in the layer."""
    places: dict[int, list[int]] = {}
    for place, head in enumerate(head for group in groups for head in group):
        places.setdefault(id(head), []).append(place)
    return tuple(places[id(head)].pop(0) for head in heads)


def stacked(maps: Sequence[AffineMap], width: int) -> AffineMap:
    """One map whose results are those of several, one after the other."""
    rows = tuple(row for part in maps for row in part.weight.rows)
    return AffineMap(Matrix(rows, width), tuple(constant for part in maps for constant in part.bias))


def side_by_side(matrices: Sequence[Matrix], height: int) -> Matrix:
    """One matrix with the columns of several."""
    rows: list[list[tuple[int, Fraction]]] = [[] for _ in range(height)]
    offset = 0
    for matrix in matrices:
        for r, c, weight in matrix.entries():
            rows[r].append((offset + c, weight))
        offset += matrix.columns
    return Matrix(tuple(map(tuple, rows)), offset)
