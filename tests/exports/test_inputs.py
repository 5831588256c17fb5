"""Exported models on text that is unspaced, unknown or too long, and the choice of inputs to verify them on."""

from __future__ import annotations

import importlib.util
import json
from itertools import islice
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.exports import export as exporting
from softmachine.exports.export import RANDOM_INPUTS, _accuracy_hint, _choose_inputs, _random_inputs
from softmachine.exports.formats import find_format
from softmachine.exports.gpt2 import to_gpt2
from softmachine.exports.hf_checkpoint import _require_tokenizer, _save_tokenizer
from softmachine.exports.lowering import lower
from softmachine.exports.prompt_format import build_prompt_format
from softmachine.languages.source import Source
from softmachine.languages.srasp import parse
from softmachine.support.errors import UsageError
from softmachine.theorems.codec import DecoderCodec
from tests.exports.helpers import ask, checkpoint_model

TORCH = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("transformers") is not None
ONNX = importlib.util.find_spec("onnx") is not None and importlib.util.find_spec("onnxruntime") is not None
GGUF = TORCH and importlib.util.find_spec("gguf") is not None
needs_torch = pytest.mark.skipif(not TORCH, reason="torch or transformers is missing: pip install 'softmachine[hf]'")
needs_onnx = pytest.mark.skipif(not ONNX, reason="onnx or onnxruntime is missing: pip install 'softmachine[onnx]'")
needs_gguf = pytest.mark.skipif(not GGUF, reason="gguf is missing: pip install 'softmachine[gguf]'")
UNKNOWN = {"onnx": "ValueError: not in the vocabulary: ['x']\n"}
REFUSED = "ValueError: the input has a symbol that is not in the vocabulary\n"
SLOW = [pytest.param(to, marks=[needs_torch, pytest.mark.slow]) for to in ("gpt2-default", "llama", "mistral", "qwen2")]


@pytest.mark.parametrize("to", [pytest.param("gpt2", marks=needs_torch), pytest.param("onnx", marks=needs_onnx), *SLOW])
def test_the_code_of_a_decoders_card_reads_unspaced_text_and_reports_what_has_no_verdict(
    to: str, tmp_path: Path
) -> None:
    sm.export("increment", tmp_path / "model", to=to, context=16)
    texts = ["1 0 1", "101", " 1 01 ", "1 x", "10x", "<unk>", "1" * 9, "1" * 20]
    job = {"texts": texts, "as the card says": True}
    ((spaced, unspaced, mixed, *unknown, outgrown, too_long),) = ask(tmp_path / "model", job)
    assert spaced.endswith("HALT\n")
    assert spaced == unspaced == mixed
    assert unknown[:2] == [UNKNOWN.get(to, REFUSED)] * 2
    assert unknown[2].startswith("ValueError: ")
    run, verdict = outgrown.splitlines()
    assert len(run.split()) == 16
    assert "HALT" not in run
    assert verdict == "no verdict: the run does not end within 16 positions"
    assert too_long == "ValueError: the input does not fit in 16 positions\n"


@pytest.mark.parametrize("to", [pytest.param("bert", marks=needs_torch), pytest.param("onnx", marks=needs_onnx)])
def test_the_code_of_an_encoders_card_reads_unspaced_text_and_refuses_unknown_text(to: str, tmp_path: Path) -> None:
    sm.export("dyck-1-program", tmp_path / "model", to=to, context=8)
    job = {"texts": ["( ( ) )", "(())", "(x)", "()" * 5], "as the card says": True}
    ((spaced, unspaced, unknown, too_long),) = ask(tmp_path / "model", job)
    assert spaced.endswith("true\naccept\n")
    assert spaced == unspaced
    assert unknown == UNKNOWN.get(to, REFUSED)
    assert too_long == "ValueError: the input does not fit in 8 positions\n"


@needs_torch
def test_a_tokenizer_that_loses_the_unknown_token_is_noticed(tmp_path: Path) -> None:
    model = checkpoint_model("increment", "turing-binary-address", 16)
    placed, prompt_format = to_gpt2(lower(model, 16), "float32"), build_prompt_format(model, [("1", "0")], 16)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
    _save_tokenizer(placed.model, tmp_path, prompt_format)
    _require_tokenizer(placed, tmp_path, prompt_format)
    file = tmp_path / "tokenizer.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    data["model"]["unk_token"] = "0"
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError, match="encodes '!' incorrectly"):
        _require_tokenizer(placed, tmp_path, prompt_format)


@needs_gguf
def test_a_gguf_file_has_one_unknown_token_with_a_row(tmp_path: Path) -> None:
    from gguf import GGUFReader

    sm.export("increment", tmp_path / "model", to="gguf", context=12)
    reader = GGUFReader(tmp_path / "model" / "model.gguf")
    facts = json.loads((tmp_path / "model" / "softmachine.json").read_text(encoding="utf-8"))
    texts = [entry["text"] for entry in facts["vocabulary"]]
    assert reader.fields["tokenizer.ggml.tokens"].contents() == texts
    assert texts[reader.fields["tokenizer.ggml.unknown_token_id"].contents()] == "<unk>"
    (rows,) = (tensor.shape[1] for tensor in reader.tensors if tensor.name == "token_embd.weight")
    assert rows == len(texts)
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert '"n_predict": ' in card
    assert "If `stop_type` in the response is" in card


@pytest.mark.parametrize(
    ("alphabet", "letters"),
    [("a b", "ab"), ("aa b", ""), ("' ' a", "␣a"), ("t r u e", ""), ("'<' s '>'", "")],
)
def test_symbols_of_one_character_need_no_spaces_unless_another_token_is_spelled_with_them(
    alphabet: str, letters: str
) -> None:
    program = parse(f"alphabet {alphabet}\nsame(i) = in(i) = in(i)\noutput same\n", name="letters")
    model = checkpoint_model(program, "srasp", 6, "onnx")
    prompt_format = build_prompt_format(model, [model.codec.alphabet], 8)
    assert prompt_format.unspaced_alphabet(lower(model, 6).spelling_of) == letters


@pytest.mark.parametrize(("name", "length"), [("palindrome", 64), ("equality", 96), ("dyck-2", 64)])
def test_a_decoder_is_verified_on_long_runs_of_either_verdict_and_on_one_near_the_last_position(
    name: str, length: int
) -> None:
    model = checkpoint_model(name, "turing-binary-address", length)
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    prompt_format = build_prompt_format(model, _choose_inputs(model, length), length)
    longer = [sample for sample in prompt_format.samples if sample.is_complete and len(sample.expected) > 10]
    accepted = [sample for sample in longer if sample.expected[-1] == "ACC"]
    assert len(accepted) >= 4
    assert len(longer) - len(accepted) >= 4
    assert max(len(sample.prompt) + len(sample.expected) for sample in longer) >= length * 15 / 16
    (longest,), sampled = _random_inputs(codec, length)
    verdicts = [codec.parse_output(word, [*map(str, codec.expected(word, length))]).verdict for word in sampled]
    assert 8 <= len(verdicts) <= RANDOM_INPUTS
    assert verdicts.count("accept") == verdicts.count("reject") == len(verdicts) / 2
    assert codec.count_positions(longest, length) >= length * 15 / 16


@pytest.mark.parametrize("name", ["dyck-2-program", "response-formula", "in-order-crasp"])
def test_an_encoder_is_verified_on_as_many_accepted_as_rejected_words_of_every_length(name: str) -> None:
    source = sm.load(name)
    assert isinstance(source, Source)
    model = sm.compile(source, length=None)
    _, sampled = _random_inputs(model.codec, 40)
    verdicts = [model.codec.parse_run(word, [*map(str, model.codec.expected(word, 0))]).verdict for word in sampled]
    assert verdicts.count("accept") == verdicts.count("reject") == len(verdicts) / 2 > 8
    assert max(map(len, islice(sampled, 2))) >= 38
    assert min(map(len, sampled)) <= 5


def test_a_source_without_verdicts_is_verified_on_random_words() -> None:
    model = checkpoint_model("increment", "turing-binary-address", 32)
    longest, sampled = _random_inputs(model.codec, 32)
    assert len(longest) == 1
    assert len(sampled) == RANDOM_INPUTS


def test_a_search_for_words_ends_when_its_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MAX_SEARCH_TOKENS", 200)
    _, sampled = _random_inputs(checkpoint_model("equality", "turing-binary-address", 64).codec, 64)
    assert len(sampled) < RANDOM_INPUTS


@pytest.mark.parametrize(
    ("to", "dtype", "hint"),
    [
        ("gpt2", "float16", "export it in float32, or with a smaller --context"),
        ("gpt2", "bfloat16", "export it in float32, or with a smaller --context"),
        ("gpt2", "float32", "export it in float64, or with a smaller --context"),
        ("gpt2", "float64", "export it with a smaller --context"),
        ("gguf", "float32", "export it with a smaller --context"),
    ],
)
def test_the_hint_names_a_format_that_is_wider_and_that_there_is(to: str, dtype: str, hint: str) -> None:
    model = checkpoint_model("parity-counter", "counter", 16)
    assert _accuracy_hint(model, find_format(to), dtype) == hint
