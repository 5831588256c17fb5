"""A residual stream in which every coordinate is stored twice, as x and -x, so that layer norms find a mean of 0."""

from __future__ import annotations

import numpy as np

from softmachine.errors import ConstructionError
from softmachine.exports.lowered import Affine, Array, Lowered

WIDEST = 1 << 14
"""Wider models are refused: a matrix would take gigabytes."""


class Mirrored:
    """Where things go: coordinate c at c and, negated, at half the width plus c.

    Args:
        model: What is placed.
        width: The width of the architecture's stream, at least twice the model's.
        head: The width of a head.
    """

    def __init__(self, model: Lowered, width: int, head: int) -> None:
        if width > WIDEST:
            raise ConstructionError(
                f"{model.name!r} would need a model of width {width:,}; at most {WIDEST:,} is written "
                f"(its residual stream has {model.width:,} coordinates, its widest head {head:,}, its vocabulary "
                f"{len(model.vocabulary):,} tokens)",
                hint="export it for a smaller --length",
            )
        self.model, self.width, self.head = model, width, head
        self.half = width // 2

    def mirrored(self, rows: Array) -> Array:
        """Vectors over the coordinates, as they are stored."""
        stored = np.zeros((len(rows), self.width))
        stored[:, : self.model.width] = rows
        stored[:, self.half : self.half + self.model.width] = -rows
        return stored

    def reading(self, affine: Affine) -> Array:
        """The matrix of a map that reads the stream: half of the difference, so that what is added to both cancels."""
        rows = np.zeros((len(affine.bias), self.width))
        rows[:, : self.model.width] = affine.weight / 2
        rows[:, self.half : self.half + self.model.width] = -affine.weight / 2
        return rows
