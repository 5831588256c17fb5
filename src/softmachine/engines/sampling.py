"""Sampling from the next-token distribution (equations 8.2 and 8.3 of Chiang's lecture notes).

A language model assigns each token a probability, the softmax of its logits. The constructions here decode by argmax,
with a margin no larger than the proof needs, so a sampled run soon diverges from the correct one. Sampling shows the
distance between a proof about argmax decoding and one about language models.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum

from softmachine.compiler.model import Model
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.forward_pass import Pass
from softmachine.engines.engine import RunRequest
from softmachine.engines.numerics import Arithmetic
from softmachine.languages.source import Source
from softmachine.support.compare import Comparison, Difference
from softmachine.support.errors import FixHint, UsageError
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec

MAX_STEPS = 1_000
"""Default limit of steps; a run that has diverged may not end."""


@dataclass(frozen=True)
class SampledToken:
    """A sampled token.

    Args:
        token: The token.
        distribution: The probability of each token at that point, in descending order.
    """

    token: str
    distribution: Mapping[str, float]

    @property
    def probability(self) -> float:
        """The probability of the token."""
        return self.distribution[self.token]

    @property
    def argmax_token(self) -> str:
        """The token that argmax decoding would emit."""
        return next(iter(self.distribution))


@dataclass(frozen=True)
class SampledRun:
    """A sampled run.

    Args:
        sampled: Its tokens, each with its distribution.
        seed: The seed.
        ended: Whether a stop token ended it.
        difference: The first token that differs from the reference interpreter's; None if none does.
    """

    sampled: tuple[SampledToken, ...]
    seed: int
    ended: bool
    difference: Difference | None

    @property
    def tokens(self) -> tuple[str, ...]:
        """The sampled tokens."""
        return tuple(each.token for each in self.sampled)


def sample(
    model: Model,
    word: str | Sequence[str],
    *,
    seed: int = 0,
    arithmetic: str | Arithmetic = "float64",
    max_steps: int | None = None,
) -> SampledRun:
    """Sample a run: each token from the distribution after all tokens before it.

    Args:
        model: A model that decodes token by token.
        word: The input.
        seed: The seed; the same seed gives the same run.
        arithmetic: The arithmetic of the logits. Probabilities are always floats.
        max_steps: Limit of steps of the source language; 1000 by default.

    Raises:
        UsageError: If the model is an encoder, or decodes from summaries.
    """
    task = RunRequest(model, word if isinstance(word, str) else tuple(word), max_steps)
    codec, steps = require_sampleable(model), MAX_STEPS if max_steps is None else max_steps
    reading, new = DenseEngine(model.weights, arithmetic).start(), list(task.prompt.tokens)
    comparison, chooser = Comparison(codec.expected_chunks(task.word, steps)), random.Random(seed)
    drawn: list[SampledToken] = []
    while len(drawn) < codec.max_tokens(steps) + 1:
        if model.context is not None and reading.tokens_read + len(new) > model.context:
            raise task.context_error(steps)
        probabilities = next_token_distribution(reading, new)
        token = chooser.choices(list(probabilities), list(probabilities.values()))[0]
        if len(drawn) == codec.max_tokens(steps) and not codec.is_stop_token(token):
            break
        drawn.append(SampledToken(token, probabilities))
        comparison.feed([token])
        if codec.is_stop_token(token):
            return SampledRun(tuple(drawn), seed, True, comparison.difference)
        new = [token]
    return SampledRun(tuple(drawn), seed, False, comparison.difference)


def require_sampleable(model: Model) -> DecoderCodec[Source]:
    """Return the codec of a model whose next token can be sampled.

    Raises:
        UsageError: If the model is an encoder, or decodes from summaries.
    """
    codec = model.codec
    if not isinstance(codec, DecoderCodec):
        raise UsageError(f"{model.name!r} is an encoder, which has no next token to sample")
    if isinstance(codec, SegmentedCodec):
        raise UsageError(
            f"models of {model.theorem.name} decode from summaries; tokens are sampled only in a single context",
            hint=FixHint(theorem="turing-average-hard"),
        )
    return codec


def next_token_distribution(forward_pass: Pass, tokens: Sequence[str]) -> dict[str, float]:
    """Read more tokens, and return the probability of each next token in descending order."""
    stream = forward_pass.extend([tokens])
    logits = [float(value) for value in forward_pass.engine.unembedding(stream[:, -1:]).value[0, 0]]
    largest = max(logits)
    weights = [exp(value - largest) for value in logits]
    total = fsum(weights)
    pairs = zip(forward_pass.engine.transformer.outputs, weights, strict=True)
    return {token: weight / total for token, weight in sorted(pairs, key=lambda pair: -pair[1])}
