"""Branch hint: whatever is predicted, the output is the decided token."""

from __future__ import annotations

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.fast.codegen.branch_hint import COUNTER_BITS, ENTRIES, MIN_TRUST
from softmachine.engines.fast.engine import FastEngine, FastPass
from softmachine.engines.fast.indexes.arrays import RunArrays
from softmachine.theorems.codec import DecoderCodec

STEPS = 300


def started(source: str, word: str, *, plain: bool) -> tuple[FastPass, list[str | None]]:
    """A fresh run, and its expected output."""
    model = sm.compile(source)
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    run = FastEngine(model.weights, plain=plain).start(codec.prompt(word).tokens, codec.is_stop_token)
    return run, list(codec.expected(word, STEPS))


def foreseen(run: FastPass) -> np.ndarray:
    """The prediction for every hash of recent tokens."""
    assert isinstance(run.memory, RunArrays)
    return run.memory.predictions


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(("source", "word"), [("busy-beaver-5", ""), ("palindrome", "abba"), ("binary-counter", "")])
def test_wrong_predictions_never_change_the_output(source: str, word: str, plain: bool) -> None:
    for seed in range(3):
        run, expected = started(source, word, plain=plain)
        drawn = np.random.default_rng(seed)
        tokens, right = drawn.integers(0, len(run.names), ENTRIES), drawn.integers(0, 1 << COUNTER_BITS, ENTRIES)
        for _ in range(STEPS):  # before every token, at any level of trust
            foreseen(run)[:] = (tokens << COUNTER_BITS) + (MIN_TRUST if seed == 0 else right)
            if not run.run_until(run.positions_read + 1):
                break
        output = list(run.output(STEPS))
        assert output == expected[: len(output)]
        assert len(output) >= min(len(expected), STEPS - 10)


def test_repeated_tokens_are_predicted() -> None:
    run, expected = started("busy-beaver-5", "", plain=True)
    run.run_until(STEPS)
    kept = foreseen(run)
    assert list(run.output(STEPS))[:STEPS] == expected[: len(run.output(STEPS))]
    assert (kept & (1 << COUNTER_BITS) - 1).max() == MIN_TRUST
    assert {run.names[token] for token in np.unique(kept >> COUNTER_BITS)} <= {run.names[0], *expected}
