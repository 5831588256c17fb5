"""Attention in chunks of positions: the same numbers, with memory linear in the length."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.dense import acceleration
from softmachine.engines.dense.decoding import decode
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.numerics import Tensor
from softmachine.support.errors import PrecisionError

HARD = ("float64", "float32", "float64:plain", "fixed:12", "exact", "ball")
SOFT = ("float64", "float32", "bfloat16", "float64:plain", "fixed:12", "ball")


def prompt_of(model: Model, length: int) -> tuple[tuple[str, ...], int | None]:
    chooser = random.Random(length)
    prompt = model.codec.prompt(tuple(chooser.choice(model.codec.alphabet) for _ in range(length)))
    return prompt.tokens, prompt.length


def stream(model: Model, length: int, numbers: str, most: int) -> Tensor:
    """The residual stream with a maximum number of scores per chunk."""
    tokens, known = prompt_of(model, length)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acceleration, "MAX_SCORES", most)
        return DenseEngine(model.weights, numbers).residual_stream([tokens], known)


def same(model: Model, numbers: str, length: int = 130) -> bool:
    """Whether chunks leave every number bitwise equal; balls are compared by midpoint and radius."""
    whole, parts = (stream(model, length, numbers, most).value for most in (1 << 30, 1))
    if numbers == "ball":
        whole, parts = (np.array([repr(number) for number in value.flat]) for value in (whole, parts))
    return bool((whole == parts).all())


@pytest.mark.parametrize("numbers", HARD)
@pytest.mark.parametrize("source", ["Q_a since Q_b", "reverse-program", "palindrome"])
def test_blocks_change_no_bit_of_hard_attention(source: str, numbers: str) -> None:
    assert same(sm.compile(source, attention="hard"), numbers)


def test_blocks_change_no_bit_of_soft_attention() -> None:
    """Uses one core, since libraries split matrix products differently on several cores."""
    code = (
        "import softmachine as sm; from tests.engines.dense.test_attention import SOFT, same\n"
        "for source in ('Q_a since Q_b', '#<[Q_a] > #<[Q_b]'):\n"
        "    model = sm.compile(source, attention='soft')\n"
        "    assert all(same(model, numbers) for numbers in SOFT), source"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_loops_in_blocks_say_what_loops_say(monkeypatch: pytest.MonkeyPatch) -> None:
    model = sm.compile("majority-7")
    whole = sm.run(model, "1011010").tokens
    monkeypatch.setattr(acceleration, "MAX_SCORES", 1)
    assert sm.run(model, "1011010").tokens == whole


def test_a_decoder_reads_a_long_prompt_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = sm.compile("palindrome")
    prompt = model.codec.prompt("ab" * 80)
    engine = DenseEngine(model.weights)
    run = decode(engine, prompt, lambda _: False)
    expected = [next(run) for _ in range(5)]
    monkeypatch.setattr(acceleration, "MAX_SCORES", 1)
    run = decode(engine, prompt, lambda _: False)
    assert [next(run) for _ in range(5)] == expected


def test_a_head_that_cannot_choose_says_at_which_position_whatever_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceleration, "MAX_SCORES", 1)
    model = sm.compile("palindrome")
    tokens = (*("a",) * 300, "BOS")
    with pytest.raises(PrecisionError, match=r"head 'last write' at position 257 cannot choose"):
        DenseEngine(model.weights, "bfloat16").residual_stream([tokens])


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_memory_grows_with_the_length_and_not_with_its_square(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceleration, "MAX_SCORES", 2**14)
    model = sm.compile("Q_a since Q_b", attention=kind)
    engine = DenseEngine(model.weights)

    def peak(length: int) -> int:
        tokens, known = prompt_of(model, length)
        tracemalloc.start()
        engine.predict([tokens], known)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(400)
    assert peak(1600) < 5 * peak(400)  # a square would be 16 times as much
