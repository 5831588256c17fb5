"""Rounding to fewer bits, against other implementations and the definition."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'softmachine[learn]'")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from softmachine.studies.learn.config import significant_bits  # noqa: E402
from softmachine.studies.learn.model import make_rounding  # noqa: E402
from softmachine.support.errors import UsageError  # noqa: E402

NUMBERS = st.lists(
    st.floats(-(2.0**100), 2.0**100, width=32).filter(lambda x: x == 0 or abs(x) > 2.0**-100), min_size=1, max_size=20
)


@given(NUMBERS)
def test_bfloat16_is_that_of_others(values: list[float]) -> None:
    ours = make_rounding("bfloat16")(torch.tensor(values)).numpy()
    theirs = np.array(values, dtype=np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)
    assert (ours == theirs).all()


@given(NUMBERS, st.integers(1, 23))
def test_numbers_have_so_many_bits_and_are_the_nearest_such(values: list[float], bits: int) -> None:
    for value, found in zip(values, make_rounding(f"bits:{bits}")(torch.tensor(values)).tolist(), strict=True):
        mantissa, exponent = math.frexp(value)
        assert found == math.ldexp(round(math.ldexp(mantissa, bits)), exponent - bits)


def test_gradients_pass_as_if_nothing_was_rounded() -> None:
    value = torch.tensor([1.234, -5.678], requires_grad=True)
    make_rounding("bits:2")(value * 3).sum().backward()
    assert value.grad.tolist() == [3.0, 3.0]


def test_float32_is_left_alone() -> None:
    value = torch.tensor([1 / 3])
    assert make_rounding("float32")(value) is value


@pytest.mark.parametrize("name", ["float13", "bits:0", "bits:25", "bits:", "bits:-1"])
def test_other_precisions_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="there is no precision"):
        significant_bits(name)
