"""Every decoder that the zoo has, by every construction: the fast engine says what the dense one says, or why not."""

from __future__ import annotations

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.fast import Declined, FastEngine, SegmentedPass
from softmachine.engines.fast.tables.interpreted import Interpreted
from softmachine.engines.run import Running
from softmachine.languages import zoo
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.theorems import all_theorems
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec

LENGTH = 64
"""What the constructions of a length are made for."""
MOST_TOKENS = 40
REASONS = ("softmax", "position feature", "bias")
"""What the fast engine may decline a model for."""


def decoder(entry: zoo.Entry, construction: str) -> Model | None:
    """A source by a construction; None if it is not for that, or the model is no decoder."""
    for length in (None, LENGTH):
        try:
            model = sm.compile(entry.load(), theorem=construction, length=length)
        except (ConstructionError, UsageError):
            continue
        return model if isinstance(model.codec, DecoderCodec) and model.weights.causal else None
    return None


def said_by_dense(model: Model, word: str) -> list[str]:
    """The first tokens of a run on the dense engine."""
    running, said = Running(model, word, engine="dense", max_steps=MOST_TOKENS), []
    for token in running:
        said.append(token)
        if len(said) == MOST_TOKENS:
            break
    return said


def said_by_fast(model: Model, word: str) -> list[str]:
    """The same on the fast engine."""
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    engine = FastEngine(model.weights, plain=True)
    if isinstance(engine.code, Interpreted):
        engine = FastEngine(model.weights)
    prompt = codec.prompt(word).tokens
    if isinstance(codec, SegmentedCodec):
        run = SegmentedPass(engine, codec, prompt, most_steps=MOST_TOKENS)
        run.advance(MOST_TOKENS)
        return list(run.said)[:MOST_TOKENS]
    whole = engine.start(prompt, codec.stops)
    whole.go(len(prompt) + min(codec.token_limit(MOST_TOKENS), MOST_TOKENS))
    return list(whole.said_since(codec.token_limit(MOST_TOKENS)))[:MOST_TOKENS]


def sample_for(model: Model, entry: zoo.Entry) -> str:
    """The first sample that the theorem is about: by counting, only those with their letters in order."""
    samples = (sample.input for sample in entry.samples)
    return next((word for word in samples if model.codec.has_word(model.source.word(word))), "")


@pytest.mark.slow
@pytest.mark.parametrize("entry", zoo.entries(), ids=lambda entry: entry.name)
def test_every_construction_of_every_entry(entry: zoo.Entry) -> None:
    compared = 0
    for construction in [item.name for item in all_theorems()]:
        model = decoder(entry, construction)
        if model is None:
            continue
        compared += 1
        word = sample_for(model, entry)
        try:
            found = said_by_fast(model, word)
        except Declined as reason:
            assert any(part in str(reason) for part in REASONS), (construction, reason)  # noqa: PT017
            continue
        assert found == said_by_dense(model, word), construction
    assert compared or not entry.file.startswith("turing/")
