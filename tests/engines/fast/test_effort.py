"""Estimates of long runs: what is reported, and what is refused."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.engines.run import RunSession
from softmachine.support.errors import PrecisionError, TooExpensiveError
from softmachine.support.resources import allow_expensive


def test_a_high_step_limit_is_allowed_and_its_cost_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    monkeypatch.setattr("softmachine.engines.run.EXTRAPOLATION_SECONDS", 0.0)
    with allow_expensive(yes=False, progress=messages.append):
        running = RunSession(sm.compile("busy-beaver-4"), "", engine="fast", max_steps=1_200_000_000_000)
        list(running.chunks())
    assert running.result().halted
    assert "maximum context of 1,073,741,824 positions" in messages[0]
    assert "all 1,200,000,000,000 steps allowed take about" in messages[1]
    assert len(messages) == 2


def test_nothing_is_reported_about_the_default_step_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    monkeypatch.setattr("softmachine.engines.run.EXTRAPOLATION_SECONDS", 0.0)
    monkeypatch.setattr("softmachine.engines.fast.run.MAX_STEPS", 10**12)
    with allow_expensive(yes=False, progress=messages.append):
        list(RunSession(sm.compile("busy-beaver-4"), "", engine="fast").chunks())
    assert messages == []


def test_a_run_beyond_the_limit_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.engines.fast.codegen.emitter.GeneratedCode.max_positions", 60)
    running = RunSession(sm.compile("busy-beaver-4"), "", engine="fast", max_steps=10**10)
    with pytest.raises(PrecisionError, match="more than 60 positions"):
        list(running.chunks())
    assert len(running.result().tokens) == 60


@pytest.mark.parametrize("theorem", ["turing-average-hard", "turing-average-hard-summary"])
def test_an_audit_of_too_many_steps_is_refused_at_once(theorem: str) -> None:
    running = RunSession(sm.compile("busy-beaver-5", theorem=theorem), "", engine="fast", max_steps=3_000_000)
    list(running.chunks())
    began = time.process_time()
    with pytest.raises(TooExpensiveError, match=r"recomputing [\d,]+ steps would take about"):
        running.audit(10**15)
    assert time.process_time() - began < 1
    assert running.audit(2).holds


MEASURED = """
import sys
import softmachine as sm
from softmachine.engines.run import RunSession

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM:")) / 1e3

model = sm.compile(sys.argv[1])
for steps in (100_000, int(sys.argv[2])):
    before = peak()
    for _ in (run := RunSession(model, "", engine="fast", max_steps=steps)).chunks():
        pass
    assert run.result().steps == steps
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize(("source", "steps", "most"), [("binary-counter", 10**8, 60), ("1RA1RA", 10**7, 300)])
def test_long_runs_and_long_tapes_take_little_memory(source: str, steps: int, most: float) -> None:
    """One byte per token would be 100 MB; eight bytes per number, 1,700 MB for this many cells."""
    command = [sys.executable, "-c", MEASURED, source, str(steps)]
    assert float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) < most
