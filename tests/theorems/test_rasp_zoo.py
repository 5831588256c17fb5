"""The RASP programs of the zoo: right hard and soft, in two formats, on short words and long ones; as stock models."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import groupby, islice
from pathlib import Path

import pytest

from softmachine import api
from softmachine.engines.dense.engine import DenseEngine
from softmachine.languages import rasp, zoo
from softmachine.support.errors import ConstructionError
from softmachine.testing import load_as
from tests.models import model_of

ZOO = tuple(entry.name for entry in zoo.list_entries() if entry.file.startswith("rasp/"))
LOOPS = ("parity-loop-rasp", "addition-loop-rasp", "sort-loop-rasp", "subleq-rasp")
WRITERS = ("parity-scratchpad-rasp", "addition-scratchpad-rasp")
ARITHMETICS = ("float64", "float32")
LONGEST, SLOWEST = 6, "subleq-rasp"
"""All words up to this length are tried; but of subleq, which has 11 letters and takes 40 ms a word, up to 4."""
PARTS = [(name, part) for name in ("long-addition-rasp", "addition-loop-rasp") for part in range(11)]
"""Programs with 11 letters, and so 1,771,561 words of length 6, in parts: by their first letter."""
TOGETHER = 512
"""Words per batch."""


def require_answers(name: str, tried: Sequence[tuple[str, ...]], length: int) -> None:
    """What models with hard and soft attention say in two formats, many words at a time; each is interpreted once."""
    hard, soft = model_of(name), api.compile(name, attention="soft", length=length)
    codec = hard.codec
    engines = [DenseEngine(model.weights, arithmetic) for model in (hard, soft) for arithmetic in ARITHMETICS]
    for start in range(0, len(tried), TOGETHER):
        for _, alike in groupby(tried[start : start + TOGETHER], len):
            batch = list(alike)
            prompts = [codec.prompt(word) for word in batch]
            expected = codec.expected_batch(batch, 0)
            for engine in engines:
                said = engine.predict([prompt.tokens for prompt in prompts], prompts[0].length)
                for word, row, right in zip(batch, said, expected, strict=True):
                    assert row[1:] == list(right)[1:], (word, engine.arithmetic.name)


@pytest.mark.parametrize("name", ZOO)
def test_every_zoo_program_is_right_on_short_words_and_on_a_longer_one(name: str) -> None:
    model = model_of(name)
    assert api.check(model, up_to=1 if name in LOOPS else 2).holds
    assert api.check(model, sample=2, length=5 if name == "subleq-rasp" else 20).holds


@pytest.mark.parametrize(
    "name", ["reverse-rasp", "histogram-rasp", "double-histogram-rasp", "sort-rasp", "dyck-2-rasp"]
)
def test_softmax_is_certified_and_says_the_same(name: str) -> None:
    model = api.compile(name, attention="soft", length=20)
    assert model.attention == "soft"
    assert api.check(model, sample=3, length=20).holds


@pytest.mark.parametrize("name", ["double-histogram-rasp", "sort-unique-rasp", "dyck-3-rasp", "long-addition-rasp"])
def test_a_word_of_length_200_is_decided_in_float32_hard_and_soft(name: str) -> None:
    """Softmax was undecided from 30 to 80 letters on, and long addition with hard attention, too."""
    require_answers(name, [model_of(name).codec.random_word(random.Random(1), 200)], 200)


@pytest.mark.parametrize("attention", ["hard", "soft"])
def test_many_long_words_are_read_at_once(attention: str) -> None:
    """Bounds that serve all words were taken for those of one, where every position sees every other."""
    name, rng = "reverse-rasp", random.Random(2)
    model = model_of(name) if attention == "hard" else api.compile(name, attention=attention, length=130)
    words = [model.codec.random_word(rng, 130) for _ in range(64)]
    prompts = [model.codec.prompt(word) for word in words]
    said = DenseEngine(model.weights).predict([prompt.tokens for prompt in prompts], prompts[0].length)
    assert [row[1:] for row in said] == [list(model.codec.expected(word, 0))[1:] for word in words]


def test_many_words_at_once_are_decided_in_float32_as_each_alone() -> None:
    """Errors that cancel were followed in small batches only."""
    tried = [tuple(word) for word in model_of("addition-loop-rasp").codec.words(3)]
    require_answers("addition-loop-rasp", tried[:50], 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_every_zoo_program_is_right_on_all_words_up_to_length_6_hard_and_soft(name: str) -> None:
    """Of words of six letters that are in parts, see below."""
    codec, divided = model_of(name).codec, any(name == other for other, _ in PARTS)
    longest = 4 if name == SLOWEST else LONGEST - divided
    require_answers(name, [tuple(word) for n in range(1, longest + 1) for word in codec.words(n)], longest)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "part"), PARTS)
def test_every_word_of_six_of_eleven_letters_hard_and_soft(name: str, part: int) -> None:
    codec = model_of(name).codec
    count = len(codec.alphabet) ** (LONGEST - 1)
    require_answers(name, [tuple(word) for word in islice(codec.words(LONGEST, part * count), count)], LONGEST)


@pytest.mark.slow
@pytest.mark.parametrize("length", [5, 6])
def test_subleq_is_right_on_random_words_of_five_and_six_letters_hard_and_soft(length: int) -> None:
    name, rng = SLOWEST, random.Random(length)
    require_answers(name, [model_of(name).codec.random_word(rng, length) for _ in range(2000)], length)


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_every_zoo_program_is_right_on_200_words_of_length_200_hard_and_soft(name: str) -> None:
    rng = random.Random(name)
    require_answers(name, [model_of(name).codec.random_word(rng, 200) for _ in range(200)], 200)


@pytest.mark.parametrize("name", ZOO)
def test_layers_heads_and_width_do_not_depend_on_the_length(name: str) -> None:
    """Only the vocabulary does: integers up to what words of the length need have tokens."""
    source = load_as(name, rasp.RaspProgram)
    sizes = set()
    for length in (None, 300, 1000):
        weights = api.compile(source, context=length).weights
        sizes.add((len(weights.layers), len(weights.heads), weights.width))
    assert len(sizes) == 1


def stock_form(name: str) -> tuple[str, str]:
    """The theorem and the stock architecture of a program: a decoder if it looks back only."""
    source = load_as(name, rasp.RaspProgram)
    if name in WRITERS:
        return "rasp-generate", "gpt2"
    return "rasp", "gpt2" if source.causal else "bert"


@pytest.mark.parametrize(("theorem", "form"), [("rasp", "bert"), ("rasp-causal", "gpt2")])
def test_stock_models_say_what_the_interpreter_says(theorem: str, form: str, tmp_path: Path) -> None:
    """Nothing is written unless the exported model gives the right output on sample words."""
    pytest.importorskip("transformers", reason="stock models are run by it")
    api.export("reverse-rasp", tmp_path / "model", to=form, context=8, theorem=theorem)
    assert (tmp_path / "model" / "model.safetensors").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ZOO if name not in LOOPS])
def test_every_zoo_program_is_exported_and_verified(name: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="stock models are run by it")
    theorem, form = stock_form(name)
    exported = api.export(name, tmp_path / "model", to=form, context=16, theorem=theorem)
    assert exported.verifications[0].holds


def test_a_loop_that_runs_as_often_as_the_word_is_long_is_refused_by_stock_formats(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="stock models are run by it")
    with pytest.raises(ConstructionError, match=r"a loop with 8\(n\+1\) iterations"):
        api.export("parity-loop-rasp", tmp_path / "model", to="bert", context=16)
