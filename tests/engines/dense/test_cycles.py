"""Cycle detection in loops: early termination changes no number, and bounds remain valid."""

from __future__ import annotations

import random
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import ArrayLike

from softmachine import api
from softmachine.engines.dense.acceleration import AcceleratedPass
from softmachine.engines.dense.acceleration.loop_cycles import iterate_until_cycle
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.forward_pass import Pass
from softmachine.engines.numerics import Tensor
from softmachine.support.errors import PrecisionError

TURNS = 1000


class Counted:
    """An iteration that records the number of sequences of each call."""

    def __init__(self, turn: Callable[[Tensor], Tensor]) -> None:
        self._turn = turn
        self.sizes: list[int] = []

    def __call__(self, stream: Tensor) -> Tensor:
        self.sizes.append(len(stream.value))
        return self._turn(stream)


def held(error: ArrayLike) -> Tensor:
    """One sequence of one position: two numbers with bounds."""
    return Tensor(np.array([[[1.0, 2.0]]]), np.array([[error]], dtype=np.float64))


def staying(matrix: ArrayLike) -> Counted:
    """An iteration that preserves the numbers; its bounds are a linear map of the previous ones plus a constant."""

    def turn(stream: Tensor) -> Tensor:
        assert stream.error is not None
        return Tensor(stream.value, stream.error @ np.array(matrix) + 1e-16)

    return Counted(turn)


def permuted(following: list[int]) -> Counted:
    """An iteration that maps each number k to ``following[k]``, without error."""
    table = np.array(following, dtype=np.float64)
    return Counted(lambda stream: Tensor(table[stream.value.astype(int)], stream.error))


def counted(numbers: list[int]) -> Tensor:
    """A sequence for each number."""
    value = np.array(numbers, dtype=np.float64)[:, None, None]
    return Tensor(value, np.zeros(value.shape))


def test_a_loop_that_has_settled_is_left_after_a_turn_that_changed_nothing() -> None:
    turn = staying([[0.0, 0.0], [0.0, 0.0]])
    assert (iterate_until_cycle(turn, held([1e-3, 0]), TURNS).value == held([0, 0]).value).all()
    assert len(turn.sizes) <= 3


@pytest.mark.parametrize("turns", range(40))
def test_sequences_that_go_round_end_where_all_turns_would_have_led_them(turns: int) -> None:
    """Tails of length 0 to 5 and cycles of length 1 to 7, in one batch."""
    following = [1, 2, 0, 4, 3, 5, 7, 8, 9, 10, 5, 12, 13, 14, 15, 16, 17, 11, 11, 18, 19, 3, 21, 22]
    start = list(range(len(following)))
    expected = start
    for _ in range(turns):
        expected = [following[k] for k in expected]
    ended = iterate_until_cycle(permuted(following), counted(start), turns)
    assert ended.value[:, 0, 0].tolist() == expected


def test_turns_of_those_that_go_round_are_few_and_each_leaves_when_it_is_known() -> None:
    following = [0, 2, 3, 4, 5, 1, *range(7, 207), 206]  # settled; a round of 5; 200 turns to settle
    turn = permuted(following)
    ended = iterate_until_cycle(turn, counted([0, 1, 6]), 10**6)
    assert ended.value[:, 0, 0].tolist() == [0, 1, 206]
    assert len(turn.sizes) <= 202
    assert turn.sizes[20:] == [1] * len(turn.sizes[20:])


def test_bounds_that_creep_up_are_settled_wider_and_a_turn_keeps_them() -> None:
    """The second bound becomes 3 times the first, the first a tenth of the second: only some boxes are preserved."""
    turn = staying([[0.0, 3.0], [0.1, 0.0]])
    found = iterate_until_cycle(turn, held([1e-16, 1e-16]), TURNS)
    assert len(turn.sizes) < 40
    after = turn(found)
    assert after.error is not None
    assert found.error is not None
    assert (after.error <= found.error).all()


def test_a_round_of_several_turns_whose_bounds_creep_up_is_left_with_wider_ones() -> None:
    def turn(stream: Tensor) -> Tensor:
        assert stream.error is not None
        return Tensor(3 - stream.value, stream.error * 0.9 + 1e-16)

    counting = Counted(turn)
    found = iterate_until_cycle(counting, held([1e-16, 1e-16]), TURNS + 1)
    assert found.value.tolist() == [[[2.0, 1.0]]]
    assert len(counting.sizes) < 60
    assert found.error is not None
    assert (found.error >= 0.99e-15).all()  # what all turns would have come to


def test_bounds_that_grow_for_ever_are_followed_to_the_end() -> None:
    turn = staying([[1.5, 0.0], [0.0, 0.5]])
    found = iterate_until_cycle(turn, held([1e-16, 1e-16]), 100)
    assert found.error is not None
    assert found.error[0, 0, 0] > 1e-16 * 1.5**99


def test_bounds_that_decide_nothing_any_more_are_not_taken() -> None:
    def turn(stream: Tensor) -> Tensor:
        assert stream.error is not None
        if (stream.error > 2e-14).any():
            raise PrecisionError("in doubt")
        return Tensor(stream.value, stream.error + 1e-16)

    found = iterate_until_cycle(turn, held([1e-14, 0]), 20)
    assert found.error is not None
    assert found.error[0, 0] == pytest.approx([1.2e-14, 2e-15])


@pytest.mark.parametrize("name", ["parity-loop-rasp", "addition-loop-rasp", "sort-loop-rasp"])
@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
def test_a_loop_with_softmax_has_the_numbers_of_all_turns_when_it_ends(name: str, arithmetic: str) -> None:
    model = api.compile(name, attention="soft", length=6)
    engine = DenseEngine(model.weights, arithmetic)
    rng = random.Random(name)
    prompts = [model.codec.prompt(model.codec.random_word(rng, 6)) for _ in range(4)]
    tokens, length = [prompt.tokens for prompt in prompts], prompts[0].length
    ended = engine.start(4, length).extend(tokens)
    with patch.object(AcceleratedPass, "run_loop", Pass.run_loop):
        whole = engine.start(4, length).extend(tokens)
    assert (ended.value == whole.value).all()
    assert ended.error is not None
    assert ended.error.max() < 0.01


@pytest.mark.parametrize("word", ["0 1 0 0", "3 3 0 1 -1 2", "6 7 -1 8 8 0 1 3 0"])
@pytest.mark.parametrize("attention", ["hard", "soft"])
def test_a_machine_that_goes_on_and_on_is_as_after_all_turns(word: str, attention: str) -> None:
    """Subleq: the first program loops forever, so its output is undefined; the others halt."""
    letters = tuple(word.split())
    model = api.compile("subleq-rasp", attention=attention, length=9 if attention == "soft" else None)
    prompt = model.codec.prompt(letters)
    said = DenseEngine(model.weights).predict([prompt.tokens], prompt.length)[0]
    assert said[1:] == list(model.codec.expected(letters, 0))[1:]
