"""Floats without error bounds: the results of the format, right or wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.check import check_inputs
from softmachine.engines.numerics import UndecidedError, find_arithmetic
from softmachine.engines.numerics.base import Tensor
from softmachine.engines.numerics.float_unchecked import UncheckedFloat
from softmachine.support.errors import UsageError
from softmachine.testing import words as all_words

THIRD = Fraction(1, 3)


@pytest.mark.parametrize("name", ["float64", "float32", "float16"])
def test_operations_round_to_the_format(name: str) -> None:
    plain = find_arithmetic(f"{name}:plain")
    kind = np.dtype(name).type
    third = plain.convert([[THIRD]])
    assert third.value.dtype == np.dtype(name)
    assert third.value[0, 0] == kind(1 / 3)
    tripled = plain.compile_affine([[(0, Fraction(3))]], 1, [THIRD])(Tensor(third.value[None]))
    assert tripled.value[0, 0, 0] == kind(kind(1 / 3) * kind(3) + kind(1 / 3))
    assert plain.add(third, third).value[0, 0] == kind(2) * kind(1 / 3)


def test_a_format_that_is_too_small_goes_wrong_without_a_word() -> None:
    plain = UncheckedFloat("float16:plain")
    large = plain.convert([[Fraction(2048)]])
    assert plain.add(large, plain.convert([[Fraction(1)]])).value[0, 0] == 2048
    assert np.isinf(plain.convert([[Fraction(10**400)]]).value[0, 0])


def test_a_tie_of_logits_is_an_error_and_so_is_what_is_not_a_number() -> None:
    plain = UncheckedFloat("float32:plain")
    with pytest.raises(UndecidedError, match="equal") as tie:
        plain.argmax(Tensor(np.ones((1, 1, 2), np.float32)))
    assert tie.value.tie
    with pytest.raises(UndecidedError, match="is outside the range"):
        plain.argmax(Tensor(np.array([[[np.nan, 1]]], np.float32)))


@pytest.mark.parametrize("source", ["palindrome", "Q_a since Q_b", "#<[Q_a] >= 2*#>[Q_b]", "dyck-2"])
@pytest.mark.parametrize("attention", ["hard", "soft"])
def test_small_inputs_come_out_right(source: str, attention: str) -> None:
    model = sm.compile(source, attention=attention, length=40 if attention == "soft" else None)
    assert model.codec is not None
    words = [*all_words(model.codec.alphabet, 3)]
    assert check_inputs(model, words, arithmetic="float64:plain").holds


@pytest.mark.parametrize("name", ["float8:plain", "ball:plain", "float32:plane"])
def test_only_floats_are_plain(name: str) -> None:
    with pytest.raises(UsageError, match="unknown arithmetic"):
        find_arithmetic(name)
