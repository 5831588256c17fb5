"""Position features as numbers of an arithmetic: at all positions of an input, or piece by piece while decoding."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.numerics import Arithmetic, Tensor
from softmachine.transformer.features import Feature

PIECE = 64
"""Decoding asks for one position after the other: features are computed for so many."""
_KEPT = 128
"""So many pieces are kept: several arithmetics ask for the same, and segments begin again."""


class Placed(NamedTuple):
    """The values of features at some positions; few are different.

    Args:
        different: The different values.
        places: Which of them each feature has at each position: (positions, features).
    """

    different: list[Fraction]
    places: NDArray[np.intp]

    @staticmethod
    def at(features: tuple[Feature, ...], positions: range, length: int | None) -> Placed:
        """The values at these positions of an input of length n, if it is known."""
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
        """The values in an arithmetic, each rounded once: (positions, features)."""
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
