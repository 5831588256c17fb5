"""Speculative decoding: drafts never change the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.dense import acceleration
from softmachine.engines.dense.acceleration.draft_model import DraftModelWeights
from softmachine.engines.dense.decoding import decode, decode_segments
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.dense.forward_pass import Pass
from softmachine.engines.numerics import Tensor
from softmachine.support.errors import PrecisionError, SoftmachineError
from softmachine.theorems.codec import Prompt, SegmentedCodec
from softmachine.transformer.weights import Transformer
from tests.sources.transformers import CAUSAL, HARD, VOCABULARY, RandomTransformer, random_word

BUSY_BEAVER = sm.compile("busy-beaver-3").weights


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speculation starts at the first token."""
    monkeypatch.setattr(acceleration, "MIN_TOKENS_BEFORE_DRAFTS", 0)


def said(engine: DenseEngine, word: Sequence[str], count: int, stops: Callable[[str], bool] | None = None) -> list[str]:
    """The tokens, and the error that ends the run, if any."""
    tokens: list[str] = []
    try:
        tokens += islice(decode(engine, Prompt(tuple(word)), stops or (lambda _: False)), count)
    except SoftmachineError as error:
        tokens.append(str(error))
    return tokens


def one_by_one(engine: DenseEngine, word: Sequence[str], count: int) -> list[str]:
    """Decoding without speculation."""
    run, tokens = engine.start(), []
    new = list(word)
    try:
        for _ in range(count):
            new = run.predict(new)
            tokens += new
    except SoftmachineError as error:
        tokens.append(str(error))
    return tokens


def random_decoder(seed: int) -> Transformer:
    drawn = RandomTransformer(seed, CAUSAL, HARD, (1, 1, 2))
    return replace(drawn.transformer(), outputs=VOCABULARY, unembedding=drawn.affine(len(VOCABULARY)))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("arithmetic", ["float64", "float32", "bfloat16", "fixed:6", "exact"])
def test_random_decoders_say_the_same_with_guesses_and_without(arithmetic: str) -> None:
    long = 0
    for seed in range(30):
        engine, word = DenseEngine(random_decoder(seed), arithmetic), random_word(seed, 3)
        expected = one_by_one(engine, word, 40)
        assert said(engine, word, 40) == expected, seed
        long += len(expected) == 40
    assert long > 5


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("wrong", ["busy-beaver-3", "busy-beaver-2", "palindrome"])
def test_wrong_guesses_do_no_harm(wrong: str) -> None:
    engine = DenseEngine(BUSY_BEAVER)
    assert engine.accelerator is not None
    engine.accelerator.draft_weights = DraftModelWeights(sm.compile(wrong).weights)
    assert said(engine, ["BOS"], 22) == one_by_one(engine, ["BOS"], 22)


def pieces_read(engine: DenseEngine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of tokens of each pass from now on."""
    pieces: list[int] = []
    extend = Pass.extend

    def noted(run: Pass, sequences: Sequence[Sequence[str]]) -> Tensor:
        if run.engine is engine:
            pieces.append(len(sequences[0]))
        return extend(run, sequences)

    monkeypatch.setattr(Pass, "extend", noted)
    return pieces


def test_right_guesses_are_checked_more_and_more_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model = sm.compile("binary-counter").weights
    engine = DenseEngine(model)
    pieces = pieces_read(engine, monkeypatch)
    assert said(engine, ["BOS"], 500) == one_by_one(DenseEngine(model), ["BOS"], 500)
    assert pieces == [1, 1, 17, 33, 65, 129, 129, 129]


def test_segments_go_on_with_as_many_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    model = sm.compile("busy-beaver-5", "turing-average-hard-summary")
    codec, engine = model.codec, DenseEngine(model.weights)
    assert isinstance(codec, SegmentedCodec)
    pieces = pieces_read(engine, monkeypatch)
    marks = codec.is_stop_token, codec.begins_segment, codec.ends_segment
    found = [said.token for said in islice(decode_segments(engine, codec.prompt(""), *marks), 300)]
    expected = [token for _, tokens in codec.expected_segments("", 400) for token in tokens]
    assert found == expected[:300]
    assert len(pieces) < 12


@pytest.mark.usefixtures("always")
def test_an_error_comes_where_it_comes_without_guesses() -> None:
    """A format whose bounds become too large stops at the same token, with the same message."""
    engine = DenseEngine(sm.compile("busy-beaver-5").weights, "bfloat16")
    expected = one_by_one(engine, ["BOS"], 200)
    assert 3 < len(expected) < 200
    assert said(engine, ["BOS"], 200) == expected


@pytest.mark.usefixtures("always")
def test_nothing_is_said_after_the_token_that_stops_the_run() -> None:
    found = said(DenseEngine(BUSY_BEAVER), ["BOS"], 100, lambda token: token == "HALT")
    assert found[-1] == "HALT"
    assert found.count("HALT") == 1


@pytest.mark.parametrize("arithmetic", ["float64", "exact", "fixed:6"])
def test_what_is_forgotten_leaves_no_trace(arithmetic: str) -> None:
    for seed in range(20):
        try:
            engine = DenseEngine(random_decoder(seed), arithmetic)
            run, word, other = engine.start(), random_word(seed, 80), random_word(seed + 1, 80)
            run.extend([word[:70]])
            run.extend([other[:9]])
            run.rewind(2)
            found = run.extend([word[2:]])
            expected = engine.residual_stream([word])
        except PrecisionError:
            continue
        assert found.shape[1] == 78
        close = np.isclose if arithmetic == "float64" else np.equal
        assert close(found.value, expected.value[:, 2:]).all(), seed
