"""A layer prepared for an arithmetic: heads grouped by shared keys, and all projections stacked into one map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from softmachine.engines.numerics import Arithmetic, Tensor
from softmachine.engines.numerics.base import SparseAffine, TensorMap, TensorSum
from softmachine.transformer.weights import AffineMap, FeedForward, Head, Layer, Matrix


class HeadGroup(NamedTuple):
    """Heads that share keys, mask, weighting and bias, with their queries, keys and values."""

    heads: tuple[Head, ...]
    key: Tensor
    queries: list[Tensor]
    values: list[Tensor]


@dataclass(frozen=True)
class DenseLayer:
    """A layer of the dense engine.

    Args:
        groups: The heads, grouped by shared keys, so that one attention computation serves a group.
        order: The index of each head of the layer in the concatenation of the groups.
        projection: The map from the residual stream to, per group, the keys, then the queries and values of its heads.
        output: The map (residual stream, retrieved values of all heads) to the new residual stream.
        network: The feed-forward network; None if it adds nothing (without units, it may still add a constant).
    """

    groups: tuple[tuple[Head, ...], ...]
    order: tuple[int, ...]
    projection: TensorMap
    output: TensorSum
    network: TensorMap | None

    @staticmethod
    def of(layer: Layer, width: int, arithmetic: Arithmetic) -> DenseLayer:
        """Prepare a layer of a residual stream of this width for an arithmetic."""
        groups = group_by_keys(layer.heads)
        outputs = concat_columns([head.output for head in layer.heads], width)
        return DenseLayer(
            groups=groups,
            order=_head_order(layer.heads, groups),
            projection=prepare_affine_map(
                stack_maps([part for group in groups for part in group_projections(group)], width), arithmetic
            ),
            output=arithmetic.compile_residual_affine(outputs.rows, outputs.columns, (Fraction(0),) * width),
            network=_prepare_network(layer.feed_forward, arithmetic),
        )

    def split_projections(self, projected: Tensor) -> Iterator[HeadGroup]:
        """Split projections into keys, queries and values of each head group."""
        sizes = (len(part.bias) for group in self.groups for part in group_projections(group))
        parts = (projected[..., start:end] for start, end in pairwise([0, *accumulate(sizes)]))
        for group in self.groups:
            yield HeadGroup(group, next(parts), [next(parts) for _ in group], [next(parts) for _ in group])


def prepare_affine_map(affine: AffineMap, arithmetic: Arithmetic) -> TensorMap:
    """Prepare an affine map for an arithmetic."""
    return arithmetic.compile_affine(*_sparse_affine(affine))


def _sparse_affine(affine: AffineMap) -> SparseAffine:
    return affine.weight.rows, affine.weight.columns, affine.bias


def _prepare_network(forward: FeedForward, arithmetic: Arithmetic) -> TensorMap | None:
    if not forward.units and not any(forward.second.bias):
        return None
    steps = np.array([activation == "step" for activation in forward.activations], dtype=bool)
    if forward.norms:
        return arithmetic.compile_norm_network(
            _sparse_affine(forward.first), steps, _sparse_affine(forward.second), forward.norms
        )
    return arithmetic.compile_network(_sparse_affine(forward.first), steps, _sparse_affine(forward.second))


def group_projections(group: Sequence[Head]) -> list[AffineMap]:
    """Return the maps of a group: the keys, then the queries, then the values of its heads."""
    return [group[0].key, *(head.query for head in group), *(head.value for head in group)]


def group_by_keys(heads: Sequence[Head]) -> tuple[tuple[Head, ...], ...]:
    """Group heads by equal keys, mask, weighting and bias."""
    groups: dict[object, list[Head]] = {}
    for head in heads:
        groups.setdefault((head.key, head.mask, head.weighting, head.bias), []).append(head)
    return tuple(map(tuple, groups.values()))


def _head_order(heads: Sequence[Head], groups: Sequence[Sequence[Head]]) -> tuple[int, ...]:
    """Return the index of each head among the groups, so that head outputs are summed in the order of the layer."""
    places: dict[int, list[int]] = {}
    for place, head in enumerate(head for group in groups for head in group):
        places.setdefault(id(head), []).append(place)
    return tuple(places[id(head)].pop(0) for head in heads)


def stack_maps(maps: Sequence[AffineMap], width: int) -> AffineMap:
    """Stack maps: the results are concatenated."""
    rows = tuple(row for part in maps for row in part.weight.rows)
    return AffineMap(Matrix(rows, width), tuple(constant for part in maps for constant in part.bias))


def concat_columns(matrices: Sequence[Matrix], height: int) -> Matrix:
    """Concatenate matrices along the columns."""
    rows: list[list[tuple[int, Fraction]]] = [[] for _ in range(height)]
    offset = 0
    for matrix in matrices:
        for r, c, weight in matrix.entries():
            rows[r].append((offset + c, weight))
        offset += matrix.columns
    return Matrix(tuple(map(tuple, rows)), offset)
