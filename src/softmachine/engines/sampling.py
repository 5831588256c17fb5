"""Sampling: the distribution over next tokens, and runs that draw from it (equations 8.2 and 8.3 of the notes).

A language model gives each token a probability, the softmax of its logits. The constructions here decide by the largest
logit, and win by a margin that is only as large as it has to be; so a run that draws its tokens soon leaves the path.
That is what sampling is for here: to see how far a proof about argmax decoding is from one about language models.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum

from softmachine.compiler.model import Model
from softmachine.engines.dense.engine import DenseEngine, Pass
from softmachine.engines.engine import Task
from softmachine.engines.numerics import Arithmetic
from softmachine.languages.source import Source
from softmachine.support.compare import Comparison, Difference
from softmachine.support.errors import Remedy, UsageError
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec

MAX_STEPS = 1_000
"""So many steps are allowed, if nothing else is said: a run that has lost its way need not end."""


@dataclass(frozen=True)
class Drawn:
    """A token that was drawn.

    Args:
        token: The token.
        distribution: The probability of each token at that point, most likely ones first.
    """

    token: str
    distribution: Mapping[str, float]

    @property
    def probability(self) -> float:
        """That of the token."""
        return self.distribution[self.token]

    @property
    def likeliest(self) -> str:
        """What decoding by the largest logit would have said."""
        return next(iter(self.distribution))


@dataclass(frozen=True)
class Sample:
    """A run whose tokens were drawn.

    Args:
        drawn: Its tokens, each with the distribution that it was drawn from.
        seed: What they were drawn by.
        ended: Whether a token stopped it.
        parts: The first token that is not what the reference interpreter says; None if all are.
    """

    drawn: tuple[Drawn, ...]
    seed: int
    ended: bool
    parts: Difference | None

    @property
    def tokens(self) -> tuple[str, ...]:
        """What was said."""
        return tuple(each.token for each in self.drawn)


def sample(
    model: Model,
    word: str | Sequence[str],
    *,
    seed: int = 0,
    arithmetic: str | Arithmetic = "float64",
    max_steps: int | None = None,
) -> Sample:
    """Draw a run: each token from the distribution after all tokens before it.

    Args:
        model: What to run: a model that goes on token by token.
        word: The input.
        seed: What tokens are drawn by; the same seed gives the same run.
        arithmetic: What logits are computed in. Probabilities are always floats.
        max_steps: How many steps of the source language are allowed; by default a thousand.

    Raises:
        UsageError: If the model answers at once, or goes on from summaries.
    """
    task = Task(model, word if isinstance(word, str) else tuple(word), max_steps)
    codec, steps = require_decoder(model), MAX_STEPS if max_steps is None else max_steps
    reading, new = DenseEngine(model.weights, arithmetic).start(), list(task.prompt.tokens)
    comparison, chooser = Comparison(codec.expected_pieces(task.word, steps)), random.Random(seed)
    drawn: list[Drawn] = []
    while len(drawn) < codec.token_limit(steps) + 1:
        if model.length is not None and reading.read + len(new) > model.length:
            raise task.outgrown(steps)
        probabilities = distribution(reading, new)
        token = chooser.choices(list(probabilities), list(probabilities.values()))[0]
        if len(drawn) == codec.token_limit(steps) and not codec.stops(token):
            break
        drawn.append(Drawn(token, probabilities))
        comparison.see([token])
        if codec.stops(token):
            return Sample(tuple(drawn), seed, True, comparison.difference)
        new = [token]
    return Sample(tuple(drawn), seed, False, comparison.difference)


def require_decoder(model: Model) -> DecoderCodec[Source]:
    """The codec of a model whose next token can be drawn.

    Raises:
        UsageError: If there is no next token, or contexts end where summaries do.
    """
    codec = model.codec
    if not isinstance(codec, DecoderCodec):
        raise UsageError(f"{model.name!r} answers at once: it has no next token to draw")
    if isinstance(codec, SegmentedCodec):
        raise UsageError(
            f"models of {model.theorem.name} may go on from summaries; tokens are drawn only in one context",
            hint=Remedy(theorem="chapter-8"),
        )
    return codec


def distribution(reading: Pass, tokens: Sequence[str]) -> dict[str, float]:
    """Read more tokens; the probability of each next token, most likely ones first."""
    stream = reading.extend([tokens])
    logits = [float(value) for value in reading.engine.unembedding(stream[:, -1:]).value[0, 0]]
    largest = max(logits)
    weights = [exp(value - largest) for value in logits]
    total = fsum(weights)
    pairs = zip(reading.engine.transformer.outputs, weights, strict=True)
    return {token: weight / total for token, weight in sorted(pairs, key=lambda pair: -pair[1])}
