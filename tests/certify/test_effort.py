"""A certificate for a very large length takes no time, or is refused where every position has to be looked at."""

from __future__ import annotations

import time

import pytest

import softmachine as sm
from softmachine.api import certificate
from softmachine.certify import certificate as certificates
from softmachine.certify import empirical as measuring
from softmachine.certify.softmax_error import min_gap
from softmachine.support import resources
from softmachine.support.errors import TooExpensiveError
from softmachine.support.resources import Estimate
from softmachine.transformer.features import (
    HALF_RECIPROCAL,
    I_PLUS_ONE,
    I_SQUARED,
    N_PLUS_ONE,
    RECIPROCAL,
    REMAINING,
    Monomial,
)


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of gaps but their values."""
    monkeypatch.setattr(Monomial, "is_monotone", False)


@pytest.mark.parametrize("source", ["palindrome", "Q_a since Q_b", "reverse-program"])
def test_gaps_that_rise_or_fall_are_certified_for_any_length(source: str) -> None:
    began = time.process_time()
    assert certificate(source, length=10**12).holds
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "gap", [RECIPROCAL, HALF_RECIPROCAL, 1 / N_PLUS_ONE, 1 / REMAINING, I_SQUARED, I_PLUS_ONE * (1 / REMAINING)]
)
def test_the_least_value_is_that_of_a_search(gap: Monomial) -> None:
    assert gap.is_monotone
    assert all(gap.minimum(n) == min(gap.at(i, n) for i in range(n + 1)) for n in range(12))


@pytest.mark.usefixtures("looked_up")
@pytest.mark.parametrize("source", ["palindrome", "Q_a since Q_b", "reverse-program"])
def test_a_certificate_that_takes_years_is_refused_at_once(source: str) -> None:
    model = sm.compile(source)
    began = time.process_time()
    with pytest.raises(TooExpensiveError, match="a certificate for length 1,000,000,000,000 would take about"):
        certificate(model, length=10**12)
    with pytest.raises(TooExpensiveError):
        sm.soften(model, length=10**12)
    assert time.process_time() - began < 2


def test_measuring_a_format_is_refused_where_it_would_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = sm.soften("palindrome", length=10**6)
    monkeypatch.setattr(measuring, "LENGTH_FACTOR", 10**6)
    began = time.process_time()
    with pytest.raises(TooExpensiveError, match=r"measuring in float32:plain at length [\d,]+ would take about"):
        measuring.measure_precision(model, "float32", 10**6)
    assert time.process_time() - began < 5


def test_where_no_gap_depends_on_the_position_any_length_is_fine() -> None:
    assert certificate("majority-crasp", length=10**12).holds


@pytest.mark.usefixtures("looked_up")
def test_a_refused_certificate_is_made_with_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(certificates, "MAX_UNTIMED_LENGTH", 0)
    with pytest.raises(TooExpensiveError):
        certificate("Q_a since Q_b", length=100)
    assert certificate("Q_a since Q_b", length=100, yes=True).holds


@pytest.mark.usefixtures("looked_up")
def test_estimates_are_honest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a factor of 3, tried up to four times: others may want the processor, too."""
    said: list[float] = []

    def heard(estimate: Estimate, hint: str | None = None) -> None:
        said.append(estimate.seconds)

    monkeypatch.setattr(certificates, "require_affordable", heard)
    ratios = []
    for length in range(
        certificates.MAX_UNTIMED_LENGTH, certificates.MAX_UNTIMED_LENGTH + 4
    ):  # gaps of a length are kept in mind
        min_gap.cache_clear()
        began = time.perf_counter()
        certificate("Q_a since Q_b", length=length)
        ratios.append(said[-1] / (time.perf_counter() - began))
        if 1 / 3 < ratios[-1] < 3:
            return
    pytest.fail(f"estimated over measured: {ratios}")
