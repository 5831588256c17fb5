"""Position features as numbers: independent of the blocks in which they are evaluated."""

from __future__ import annotations

import pytest

from softmachine.engines.dense.position_cache import PIECE, Placed
from softmachine.engines.numerics import arithmetic
from softmachine.support.errors import ConstructionError
from softmachine.transformer.features import INVERSE, LENGTH, Bit, I

FEATURES = (I, INVERSE, Bit(1))


@pytest.mark.parametrize(
    "positions", [range(3), range(7, 8), range(PIECE - 2, PIECE + 2), range(PIECE, PIECE), range(5, 3 * PIECE + 1)]
)
@pytest.mark.parametrize("name", ["exact", "float64"])
def test_features_have_their_values_wherever_a_range_begins(positions: range, name: str) -> None:
    numbers = arithmetic(name)
    found = Placed.at(FEATURES, positions, None).numbers(numbers)
    expected = numbers.numbers([[feature.at(i) for feature in FEATURES] for i in positions])
    assert found.value.tolist() == expected.value.tolist()


def test_where_the_length_is_known_nothing_is_asked_beyond_it() -> None:
    found = Placed.at((LENGTH, I), range(2), 4).numbers(arithmetic("exact"))
    assert found.value.tolist() == [[5, 0], [5, 1]]
    with pytest.raises(ConstructionError, match="depends on the length"):
        Placed.at((LENGTH,), range(2), None)
