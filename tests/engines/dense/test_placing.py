"""Position features as numbers: each distinct value is converted once."""

from __future__ import annotations

import pytest

from softmachine.engines.dense.forward_pass import evaluate_features
from softmachine.engines.numerics import find_arithmetic
from softmachine.support.errors import ConstructionError
from softmachine.transformer.features import N_PLUS_ONE, RECIPROCAL, Bit, I

FEATURES = (I, RECIPROCAL, Bit(1))


@pytest.mark.parametrize("positions", [range(3), range(7, 8), range(64, 64), range(5, 193)])
@pytest.mark.parametrize("name", ["exact", "float64"])
def test_features_have_their_values_wherever_a_range_begins(positions: range, name: str) -> None:
    numbers = find_arithmetic(name)
    found = evaluate_features(numbers, FEATURES, positions, None)
    expected = numbers.convert([[feature.at(i) for feature in FEATURES] for i in positions])
    assert found.shape == (len(positions), len(FEATURES))
    assert found.value.tolist() == expected.value.tolist()


def test_where_the_length_is_known_nothing_is_asked_beyond_it() -> None:
    numbers = find_arithmetic("exact")
    assert evaluate_features(numbers, (N_PLUS_ONE, I), range(2), 4).value.tolist() == [[5, 0], [5, 1]]
    with pytest.raises(ConstructionError, match="depends on the length"):
        evaluate_features(numbers, (N_PLUS_ONE,), range(2), None)
