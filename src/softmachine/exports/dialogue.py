"""How a model is talked to, and what it should say: all that an exporter needs to know of a source language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from softmachine.errors import InputError, UsageError
from softmachine.transformer import Codec, DecoderCodec, Transformer

MOST_TOKENS = 2048
"""Longer runs are compared up to here."""
ENOUGH_TOKENS = 4096
"""When so many tokens are to be compared, no more samples are added."""


@dataclass(frozen=True)
class Sample:
    """A prompt, and what the model should say.

    Args:
        word: The input, as text.
        prompt: What the model is started on.
        expected: A decoder's tokens; of a model that answers at every position, its answers, None where nobody cares.
        ends: Whether the run is over with the last of them.
    """

    word: str
    prompt: tuple[str, ...]
    expected: tuple[str | None, ...]
    ends: bool


@dataclass(frozen=True)
class Dialogue:
    """How a model is talked to.

    Args:
        prefix: Tokens before the input's symbols.
        suffix: Tokens after them.
        stops: Tokens that end a run.
        decodes: Whether the model goes on token by token, or answers at every position of its prompt.
        samples: Prompts with what should be said.
    """

    prefix: tuple[str, ...]
    suffix: tuple[str, ...]
    stops: tuple[str, ...]
    decodes: bool
    samples: tuple[Sample, ...]


def dialogue_of(transformer: Transformer, words: Iterable[Sequence[str]], length: int) -> Dialogue:
    """The dialogue of a model with a codec; words that do not fit in so many positions are left out."""
    codec = transformer.codec
    if codec is None:
        raise UsageError(f"{transformer.name!r} does not say how words become tokens, so nobody could talk to it")
    decodes = isinstance(codec, DecoderCodec)
    if isinstance(codec, DecoderCodec):
        stops = tuple(token for token in transformer.outputs if codec.stops(token))
    else:
        stops = transformer.outputs
    prefix, suffix = _around(codec)
    samples: list[Sample] = []
    for sample in (_sample(codec, tuple(word), length) for word in words):
        if sample is not None:
            samples.append(sample)
        if sum(len(sample.expected) for sample in samples) > ENOUGH_TOKENS:
            break
    return Dialogue(prefix, suffix, stops, decodes, tuple(samples))


def _around(codec: Codec) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands before and after the symbols of an input."""
    empty = codec.prompt(()).tokens
    if not codec.alphabet:
        return empty, ()
    one = codec.prompt(codec.alphabet[:1]).tokens
    first = next((k for k, (a, b) in enumerate(zip(empty, one, strict=False)) if a != b), len(empty))
    return empty[:first], empty[first:]


def _sample(codec: Codec, word: tuple[str, ...], length: int) -> Sample | None:
    try:
        prompt = codec.prompt(word).tokens
    except InputError:
        return None
    if len(prompt) > length:
        return None
    text = ("" if all(len(symbol) == 1 for symbol in codec.alphabet) else " ").join(word)
    expected = tuple(codec.expected(word, MOST_TOKENS))
    if not isinstance(codec, DecoderCodec):
        return Sample(text, prompt, expected, ends=True)
    expected = expected[: max(length - len(prompt), 0)]
    ends = bool(expected) and expected[-1] is not None and codec.stops(expected[-1])
    return Sample(text, prompt, expected, ends)
