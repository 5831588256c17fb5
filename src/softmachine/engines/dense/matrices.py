"""Sparse exact matrices put together, before they go into an arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from softmachine.transformer.weights import AffineMap, Matrix


def transposed(matrix: Matrix) -> Matrix:
    """The matrix with rows and columns exchanged."""
    rows: list[dict[int, Fraction]] = [{} for _ in range(matrix.columns)]
    for r, c, value in matrix.entries():
        rows[c][r] = value
    return Matrix.of(rows, len(matrix.rows))


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
