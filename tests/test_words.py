"""Choice of inputs."""

from __future__ import annotations

import math

import pytest

import softmachine as sm
from softmachine.engines.check import InputSelection
from softmachine.engines.inputs import MAX_DEFAULT_INPUTS, count_words
from softmachine.support.errors import UsageError


def test_every_input_up_to_a_length_or_all_of_the_one_length() -> None:
    palindrome, adder = sm.compile("palindrome"), sm.compile("full-adder")
    few = InputSelection.choose(palindrome, up_to=2, sample=None, length=None)
    assert ["".join(word) for word in few.iterate_from(0)] == ["", "a", "b", "aa", "ab", "ba", "bb"]
    assert few.total == 7
    assert InputSelection.choose(adder, up_to=None, sample=None, length=None).total == 8
    assert InputSelection.choose(adder, up_to=5, sample=None, length=None).total == 8


def test_what_does_not_say_which_inputs_is_refused() -> None:
    palindrome, adder = sm.compile("palindrome"), sm.compile("full-adder")
    for up_to, sample, length in ((None, None, None), (None, None, 3), (None, 3, None)):
        with pytest.raises(UsageError, match="choose the inputs"):
            InputSelection.choose(palindrome, up_to=up_to, sample=sample, length=length)
    with pytest.raises(UsageError, match="random inputs, not both"):
        InputSelection.choose(palindrome, up_to=3, sample=3, length=None)
    with pytest.raises(UsageError, match="--length is for random inputs"):
        InputSelection.choose(palindrome, up_to=3, sample=None, length=3)
    with pytest.raises(UsageError, match="none up to length 2"):
        InputSelection.choose(adder, up_to=2, sample=None, length=None)
    with pytest.raises(UsageError, match="'up_to': -1 is less than 0"):
        sm.check("palindrome", up_to=-1)


def test_other_random_inputs_have_another_seed() -> None:
    model = sm.compile("increment")
    some = [
        list(InputSelection.choose(model, up_to=None, sample=5, length=9, seed=seed).iterate_from(0))
        for seed in (0, 0, 1)
    ]
    assert some[0] == some[1] != some[2]


def test_too_many_inputs_are_not_counted() -> None:
    codec = sm.compile("palindrome").codec
    assert count_words(codec, range(13)) == 2**13 - 1
    assert count_words(codec, range(200)) == math.inf
    assert MAX_DEFAULT_INPUTS < 2**13


@pytest.mark.parametrize(
    ("sample", "length", "why"),
    [(0, 3, "0 is less than 1"), (-1, 3, "-1 is less than 1"), (2, -2, "-2 is less than 0")],
)
def test_a_sample_of_nothing_is_refused(sample: int, length: int, why: str) -> None:
    """A check without inputs would hold; words of length -2 used to be empty."""
    with pytest.raises(UsageError, match=why):
        sm.check("palindrome", sample=sample, length=length)
