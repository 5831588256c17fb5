"""Lowering, and layout of the tensors, against numpy forward passes of the architectures; without torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.exports.bert import to_bert
from softmachine.exports.gpt2 import to_gpt2, to_gpt2_default
from softmachine.exports.llama import to_llama, to_mistral, to_qwen2
from softmachine.exports.lowered_model import LoweredTransformer
from softmachine.exports.lowering import lower
from softmachine.exports.prompt_format import build_prompt_format
from softmachine.exports.tensors import ArchitectureTensors
from softmachine.ir import attend, position, recogniser, step, token
from softmachine.support.errors import ConstructionError, UsageError
from softmachine.testing import words as all_words
from softmachine.transformer.attention import AVERAGE_HARD, Mask, Weighting, softmax_weighting
from softmachine.transformer.features import I_PLUS_ONE, Last, Relation
from tests.exports.helpers import checkpoint_model
from tests.exports.plain import bert_logits, gpt2_logits, llama_logits, lowered_logits
from tests.models import with_weights

WORDS = [tuple(word) for word in ("", "1", "0", "01", "1011", "111111")]


def require_right(model: Model, logits: Callable[[list[int]], Any], vocabulary: tuple[str, ...], length: int) -> float:
    """The smallest margin on the samples, all of which must be correct."""
    prompt_format = build_prompt_format(model, WORDS, length)
    margins = []
    for sample in prompt_format.samples:
        output = [vocabulary.index(token) for token in sample.expected if token is not None]
        ids = [vocabulary.index(token) for token in sample.prompt]
        rows = logits([*ids, *output[:-1]])[len(ids) - 1 :]
        assert rows.argmax(axis=-1).tolist() == output
        margins.append(np.diff(np.sort(rows, axis=-1)[:, -2:]).min())
    assert len(margins) == len(WORDS)
    return float(min(margins))


@pytest.mark.parametrize(
    "construction", ["turing-binary-address", "turing-residue-address", "turing-residue-address-no-positions"]
)
def test_a_lowered_model_computes_the_run_with_bounded_coordinates(construction: str) -> None:
    model = checkpoint_model("increment", construction, 32)
    lowered = lower(model, 32)
    assert require_right(model, lambda ids: lowered_logits(lowered, ids), lowered.vocabulary, 32) > 0.99
    assert np.abs(lowered.embedding).max() <= 1
    assert np.abs(lowered.positions).max() <= 1
    assert (np.log2(lowered.scales) % 1 == 0).all()


@pytest.mark.parametrize(("place", "dtype"), [(to_gpt2, "float32"), (to_gpt2, "float16"), (to_gpt2_default, "float32")])
def test_gpt2_from_its_tensors_alone_computes_the_run(place: Callable[..., ArchitectureTensors], dtype: str) -> None:
    model = checkpoint_model("increment", "turing-binary-address", 32)
    placed = place(lower(model, 32), dtype)
    margin = require_right(model, lambda ids: gpt2_logits(placed, ids), placed.model.vocabulary, 32)
    assert margin / placed.gain > 0.9
    sizes = {"model_type", "n_embd", "n_head", "n_layer", "n_positions"}
    assert (set(placed.config) == sizes) == (place is to_gpt2_default)


def test_in_float16_units_read_with_weights_that_it_has() -> None:
    model = checkpoint_model("increment", "turing-residue-address", 600)
    lowered = lower(model, 600)
    assert max(np.abs(layer.first.weight).max(initial=0) for layer in lowered.layers) > 65504
    placed = to_gpt2(lowered, "float16")
    assert max(np.abs(tensor).max() for tensor in placed.tensors.values()) < 65504
    margin = require_right(model, lambda ids: gpt2_logits(placed, ids), placed.model.vocabulary, 600)
    assert margin / placed.gain > 0.9


def test_the_default_configuration_ties_the_embedding_and_has_widths_whose_roots_are_exact() -> None:
    placed = to_gpt2_default(lower(checkpoint_model("increment", "turing-binary-address", 32), 32), "float32")
    assert "lm_head.weight" not in placed.tensors
    config: Any = placed.config
    width, heads = config["n_embd"], config["n_head"]
    assert np.log2(width / 2) % 2 == 0
    assert np.log2(width // heads) % 2 == 0
    assert placed.tensors["transformer.h.0.mlp.c_fc.weight"].shape == (width, 4 * width)


def test_llama_from_its_tensors_alone_computes_the_run() -> None:
    model = checkpoint_model("increment", "turing-residue-address-no-positions", 32)
    lowered = lower(model, 32)
    placed = to_llama(lowered, "float32")
    margin = require_right(model, lambda ids: llama_logits(placed, ids), placed.model.vocabulary, 32)
    assert margin / placed.gain > 0.9
    for other in (to_mistral(lowered, "float32"), to_qwen2(lowered, "float32")):
        for name, tensor in placed.tensors.items():
            assert (other.tensors[name] == tensor).all()


def test_llama_refuses_positions_and_float16() -> None:
    with pytest.raises(ConstructionError, match="uses position features, which a llama model does not have"):
        to_llama(lower(checkpoint_model("increment", "turing-binary-address", 16), 16), "float32")
    with pytest.raises(ConstructionError, match="cannot be made for float16"):
        to_llama(lower(checkpoint_model("increment", "turing-residue-address-no-positions", 16), 16), "float16")
    with pytest.raises(ConstructionError, match="cannot be made for float16"):
        to_gpt2_default(lower(checkpoint_model("increment", "turing-residue-address", 16), 16), "float16")


def small(mask: Mask = Mask.CAUSAL, *, blind: bool = False, **options: Any) -> Model:
    """Whether a 1 has occurred; with a head that ignores symbols, whether there is one where the bias is largest."""
    seen = token("is 1", {"0": (0,), "1": (1,)})
    found = attend("look", query=seen * 0 + 1, key=seen * (not blind), value=seen, mask=mask, **options)
    return with_weights(compile_program(recogniser("seen", ("0", "1"), step("some", found - Fraction(1, 64)))))


def test_heaviside_units_become_two_relus() -> None:
    lowered = lower(small(weighting=softmax_weighting(20)), 16)
    assert lowered.layers[0].units == ("some: from 0", "some: from 1")
    answers = [lowered.vocabulary[k] for k in lowered_logits(lowered, [0, 0, 1, 0]).argmax(axis=-1)]
    assert answers == ["false", "false", "true", "true"]


def test_a_temperature_that_depends_on_the_position_becomes_the_lowest() -> None:
    lowered = lower(small(weighting=softmax_weighting(3 * I_PLUS_ONE)), 16)
    (head,) = lowered.layers[0].heads
    assert float((head.query.bias * head.key.weight.max()).max()) >= 3 * 16


@pytest.mark.parametrize(
    ("mask", "weighting", "why"),
    [
        (Mask.ALL, softmax_weighting(9), "head 'look' sees all j, but a decoder sees j ≤ i"),
        (Mask.CAUSAL, AVERAGE_HARD, "has average-hard attention; exported models have softmax"),
    ],
)
def test_what_a_stock_decoder_cannot_hold_is_refused_with_the_reason(
    mask: Mask, weighting: Weighting, why: str
) -> None:
    with pytest.raises(ConstructionError, match=why):
        lower(small(mask, weighting=weighting), 8)


def answers(lowered: LoweredTransformer, word: str) -> list[str]:
    ids = [lowered.vocabulary.index(letter) for letter in word]
    return [lowered.labels[k] for k in lowered_logits(lowered, ids).argmax(axis=-1)]


def test_a_strict_mask_becomes_scores_that_hide_the_position_itself() -> None:
    lowered = lower(small(Mask.PAST, weighting=softmax_weighting(20)), 9)
    for number in range(1 << 8):
        word = f"0{number:08b}"  # a head without visible keys reads position 0, whose value must be 0
        assert answers(lowered, word) == ["true" if "1" in word[:i] else "false" for i in range(9)]


@dataclass(frozen=True)
class ThreeBack(Relation):
    name: ClassVar[str] = "three back"

    def value(self, key: int, query: int) -> int:
        return int(query - key == 3)


def test_a_relative_bias_becomes_scores() -> None:
    back = small(weighting=softmax_weighting(40), bias=ThreeBack(), blind=True)
    lowered = lower(back, 9)
    for number in range(1 << 9):
        word = f"{number:09b}"
        assert answers(lowered, word)[3:] == ["true" if word[i - 3] == "1" else "false" for i in range(3, 9)]


def test_a_table_of_all_pairs_of_positions_has_a_largest_size() -> None:
    with pytest.raises(ConstructionError, match="head 'look' sees j < i, which takes a table of all pairs"):
        lower(small(Mask.PAST, weighting=softmax_weighting(9)), 1025)


@pytest.mark.parametrize(
    ("name", "construction"),
    [
        ("response-formula", "temporal-encoder"),
        ("alternating-formula", "temporal-encoder-unbounded-positions"),
        ("reverse-program", "srasp"),
        ("flip-flop-program", "srasp"),
        ("in-order-crasp", "crasp"),
        ("and-or", "circuit-threshold"),
        ("koenigsberg", "connectivity"),
    ],
)
def test_an_encoder_knows_every_length_and_sees_what_it_should(name: str, construction: str) -> None:
    model = checkpoint_model(name, construction, 80, "bert")
    lowered = lower(model, 80 if name == "koenigsberg" else 9, bidirectional=True)
    placed = to_bert(lowered, "float32")
    prompt_format = build_prompt_format(model, all_words(model.codec.alphabet, 3), 80)
    assert prompt_format.samples
    for sample in prompt_format.samples:
        ids = [lowered.vocabulary.index(token) for token in sample.prompt]
        for rows in (lowered_logits(lowered, ids), bert_logits(placed, ids) / placed.gain):
            margins = np.diff(np.sort(rows, axis=-1)[:, -2:])[:, 0]
            for label, margin, wanted in zip(rows.argmax(axis=-1), margins, sample.expected, strict=True):
                assert wanted in (None, lowered.labels[label])
                assert wanted is None or margin > 0.9


def test_what_an_encoder_cannot_hold_is_refused_with_the_reason() -> None:
    with pytest.raises(ConstructionError, match="is a decoder: it generates token by token"):
        lower(checkpoint_model("increment", "turing-binary-address", 16), 16, bidirectional=True)


def test_an_encoder_that_knows_the_length_is_refused() -> None:
    at_end = position(Last())
    program = recogniser("end", ("0", "1"), at_end)
    with pytest.raises(ConstructionError, match="depends on the length of the input"):
        lower(with_weights(compile_program(program)), 8)


@pytest.mark.parametrize("length", [0, -1, (1 << 20) + 1])
def test_impossible_numbers_of_positions_are_refused(length: int) -> None:
    with pytest.raises(UsageError, match="positions cannot be written"):
        lower(small(weighting=softmax_weighting(9)), length)


def test_tokens_with_blanks_get_a_spelling_of_their_own() -> None:
    table = token("t", {" ": (1,), "␣": (0,), "a b": (0,), "a\tb": (1,)})
    lowered = lower(with_weights(compile_program(recogniser("blanks", (" ", "␣", "a b", "a\tb"), table))), 4)
    assert lowered.spellings[:4] == ("␣", "'␣'", "a␣b", "'a␣b'")
    assert len(set(lowered.spellings)) == len(lowered.vocabulary) == 8
