"""Single-pass models on the fast engine, if no position depends on a later one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import softmachine as sm
from softmachine.compiler.model import Model
from softmachine.engines.fast.engine import FastPass
from softmachine.engines.run import RunSession
from softmachine.support.errors import PrecisionError, UsageError

LONG = 30_000


@pytest.fixture(scope="module")
def model() -> Model:
    return sm.compile("Q_a since Q_b", "temporal-masked", attention="hard")


def word_of(length: int) -> str:
    return "".join(random.Random(length).choices("ab", k=length))


def test_a_long_input_runs_on_the_fast_engine() -> None:
    model, word = sm.compile("dyck-1-crasp"), "".join(random.Random(3).choices("()", k=LONG))
    run = sm.run(model, word)
    assert run.engine == "fast"
    expected = model.codec.expected(word, 0)
    assert all(right in (None, output) for output, right in zip(run.tokens, expected, strict=True))


def test_a_model_whose_heads_scan_keys_runs_on_the_dense_engine(model: Model) -> None:
    """It compares all keys in one batch."""
    assert sm.run(model, word_of(2500)).engine == "dense"


def test_a_counting_model_answers_as_the_dense_engine_does(uncompiled: None) -> None:
    model, word = sm.compile("dyck-1-crasp"), "(()())((" * 5
    fast, dense = (sm.run(model, word, engine=engine) for engine in ("fast", "dense"))
    assert list(fast.tokens) == list(dense.tokens)
    assert (fast.engine, fast.verdict) == ("fast", dense.verdict)


def test_an_empty_input_is_answered(model: Model, uncompiled: None) -> None:
    assert list(sm.run(model, "", engine="fast").tokens) == list(sm.run(model, "", engine="dense").tokens)


@pytest.mark.parametrize("length", [0, 150, 300])
def test_a_short_input_is_answered_once_and_by_the_dense_engine(length: int) -> None:
    running = RunSession(sm.compile("dyck-1-crasp"), "(" * length)
    pieces = list(running.chunks())
    assert [len(piece) for piece in pieces] == [length + 1]
    assert running.engine == "dense"


def test_a_model_that_exceeds_the_range_runs_on_the_dense_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(run: FastPass, limit: int) -> bool:
        raise PrecisionError("too large")

    monkeypatch.setattr(FastPass, "run_until", fails)
    run = sm.run("dyck-1-crasp", "(" * 2500)
    assert run.engine == "dense"
    assert len(run.tokens) == 2501
    assert any("too large" in note for note in run.notes)


def test_answers_are_audited(model: Model, uncompiled: None) -> None:
    running = RunSession(model, "abba", engine="fast")
    list(running.chunks())
    found = running.audit(3)
    assert found.holds
    assert (len(found.steps), found.positions) == (3, 5)


def test_answers_are_verified(model: Model, uncompiled: None) -> None:
    run = sm.run(model, "abba", engine="fast", verify=True)
    assert (run.verified_count, run.difference) == (4, None), "there is no answer at the start"


@pytest.mark.parametrize("option", ["checkpoint", "resume"])
def test_there_is_no_run_to_save(model: Model, option: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="answers in one pass: there is no run to save"):
        RunSession(model, "abba", **{option: tmp_path / "run"})  # type: ignore[arg-type]


def test_bidirectional_models_run_on_the_dense_engine() -> None:
    with pytest.raises(UsageError, match="is an encoder"):
        sm.run("always Q_a", "aa", engine="fast")
