"""Exact logits and outputs of transformers on token sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import find_arithmetic
from softmachine.transformer.weights import Transformer


def logits(
    transformer: Transformer, tokens: Sequence[str], length: int | None = None, numbers: str = "exact"
) -> list[list[object]]:
    """The logits at every position; n is the number of tokens, unless it is given."""
    engine = DenseEngine(transformer, find_arithmetic(numbers))
    stream = engine.residual_stream([tokens], len(tokens) if length is None else length)
    found = np.asarray(engine.unembedding(stream).value)
    return found.reshape(-1, found.shape[-1]).tolist()


def answers(transformer: Transformer, sequences: Sequence[Sequence[str]], numbers: str) -> list[list[str]]:
    """The output at every position."""
    return DenseEngine(transformer, find_arithmetic(numbers)).predict(sequences)
