"""Compiled Turing machines on the fast engine agree with the reference interpreter, token for token."""

from __future__ import annotations

import random

import numpy as np
import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.fast import FastEngine
from softmachine.languages import zoo
from softmachine.languages.turing import TapeConvention, TuringMachine
from softmachine.support.errors import UsageError
from softmachine.testing import random_word
from softmachine.testing.turing import grown_machine, random_turing_machine
from softmachine.theorems.codec import DecoderCodec
from tests.engines.fast.reference import expected_codes

BENCHMARKS = {
    "busy beaver 5": "busy-beaver-5",
    "binary counter": "binary-counter",
    "bouncer": "1RB1LA_1LA1RB",
}
TAPES = list(TapeConvention)


def tokens_of(model: Model, word: tuple[str, ...] | str, steps: int, *, plain: bool) -> list[str]:
    codec = model.codec
    assert isinstance(codec, DecoderCodec)
    prompt = codec.prompt(word).tokens
    run = FastEngine(model.weights, plain=plain).start(prompt, codec.is_stop_token)
    limit = codec.max_tokens(steps)
    run.run_until(len(prompt) + limit)
    return list(run.output(limit))


def agrees(machine: TuringMachine, word: tuple[str, ...] | str, steps: int, *, plain: bool = True) -> None:
    model = sm.compile(machine)
    assert tokens_of(model, word, steps, plain=plain) == list(model.codec.expected(word, steps))


MACHINES = [
    pytest.param(entry, marks=[pytest.mark.slow] if entry.name == "universal" else [], id=entry.name)
    for entry in zoo.list_entries()
    if entry.file.startswith("turing/")
]


@pytest.mark.parametrize("entry", MACHINES)
def test_machines_of_the_zoo(entry: zoo.ZooEntry) -> None:
    machine = entry.load()
    assert isinstance(machine, TuringMachine)
    for sample in entry.samples[:1]:
        agrees(machine, sample.input, 300)


@pytest.mark.parametrize("seed", range(12))
def test_random_machines(seed: int) -> None:
    rng = random.Random(seed)
    machine = random_turing_machine(
        rng, tapes=rng.choice([1, 1, 2]), symbols=rng.randrange(2, 5), tape=rng.choice(TAPES)
    )
    agrees(machine, random_word(rng, machine, rng.randrange(5)), 120)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_2000_random_machines(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        rng = random.Random(seed)
        tapes = rng.choice([1, 1, 1, 2, 3])
        machine = random_turing_machine(rng, tapes=tapes, symbols=rng.randrange(2, 5), tape=rng.choice(TAPES))
        agrees(machine, random_word(rng, machine, rng.randrange(8)), 200)


def with_many_symbols(seed: int) -> TuringMachine:
    rng = random.Random(seed)
    size = {"tapes": rng.choice([1, 1, 2, 3]), "symbols": rng.randint(2, 24), "rules": rng.choice([20, 40])}
    return grown_machine(rng, **size, tape=rng.choice(TAPES))


@pytest.mark.parametrize("seed", range(6))
def test_random_machines_with_up_to_24_symbols_and_3_tapes(seed: int) -> None:
    agrees(with_many_symbols(seed), "", 150)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_2000_random_machines_with_up_to_24_symbols_and_3_tapes(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        agrees(with_many_symbols(seed), "", 200)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_machines_with_up_to_24_symbols_and_3_tapes_as_machine_code(seed: int) -> None:
    agrees(with_many_symbols(seed), "", 20_000, plain=False)


def long_run_agrees(model: Model, steps: int) -> None:
    wanted = expected_codes(model, steps)
    run = sm.run(model, "", engine="fast", max_steps=steps)
    found = np.concatenate([*run.tokens[1 : 1 + len(wanted)].code_arrays()])  # type: ignore[attr-defined]
    assert np.array_equal(found, wanted)
    assert run.steps == len(wanted)


def test_a_hundred_thousand_steps_of_machine_code() -> None:
    long_run_agrees(sm.compile("busy-beaver-5"), 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("source", BENCHMARKS.values(), ids=list(BENCHMARKS))
def test_ten_million_steps(source: str) -> None:
    long_run_agrees(sm.compile(source), 10_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("soft", [False, True])
def test_all_of_busy_beaver_5(soft: bool) -> None:
    model = sm.soften("busy-beaver-5", length=1000, sharpness=64)[0] if soft else sm.compile("busy-beaver-5")
    wanted = expected_codes(model, 50_000_000)
    run = sm.run(model, "", engine="fast")
    assert (run.verdict, run.steps, run.output.count("1")) == ("halt", 47_176_870, 4_098)
    assert np.array_equal(np.concatenate([*run.tokens[1:-1].code_arrays()]), wanted)  # type: ignore[attr-defined]


def test_a_long_run_switches_to_the_fast_engine() -> None:
    short = sm.run("busy-beaver-4")
    assert (short.engine, short.verdict) == ("dense", "halt")
    long = sm.run("busy-beaver-5", max_steps=5_000)
    assert (long.engine, long.arithmetic, long.steps) == ("fast", "exact", 5_000)
    assert list(long.tokens) == list(long.model.codec.expected("", 5_000))


def test_float32_is_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softmachine.engines.run.MAX_DENSE_TOKENS", 50)
    assert sm.run("busy-beaver-5", max_steps=100, arithmetic="float32").engine == "dense"
    assert sm.run("busy-beaver-5", max_steps=100, arithmetic="float64").engine == "fast"


def test_a_run_that_ends_exactly_at_the_limit_has_ended() -> None:
    model = sm.compile("busy-beaver-4")
    assert sm.run(model, engine="fast", max_steps=107).verdict == "halt"
    assert sm.run(model, engine="fast", max_steps=106).verdict is None


def test_encoders_are_not_supported() -> None:
    with pytest.raises(UsageError, match="encoder"):
        sm.run("always Q_a", "aa", engine="fast")
