"""The constructions for stock checkpoints: binary addresses, and addresses modulo M with and without positions."""

from __future__ import annotations

import random

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.check import check_inputs
from softmachine.ir import evaluate
from softmachine.languages.turing import TapeConvention, TuringMachine
from softmachine.support.errors import ConstructionError, InputError, UsageError
from softmachine.testing import load_as, random_word
from softmachine.testing.turing import random_turing_machine
from softmachine.theorems.shared.checkpoints import LIMIT_TOKEN, CheckpointCodec
from softmachine.theorems.turing import residue_address as residues
from tests.models import signals_of, with_codec

STREAMS = ("turing-binary-address", "turing-residue-address", "turing-residue-address-no-positions")
WORDS = [tuple(word) for word in ("", "a", "b", "ab", "ba", "aab", "bbaba")]


def codec_of(model: Model) -> CheckpointCodec:
    assert isinstance(model.codec, CheckpointCodec)
    return model.codec


@pytest.mark.parametrize("construction", STREAMS)
@pytest.mark.parametrize("name", ["increment", "palindrome", "two-tape-palindrome"])
def test_every_short_input_is_right_in_exact_arithmetic(name: str, construction: str) -> None:
    model = sm.compile(name, construction, length=24)
    assert sm.check(model, up_to=1, arithmetic="exact").holds
    assert sm.check(model, up_to=3, arithmetic="float32").holds


@pytest.mark.parametrize("construction", STREAMS)
@pytest.mark.parametrize("tape", TapeConvention)
@pytest.mark.parametrize("tapes", [1, 2])
def test_random_machines_run_right_under_every_tape_convention(
    construction: str, tape: TapeConvention, tapes: int
) -> None:
    rng = random.Random(f"{construction} {tape} {tapes}")
    for _ in range(3 - tapes):
        machine = random_turing_machine(rng, tapes=tapes, symbols=3, states=4 - tapes, tape=tape)
        words = [random_word(rng, machine, length) for length in (0, 1, 3, 6)]
        report = check_inputs(sm.compile(machine, construction, length=24), words, arithmetic="float32")
        assert report.holds, report.disagreements[0]


@pytest.mark.slow
@pytest.mark.parametrize("construction", STREAMS)
@pytest.mark.parametrize("tape", TapeConvention)
@pytest.mark.parametrize("seed", range(8))
def test_many_random_machines_run_right(construction: str, tape: TapeConvention, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(6):
        machine = random_turing_machine(rng, tapes=rng.choice([1, 1, 2]), tape=tape)
        words = [random_word(rng, machine, length) for length in (0, 1, 2, 5, 11, 30)]
        report = check_inputs(sm.compile(machine, construction, length=140), words, arithmetic="float32")
        assert report.holds, report.disagreements[0]


@pytest.mark.parametrize("construction", STREAMS)
def test_softmax_is_certified_and_right(construction: str) -> None:
    soft, certificate = sm.soften(sm.compile("palindrome", construction, length=32), length=32, sharpness=32)
    assert certificate.margin > 0.99
    assert check_inputs(soft, WORDS, arithmetic="float64").holds


@pytest.mark.parametrize(("construction", "layers"), [("turing-binary-address", 3), ("turing-residue-address", 3)])
def test_the_theorem_promises_its_cost(construction: str, layers: int) -> None:
    model = sm.compile("two-tape-palindrome", construction, length=64).weights
    heads = {"turing-binary-address": 1 + 5 * 2, "turing-residue-address": 1 + 2}[construction]
    assert (len(model.layers), len(model.heads)) == (layers, heads)
    assert len(sm.compile("palindrome", "turing-residue-address", length=256).weights.layers) == 4


@pytest.mark.parametrize("construction", STREAMS)
def test_every_promise_of_the_signals_is_kept_on_a_run(construction: str) -> None:
    machine = load_as("palindrome", TuringMachine)
    program, codec = signals_of(machine, construction, "hard", 32)
    assert isinstance(codec, CheckpointCodec)
    evaluate(program.logits, [*codec.prompt("aba").tokens, *list(codec.expected("aba", 100))[:-1]])


def test_the_latest_write_is_found_over_many_blocks() -> None:
    model = sm.compile("busy-beaver-4", "turing-residue-address", length=200)
    assert len(model.weights.layers) == 4
    report = check_inputs(model, [()], arithmetic="float64")
    assert report.holds
    assert report.tokens == 108


def test_a_head_that_leaves_the_reach_of_its_digits_ends_with_limit() -> None:
    machine = load_as("increment", TuringMachine)
    codec = CheckpointCodec(machine, length=64, modulus=4, max_wraps=2)
    model = with_codec(residues.signals(codec, positions=True), codec, "turing-residue-address", 64)
    report = check_inputs(model, [("1",) * 14, ("1",) * 3], arithmetic="exact")
    assert report.holds
    assert list(codec.expected(("1",) * 14, 100))[-1] == LIMIT_TOKEN
    assert sm.run(model, "1" * 14).verdict is None
    assert list(codec.expected(("1",) * 3, 100))[-1] == "HALT"


def test_an_input_that_fills_all_positions_is_refused() -> None:
    model = sm.compile("increment", "turing-binary-address", length=8)
    assert sm.run(model, "1").output == "10"
    with pytest.raises(InputError, match="6 symbols leaves no positions for a run in a context of 8"):
        sm.run(model, "111111")


def test_a_run_that_outgrows_its_positions_is_an_error_and_not_a_guess() -> None:
    model = sm.compile("busy-beaver-4", "turing-binary-address", length=64)
    with pytest.raises(UsageError, match="does not end within the 64 positions"):
        sm.run(model)
    assert sm.run(model, max_steps=62).steps == 62


def test_without_positions_inputs_are_short() -> None:
    model = sm.compile("increment", "turing-residue-address-no-positions", length=512)
    with pytest.raises(InputError, match="the input has 200 symbols; this model takes at most 128"):
        codec_of(model).prompt("1" * 200)


def test_a_vocabulary_that_is_too_large_says_by_which_factor() -> None:
    with pytest.raises(ConstructionError, match=r"64 residues on 3 tapes, a factor of 262,144"):
        sm.compile("three-tape-addition", "turing-residue-address", length=2048)
