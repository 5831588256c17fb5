"""The softmax weights with which :meth:`soft` averages values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from softmachine.engines.numerics import find_arithmetic
from softmachine.engines.numerics.python_objects import FlintArithmetic
from softmachine.support.errors import ConstructionError

VISIBLE = np.array([[True, False, False], [True, True, True], [False, False, False]])


def made(name: str, scores: tuple[int, ...]) -> tuple[FlintArithmetic, tuple[object, ...]]:
    numbers = find_arithmetic(name)
    assert isinstance(numbers, FlintArithmetic)
    query = numbers.convert([[Fraction(1)]] * 3)[None]
    key = numbers.convert([[Fraction(score)] for score in scores])[None]
    return numbers, (query, key, None, VISIBLE, numbers.convert_scales([Fraction(2)] * 3, feature=False))


@pytest.mark.parametrize(("name", "scores"), [("exact", (5, 5, 5)), ("ball", (5, 5, 5)), ("ball", (0, 1, 3))])
def test_means_are_taken_with_these_shares(name: str, scores: tuple[int, ...]) -> None:
    numbers, asked = made(name, scores)
    shares = numbers.softmax_weights(*asked)  # type: ignore[arg-type]
    values = numbers.convert([[Fraction(k * k), Fraction(1)] for k in range(3)])[None]
    means = numbers.softmax_attention(*asked)(values).value  # type: ignore[arg-type]
    with numbers.working_precision():
        differences = (shares[0] @ values.value[0] - means[0]).ravel()
    assert all(0 in number if isinstance(number, arb) else number == 0 for number in differences)
    assert [int(share != 0) for share in shares[0, 2]] == [0, 0, 0]


def test_the_shares_of_balls_are_those_of_the_exponential() -> None:
    numbers, asked = made("ball", (0, 1, 3))
    shares = numbers.softmax_weights(*asked)[0, 1]  # type: ignore[arg-type]
    total = sum(arb(2 * score).exp() for score in (0, 1, 3))
    assert all(share.overlaps(arb(2 * score).exp() / total) for share, score in zip(shares, (0, 1, 3), strict=True))


def test_rationals_have_only_those_of_equal_scores() -> None:
    numbers, asked = made("exact", (0, 1, 3))
    with pytest.raises(ConstructionError, match="softmax of different scores"):
        numbers.softmax_weights(*asked)  # type: ignore[arg-type]
