"""Checks of too many inputs are refused; the estimated duration of long ones is reported."""

from __future__ import annotations

import time

import pytest

import softmachine as sm
from softmachine.engines.check import InputSelection, check_inputs
from softmachine.support import resources
from softmachine.support.errors import TooExpensiveError


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"up_to": 60}, "checking 2,305,843,009,213,693,951 inputs would take about"),
        ({"up_to": 5000}, r"checking more than 10\^30 inputs would take about 10\^300 years"),
        ({"up_to": 10**12}, "a word of 1,000,000,000,000 symbols would take about 12 days and 100 TB"),
        ({"sample": 10**12, "length": 8}, "checking 1,000,000,000,000 inputs would take about"),
        ({"sample": 1, "length": 10**12}, "a word of 1,000,000,000,000 symbols would take about"),
    ],
)
def test_a_sweep_that_takes_years_is_refused_at_once(wanted: dict[str, int], said: str) -> None:
    model = sm.compile("Q_a since Q_b")
    began = time.process_time()
    with pytest.raises(TooExpensiveError, match=said):
        sm.check(model, **wanted)  # type: ignore[arg-type]
    assert time.process_time() - began < 2


def test_a_refused_sweep_is_made_with_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MAX_SECONDS", 1e-5)
    monkeypatch.setattr(resources, "EXTRAPOLATION_SECONDS", 0.0)
    model = sm.compile("Q_a since Q_b")
    with pytest.raises(TooExpensiveError, match="checking 127 inputs"):
        sm.check(model, up_to=6)
    assert sm.check(model, up_to=6, yes=True).inputs == 127


@pytest.mark.parametrize(("source", "up_to"), [("Q_a since Q_b", 11), ("parity", 6)])
def test_the_time_of_the_longest_words_is_honest(source: str, up_to: int) -> None:
    """The estimate is within a factor of 3 in one of four attempts; most words have the largest length."""
    model = sm.compile(source)
    ratios = []
    for _ in range(4):
        sweep = InputSelection.all_up_to(model, up_to)
        assert isinstance(sweep.total, int)
        expected = sweep._estimate_seconds("float64", 10_000) * sweep.total
        ratios.append(expected / check_inputs(model, sweep.iterate_from(0)).seconds)
        if 1 / 3 < ratios[-1] < 3:
            return
    pytest.fail(f"estimated over measured: {ratios}")
