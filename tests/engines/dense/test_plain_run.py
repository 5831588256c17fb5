"""The draft model: the same numbers as the dense engine in floats without error bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.dense.acceleration.draft_model import DraftModelPass, DraftModelWeights
from softmachine.engines.dense.decoding import decode
from softmachine.engines.dense.engine import DenseEngine
from softmachine.support.errors import InputError, SoftmachineError
from softmachine.transformer.attention import softmax_weighting
from softmachine.transformer.features import I_PLUS_ONE
from softmachine.transformer.weights import FeedForward, Transformer
from tests.sources.transformers import CAUSAL, HARD, VOCABULARY, RandomTransformer, random_word

ANY = (
    *HARD,
    softmax_weighting(),
    softmax_weighting(Fraction(1, 2)),
    softmax_weighting(I_PLUS_ONE * 3),
    softmax_weighting(5000),
)


def drawn(seed: int) -> Transformer:
    """A random decoder, in some cases with a normalised unit."""
    random = RandomTransformer(seed, CAUSAL, ANY, (1, 1, 2))
    model = replace(random.transformer(), outputs=VOCABULARY, unembedding=random.affine(len(VOCABULARY)))
    if seed % 3:
        return model

    def normalised(forward: FeedForward) -> FeedForward:
        if len(forward.units) < 2:
            return forward
        return replace(forward, activations=("norm", "norm", *forward.activations[2:]), norms=((0, 1),))

    blocks = [
        replace(
            block, layers=tuple(replace(layer, feed_forward=normalised(layer.feed_forward)) for layer in block.layers)
        )
        for block in model.blocks
    ]
    return replace(model, blocks=tuple(blocks))


def streams(model: Transformer, word: list[str], pieces: list[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The residual streams of both at the last position of each chunk."""
    run, plain = DenseEngine(model, "float64:plain").start(), DraftModelPass(DraftModelWeights(model))
    start = 0
    for size in pieces:
        piece = word[start : start + size]
        with np.errstate(all="ignore"):
            yield run.extend([piece]).value[0, -1], plain.extend(piece)[-1, :-1]
        start += size


@pytest.mark.parametrize("pieces", [[1] * 12, [12], [3, 1, 1, 5, 1, 1]])
def test_streams_are_those_of_the_dense_engine_in_plain_floats(pieces: list[int]) -> None:
    for seed in range(120):
        for expected, found in streams(drawn(seed), random_word(seed, 12), pieces):
            assert np.allclose(expected, found, rtol=1e-6, atol=1e-6, equal_nan=True), seed


def test_it_says_what_the_dense_engine_says_over_many_pieces_of_positions() -> None:
    model = sm.soften("binary-counter", length=60)[0]
    run, tokens = DraftModelPass(DraftModelWeights(model.weights)), []
    new = list(model.codec.prompt("").tokens)
    for _ in range(300):
        new = [run.predict(new)]
        tokens += new
    expected = islice(decode(DenseEngine(model.weights), model.codec.prompt(""), lambda _: False), 300)
    assert tokens == list(expected)


def test_a_long_prompt_is_read_in_pieces() -> None:
    model = sm.compile("palindrome")
    prompt = model.codec.prompt("ab" * 150).tokens
    assert (
        DraftModelPass(DraftModelWeights(model.weights)).predict(prompt)
        == DenseEngine(model.weights).start().predict(prompt)[0]
    )


def test_what_cannot_be_read_is_an_error_that_guessing_knows() -> None:
    run = DraftModelPass(DraftModelWeights(sm.compile("palindrome").weights))
    with pytest.raises(InputError, match="'neither' is not an input token") as caught:
        run.predict(["neither"])
    assert isinstance(caught.value, SoftmachineError)
