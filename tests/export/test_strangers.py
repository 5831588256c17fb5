"""Checkpoints of ours in the hands of somebody who has transformers and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import softmachine as sm
from softmachine.checking import all_words
from tests.export.helpers import ask, codec_of, runs

WHY = "torch and transformers are not installed: pip install 'softmachine[hf]'"
pytest.importorskip("torch", reason=WHY)
pytest.importorskip("transformers", reason=WHY)

WAYS: tuple[dict[str, Any], ...] = (
    {"attention": "sdpa"},
    {"attention": "eager"},
    {"attention": "eager", "generate": {"use_cache": False}},
    {"generate": {"use_cache": False}},
)
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
    """A small machine, exported, and what a stranger makes of it: in one process, since loading torch takes long."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        sm.export("increment", folder, to="gpt2", length=32)
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


@pytest.mark.slow
@pytest.mark.parametrize(("to", "dtype"), FORMATS)
def test_busy_beaver_4_is_exact(to: str, dtype: str, tmp_path: Path) -> None:
    sm.export("busy-beaver-4", tmp_path / "model", to=to, dtype=dtype, length=110)
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
    sm.export(name, tmp_path / "model", to=to, dtype=dtype, length=64)
    texts, wanted = runs(codec_of(tmp_path / "model"), list(all_words(alphabet, up_to)))
    assert len(texts) == 2 ** (up_to + 1) - 1
    for answer in ask(tmp_path / "model", {"texts": texts}, {"texts": texts, "attention": "eager"}):
        assert answer == wanted


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_one_float16_checkpoint_is_right_in_every_format(dtype: str, tmp_path: Path) -> None:
    sm.export("palindrome", tmp_path / "model", to="gpt2", dtype="float16", length=200)
    word = tuple("abbbabaabbaabaabbabaabbaababbba"[:13])
    texts, wanted = runs(codec_of(tmp_path / "model"), [word, word[::-1], word[:6] + word[5::-1]])
    assert ask(tmp_path / "model", {"texts": texts, "dtype": dtype}) == [wanted]


@pytest.mark.slow
def test_eight_thousand_steps_of_busy_beaver_5_are_exact(tmp_path: Path) -> None:
    sm.export("busy-beaver-5", tmp_path / "model", to="gpt2", length=8002)
    texts, wanted = runs(codec_of(tmp_path / "model"), [()])
    assert len(wanted[0].split()) == 2 + 8000
    assert ask(tmp_path / "model", {"texts": texts}) == [wanted]
