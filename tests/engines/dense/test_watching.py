"""Hooks of a pass: they receive all activations, and recomputing a position leaves the pass unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.dense.attention import AttentionRecord, LayerIndex
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor


class Log:
    """A hook that records its calls."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def embedded(self, stream: Tensor, positions: range) -> None:
        self.told.append(("embedded", (stream.value, positions)))

    def searched(self, group: int, search: AttentionRecord) -> None:
        self.told.append(("searched", (group, search)))

    def attended(self, where: LayerIndex, stream: Tensor, positions: range) -> None:
        self.told.append(("attended", (where, stream.value, positions)))

    def fed_forward(self, where: LayerIndex, stream: Tensor, positions: range) -> None:
        self.told.append(("fed forward", (where, stream.value, positions)))


def context(source: str, word: str) -> tuple[DenseEngine, list[str]]:
    run = sm.run(source, word)
    return DenseEngine(run.model.weights, "exact"), [*run.prompt.tokens, *run.tokens[:-1]]


@pytest.mark.parametrize(("source", "word"), [("palindrome", "abba"), ("parity-counter", "aab")])
def test_a_position_can_be_computed_again_and_nothing_is_forgotten(source: str, word: str) -> None:
    engine, tokens = context(source, word)
    whole = engine.start().extend([tokens]).value
    reading = engine.start()
    reading.extend([tokens[:-1]])
    for position in (3, 0, len(tokens) - 2):
        assert np.array_equal(reading.recompute(tokens, position).value[0, 0], whole[0, position])
        assert reading.tokens_read == len(tokens) - 1
    assert np.array_equal(reading.extend([tokens[-1:]]).value[0, 0], whole[0, -1])


def test_every_sublayer_is_shown_in_order() -> None:
    engine, tokens = context("palindrome", "ab")
    reading, log = engine.start(), Log()
    reading.hook = log
    last = reading.extend([tokens])
    kinds = [kind for kind, _ in log.told]
    assert kinds[0] == "embedded"
    assert kinds.count("searched") == sum(len(layer.groups) for block in engine.blocks for layer in block)
    assert kinds.count("attended") == sum(bool(layer.heads) for layer in engine.transformer.layers)
    assert log.told[-1][0] == "fed forward"
    where, stream, positions = log.told[-1][1]
    assert np.array_equal(stream, last.value)
    assert where == (len(engine.blocks) - 1, 0, len(engine.blocks[-1]) - 1)
    assert positions == range(len(tokens))


def test_nobody_who_watches_changes_anything() -> None:
    engine, tokens = context("palindrome", "abba")
    alone, watched = engine.start(), engine.start()
    watched.hook = Log()
    assert np.array_equal(alone.extend([tokens]).value, watched.extend([tokens]).value)
