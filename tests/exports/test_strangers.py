"""Exported checkpoints, loaded by third-party software in a process without softmachine."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import softmachine as sm
from softmachine.exports import hf_checkpoint, llama
from softmachine.exports.llama import to_qwen2
from softmachine.support.errors import UsageError
from softmachine.testing import words as all_words
from tests.exports.helpers import agree, answers, any_codec_of, ask, codec_of, runs, spelled
from tests.optional import require

WHY = "torch and transformers are not installed: pip install 'softmachine[hf]'"
require("torch", "transformers", reason=WHY)

WAYS: tuple[dict[str, Any], ...] = (
    {"attention": "sdpa"},
    {"attention": "eager"},
    {"attention": "eager", "generate": {"use_cache": False}},
    {"generate": {"use_cache": False}},
)
LLAMA_CPP = importlib.util.find_spec("xllamacpp") is not None and importlib.util.find_spec("gguf") is not None
needs_llama_cpp = pytest.mark.skipif(not LLAMA_CPP, reason="llama.cpp or gguf is missing: pip install xllamacpp gguf")
ONNX = importlib.util.find_spec("onnx") is not None and importlib.util.find_spec("onnxruntime") is not None
needs_onnx = pytest.mark.skipif(not ONNX, reason="onnx or onnxruntime is missing: pip install 'softmachine[onnx]'")
FORMATS = [
    ("gpt2", "float32"),
    ("gpt2", "bfloat16"),
    ("gpt2", "float16"),
    ("gpt2-default", "float32"),
    ("llama", "float32"),
    ("mistral", "float32"),
    ("qwen2", "float32"),
]


class Increment:
    """A small exported machine, and its outputs in third-party software: one process, since importing torch is slow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        sm.export("increment", folder, to="gpt2", context=32)
        self.short = runs(codec_of(folder), list(all_words("01", 3)))
        self.long = runs(codec_of(folder), [("0",) * 20])
        self.piped = runs(codec_of(folder), [("1", "0", "1", "1")])
        *self.short_answers, self.long_answer, self.piped_answer = ask(
            folder,
            *({"texts": self.short[0], **way} for way in WAYS[:3]),
            {"texts": self.long[0]},
            {"texts": self.piped[0], "pipeline": True},
        )


@pytest.fixture(scope="module")
def increment(tmp_path_factory: pytest.TempPathFactory) -> Increment:
    return Increment(tmp_path_factory.mktemp("export") / "increment")


def test_a_stranger_generates_the_runs_of_a_machine_in_a_left_padded_batch(increment: Increment) -> None:
    assert increment.short_answers == [increment.short[1]] * 3


def test_the_text_generation_pipeline_takes_and_gives_text(increment: Increment) -> None:
    (answer,), (wanted,) = increment.piped_answer, increment.piped[1]
    assert answer.removeprefix("1 0 1 1").split() == wanted.split()[6:]


def test_a_loaded_model_stops_at_its_last_position(increment: Increment) -> None:
    assert len(increment.long[1][0].split()) == 32
    assert increment.long_answer == increment.long[1]


def test_the_machine_comes_back_from_the_map(increment: Increment) -> None:
    assert codec_of(increment.folder).machine == sm.load("increment")


@pytest.mark.parametrize("to", ["bert", pytest.param("onnx", marks=needs_onnx)])
def test_a_stranger_gets_the_answers_of_an_encoder(to: str, tmp_path: Path) -> None:
    sm.export("reverse-program", tmp_path / "model", to=to, context=12)
    texts, wanted = answers(any_codec_of(tmp_path / "model"), list(all_words("abc", 3)))
    ways = WAYS[:2] if to == "bert" else WAYS[:1]
    for output in ask(tmp_path / "model", *({"texts": texts, **way} for way in ways)):
        assert agree(output, wanted)


@needs_onnx
def test_onnxruntime_runs_a_machine_in_a_left_padded_batch(tmp_path: Path) -> None:
    sm.export("increment", tmp_path / "model", to="onnx", context=32)
    texts, wanted = runs(codec_of(tmp_path / "model"), list(all_words("01", 3)))
    assert ask(tmp_path / "model", {"texts": texts}) == [wanted]


@pytest.mark.slow
@pytest.mark.parametrize(("to", "dtype"), FORMATS)
def test_busy_beaver_4_is_exact(to: str, dtype: str, tmp_path: Path) -> None:
    sm.export("busy-beaver-4", tmp_path / "model", to=to, dtype=dtype, context=110)
    texts, wanted = runs(codec_of(tmp_path / "model"), [()])
    assert len(wanted[0].split()) == 2 + 108
    jobs = [{"texts": texts, **way} for way in WAYS]
    jobs.append({"texts": texts, "generate": {"do_sample": True, "temperature": 1.0}})
    for answer in ask(tmp_path / "model", *jobs):
        assert answer == wanted


@pytest.mark.slow
@pytest.mark.parametrize(("to", "dtype"), FORMATS)
@pytest.mark.parametrize(
    ("name", "alphabet", "up_to"), [("increment", "01", 7), ("palindrome", "ab", 7), ("two-tape-palindrome", "ab", 5)]
)
def test_every_short_input_is_right(name: str, alphabet: str, up_to: int, to: str, dtype: str, tmp_path: Path) -> None:
    sm.export(name, tmp_path / "model", to=to, dtype=dtype, context=64)
    texts, wanted = runs(codec_of(tmp_path / "model"), list(all_words(alphabet, up_to)))
    assert len(texts) == 2 ** (up_to + 1) - 1
    for answer in ask(tmp_path / "model", {"texts": texts}, {"texts": texts, "attention": "eager"}):
        assert answer == wanted


@pytest.mark.slow
def test_a_tokenizer_that_reads_otherwise_than_it_should_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    careless = partial(
        hf_checkpoint.write_model, to_architecture=lambda *args: replace(to_qwen2(*args), tokenizer="AutoTokenizer")
    )
    monkeypatch.setattr(
        llama, "EXPORT_FORMAT", tuple(replace(form, write_model=careless) for form in llama.EXPORT_FORMAT)
    )
    with pytest.raises(UsageError, match="encodes '<bos> <run>' incorrectly"):
        sm.export("palindrome", tmp_path / "model", to="qwen2", context=24)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@needs_onnx
@pytest.mark.parametrize(
    ("name", "alphabet", "up_to", "length"),
    [("busy-beaver-4", "", 0, 110), ("increment", "01", 7, 64), ("palindrome", "ab", 7, 64)],
)
def test_onnxruntime_is_exact(name: str, alphabet: str, up_to: int, length: int, tmp_path: Path) -> None:
    sm.export(name, tmp_path / "model", to="onnx", context=length)
    texts, wanted = runs(codec_of(tmp_path / "model"), list(all_words(alphabet, up_to)))
    assert ask(tmp_path / "model", {"texts": texts}) == [wanted]


@pytest.mark.slow
@needs_llama_cpp
@pytest.mark.parametrize(
    ("name", "alphabet", "up_to", "length"),
    [("busy-beaver-4", "", 0, 110), ("increment", "01", 7, 64), ("palindrome", "ab", 7, 64)],
)
def test_llama_cpp_is_exact(name: str, alphabet: str, up_to: int, length: int, tmp_path: Path) -> None:
    sm.export(name, tmp_path / "model", to="gguf", context=length)
    codec = codec_of(tmp_path / "model")
    words = list(all_words(alphabet, up_to))
    (output,) = ask(tmp_path / "model", {"texts": [spelled(word) for word in words]})
    for word, answer in zip(words, output, strict=True):
        prompt, text, reason = answer.split(" | ")
        assert prompt == spelled(codec.prompt(word).tokens)
        # llama.cpp does not return the stop token.
        assert text == spelled(list(codec.expected(word, 200))[:-1]).replace(" ", "")
        assert reason == "stop"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "alphabet", "up_to", "length"),
    [
        ("response-formula", "rgw", 5, 64),
        ("alternating-formula", "ab", 7, 64),
        ("dyck-2-program", "()[]", 5, 40),
        ("two-hop-induction-head", "abc", 5, 40),
        ("anbncn-crasp", "abc", 6, 64),
    ],
)
def test_bert_answers_every_short_input(name: str, alphabet: str, up_to: int, length: int, tmp_path: Path) -> None:
    sm.export(name, tmp_path / "model", to="bert", context=length)
    codec = any_codec_of(tmp_path / "model")
    assert set(alphabet) == set(codec.alphabet)
    texts, wanted = answers(codec, list(all_words(alphabet, up_to)))
    for output in ask(tmp_path / "model", *({"texts": texts, **way} for way in WAYS[:2])):
        assert agree(output, wanted)


@pytest.mark.slow
def test_bert_adds_numbers(tmp_path: Path) -> None:
    sm.export("lookahead-adder-4", tmp_path / "model", to="bert")
    codec = any_codec_of(tmp_path / "model")
    words = [tuple(f"{number:08b}") for number in range(256)]
    texts, wanted = answers(codec, words)
    (output,) = ask(tmp_path / "model", {"texts": texts})
    assert agree(output, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_one_float16_checkpoint_is_right_in_every_format(dtype: str, tmp_path: Path) -> None:
    sm.export("palindrome", tmp_path / "model", to="gpt2", dtype="float16", context=200)
    word = tuple("abbbabaabbaabaabbabaabbaababbba"[:13])
    texts, wanted = runs(codec_of(tmp_path / "model"), [word, word[::-1], word[:6] + word[5::-1]])
    assert ask(tmp_path / "model", {"texts": texts, "dtype": dtype}) == [wanted]


@pytest.mark.slow
def test_eight_thousand_steps_of_busy_beaver_5_are_exact(tmp_path: Path) -> None:
    sm.export("busy-beaver-5", tmp_path / "model", to="gpt2", context=8002)
    texts, wanted = runs(codec_of(tmp_path / "model"), [()])
    assert len(wanted[0].split()) == 2 + 8000
    assert ask(tmp_path / "model", {"texts": texts}) == [wanted]
