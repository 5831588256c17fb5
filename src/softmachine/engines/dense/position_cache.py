"""Cache of position features: exact values in blocks of positions, converted to an arithmetic."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics import Arithmetic, Tensor
from softmachine.transformer.features import Feature

PIECE = 64
"""Positions per block; decoding requests one position at a time."""
_KEPT = 128
"""Cached blocks; several arithmetics use the same ones, and every segment starts again at position 0."""


class Placed(NamedTuple):
    """Values of features at some positions, with duplicates removed.

    Args:
        different: The distinct values.
        places: Indices into them: (positions, features).
    """

    different: list[Fraction]
    places: NDArray[np.intp]

    @staticmethod
    def at(features: tuple[Feature, ...], positions: range, length: int | None) -> Placed:
        """Evaluate features at these positions; ``length`` is n, None for models that do not read it."""
        if length is not None:
            return _along(features, positions, length)
        pieces = range(positions.start // PIECE, -(-positions.stop // PIECE))
        found, first = [_ahead(features, piece) for piece in pieces], pieces.start * PIECE
        some = slice(positions.start - first, positions.stop - first)
        if len(found) == 1:
            return Placed(found[0].different, found[0].places[some])
        different: list[Fraction] = []
        places = [np.empty((0, len(features)), dtype=np.intp)]
        for piece in found:
            places.append(piece.places + len(different))
            different += piece.different
        return Placed(different, np.concatenate(places)[some])

    def numbers(self, arithmetic: Arithmetic) -> Tensor:
        """Convert to an arithmetic, rounding each distinct value once: (positions, features)."""
        return arithmetic.numbers([self.different])[0][self.places]


def _along(features: tuple[Feature, ...], positions: range, length: int | None) -> Placed:
    numbers: dict[tuple[int, int], int] = {}
    different: list[Fraction] = []
    places = np.empty((len(positions), len(features)), dtype=np.intp)
    for column, feature in enumerate(features):
        found = list[int]()
        for value in feature.along(positions, length):
            ratio = value.as_integer_ratio()  # hashed faster than a fraction
            place = numbers.setdefault(ratio, len(different))
            if place == len(different):
                different.append(value if isinstance(value, Fraction) else Fraction(value))
            found.append(place)
        places[:, column] = found
    return Placed(different, places)


@lru_cache(maxsize=_KEPT)
def _ahead(features: tuple[Feature, ...], piece: int) -> Placed:
    return _along(features, range(piece * PIECE, (piece + 1) * PIECE), None)
