"""The cost of a circuit is estimated before it is built."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

import softmachine as sm
from softmachine.studies.circuits import conversion, to_circuit
from softmachine.support import resources
from softmachine.support.errors import TooExpensiveError


def test_a_circuit_for_very_long_words_is_refused_at_once() -> None:
    model = sm.compile("Q_a since Q_b")
    began = time.process_time()
    with pytest.raises(TooExpensiveError, match="a circuit for words of 10,000 symbols would take about"):
        to_circuit(model, 10_000)
    assert time.process_time() - began < 2


def test_a_circuit_of_a_loop_that_never_ends_is_refused() -> None:
    model = sm.compile("Q_a since Q_b")
    blocks = tuple(replace(block, repeats=10**12) for block in model.weights.blocks)
    with pytest.raises(TooExpensiveError, match="a circuit of 2,000,000,000,000 layers"):
        to_circuit(replace(model, weights=replace(model.weights, blocks=blocks)), 3)


def test_a_refused_circuit_is_made_with_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MAX_SECONDS", 0.0)
    model = sm.compile("Q_a since Q_b")
    with pytest.raises(TooExpensiveError):
        to_circuit(model, 9, "fixed:4")
    assert to_circuit(model, 9, "fixed:4", yes=True).length == 9


def test_estimates_are_honest() -> None:
    """Within a factor of 3, in one of four attempts, since other processes also use the processor."""
    model = sm.compile("Q_a since Q_b")
    ratios = []
    for _ in range(4):
        size, seconds, _, power = conversion._measure_growth(lambda n: to_circuit(model, n, "fixed:6").wires, 6)
        began = time.process_time()
        to_circuit(model, 12, "fixed:6", yes=True)
        ratios.append(seconds * (12 / size) ** power / (time.process_time() - began))
        if 1 / 3 < ratios[-1] < 3:
            return
    pytest.fail(f"estimated over measured: {ratios}")
