"""All inputs of a model with a given number of positions: the prompts of its codec, not every sequence of tokens."""

from __future__ import annotations

from collections.abc import Iterator

from softmachine.certify.observed import Inputs
from softmachine.compiler.model import Model
from softmachine.support.errors import ConstructionError, Remedy
from softmachine.theorems.codec import DecoderCodec


def inputs_of(model: Model) -> Inputs:
    """From a length n to all sequences of n+1 positions that a model reads.

    Those of an encoder are the prompts of words of length n; those of a decoder all beginnings of runs.
    """
    return lambda n: _runs(model, n) if isinstance(model.codec, DecoderCodec) else _prompts(model, n)


def _prompts(model: Model, n: int) -> Iterator[tuple[str, ...]]:
    for word in model.codec.words(n):
        prompt = model.codec.prompt(word)
        if len(prompt.tokens) != n + 1 or prompt.length not in (None, n):
            raise ConstructionError(
                f"{model.theorem.name} pads its inputs: a word of length {n} has {len(prompt.tokens)} positions",
                hint=Remedy("leave out --from-weights: its certificate counts them", from_weights=False),
            )
        yield tuple(prompt.tokens)


def _runs(model: Model, n: int) -> Iterator[tuple[str, ...]]:
    """The beginnings of runs on words of up to n letters; each once."""
    codec, found = model.codec, dict[tuple[str, ...], None]()
    for length in range(n + 2):
        for word in codec.words(length):
            output = (token or "" for token in codec.expected(word, n + 1))
            sequence = (*codec.prompt(word).tokens, *output)[: n + 1]
            if len(sequence) == n + 1:
                found[sequence] = None
    yield from found
