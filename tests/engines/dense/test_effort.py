"""A pass says what it takes before it begins."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

import softmachine as sm
from softmachine import estimates
from softmachine.engines.dense import effort
from softmachine.engines.dense.effort import allow_pass
from softmachine.engines.dense.engine import DenseEngine
from softmachine.errors import EffortError
from softmachine.estimates import consent
from softmachine.model import Model

LONG = "ab" * 60_000


@pytest.fixture
def since() -> Model:
    return sm.compile("Q_a since Q_b")


def looped(model: Model, times: int) -> Model:
    blocks = tuple(replace(block, repeats=times) for block in model.weights.blocks)
    return replace(model, weights=replace(model.weights, blocks=blocks))


def test_120_000_letters_are_refused_within_a_second(since: Model) -> None:
    engine, prompt = DenseEngine(since.weights), since.codec.prompt(LONG)
    began = time.process_time()
    with pytest.raises(EffortError, match=r"a pass over 120,001 tokens in float64 would take about"):
        allow_pass(engine, prompt.tokens, prompt.length)
    assert time.process_time() - began < 1


def test_what_is_refused_is_done_with_yes(since: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "MOST_SECONDS", 0.0)
    monkeypatch.setattr(effort, "SHORT", 0.0)
    with pytest.raises(EffortError):
        sm.run(since, "abba")
    assert sm.run(since, "abba", yes=True).verdict == "accept"


@pytest.mark.parametrize("arithmetic", ["float64", "exact"])
def test_a_loop_that_never_ends_is_refused(since: Model, arithmetic: str) -> None:
    with pytest.raises(EffortError, match="1,000,000,000,000,000 turns of loops"):
        sm.run(looped(since, 10**15), "ab", arithmetic=arithmetic)
    with pytest.raises(EffortError, match="turns of loops"):
        sm.check(looped(since, 10**15), up_to=2, arithmetic=arithmetic)
    with pytest.raises(EffortError, match="unfolding"):
        sm.run(looped(sm.compile("palindrome"), 10**15), "ab", engine="fast")


def test_loops_keep_keys_of_every_turn_which_takes_memory(since: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "free_memory", lambda: 10**9)
    engine = DenseEngine(looped(since, 10**6).weights, "float64:plain")
    monkeypatch.setattr(effort, "SHORT", 1e9)
    with pytest.raises(EffortError, match=r"GB of memory, of which 1\.0 GB is free"):
        allow_pass(engine, ("a",) * 100, None)


@pytest.mark.parametrize(
    ("source", "attention", "arithmetic", "length"),
    [
        ("Q_a since Q_b", "hard", "float64", 2000),
        ("Q_a since Q_b", "soft", "float64", 1500),
        ("palindrome", "hard", "exact", 240),
    ],
)
def test_estimates_are_honest(source: str, attention: str, arithmetic: str, length: int) -> None:
    """Within a factor of 3, tried up to four times: others may want the processor, too."""
    model = sm.compile(source, attention=attention)
    engine, prompt = DenseEngine(model.weights, arithmetic), model.codec.prompt("ab" * (length // 2))
    ratios = []
    for _ in range(4):
        expected = effort._seconds(engine, prompt.tokens, prompt.length)
        began = time.perf_counter()
        engine.residual_stream([prompt.tokens], prompt.length)
        ratios.append(expected / (time.perf_counter() - began))
        if 1 / 3 < ratios[-1] < 3:
            return
    pytest.fail(f"estimated over measured: {ratios}")


def test_short_passes_are_not_tried_before(since: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "_seconds", lambda *_: pytest.fail("it was tried"))
    sm.run(since, "ab" * 200)
    sm.check(since, up_to=4)


def test_without_yes_nothing_around_counts(since: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "MOST_SECONDS", 0.0)
    monkeypatch.setattr(effort, "SHORT", 0.0)
    with consent(yes=True):
        assert sm.run(since, "abba").verdict == "accept"
    with pytest.raises(EffortError):
        sm.run(since, "abba")
