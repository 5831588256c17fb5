"""Branch hint: whatever is predicted, the output is the decided token."""

from __future__ import annotations

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.fast.codegen.branch_hint import BITS, PLACES, SURE
from softmachine.engines.fast.engine import FastEngine, FastPass
from softmachine.engines.fast.indexes.arrays import Memory
from softmachine.theorems.codec import DecoderCodec

STEPS = 300


def started(source: str, word: str, *, plain: bool) -> tuple[FastPass, list[str | None]]:
    """A fresh run, and its expected output."""
    model = sm.compile(source)
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    run = FastEngine(model.weights, plain=plain).start(codec.prompt(word).tokens, codec.stops)
    return run, list(codec.expected(word, STEPS))


def foreseen(run: FastPass) -> np.ndarray:
    """The prediction for every hash of recent tokens."""
    assert isinstance(run.memory, Memory)
    return run.memory.foreseen


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(("source", "word"), [("busy-beaver-5", ""), ("palindrome", "abba"), ("binary-counter", "")])
def test_wrong_predictions_never_change_the_output(source: str, word: str, plain: bool) -> None:
    for seed in range(3):
        run, expected = started(source, word, plain=plain)
        drawn = np.random.default_rng(seed)
        tokens, right = drawn.integers(0, len(run.names), PLACES), drawn.integers(0, 1 << BITS, PLACES)
        for _ in range(STEPS):  # before every token, at any level of trust
            foreseen(run)[:] = (tokens << BITS) + (SURE if seed == 0 else right)
            if not run.go(run.read + 1):
                break
        output = list(run.said_since(STEPS))
        assert output == expected[: len(output)]
        assert len(output) >= min(len(expected), STEPS - 10)


def test_repeated_tokens_are_predicted() -> None:
    run, expected = started("busy-beaver-5", "", plain=True)
    run.go(STEPS)
    kept = foreseen(run)
    assert list(run.said_since(STEPS))[:STEPS] == expected[: len(run.said_since(STEPS))]
    assert (kept & (1 << BITS) - 1).max() == SURE
    assert {run.names[token] for token in np.unique(kept >> BITS)} <= {run.names[0], *expected}
