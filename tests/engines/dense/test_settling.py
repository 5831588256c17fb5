"""Loops that have settled: nothing is left out that would have changed a number or a bound that is relied on."""

from __future__ import annotations

import random
from unittest.mock import PropertyMock, patch

import numpy as np
import pytest
from numpy.typing import ArrayLike

from softmachine import api
from softmachine.arithmetic import Tensor
from softmachine.engines.dense.engine import DenseEngine, Pass
from softmachine.engines.dense.settling import Settling
from softmachine.errors import PrecisionError


def stream(error: ArrayLike) -> Tensor:
    """Two numbers with bounds."""
    return Tensor(np.array([[[1.0, 2.0]]]), np.array([[error]], dtype=np.float64))


def turned(matrix: ArrayLike, error: Tensor) -> Tensor:
    """A turn that keeps the numbers, and whose bounds are a linear map of what they were, and a little."""
    assert error.error is not None
    return Tensor(error.value, error.error @ np.array(matrix) + 1e-16)


def ends_after(matrix: ArrayLike, turns: int) -> tuple[int, Tensor] | None:
    """In which turn it is settled, and with which bounds."""
    settling, after = Settling(lambda given: turned(matrix, given)), stream([1e-16, 1e-16])
    for turn in range(turns):
        before, after = after, turned(matrix, after)
        found = settling.settled(before, after)
        if found is not None:
            return turn, found
    return None


def test_numbers_that_stay_with_bounds_that_do_not_grow_are_settled() -> None:
    held = stream([1e-3, 0])
    assert Settling(lambda given: given).settled(held, stream([1e-4, 0])) is not None
    assert Settling(lambda given: given).settled(held, Tensor(held.value + 1, held.error)) is None


def test_bounds_that_creep_up_are_settled_wider_and_a_turn_keeps_them() -> None:
    """The second bound is 3 times the first, which is a tenth of the second: no bound of both is kept, but some are."""
    matrix = [[0.0, 3.0], [0.1, 0.0]]
    found = ends_after(matrix, 30)
    assert found is not None
    after = turned(matrix, found[1])
    assert after.error is not None
    assert found[1].error is not None
    assert (after.error <= found[1].error).all()


def test_bounds_that_grow_for_ever_never_are() -> None:
    assert ends_after([[1.5, 0.0], [0.0, 0.5]], 100) is None


def test_bounds_that_decide_nothing_any_more_are_not_taken() -> None:
    def undecided(given: Tensor) -> Tensor:
        raise PrecisionError("in doubt")

    settling, after = Settling(undecided), stream([1e-16, 0])
    for turn in range(20):
        before, after = after, stream([1e-16 * (turn + 2), 0])
        assert settling.settled(before, after) is None


@pytest.mark.parametrize("name", ["parity-loop-rasp", "addition-loop-rasp", "sort-loop-rasp"])
@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
def test_a_loop_with_softmax_has_the_numbers_of_all_turns_when_it_ends(name: str, arithmetic: str) -> None:
    model = api.compile(name, attention="soft", length=6)
    engine = DenseEngine(model.weights, arithmetic)
    prompt = model.codec.prompt(model.codec.random_word(random.Random(name), 6))
    ended = engine.start(1, prompt.length).extend([prompt.tokens])
    with patch.object(Pass, "_may_end", new_callable=PropertyMock, return_value=False):
        whole = engine.start(1, prompt.length).extend([prompt.tokens])
    assert (ended.value == whole.value).all()
    assert ended.error is not None
    assert ended.error.max() < 0.01
