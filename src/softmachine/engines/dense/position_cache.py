"""Cache of position features: exact values in blocks of positions, converted to an arithmetic."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics import Arithmetic, Tensor
from softmachine.transformer.features import Feature

BLOCK_SIZE = 64
"""Positions per block; decoding requests one position at a time."""
_MAX_CACHED_BLOCKS = 128
"""Cached blocks; several arithmetics use the same ones, and every segment starts again at position 0."""


class PositionFeatures(NamedTuple):
    """Values of features at some positions, with duplicates removed.

    Args:
        distinct: The distinct values.
        indices: Indices into them: (positions, features).
    """

    distinct: list[Fraction]
    indices: NDArray[np.intp]

    @staticmethod
    def evaluate(features: tuple[Feature, ...], positions: range, length: int | None) -> PositionFeatures:
        """Evaluate features at these positions; ``length`` is n, None for models that do not read it."""
        if length is not None:
            return _evaluate(features, positions, length)
        blocks = range(positions.start // BLOCK_SIZE, -(-positions.stop // BLOCK_SIZE))
        found, first = [_evaluate_block(features, block) for block in blocks], blocks.start * BLOCK_SIZE
        some = slice(positions.start - first, positions.stop - first)
        if len(found) == 1:
            return PositionFeatures(found[0].distinct, found[0].indices[some])
        different: list[Fraction] = []
        places = [np.empty((0, len(features)), dtype=np.intp)]
        for block in found:
            places.append(block.indices + len(different))
            different += block.distinct
        return PositionFeatures(different, np.concatenate(places)[some])

    def to_tensor(self, arithmetic: Arithmetic) -> Tensor:
        """Convert to an arithmetic, rounding each distinct value once: (positions, features)."""
        return arithmetic.convert([self.distinct])[0][self.indices]


def _evaluate(features: tuple[Feature, ...], positions: range, length: int | None) -> PositionFeatures:
    numbers: dict[tuple[int, int], int] = {}
    different: list[Fraction] = []
    places = np.empty((len(positions), len(features)), dtype=np.intp)
    for column, feature in enumerate(features):
        found = list[int]()
        for value in feature.values_at(positions, length):
            ratio = value.as_integer_ratio()  # hashed faster than a fraction
            place = numbers.setdefault(ratio, len(different))
            if place == len(different):
                different.append(value if isinstance(value, Fraction) else Fraction(value))
            found.append(place)
        places[:, column] = found
    return PositionFeatures(different, places)


@lru_cache(maxsize=_MAX_CACHED_BLOCKS)
def _evaluate_block(features: tuple[Feature, ...], block: int) -> PositionFeatures:
    return _evaluate(features, range(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE), None)
