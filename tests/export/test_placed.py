"""Lowering and placement, against plain numpy readings of the architectures; no torch needed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import softmachine as sm
from softmachine.attention import AVERAGE_HARD, Mask, softmax
from softmachine.compiler import compile_program
from softmachine.errors import ConstructionError, UsageError
from softmachine.exporting import _compiled
from softmachine.exports.dialogue import dialogue_of
from softmachine.exports.gpt2 import gpt2, gpt2_default
from softmachine.exports.llama import llama, mistral, qwen2
from softmachine.exports.lower import lower
from softmachine.exports.placed import Placed
from softmachine.languages.source import Source
from softmachine.positions import Feature
from softmachine.signals import attend, position, recogniser, step, token
from softmachine.transformer import Transformer
from tests.export.plain import gpt2_logits, llama_logits, lowered_logits

WORDS = [tuple(word) for word in ("", "1", "0", "01", "1011", "111111")]


def compiled(name: str, construction: str, length: int) -> Transformer:
    loaded = sm.load(name)
    assert isinstance(loaded, Source)
    return _compiled(loaded, construction, length)


def require_right(
    model: Transformer, logits: Callable[[list[int]], Any], vocabulary: tuple[str, ...], length: int
) -> float:
    """The smallest margin on the samples; every one of them must be right."""
    dialogue = dialogue_of(model, WORDS, length)
    margins = []
    for sample in dialogue.samples:
        said = [vocabulary.index(token) for token in sample.expected if token is not None]
        ids = [vocabulary.index(token) for token in sample.prompt]
        rows = logits([*ids, *said[:-1]])[len(ids) - 1 :]
        assert rows.argmax(axis=-1).tolist() == said
        margins.append(np.diff(np.sort(rows, axis=-1)[:, -2:]).min())
    assert len(margins) == len(WORDS)
    return float(min(margins))


@pytest.mark.parametrize("construction", ["address-bits", "residues", "residues-without-positions"])
def test_a_lowered_model_computes_the_run_with_bounded_coordinates(construction: str) -> None:
    model = compiled("increment", construction, 32)
    lowered = lower(model, 32)
    assert require_right(model, lambda ids: lowered_logits(lowered, ids), lowered.vocabulary, 32) > 0.99
    assert np.abs(lowered.embedding).max() <= 1
    assert np.abs(lowered.positions).max() <= 1
    assert (np.log2(lowered.scales) % 1 == 0).all()


@pytest.mark.parametrize(("place", "dtype"), [(gpt2, "float32"), (gpt2, "float16"), (gpt2_default, "float32")])
def test_gpt2_from_its_tensors_alone_computes_the_run(place: Callable[..., Placed], dtype: str) -> None:
    model = compiled("increment", "address-bits", 32)
    placed = place(lower(model, 32), dtype)
    margin = require_right(model, lambda ids: gpt2_logits(placed, ids), placed.model.vocabulary, 32)
    assert margin / placed.gain > 0.9
    sizes = {"model_type", "n_embd", "n_head", "n_layer", "n_positions"}
    assert (set(placed.config) == sizes) == (place is gpt2_default)


def test_the_default_configuration_ties_the_embedding_and_has_widths_whose_roots_are_exact() -> None:
    placed = gpt2_default(lower(compiled("increment", "address-bits", 32), 32), "float32")
    assert "lm_head.weight" not in placed.tensors
    width, heads = placed.config["n_embd"], placed.config["n_head"]
    assert np.log2(width / 2) % 2 == 0
    assert np.log2(width // heads) % 2 == 0
    assert placed.tensors["transformer.h.0.mlp.c_fc.weight"].shape == (width, 4 * width)


def test_llama_from_its_tensors_alone_computes_the_run() -> None:
    model = compiled("increment", "residues-without-positions", 32)
    lowered = lower(model, 32)
    placed = llama(lowered, "float32")
    margin = require_right(model, lambda ids: llama_logits(placed, ids), placed.model.vocabulary, 32)
    assert margin / placed.gain > 0.9
    for other in (mistral(lowered, "float32"), qwen2(lowered, "float32")):
        for name, tensor in placed.tensors.items():
            assert (other.tensors[name] == tensor).all()


def test_llama_refuses_positions_and_float16() -> None:
    with pytest.raises(ConstructionError, match="uses position features, which a llama model does not have"):
        llama(lower(compiled("increment", "address-bits", 16), 16), "float32")
    with pytest.raises(ConstructionError, match="cannot be made for float16"):
        llama(lower(compiled("increment", "residues-without-positions", 16), 16), "float16")
    with pytest.raises(ConstructionError, match="cannot be made for float16"):
        gpt2_default(lower(compiled("increment", "residues", 16), 16), "float16")


def small(mask: Mask = Mask.CAUSAL, **options: Any) -> Transformer:
    """Whether a 1 has been seen."""
    seen = token("is 1", {"0": (0,), "1": (1,)})
    found = attend("look", query=seen * 0 + 1, key=seen, value=seen, mask=mask, **options)
    return compile_program(recogniser("seen", ("0", "1"), step("some", found - Fraction(1, 64))))


def test_heaviside_units_become_two_relus() -> None:
    lowered = lower(small(weighting=softmax(20)), 16)
    assert lowered.layers[0].units == ("some: from 0", "some: from 1")
    answers = [lowered.vocabulary[k] for k in lowered_logits(lowered, [0, 0, 1, 0]).argmax(axis=-1)]
    assert answers == ["false", "false", "true", "true"]


def test_a_temperature_that_depends_on_the_position_becomes_the_lowest() -> None:
    lowered = lower(small(weighting=softmax(Feature("c(i+1)", (3,)))), 16)
    (head,) = lowered.layers[0].heads
    assert float((head.query.bias * head.key.weight.max()).max()) >= 3 * 16


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (small(Mask.ALL, weighting=softmax(9)), "head 'look' sees all j, but a decoder sees j ≤ i"),
        (small(Mask.PAST, weighting=softmax(9)), "must not see its own position"),
        (small(weighting=AVERAGE_HARD), "has average-hard attention; stock checkpoints have softmax"),
    ],
)
def test_what_a_stock_decoder_cannot_hold_is_refused_with_the_reason(model: Transformer, why: str) -> None:
    with pytest.raises(ConstructionError, match=why):
        lower(model, 8)


def test_an_encoder_that_knows_the_length_is_refused() -> None:
    at_end = position(Feature("last"))
    program = recogniser("end", ("0", "1"), at_end)
    with pytest.raises(ConstructionError, match="depends on the length of the input"):
        lower(compile_program(program), 8)


@pytest.mark.parametrize("length", [0, -1, (1 << 20) + 1])
def test_impossible_numbers_of_positions_are_refused(length: int) -> None:
    with pytest.raises(UsageError, match="positions cannot be written"):
        lower(small(weighting=softmax(9)), length)


def test_tokens_with_blanks_get_a_spelling_of_their_own() -> None:
    table = token("t", {" ": (1,), "␣": (0,), "a b": (0,), "a\tb": (1,)})
    lowered = lower(compile_program(recogniser("blanks", (" ", "␣", "a b", "a\tb"), table)), 4)
    assert lowered.spellings[:4] == ("␣", "'␣'", "a␣b", "'a␣b'")
    assert len(set(lowered.spellings)) == len(lowered.vocabulary) == 7
