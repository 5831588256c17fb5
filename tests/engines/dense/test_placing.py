"""Position features as numbers: independent of the blocks in which they are evaluated."""

from __future__ import annotations

import pytest

from softmachine.engines.dense.acceleration.caches import BLOCK_SIZE, PositionFeatures
from softmachine.engines.numerics import find_arithmetic
from softmachine.support.errors import ConstructionError
from softmachine.transformer.features import N_PLUS_ONE, RECIPROCAL, Bit, I

FEATURES = (I, RECIPROCAL, Bit(1))


@pytest.mark.parametrize(
    "positions",
    [
        range(3),
        range(7, 8),
        range(BLOCK_SIZE - 2, BLOCK_SIZE + 2),
        range(BLOCK_SIZE, BLOCK_SIZE),
        range(5, 3 * BLOCK_SIZE + 1),
    ],
)
@pytest.mark.parametrize("name", ["exact", "float64"])
def test_features_have_their_values_wherever_a_range_begins(positions: range, name: str) -> None:
    numbers = find_arithmetic(name)
    found = PositionFeatures.evaluate(FEATURES, positions, None).to_tensor(numbers)
    expected = numbers.convert([[feature.at(i) for feature in FEATURES] for i in positions])
    assert found.value.tolist() == expected.value.tolist()


def test_where_the_length_is_known_nothing_is_asked_beyond_it() -> None:
    found = PositionFeatures.evaluate((N_PLUS_ONE, I), range(2), 4).to_tensor(find_arithmetic("exact"))
    assert found.value.tolist() == [[5, 0], [5, 1]]
    with pytest.raises(ConstructionError, match="depends on the length"):
        PositionFeatures.evaluate((N_PLUS_ONE,), range(2), None)
