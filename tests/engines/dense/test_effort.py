"""The cost of a pass is estimated before it starts."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense import cost_estimate
from softmachine.engines.dense.cost_estimate import require_affordable_pass
from softmachine.engines.dense.engine import DenseEngine
from softmachine.languages.circuit import multiplier
from softmachine.languages.graph import Graph
from softmachine.support import resources
from softmachine.support.errors import TooExpensiveError
from softmachine.support.resources import allow_expensive
from softmachine.theorems.codec import Prompt

LONG = "ab" * 60_000


@pytest.fixture
def since() -> Model:
    return sm.compile("Q_a since Q_b")


def looped(model: Model, times: int) -> Model:
    blocks = tuple(replace(block, repeats=times) for block in model.weights.blocks)
    return replace(model, weights=replace(model.weights, blocks=blocks))


def test_120_000_letters_are_refused_within_a_second(since: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MAX_SECONDS", 60.0)  # a fast machine needs about ten minutes, the usual limit
    engine, prompt = DenseEngine(since.weights), since.codec.prompt(LONG)
    began = time.process_time()
    with pytest.raises(TooExpensiveError, match=r"a pass over 120,001 tokens in float64 would take about"):
        require_affordable_pass(engine, prompt.tokens, prompt.length)
    assert time.process_time() - began < 1


def test_what_is_refused_is_done_with_yes(since: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(cost_estimate, "MAX_UNTIMED_SECONDS", 0.0)
    with pytest.raises(TooExpensiveError):
        sm.run(since, "abba")
    assert sm.run(since, "abba", yes=True).verdict == "accept"


@pytest.mark.parametrize("arithmetic", ["float64", "exact"])
def test_a_loop_that_never_ends_is_refused(since: Model, arithmetic: str) -> None:
    with pytest.raises(TooExpensiveError, match="1,000,000,000,000,000 loop iterations"):
        sm.run(looped(since, 10**15), "ab", arithmetic=arithmetic)
    with pytest.raises(TooExpensiveError, match="loop iterations"):
        sm.check(looped(since, 10**15), up_to=2, arithmetic=arithmetic)
    with pytest.raises(TooExpensiveError, match="unfolding"):
        sm.run(looped(sm.compile("palindrome"), 10**15), "ab", engine="fast")


def test_loops_keep_keys_of_every_turn_which_takes_memory(since: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "free_memory", lambda: 10**9)
    engine = DenseEngine(looped(since, 10**6).weights, "float64:plain")
    monkeypatch.setattr(cost_estimate, "MAX_UNTIMED_SECONDS", 1e9)
    with pytest.raises(TooExpensiveError, match=r"GB of memory, of which 1\.0 GB is free"):
        require_affordable_pass(engine, ("a",) * 100, None)


def honest(engine: DenseEngine, prompt: Prompt) -> None:
    """Within a factor of 3 in one of four attempts, since other processes may use the processor."""
    ratios = []
    for _ in range(4):
        expected = cost_estimate._estimate_seconds(engine, prompt.tokens, prompt.length)
        began = time.perf_counter()
        engine.residual_stream([prompt.tokens], prompt.length)
        ratios.append(expected / (time.perf_counter() - began))
        if 1 / 3 < ratios[-1] < 3:
            return
    pytest.fail(f"estimated over measured: {ratios}")


@pytest.mark.parametrize(
    ("source", "attention", "arithmetic", "length"),
    [
        ("Q_a since Q_b", "hard", "float64", 2000),
        ("Q_a since Q_b", "soft", "float64", 1500),
        ("palindrome", "hard", "exact", 240),
    ],
)
def test_estimates_are_honest(source: str, attention: str, arithmetic: str, length: int) -> None:
    model = sm.compile(source, attention=attention)
    honest(DenseEngine(model.weights, arithmetic), model.codec.prompt("ab" * (length // 2)))


def product_of(bits: int) -> tuple[DenseEngine, Prompt]:
    """A multiplier and two numbers."""
    model = sm.compile(multiplier(bits), "circuit-and-or-not")
    return DenseEngine(model.weights), model.codec.prompt("01" * bits)


def test_estimates_of_circuits_know_that_turns_only_look_at_what_has_changed() -> None:
    honest(*product_of(16))


def test_estimates_of_graphs_are_honest() -> None:
    names = tuple(f"v{k}" for k in range(28))
    edges = tuple((name, names[5 * k % 28]) for k, name in enumerate(names))
    model = sm.compile(Graph(name="paths", vertices=names, edges=edges))
    honest(DenseEngine(model.weights), model.codec.prompt(("v0", "v1")))


@pytest.mark.parametrize("bits", [16, 24])
def test_circuits_of_thousands_of_gates_are_not_refused(bits: int) -> None:
    engine, prompt = product_of(bits)
    assert cost_estimate.estimate_max_seconds(engine, len(prompt.tokens), prompt.length) > resources.MAX_SECONDS
    require_affordable_pass(engine, prompt.tokens, prompt.length)


def test_short_passes_are_not_tried_before(since: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_estimate, "_estimate_seconds", lambda *_: pytest.fail("it was tried"))
    sm.run(since, "ab" * 200)
    sm.check(since, up_to=4)


def test_without_yes_nothing_around_counts(since: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(cost_estimate, "MAX_UNTIMED_SECONDS", 0.0)
    with allow_expensive(yes=True):
        assert sm.run(since, "abba").verdict == "accept"
    with pytest.raises(TooExpensiveError):
        sm.run(since, "abba")
