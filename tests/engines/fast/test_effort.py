"""What is said of long runs, and what is refused: only what is known to take long."""

from __future__ import annotations

import time

import pytest

import softmachine as sm
from softmachine.engines.run import Running
from softmachine.errors import EffortError, PrecisionError
from softmachine.estimates import consent


def test_many_steps_are_allowed_and_what_is_known_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("softmachine.engines.fast.run.SOON", 0.0)
    with consent(yes=False, tell=said.append):
        running = Running(sm.compile("busy-beaver-4"), "", engine="fast", max_steps=1_200_000_000_000)
        list(running.pieces())
    assert running.so_far().halted
    assert "at most 1,073,741,824 positions" in said[0]
    assert "all 1,200,000,000,000 steps that are allowed take about" in said[1]
    assert len(said) == 2


def test_nothing_is_said_of_steps_that_nobody_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("softmachine.engines.fast.run.SOON", 0.0)
    monkeypatch.setattr("softmachine.engines.fast.run.MAX_STEPS", 10**12)
    with consent(yes=False, tell=said.append):
        list(Running(sm.compile("busy-beaver-4"), "", engine="fast").pieces())
    assert said == []


def test_beyond_the_limit_a_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.engines.fast.codegen.emitted.Emitted.horizon", 60)
    running = Running(sm.compile("busy-beaver-4"), "", engine="fast", max_steps=10**10)
    with pytest.raises(PrecisionError, match="more than 60 positions"):
        list(running.pieces())
    assert len(running.so_far().tokens) == 60


@pytest.mark.parametrize("theorem", ["chapter-8", "chapter-8-summary"])
def test_an_audit_of_too_many_steps_is_refused_at_once(theorem: str) -> None:
    running = Running(sm.compile("busy-beaver-5", theorem=theorem), "", engine="fast", max_steps=3_000_000)
    list(running.pieces())
    began = time.process_time()
    with pytest.raises(EffortError, match=r"doing [\d,]+ steps again would take about"):
        running.audit(10**15)
    assert time.process_time() - began < 1
    assert running.audit(2).holds
