"""Theorem 8.2 of Chiang's notes with summaries: the run resumes from the model's own output."""

from __future__ import annotations

import random

import pytest

import softmachine as sm
from softmachine.engines.check import check_inputs
from softmachine.ir import evaluate
from softmachine.languages.turing import TapeConvention, TuringMachine, execute
from softmachine.testing import load_as, random_word
from softmachine.testing.turing import random_turing_machine
from softmachine.theorems.turing.average_hard_summary import codec as tokens
from softmachine.theorems.turing.average_hard_summary.codec import SummaryCodec
from softmachine.theorems.turing.average_hard_summary.theorem import signals


def random_case(seed: int, tapes: int) -> tuple[random.Random, TuringMachine]:
    rng = random.Random(seed)
    tape = rng.choice(list(TapeConvention))
    return rng, random_turing_machine(rng, tapes=tapes, symbols=rng.randint(2, 3), states=rng.randint(2, 4), tape=tape)


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(s, marks=pytest.mark.slow) for s in range(8, 200))])
def test_random_machines_agree_with_the_interpreter_in_every_segment(seed: int) -> None:
    rng, machine = random_case(seed, tapes=1 + (seed % 4 == 3))
    words = [random_word(rng, machine, rng.randrange(5)) for _ in range(2)]
    report = check_inputs(sm.compile(machine, "turing-average-hard-summary"), words, max_steps=50)
    assert report.holds, report.disagreements


@pytest.mark.parametrize("name", ["increment", "palindrome", "unary-subtraction"])
def test_every_short_input_is_run_as_the_interpreter_does(name: str) -> None:
    assert sm.check(sm.compile(name, "turing-average-hard-summary"), up_to=2, max_steps=60).holds


def test_a_long_run_decodes_by_itself_in_a_short_context() -> None:
    model = sm.compile("binary-counter", "turing-average-hard-summary")
    run = sm.run(model, "", max_steps=120)
    machine = load_as("binary-counter", TuringMachine)
    assert run.steps == 120
    assert run.output == execute(machine, "", max_steps=120).output
    assert len(run.segments) > 5
    assert max(run.segments) < 60


def test_the_signals_keep_their_promises() -> None:
    for seed in (0, 1, 2):
        rng, machine = random_case(seed, tapes=1)
        codec = SummaryCodec(machine)
        program = signals(codec)
        for prompt, said in list(codec.expected_segments(random_word(rng, machine, 1), 12))[:3]:
            evaluate(program.logits, (*prompt.tokens, *said[:-1]))


def test_a_saved_model_runs_as_before(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path)) / "model"
    model = sm.compile("increment", "turing-average-hard-summary")
    sm.save(model, folder)
    assert sm.run(folder, "11").tokens == sm.run(model, "11").tokens


@pytest.mark.parametrize("seed", range(40))
def test_long_runs_should_say_what_short_ones_should(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled loop and the plain one agree, wherever one hands over to the other."""
    rng = random.Random(seed)
    machine = random_turing_machine(rng, tapes=1 + seed % 2, tape=list(TapeConvention)[seed % len(TapeConvention)])
    codec = SummaryCodec(machine)
    word = tuple(rng.choices(machine.alphabet, k=seed % 4))
    right = [*codec.expected(word, 200)]
    monkeypatch.setattr(tokens, "MAX_INTERPRETED_STEPS", seed % 7)
    assert [token for piece in codec.expected_chunks(word, 200) for token in piece] == right


def test_the_cell_where_an_empty_input_would_be_is_in_use() -> None:
    """The reference omitted it where the machine moves to the left in its first step; the model did not."""
    machine = sm.load("1LB1LA_1LC---_1LD---_1RE---_---1RE")
    run = sm.run(sm.compile(machine, "turing-average-hard-summary"), "", verify=True)
    assert (run.verdict, run.output, run.differs) == ("halt", "1111", False)
    assert len(run.segments) > 1
