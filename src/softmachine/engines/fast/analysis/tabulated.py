"""Position features that code cannot compute: their values are tabulated as the run goes on, exactly.

What a feature promises of its values (its denominator, its range) is what the analysis builds on, so every value is
checked against it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from softmachine.engines.fast.analysis.grids import SAFE, feature_number
from softmachine.errors import PrecisionError
from softmachine.transformer.features import Feature


def width(item: Feature) -> int:
    """The integers that a value is kept as: its numerator, or that and its denominator."""
    return 1 if feature_number(item).grid else 2


def tabulated(item: Feature, start: int, stop: int) -> NDArray[np.int64]:
    """The values of a feature at some positions, as they are kept.

    Raises:
        PrecisionError: If a value does not fit, or is not what the feature promises.
    """
    known = feature_number(item)
    kept: list[int] = []
    for i in range(start, stop):
        value = item.at(i)
        if known.grid is None:
            kept += [value.numerator, value.denominator]
        else:
            above = value * known.grid.over * Fraction(i + 1) ** known.grid.power
            if above.denominator != 1 or not known.low <= above <= known.high:
                raise PrecisionError(f"the position feature {item.name} is {value} at {i}, which it promises not to be")
            kept.append(int(above))
    if max(map(abs, kept), default=0) >= SAFE:
        raise PrecisionError(
            f"the position feature {item.name} has values that do not fit into 62 bits", hint="use --engine dense"
        )
    return np.array(kept, dtype=np.int64)
