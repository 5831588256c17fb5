"""Every decoder of the zoo, by every construction: the fast engine agrees with the dense one, or gives the reason."""

from __future__ import annotations

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.fast import FastEngine, SegmentedPass, UnsupportedModel
from softmachine.engines.fast.bytecode.interpreter import Bytecode
from softmachine.engines.run import RunSession
from softmachine.languages import zoo
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.theorems import all_theorems
from softmachine.theorems.codec import DecoderCodec, SegmentedCodec

LENGTH = 64
"""The length for which constructions that depend on one are built."""
MOST_TOKENS = 40
REASONS = ("softmax", "position feature", "bias")
"""The permitted reasons for declining a model."""


def decoder(entry: zoo.ZooEntry, construction: str) -> Model | None:
    """A source by a construction; None if the construction does not apply, or the model is not a decoder."""
    for length in (None, LENGTH):
        try:
            model = sm.compile(entry.load(), theorem=construction, length=length)
        except (ConstructionError, UsageError):
            continue
        return model if isinstance(model.codec, DecoderCodec) and model.weights.is_causal else None
    return None


def run_dense(model: Model, word: str) -> list[str]:
    """The first tokens of a run on the dense engine."""
    running, output = RunSession(model, word, engine="dense", max_steps=MOST_TOKENS), []
    for token in running:
        output.append(token)
        if len(output) == MOST_TOKENS:
            break
    return output


def run_fast(model: Model, word: str) -> list[str]:
    """The first tokens of a run on the fast engine."""
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    engine = FastEngine(model.weights, plain=True)
    if isinstance(engine.code, Bytecode):
        engine = FastEngine(model.weights)
    prompt = codec.prompt(word).tokens
    if isinstance(codec, SegmentedCodec):
        run = SegmentedPass(engine, codec, prompt, max_steps=MOST_TOKENS)
        run.advance(MOST_TOKENS)
        return list(run.output_tokens)[:MOST_TOKENS]
    whole = engine.start(prompt, codec.is_stop_token)
    whole.run_until(len(prompt) + min(codec.max_tokens(MOST_TOKENS), MOST_TOKENS))
    return list(whole.output(codec.max_tokens(MOST_TOKENS)))[:MOST_TOKENS]


def sample_for(model: Model, entry: zoo.ZooEntry) -> str:
    """The first sample that the theorem applies to: by counting, only those with their letters in order."""
    samples = (sample.input for sample in entry.samples)
    return next((word for word in samples if model.codec.has_word(model.source.word(word))), "")


@pytest.mark.slow
@pytest.mark.parametrize("entry", zoo.list_entries(), ids=lambda entry: entry.name)
def test_every_construction_of_every_entry(entry: zoo.ZooEntry) -> None:
    compared = 0
    for construction in [item.name for item in all_theorems()]:
        model = decoder(entry, construction)
        if model is None:
            continue
        compared += 1
        word = sample_for(model, entry)
        try:
            found = run_fast(model, word)
        except UnsupportedModel as reason:
            assert any(part in str(reason) for part in REASONS), (construction, reason)  # noqa: PT017
            continue
        assert found == run_dense(model, word), construction
    assert compared or not entry.file.startswith("turing/")
