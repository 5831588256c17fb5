"""The volume that a model needs, for models whose volume is known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.check import check_inputs
from softmachine.studies.measure.growth import Volume, find_volumes
from softmachine.support.errors import PrecisionError


def right_of(model: Model) -> Callable[[int, int], bool]:
    def right(length: int, bits: int) -> bool:
        try:
            return check_inputs(model, model.codec.words(length), arithmetic=f"fixed:{bits}").holds
        except PrecisionError:
            return False

    return right


def precisions(source: str, theorem: str, up_to: int) -> list[int | None]:
    model = sm.compile(source, theorem)
    return [each.precision for each in find_volumes(right_of(model), model.weights.width, range(1, up_to + 1))]


def test_unique_hard_attention_without_positions_needs_constant_volume() -> None:
    assert set(precisions("prev (Q_a or Q_b and Q_a)", "temporal-unique-hard", 9)) == {2}


def test_position_features_take_volume_that_grows() -> None:
    found = precisions("prev Q_a or Q_b", "temporal-encoder", 9)
    assert found == [3, 3, 3, 3, 3, 3, 3, 4, 4]


def test_volume_is_precision_times_width_and_may_not_be_found() -> None:
    assert [each.bits for each in find_volumes(lambda length, bits: bits >= length, 7, (1, 3, 40))] == [7, 21, None]
    assert Volume(3, None, 7).bits is None


@pytest.mark.slow
def test_counting_takes_volume_that_grows_with_the_length() -> None:
    found = [bits or 99 for bits in precisions("#<[Q_a] >= #<[Q_b]", "temporal-encoder", 10)]
    assert found == sorted(found)
    assert found[-1] > found[0]
