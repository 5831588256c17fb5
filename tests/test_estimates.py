"""The duration of long work is reported; very long work is refused unless allowed."""

from __future__ import annotations

import pytest

from softmachine.support import resources
from softmachine.support.errors import TooExpensiveError
from softmachine.support.resources import (
    CostForecast,
    Estimate,
    allow_expensive,
    format_duration,
    format_size,
    require_affordable,
    with_cost_forecast,
)

HOURS = Estimate("counting", seconds=3 * 3600)


def test_short_work_is_allowed_without_a_word() -> None:
    said: list[str] = []
    with allow_expensive(yes=False, progress=said.append):
        require_affordable(Estimate("counting", seconds=5, memory=1e6))
    assert not said


def test_of_work_of_minutes_it_is_said_how_long_it_takes() -> None:
    said: list[str] = []
    with allow_expensive(yes=False, progress=said.append):
        require_affordable(Estimate("counting", seconds=185))
    assert said == ["counting takes about 3 minutes"]


def test_more_than_ten_minutes_are_refused_and_the_message_says_how_to_get_them() -> None:
    with pytest.raises(TooExpensiveError, match="counting would take about 3 hours") as refused:
        require_affordable(HOURS, hint="count less")
    assert str(refused.value.hint) == "count less; to run it anyway: --yes (in Python: yes=True)"


def test_more_than_half_of_the_free_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "free_memory", lambda: 20 * 10**9)
    require_affordable(Estimate("sorting", memory=9e9))
    with pytest.raises(TooExpensiveError, match=r"^sorting would take about 12 GB of memory, of which 20 GB is free"):
        require_affordable(Estimate("sorting", memory=12e9))
    with pytest.raises(TooExpensiveError, match=r"about 3 hours and 12 GB of memory, of which 20 GB is free"):
        require_affordable(Estimate("sorting", seconds=10_000, memory=12e9))


def test_where_nobody_knows_how_much_is_free_only_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "free_memory", lambda: None)
    require_affordable(Estimate("sorting", memory=1e15))
    with pytest.raises(TooExpensiveError):
        require_affordable(Estimate("sorting", seconds=10_000, memory=1e15))


def test_who_said_yes_said_it_for_all_that_it_comes_to() -> None:
    with allow_expensive(yes=True), allow_expensive(yes=False):
        require_affordable(HOURS)
    with pytest.raises(TooExpensiveError):
        require_affordable(HOURS)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (47, "47 seconds"),
        (89, "89 seconds"),
        (100, "2 minutes"),
        (12345, "3 hours"),
        (100_000, "28 hours"),
        (3e9, "95 years"),
        (1e12, "32,000 years"),
        (3e24, "10^17 years"),
        (float("inf"), "10^300 years"),
    ],
)
def test_durations_are_in_units_that_people_know(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (999, "999 B"), (4200, "4.2 kB"), (3.96e9, "4.0 GB"), (40e9, "40 GB"), (7e21, "7000 EB")],
)
def test_sizes_are_in_units_that_people_know(count: float, words: str) -> None:
    assert format_size(count) == words


def test_items_are_handed_out_until_it_is_known_that_they_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "EXTRAPOLATION_SECONDS", 0.0)
    items = with_cost_forecast(range(10**9), 1e15, "counting")
    assert next(items) == 0
    with pytest.raises(TooExpensiveError, match="counting would take about"):
        next(items)
    assert list(with_cost_forecast(range(5), 5, "counting")) == [0, 1, 2, 3, 4]


def test_later_items_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "EXTRAPOLATION_SECONDS", 0.0)
    monkeypatch.setattr(resources, "MIN_REPORTED_SECONDS", 0.0)
    with pytest.raises(TooExpensiveError, match="counting would take about 3 hours"):
        CostForecast(101, "counting", measure_later_item=lambda: 108.0).check(1)
